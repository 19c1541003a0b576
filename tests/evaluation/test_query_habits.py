"""What queries tend to answer: counted over pictures, kept as a file, and how far apart they are."""

import json
import math

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from vizkit.datasets.scenes.annotated import Annotated, BoxSet
from vizkit.evaluation.query_habits import Habits, habits, habits_from
from vizkit.image import Preprocessing
from vizkit.models.detection.building import Backbone, backbone_of, build
from vizkit.models.detection.opening import Detector

SIZES = {"dim": 16, "heads": 2, "hidden": 16, "encoder_depth": 1, "decoder_depth": 1, "queries": 5, "groups": 1}


def made_of(queries, boxes):
    count = len(queries)
    return Habits(
        9, 0.5, 3, np.array(queries, int), np.zeros(count, int), np.ones(count), np.array(boxes, float).reshape(-1, 4)
    )


def test_queries_with_a_place_of_their_own_are_told_from_others():
    left, right = [0.2, 0.5, 0.1, 0.1], [0.8, 0.5, 0.1, 0.1]
    assert made_of([0, 0, 1], [left, left, right]).apart() == 0
    assert made_of([0, 1, 0, 1], [left, left, right, right]).apart() == 1
    assert math.isnan(made_of([], []).apart())
    assert made_of([0, 0, 1], [left, left, right]).of(1).boxes_cxcywh.tolist() == [right]


def test_all_boxes_above_the_threshold_are_counted_and_kept():
    torch.manual_seed(0)
    args = {"layers": [1, 1], "channels": [16, 32], "stem_chs": 8}
    model = build("detr_small", 3, backbone_of(Backbone("resnetv2_18d", args)), SIZES).eval()
    needs = Preprocessing((64, 64), (0.5,) * 3, (0.5,) * 3, 1.0, "squash", "bilinear")
    detector = Detector("tiny", model, ("a", "b", "c"), needs, "mit")
    draw = np.random.default_rng(0)
    pictures = draw.integers(0, 256, (12, 50, 70, 3), np.uint8)
    scenes = BoxSet(
        "x",
        "test",
        ("a", "b", "c"),
        12,
        lambda index: Annotated(pictures[index], np.zeros((0, 4)), np.zeros(0, int)),
        "",
    )
    heard = []
    made = habits(detector, scenes, 0.0, heard.append)
    assert heard == [10, 12]
    assert np.bincount(made.queries).tolist() == [12] * 5
    some = habits(detector, scenes, float(np.median(made.scores)))
    assert 0 < len(some.queries) < 60
    assert len(habits(detector, scenes, 1.0).queries) == 0
    again = habits_from(json.loads(json.dumps(made.to_json())))
    assert_allclose(again.boxes_cxcywh, made.boxes_cxcywh, atol=1e-4)
    assert (again.queries == made.queries).all()
    assert again.apart() == pytest.approx(made.apart(), abs=1e-2)
