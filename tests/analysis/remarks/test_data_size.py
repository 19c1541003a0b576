"""The sentences on accuracy against training pictures, by hand."""

from vizkit.analysis.comparison.seed_interval import Estimate
from vizkit.analysis.remarks.data_size import hunger, lead, signed, teacher


def test_who_leads_is_said_only_where_the_interval_leaves_zero_out():
    assert lead(300, "CNN", "MLP", 0.95, Estimate(0.15, 0.02, 3)).words == (
        "With 300 images the CNN leads: 95 % of the test pictures right, 15.0 points (13.0 to 17.0) more than the "
        "MLP.")  # fmt: skip
    assert lead(1_000, "CNN", "MLP", 0.95, Estimate(0.01, 0.02, 3)).words == (
        "With 1,000 images the CNN (95 %) and the MLP do not differ: the interval of their difference, 1.0 points "
        "(−1.0 to 3.0), holds zero.")  # fmt: skip


def test_hunger_names_those_that_need_fewer():
    found = hunger("ViT", 12_000, 0.91, {"CNN": 300, "MLP": 1_000, "Swin": 12_000})
    assert found is not None
    assert found.words == ("What the ViT reaches from 12,000 images (91 %) is less than what the CNN reaches from 300 "
                           "and the MLP from 1,000.")  # fmt: skip
    assert found.numbers["CNN"] == 300
    assert hunger("ViT", 12_000, 0.91, {"Swin": 12_000}) is None


def test_where_a_teacher_helps_costs_and_changes_nothing():
    none, more, less = Estimate(0.01, 0.02, 3), Estimate(0.12, 0.04, 3), Estimate(-0.05, 0.01, 3)
    hard = {100: none, 300: more, 12_000: less}
    soft = {100: none, 300: Estimate(0.08, 0.01, 3), 12_000: none}
    found = teacher({"hard teacher of all pictures": hard, "soft teacher of all pictures": soft})
    assert found is not None
    assert found.words == (
        "With 300 images a hard teacher of all pictures adds the most, 12.0 points (8.0 to 16.0); with 12,000 images "
        "a hard teacher of all pictures harms the most, −5.0 points (−6.0 to −4.0); with 100 images all intervals hold "
        "zero.")  # fmt: skip
    assert found.numbers == {"intervals": 6, "above zero": 2, "below zero": 1, "most": 0.12, "least": -0.05}
    equal = teacher({"hard teacher": {100: none, 300: none}})
    assert equal is not None
    assert equal.words == "No teacher is shown to help or to harm: all intervals hold zero."
    only = teacher({"hard teacher": {300: less}})
    assert only is not None
    assert only.words == "With 300 images a hard teacher harms the most, −5.0 points (−6.0 to −4.0)."
    assert teacher({}) is None


def test_a_gain_of_one_seed_has_a_star():
    assert signed(Estimate(0.123, 0.042, 3)) == "+12.3 (+8.1 to +16.5)"
    assert signed(Estimate(-0.01, 0.02, 1)) == "−1.0 (−3.0 to +1.0) *"
    assert signed(None) == "–"
