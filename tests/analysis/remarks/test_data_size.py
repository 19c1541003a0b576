"""The sentences on accuracy against training pictures, by hand."""

from vizkit.analysis.comparison.seed_interval import Estimate
from vizkit.analysis.remarks.data_size import hunger, lead, signed, teacher


def test_who_leads_is_said_only_where_the_interval_leaves_zero_out():
    assert lead(300, "CNN", "MLP", 0.95, Estimate(0.15, 0.02, 3)) == (
        "With 300 images the CNN leads: 95 % of the test pictures right, 15.0 points (13.0 to 17.0) more than the MLP."
    )
    assert lead(1_000, "CNN", "MLP", 0.95, Estimate(0.01, 0.02, 3)) == (
        "With 1,000 images the CNN (95 %) is not told apart from the MLP by 3 runs of each: +1.0 (−1.0 to +3.0) points."
    )
    assert lead(300, "CNN", "MLP", 0.95, Estimate(0.15, 0.02, 1)).endswith("more than the MLP, in one run of each.")
    assert lead(1_000, "CNN", "MLP", 0.95, Estimate(0.01, 0.02, 1)).endswith(
        "by one run of each: +1.0 (−1.0 to +3.0) points."
    )


def test_hunger_names_those_that_need_fewer():
    found = hunger("ViT", 12_000, 0.91, {"CNN": 300, "MLP": 1_000, "Swin": 12_000})
    assert found is not None
    assert found == (
        "What the ViT reaches from 12,000 images (91 %) is less than what the CNN reaches from 300 "
        "and the MLP from 1,000."
    )
    assert hunger("ViT", 12_000, 0.91, {"Swin": 12_000}) is None


def test_where_a_teacher_helps_costs_and_changes_nothing():
    none, more, less = Estimate(0.01, 0.02, 3), Estimate(0.12, 0.04, 3), Estimate(-0.05, 0.01, 3)
    hard = {100: none, 300: more, 12_000: less}
    soft = {100: none, 300: Estimate(0.08, 0.01, 3), 12_000: none}
    found = teacher({"hard teacher of all pictures": hard, "soft teacher of all pictures": soft})
    assert found is not None
    assert found == (
        "Of the gains whose interval leaves zero out the largest is 12.0 points (8.0 to 16.0), of a hard teacher of "
        "all pictures with 300 images; with 12,000 images a hard teacher of all pictures harms the most, −5.0 points "
        "(−6.0 to −4.0); with 100 images all intervals hold zero."
    )
    unsure = teacher({"hard teacher": {300: more}, "soft teacher": {300: Estimate(0.15, 0.26, 3)}})
    assert unsure is not None
    assert unsure == (
        "Of the gains whose interval leaves zero out the largest is 12.0 points (8.0 to 16.0), of a hard teacher with "
        "300 images; a soft teacher with 300 images has a larger mean, 15.0 points (−11.0 to 41.0), but its "
        "interval holds zero."
    )
    equal = teacher({"hard teacher": {100: none, 300: none}})
    assert equal is not None
    assert equal == "No teacher is shown to help or to harm: all intervals hold zero."
    only = teacher({"hard teacher": {300: less}})
    assert only is not None
    assert only == "With 300 images a hard teacher harms the most, −5.0 points (−6.0 to −4.0)."
    assert teacher({}) is None


def test_a_gain_of_one_seed_has_a_star():
    assert signed(Estimate(0.123, 0.042, 3)) == "+12.3 (+8.1 to +16.5)"
    assert signed(Estimate(-0.01, 0.02, 1)) == "−1.0 (−3.0 to +1.0) *"
    assert signed(None) == "–"


def test_the_numbers_behind_the_words_and_intervals_that_touch_zero():
    found = hunger("ViT", 1_000, 0.5, {"CNN": 300})
    assert found is not None
    touching = teacher({"hard teacher": {300: Estimate(-0.25, 0.25, 3), 1_000: Estimate(0.25, 0.25, 3)}})
    assert touching is not None
    assert touching == "No teacher is shown to help or to harm: all intervals hold zero."


def test_of_several_harms_the_largest_is_named():
    harms = teacher({"hard teacher": {300: Estimate(-0.1, 0.05, 3), 1_000: Estimate(-0.3, 0.05, 3)}})
    assert harms is not None
    assert harms == "With 1,000 images a hard teacher harms the most, −30.0 points (−35.0 to −25.0)."
