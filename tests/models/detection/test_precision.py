"""Which boxes are right, by hand."""

import pytest
import torch

from vizkit.models.detection.matching import Things
from vizkit.models.detection.precision import Found, all_right, precision, which_right

SIDE = 0.2


def things(*rows):
    """Squares of one size: label, middle from the left and from above."""
    return Things(
        torch.tensor([row[0] for row in rows], dtype=torch.long),
        torch.tensor([[*row[1:], SIDE, SIDE] for row in rows]).reshape(-1, 4),
    )


def test_a_thing_is_found_once_by_a_box_of_its_class():
    truth = things((1, 0.3, 0.3), (2, 0.7, 0.7))
    again, other_class, nowhere = (1, 0.3, 0.3), (1, 0.7, 0.7), (2, 0.1, 0.9)
    said = things((1, 0.31, 0.3), again, other_class, (2, 0.7, 0.68), nowhere)
    assert which_right(said, truth).tolist() == [True, False, False, True, False]


def test_two_things_that_overlap_are_found_by_two_boxes_and_not_by_a_third():
    """Moved by .03, squares of .2 overlap by .17 / .23; by .1 they do by .1 / .3, which is too little."""
    truth = things((1, 0.30, 0.5), (1, 0.34, 0.5))
    said = things((1, 0.31, 0.5), (1, 0.31, 0.5), (1, 0.31, 0.5))
    assert which_right(said, truth).tolist() == [True, True, False]
    assert which_right(things((1, 0.4, 0.5)), things((1, 0.3, 0.5))).tolist() == [False]


def test_without_things_or_boxes_nothing_is_right():
    assert which_right(things((1, 0.3, 0.3)), things()).tolist() == [False]
    assert which_right(things(), things((1, 0.3, 0.3))).tolist() == []


def test_as_many_boxes_as_things_are_not_all_right_when_one_is_said_twice():
    """The third box lies on two things; the first is found twice."""
    truth = things((0, 0.2, 0.2), (0, 0.60, 0.6), (0, 0.64, 0.6))
    said = things((0, 0.2, 0.2), (0, 0.2, 0.2), (0, 0.62, 0.6))
    assert not all_right(Found(said, torch.tensor([0.9, 0.8, 0.7])), truth)
    assert all_right(Found(truth, torch.tensor([0.9, 0.8, 0.7])), truth)
    assert not all_right(Found(truth, torch.tensor([0.9, 0.8, 0.4])), truth)
    assert all_right(Found(things(), torch.zeros(0)), things())


def test_average_precision():
    """Of class 0 a box on nothing comes first and the right one second: precision ½ at every threshold. That of class 1
    overlaps by .2 − d over .2 + d = .62 with d = .0469: right at .5, .55 and .6 of ten thresholds. No class 2."""
    truth = things((0, 0.3, 0.3), (1, 0.7, 0.7))
    said = things((0, 0.1, 0.9), (0, 0.3, 0.3), (1, 0.7 + 0.0469, 0.7))
    got = precision([Found(said, torch.tensor([0.9, 0.8, 0.7]))], [truth], 3)
    assert (got.ap, got.ap50, got.ap75) == pytest.approx((0.4, 0.75, 0.25), abs=1e-3)
    assert got.by_label == pytest.approx((0.5, 1.0, -1.0), abs=1e-3)


def test_of_many_boxes_the_hundred_surest_count_without_a_warning():
    many = things(*[(0, 0.3, 0.3)] * 101)
    assert precision([Found(many, torch.linspace(1, 0.5, 101))], [things((0, 0.3, 0.3))], 1).ap50 == pytest.approx(1)


def test_half_an_overlap_is_enough():
    """Half of a square of .5 is an IoU of ½, in binary fractions."""
    whole, half = torch.tensor([[0.5, 0.5, 0.5, 0.5]]), torch.tensor([[0.5, 0.375, 0.5, 0.25]])
    label = torch.tensor([0])
    assert which_right(Things(label, half), Things(label, whole)).tolist() == [True]
    assert all_right(Found(Things(label, half), torch.tensor([0.5])), Things(label, whole))
