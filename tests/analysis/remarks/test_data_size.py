"""The sentences on accuracy against training pictures, by hand."""

import pytest

from vizkit.analysis.comparison.seed_interval import Estimate
from vizkit.analysis.remarks.data_size import helps, lead, shown, signed


def test_who_leads_is_said_only_where_the_interval_leaves_zero_out():
    assert lead(300, "CNN", "MLP", 0.95, Estimate(0.15, 0.02, 3)) == (
        "With 300 images the CNN leads: 95 % of the test images right, 15.0 points (13.0 to 17.0) more than the MLP."
    )
    assert lead(1_000, "CNN", "MLP", 0.95, Estimate(0.01, 0.02, 3)) == (
        "With 1,000 images the CNN (95 %) is not told apart from the MLP by 3 runs of each: +1.0 (−1.0 to +3.0) points."
    )
    assert lead(300, "CNN", "MLP", 0.95, Estimate(0.15, 0.02, 1)).endswith("more than the MLP, in one run of each.")
    assert lead(1_000, "CNN", "MLP", 0.95, Estimate(0.01, 0.02, 1)).endswith(
        "by one run of each: +1.0 (−1.0 to +3.0) points."
    )


def test_where_a_teacher_helps_costs_and_changes_nothing():
    none, more, less = Estimate(0.01, 0.02, 3), Estimate(0.12, 0.04, 3), Estimate(-0.05, 0.01, 3)
    assert helps("hard teacher", {100: none, 300: more, 12_000: less}) == (
        "A hard teacher adds 12.0 points (95 % interval 8.0 to 16.0) with 300 images and costs 5.0 points (95 % "
        "interval 4.0 to 6.0) with 12,000 images; with 100 no difference is shown (after Holm for 3 "
        "comparisons, 3 runs of each)."
    )
    assert helps("hard teacher", {300: more}) == (
        "A hard teacher adds 12.0 points (95 % interval 8.0 to 16.0) with 300 images (by 3 runs of each)."
    )
    assert helps("hard teacher", {100: none, 300: Estimate(-0.02, 0.02, 3)}) == (
        "A hard teacher is not shown to help: after Holm for 2 comparisons, 3 runs of each, no difference is more "
        "than chance. The largest of 2 differences, with 300 images, costs 2.0 points (95 % interval, not corrected, "
        "0.0 to 4.0)."
    )


def test_one_of_five_tries_is_not_shown_by_its_own_interval():
    none, one = Estimate(0.0, 0.02, 3), Estimate(0.09, 0.08, 3)
    assert one.differs
    assert one.p == pytest.approx(0.0274, abs=1e-4)  # times five is more than 5 %
    assert shown({300: one}) == {300: one}
    assert shown({100: none, 300: one, 1_000: none, 3_000: none, 12_000: none}) == {}


def test_a_gain_of_one_seed_has_a_star():
    assert signed(Estimate(0.123, 0.042, 3)) == "+12.3 (+8.1 to +16.5)"
    assert signed(Estimate(-0.01, 0.02, 1)) == "−1.0 (−3.0 to +1.0) *"
    assert signed(None) == "–"


def test_an_interval_that_touches_zero_shows_nothing():
    touching = {300: Estimate(-0.25, 0.25, 3), 1_000: Estimate(0.25, 0.25, 3)}
    assert helps("hard teacher", touching).startswith("A hard teacher is not shown to help: ")
