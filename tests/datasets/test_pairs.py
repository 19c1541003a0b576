"""Pairs of drawn insects: what depends on the seed, and that references are as alike as their level says."""

import numpy as np
import pytest

from vizkit.datasets.image_set import DatasetError
from vizkit.datasets.insects import label_of
from vizkit.datasets.pairs.drawn import LEVELS, SHARES, SIDE, TIMES, DrawnPairs, shrunk


@pytest.fixture(scope="module")
def pairs():
    return DrawnPairs("test", 24)


def test_a_pair_is_a_picture_the_same_shrunk_and_a_reference(pairs):
    pair = pairs.pair(5, level="same")
    assert pair.truth.shape == pair.reference.shape == (SIDE, SIDE, 3)
    assert pair.small.shape == (SIDE // TIMES, SIDE // TIMES, 3)
    assert np.array_equal(pair.small, shrunk(pair.truth))


def test_pairs_follow_from_their_seeds(pairs):
    def reference(of, index, seed):
        return of.pair(index, seed, level="same").reference

    again = DrawnPairs("test", 24)
    assert np.array_equal(reference(pairs, 5, 3), reference(again, 5, 3))
    for other in (reference(pairs, 5, 4), reference(pairs, 6, 3), reference(DrawnPairs("val", 24), 5, 3)):
        assert not np.array_equal(reference(pairs, 5, 3), other)
    assert DrawnPairs("test", 36).digest != pairs.digest


def test_what_is_shown_does_not_depend_on_the_reference(pairs):
    truths = [pairs.pair(5, level=level).truth for level in LEVELS]
    assert all(np.array_equal(truth, truths[0]) for truth in truths)


def test_references_are_as_alike_as_their_level_says(pairs):
    same, shuffled = (pairs.pair(5, 1, level=level).reference for level in ("same", "shuffled"))
    assert np.array_equal(np.sort(same.reshape(-1, 3), 0), np.sort(shuffled.reshape(-1, 3), 0))
    assert not np.array_equal(same, shuffled)
    draw = np.random.default_rng(0)
    for of_kind in (True, False):
        others = {pairs.another(5, draw, of_kind=of_kind) for _ in range(20)}
        assert 5 not in others
        assert {label_of(other, "test") == label_of(5, "test") for other in others} == {of_kind}


def test_a_pose_keeps_most_of_the_scene(pairs):
    """Shifted by up to a tenth: no further from the picture than another scene is."""
    own, other = pairs.pair(5, 1, level="same"), pairs.pair(5, 1, level="other")
    apart = [np.abs(each.reference.astype(float) - each.truth).mean() for each in (own, other)]
    assert 0 < apart[0] < apart[1]


def test_levels_are_drawn_by_their_shares(pairs):
    assert sum(SHARES) == pytest.approx(1)
    scene = np.zeros((2 * SIDE, 2 * SIDE, 3), np.uint8)
    drawn = [pairs.pair(5, seed, scene=lambda index: scene).level for seed in range(100)]
    assert set(drawn) == set(LEVELS)
    assert drawn.count("same") / 100 == pytest.approx(SHARES[0], abs=0.1)


def test_what_there_is_not_is_said():
    with pytest.raises(DatasetError, match="24 scenes"):
        DrawnPairs("test", 3)
    with pytest.raises(DatasetError, match="likeness 'equal'"):
        DrawnPairs("test", 24).pair(0, level="equal")
