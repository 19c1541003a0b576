"""Things in a picture of any size: boxes in its pixels, scores above a threshold, or nothing."""

import numpy as np
import pytest
import torch

from tests.models.detection.small import small_detector
from vizkit.models.detection.detecting import detect
from vizkit.models.networks.detr import Answers


def says(detector, monkeypatch, logits, boxes):
    answers = Answers(torch.tensor([logits]), torch.tensor([boxes]))
    monkeypatch.setattr(type(detector.model), "forward", lambda self, pixels: answers)


def test_boxes_are_in_pixels_of_the_picture(monkeypatch):
    detector = small_detector()
    says(
        detector,
        monkeypatch,
        [[0.0, 9.0, 0.0, 0.0], [8.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 9.0]],
        [[0.5, 0.5, 0.5, 0.5], [0.9, 0.25, 0.4, 0.5], [0.5] * 4],
    )
    bee, ant = detect(detector, np.zeros((40, 100, 3), np.uint8))
    assert (bee.label, ant.label) == ("bee", "ant")
    assert bee.score > ant.score > 0.9
    assert bee.box_xyxy == pytest.approx((25, 10, 75, 30))
    assert ant.box_xyxy == pytest.approx((70, 0, 100, 20))  # its right edge would lie 10 pixels outside


def test_the_threshold_decides_and_nothing_is_an_empty_list():
    detector, picture = small_detector(), np.zeros((50, 30, 3), np.uint8)
    everything = detect(detector, picture, 0.0)
    assert len(everything) == detector.queries
    scores = [each.score for each in everything]
    assert scores == sorted(scores, reverse=True)
    assert detect(detector, picture, scores[2]) == everything[:3]
    assert detect(detector, picture, 1.0) == []
    for wrong in (-0.1, 1.5, float("nan")):
        with pytest.raises(ValueError, match="between 0 and 1"):
            detect(detector, picture, wrong)
