"""Boxes against what is there: curves and kinds of mistakes by hand, and as torchmetrics counts them."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from vizkit.evaluation.scenes import boxes
from vizkit.evaluation.scenes.boxes import KINDS, Boxes, curves, measure, mistakes
from vizkit.models.detection.matching import Things
from vizkit.models.detection.precision import Found, precision

SIDE = 0.2


def squares(*rows):
    """Scene, label, middle from the left and from above, score."""
    table = np.array(rows, float).reshape(-1, 5)
    sides = np.full((len(table), 2), SIDE)
    places = np.concatenate([table[:, 2:4], sides], 1).astype(np.float32)
    return Boxes(table[:, 0].astype(int), table[:, 1].astype(int), places, table[:, 4].astype(np.float32))


def random_boxes(seed, scenes=40, labels=3):
    """Things, and boxes near them, of other classes and far away."""
    draw = np.random.default_rng(seed)
    there = np.sort(draw.integers(scenes, size=80)), draw.integers(labels, size=80)
    places = np.concatenate([draw.uniform(0.2, 0.8, (80, 2)), draw.uniform(0.1, 0.4, (80, 2))], 1).astype(np.float32)
    near = places + draw.normal(0, 0.03, places.shape).astype(np.float32)
    anywhere = np.concatenate([draw.uniform(0.2, 0.8, (60, 2)), draw.uniform(0.1, 0.4, (60, 2))], 1)
    scene = np.concatenate([there[0], draw.integers(scenes, size=60)])
    label = np.concatenate([np.where(draw.random(80) < 0.2, draw.integers(labels, size=80), there[1])]) % labels
    label = np.concatenate([label, draw.integers(labels, size=60)])
    boxes_of = np.concatenate([near, anywhere]).astype(np.float32)
    said = Boxes(scene, label, boxes_of, draw.random(140).astype(np.float32))
    return said, Boxes(*there, places, np.ones(80, np.float32))


def as_torch(said, there, scenes):
    def of(boxes, scene):
        rows = boxes.where(boxes.scene == scene)
        return Things(torch.from_numpy(rows.labels), torch.from_numpy(rows.boxes_cxcywh)), torch.from_numpy(rows.scores)

    return [Found(*of(said, each)) for each in range(scenes)], [of(there, each)[0] for each in range(scenes)]


@pytest.mark.parametrize("seed", [0, 1])
def test_the_area_below_the_curves_is_torchmetrics_precision(seed):
    said, there = random_boxes(seed)
    expected = precision(*as_torch(said, there, 40), 3)
    measured = measure(said, there, 3, 40)
    for name in ("ap", "ap50", "ap75"):
        assert getattr(measured, name).value == pytest.approx(getattr(expected, name), abs=1e-6)
    assert measured.by_label == pytest.approx(expected.by_label, abs=1e-6)
    area = curves(said, there, 3, np.ones((1, 40)))[0, 0].mean(-1)
    assert area == pytest.approx(expected.by_label, abs=1e-6)


def test_a_curve_by_hand():
    """Of two things the surest box finds one, the next is wrong, the third finds the other: precision 1 to recall ½,
    then ⅔. Of 101 recalls 51 are not above ½: the area is (51 + 50 · ⅔) / 101."""
    there = squares((0, 0, 0.3, 0.3, 1), (1, 0, 0.5, 0.5, 1))
    said = squares((1, 0, 0.5, 0.5, 0.9), (0, 0, 0.8, 0.8, 0.8), (0, 0, 0.3, 0.3, 0.7))
    curve = curves(said, there, 1, np.ones((1, 2)))[0, 0, 0]
    assert_allclose(curve, [1.0] * 51 + [2 / 3] * 50)
    assert measure(said, there, 1, 2).ap50.value == pytest.approx((51 + 50 * 2 / 3) / 101)


def test_the_order_of_the_scores_changes_nothing():
    said, there = random_boxes(2)
    order = np.random.default_rng(9).permutation(len(said))
    turned = Boxes(said.scene[order], said.labels[order], said.boxes_cxcywh[order], said.scores[order])
    assert measure(turned, there, 3, 40) == measure(said, there, 3, 40)
    assert mistakes(turned, there, 0.3).counts == mistakes(said, there, 0.3).counts
    assert_array_equal(mistakes(turned, there).by_scene(40), mistakes(said, there).by_scene(40))


def test_scenes_drawn_once_each_are_the_point_and_drawn_twice_are_two_scenes(monkeypatch):
    said, there = random_boxes(3)

    class Once:
        def multinomial(self, scenes, shares, draws):
            return np.ones((draws, scenes))

    point = measure(said, there, 3, 40)
    assert point.ap.low < point.ap.value < point.ap.high
    monkeypatch.setattr(boxes.np.random, "default_rng", lambda seed: Once())
    monkeypatch.setattr(boxes, "share_interval", lambda right: point.faultless)
    once = measure(said, there, 3, 40)
    for each in (once.ap, once.ap50, once.ap75):
        assert each.low == pytest.approx(each.value, abs=1e-12) == each.high
    weights = np.arange(40) % 3.0  # none, one and two of a scene
    doubled = [
        Boxes(
            np.concatenate([each.scene, (each.scene + 40)[each.scene % 3 == 2]])[keep],
            np.concatenate([each.labels, each.labels[each.scene % 3 == 2]])[keep],
            np.concatenate([each.boxes_cxcywh, each.boxes_cxcywh[each.scene % 3 == 2]])[keep],
            np.concatenate([each.scores, each.scores[each.scene % 3 == 2]])[keep],
        )
        for each in (said, there)
        for keep in [np.concatenate([each.scene % 3 > 0, np.ones((each.scene % 3 == 2).sum(), bool)])]
    ]
    drawn = curves(said, there, 3, weights[None]).mean(-1)
    assert_allclose(drawn, curves(*doubled, 3, np.ones((1, 80))).mean(-1), atol=1e-12)


def test_kinds_of_mistakes_by_hand():
    """Squares of .2 that are apart by .1 on one side overlap by an IoU of ⅓."""
    there = squares(
        (0, 0, 0.3, 0.3, 1), (0, 1, 0.7, 0.7, 1), (1, 0, 0.5, 0.5, 1), (2, 1, 0.5, 0.5, 1), (3, 1, 0.2, 0.2, 1)
    )
    said = squares(
        (0, 0, 0.31, 0.3, 0.6),  # said twice: the next is surer
        (0, 0, 0.3, 0.3, 0.9),
        (0, 0, 0.7, 0.7, 0.8),  # wrong class
        (1, 0, 0.6, 0.5, 0.8),  # badly placed
        (2, 0, 0.6, 0.5, 0.8),  # both
        (4, 1, 0.5, 0.5, 0.7),  # out of nothing
        (3, 1, 0.2, 0.2, 0.4),  # not sure enough: its thing is missed
    )
    found = mistakes(said, there)
    assert [KINDS[kind] for kind in found.kind] == [
        "said twice",
        "right",
        "wrong class",
        "badly placed",
        "wrong class and place",
        "out of nothing",
    ]
    assert found.missed.tolist() == [False, True, True, True, True], "also those that a wrong box lies on"
    assert found.by_scene(5).tolist() == [3, 2, 2, 1, 1]
    assert found.by_scene(5, "missed").tolist() == [1, 1, 1, 1, 0]
    assert measure(said, there, 2, 6).faultless.value == pytest.approx(1 / 6)


@pytest.mark.parametrize("least", [0.0, 0.5, 0.9])
def test_kinds_of_mistakes_add_up(least):
    said, there = random_boxes(4)
    found = mistakes(said, there, least)
    counts = found.counts
    assert sum(counts[kind] for kind in KINDS) == (said.scores >= least).sum()
    assert counts["right"] + counts["missed"] == len(there)
    assert sum(found.by_scene(40, kind).sum() for kind in (*KINDS[1:], "missed")) == found.by_scene(40).sum()


def test_without_things_or_boxes():
    nothing, one = squares(), squares((0, 0, 0.5, 0.5, 0.9))
    assert np.isnan(measure(one, nothing, 1, 2).ap.value)
    assert measure(nothing, one, 1, 2).ap.value == 0
    assert mistakes(nothing, one).counts["missed"] == 1
    assert measure(nothing, nothing, 1, 2).faultless.value == 1
