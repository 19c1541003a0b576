"""How much of a classifier's relevance lies in boxes."""

import math

import numpy as np
import pytest
import torch

from vizkit.evaluation.beside_classifier import in_boxes, relevance_of
from vizkit.models import load


def test_by_hand():
    heat = torch.tensor([[3.0, 1.0], [-5.0, 0.0]])
    assert in_boxes(heat, torch.tensor([[1.0, 0.0], [1.0, 1.0]])) == pytest.approx(0.75)
    assert in_boxes(heat, torch.tensor([[0.5, 1.0], [0.0, 0.0]])) == pytest.approx(0.625)
    assert math.isnan(in_boxes(torch.zeros(2, 2), torch.ones(2, 2)))


def test_boxes_of_a_picture_share_its_relevance():
    loaded = load("bundled:digits_vit", device="cpu")
    picture = np.random.default_rng(0).integers(0, 256, (32, 32, 3), np.uint8)
    boxes = np.array([[0, 0, 16, 32], [16, 0, 32, 32], [0, 0, 8, 8]], float)
    left, right = (relevance_of(label, loaded, picture, boxes, np.array([7, 2, 7])) for label in (7, 2))
    assert (left.label, right.label) == (7, 2)
    assert left.share + left.others == pytest.approx(1, abs=1e-5)
    assert left.area == right.area == pytest.approx(0.5)
    whole = relevance_of(7, loaded, picture, np.array([[0, 0, 32, 32.0]]), np.array([7]))
    assert whole.share == pytest.approx(1)
    assert whole.others == 0
