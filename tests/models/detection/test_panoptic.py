"""Panoptic quality: by hand, and beside torchmetrics."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from vizkit.models.detection.panoptic import ious, matches, quality
from vizkit.models.detection.segmenting import Segments

TRUTH = Segments(np.array([[1, 1, 1, 0], [1, 2, 2, 0]], np.uint8), np.array([3, 5]))


def test_iou_by_hand():
    said = Segments(np.array([[1, 1, 0, 0], [1, 1, 2, 2]], np.uint8), np.array([3, 5]))
    assert_allclose(ious(said, TRUTH), [[3 / 5, 1 / 5], [0, 1 / 3]])
    assert matches(said, TRUTH) == [(0, 0, pytest.approx(0.6))]
    found = quality([said], [TRUTH], 6)
    assert found.pq == pytest.approx((0.6 + 0) / 2)
    assert found.segmentation == pytest.approx(0.3)
    assert found.recognition == pytest.approx(0.5)
    assert found.perfect == 0


def test_the_truth_is_perfect_and_another_class_is_none():
    empty = Segments(np.zeros((2, 4), np.uint8), np.zeros(0, int))
    assert quality([TRUTH, empty], [TRUTH, empty], 6).pq == quality([empty], [empty], 6).pq == 1
    assert quality([TRUTH, empty], [TRUTH, empty], 6).perfect == 1
    other = Segments(TRUTH.instances, np.array([4, 5]))
    assert quality([other], [TRUTH], 6).pq == pytest.approx(1 / 3)  # of three classes one is right
    assert quality([TRUTH], [empty], 6).pq == quality([empty], [TRUTH], 6).pq == 0


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_as_torchmetrics(seed):
    from torchmetrics.detection import PanopticQuality

    draw = np.random.default_rng(seed)
    labels = 3
    pictures = [(_drawn(draw, labels), _drawn(draw, labels)) for _ in range(3)]
    ours = quality([said for said, _ in pictures], [true for _, true in pictures], labels)
    metric = PanopticQuality(
        things=set(range(labels)), stuffs={labels}, return_per_class=True, allow_unknown_preds_category=True
    )
    metric.update(_coded([said for said, _ in pictures], labels), _coded([true for _, true in pictures], labels))
    by_class = metric.compute()[0, :labels]
    occurring = {int(label) for pair in pictures for each in pair for label in each.labels}
    assert ours.pq == pytest.approx(float(by_class[sorted(occurring)].mean()) if occurring else 1.0, abs=1e-5)


def _drawn(draw, labels):
    """Rectangles over one another; what is covered is left out."""
    instances, kept = np.zeros((8, 8), np.uint8), int(draw.integers(0, 4))
    for place in range(kept):
        top, left = draw.integers(0, 5, 2)
        instances[top : top + 4, left : left + 4] = place + 1
    present = np.unique(instances[instances > 0])
    compact = np.zeros(kept + 1, np.uint8)
    compact[present] = np.arange(1, len(present) + 1)
    return Segments(compact[instances], draw.integers(0, labels, len(present)))


def _coded(pictures, ground):
    """(picture, pixel row, pixel column, (class, instance)), the ground as one more class."""
    made = []
    for each in pictures:
        category = np.append(ground, each.labels)[each.instances]
        made.append(np.stack([category, np.where(each.instances > 0, each.instances, 0)], -1))
    return torch.from_numpy(np.stack(made).astype(int))
