"""Overlaps and doubles of boxes, and the attention that each thing gets."""

import numpy as np
import pytest
import torch
from torch.testing import assert_close
from torchvision.ops import box_convert, box_iou

from vizkit.analysis.detection.boxes import best_overlap, corners, duplicates, overlaps
from vizkit.analysis.detection.instances import instance_at, own_and_others


def test_overlaps_agree_with_torchvision():
    torch.manual_seed(0)
    boxes, others = torch.rand(11, 4) * 0.6, torch.rand(7, 4) * 0.6
    converted = [box_convert(each, "cxcywh", "xyxy") for each in (boxes, others)]
    assert_close(corners(boxes), converted[0])
    assert_close(overlaps(boxes, others), box_iou(*converted))


def test_boxes_without_extent_overlap_nothing():
    assert overlaps(torch.zeros(1, 4), torch.zeros(1, 4)).tolist() == [[0.0]]


def test_doubles_are_of_the_same_class_and_less_sure():
    near, far = [0.5, 0.5, 0.4, 0.4], [0.1, 0.1, 0.1, 0.1]
    boxes = torch.tensor([near, near, near, far])
    assert duplicates(torch.tensor([2, 2, 1, 2]), boxes).tolist() == [False, True, False, False]
    assert duplicates(torch.zeros(0, dtype=torch.long), torch.zeros(0, 4)).tolist() == []


def test_the_best_overlap_and_none():
    box = torch.tensor([0.5, 0.5, 0.4, 0.4])
    others = torch.tensor([[0.1, 0.1, 0.1, 0.1], [0.5, 0.5, 0.4, 0.2]])
    assert best_overlap(box, others) == (1, pytest.approx(0.5))
    assert best_overlap(box, others[:1]) is None
    assert best_overlap(box, others[:0]) is None


MASKS = np.zeros((4, 8), np.uint8)
MASKS[:, :2], MASKS[:2, 6:] = 1, 2  # thing 1 fills the first of four cells, thing 2 half of the last


def test_attention_per_pixel_by_hand():
    """A row of four cells; all weight on the first: there 4 × the mean. Evenly: 1 everywhere."""
    for weights, expected in (
        ([1.0, 0.0, 0.0, 0.0], (4.0, 0.0, 0.0)),
        ([0.25] * 4, (1.0, 1.0, 1.0)),
        ([0.5, 0.0, 0.0, 0.5], (2.0, 2.0, 0.4)),
    ):
        own = own_and_others(torch.tensor([weights]), MASKS, 1)
        assert (own.own, own.others, own.ground) == pytest.approx(expected)


def test_a_thing_alone_has_no_others_and_an_unknown_one_is_refused():
    alone = np.where(MASKS == 1, MASKS, 0)
    assert own_and_others(torch.ones(1, 4), alone, 1).others is None
    with pytest.raises(ValueError, match="no 2"):
        own_and_others(torch.ones(1, 4), alone, 2)


def test_the_thing_at_a_point():
    assert [instance_at(MASKS, at) for at in ((0.0, 0.99), (0.5, 0.5), (0.99, 0.1), (0.99, 0.9), (1.0, 1.0))] == [
        1,
        0,
        2,
        0,
        0,
    ]
