"""Intervals of accuracies over seeds and test pictures, by hand."""

import math

import pytest

from vizkit.analysis.comparison.seed_interval import Estimate, accuracy, difference


def test_seeds_that_agree_leave_the_test_pictures_part():
    found = accuracy({0: 0.8, 1: 0.8, 2: 0.8}, 1600)
    assert (found.mean, found.seeds) == (pytest.approx(0.8), 3)
    assert found.half == pytest.approx(1.959964 * math.sqrt(0.8 * 0.2 / 1600), rel=1e-6)
    assert accuracy({7: 0.8}, 1600).half == pytest.approx(found.half)


def test_seeds_that_differ_weigh_as_student_has_it():
    """With so many test pictures that they do not matter: the t interval of three numbers, 4.3027 s / √3."""
    found = accuracy({0: 0.7, 1: 0.8, 2: 0.9}, 10**12)
    assert found.half == pytest.approx(4.302653 * 0.1 / math.sqrt(3), rel=1e-5)
    assert (found.low, found.high) == (pytest.approx(0.8 - found.half), pytest.approx(0.8 + found.half))


def test_both_parts_add_and_share_degrees_of_freedom():
    """V = .0003 / 3 of the seeds and .25 / 2500 of the pictures, alike: ν = (2 V)² / (V² / 2) = 8, t = 2.3060."""
    shares = {0: 0.5 - math.sqrt(0.0003), 1: 0.5, 2: 0.5 + math.sqrt(0.0003)}
    assert accuracy(shares, 2500).half == pytest.approx(2.306004 * math.sqrt(2e-4), rel=1e-6)


def test_differences_are_taken_seed_by_seed():
    """Seeds that move both alike do not make their difference uncertain."""
    first, second = {0: 0.6, 1: 0.7, 2: 0.8, 9: 0.1}, {2: 0.7, 1: 0.6, 0: 0.5}
    found = difference(first, second, 10**12)
    assert (found.mean, found.seeds) == (pytest.approx(0.1), 3)
    assert found.half < 1e-5
    assert found.differs
    pictures = difference({0: 0.6}, {0: 0.5}, 100)
    assert pictures.half == pytest.approx(1.959964 * math.sqrt((0.24 + 0.25) / 100), rel=1e-6)
    assert not pictures.differs
    assert difference({0: 0.5}, {1: 0.5}, 100) is None


@pytest.mark.parametrize(
    "mean, half, differs", [(0.1, 0.09, True), (0.1, 0.1, False), (-0.1, 0.09, True), (-0.1, 0.1, False)]
)
def test_an_interval_differs_where_it_leaves_zero_out(mean, half, differs):
    assert Estimate(mean, half, 3).differs is differs


def test_of_two_seeds_the_interval_is_wide():
    """s / √2 is 0.1, and Student's t with one degree of freedom 12.706."""
    assert accuracy({0: 0.7, 1: 0.9}, 10**12).half == pytest.approx(12.7062 * 0.1, rel=1e-4)


def test_p_is_that_of_student():
    """A paired t test, where the test images do not matter: equal to the reference."""
    from scipy.stats import ttest_rel

    first, second = {0: 0.6, 1: 0.7, 2: 0.83}, {0: 0.5, 1: 0.63, 2: 0.7}
    found = difference(first, second, 10**12)
    assert found.p == pytest.approx(ttest_rel([*first.values()], [*second.values()]).pvalue, rel=1e-5)
    assert accuracy({0: 1.0}, 100).p == 0
