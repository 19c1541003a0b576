"""Detectors judged on scenes: numbers worked by hand, and what a measure says of a model that knows everything."""

import os

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from benchmarks.bundled.scenes_looking import densities, looking
from benchmarks.bundled.scenes_measured import measure
from benchmarks.detection import page
from tests.models.detection.small import small_detector
from vizkit.datasets.image_set import DatasetError, digest_of
from vizkit.datasets.scenes.annotated import Annotated, BoxSet
from vizkit.evaluation.scenes import judging
from vizkit.evaluation.scenes.boxes import measure as measured_again
from vizkit.evaluation.scenes.judging import judge, things_in
from vizkit.evaluation.scenes.outcome import SceneOutcome
from vizkit.explanations.job import StoppedError
from vizkit.models.networks.detr import Answers
from vizkit.writing import read_record, write_record

BOXES = [[0, 0, 32, 32], [32, 32, 64, 64]]


def scene(labels, place=0):
    instances = np.zeros((64, 64), np.uint8)
    for number, (left, top, right, bottom) in enumerate(BOXES[: len(labels)], 1):
        instances[top:bottom, left:right] = number
    boxes = np.array(BOXES[: len(labels)], float).reshape(-1, 4)
    return Annotated(np.full((64, 64, 3), place, np.uint8), boxes, np.array(labels, np.int64), instances)


def box_set(labels, *scenes):
    digest = digest_of(*(part.tobytes() for each in scenes for part in (each.picture, each.boxes_xyxy, each.labels)))
    return BoxSet("toy", "test", labels, len(scenes), lambda index: scenes[index], digest, ("one was left out.",))


def knowing(detector, monkeypatch, scenes):
    """The model says of picture n, whose pixels are n, just what is in it."""

    def forward(self, pixels):
        logits, boxes = torch.full((len(pixels), 6, 4), -20.0), torch.full((len(pixels), 6, 4), 0.5)
        logits[..., -1] = 20.0
        for row, image in enumerate(pixels):
            things = things_in(scenes[round((float(image.mean()) * 0.5 + 0.5) * 255)])
            for query, (label, box) in enumerate(zip(things.labels, things.boxes_cxcywh, strict=True)):
                logits[row, query, label], logits[row, query, -1] = 20.0, -20.0
                boxes[row, query] = box
        return Answers(logits, boxes)

    monkeypatch.setattr(type(detector.model), "forward", forward)


def test_who_knows_the_answers_makes_no_mistake(monkeypatch):
    scenes = [scene([0, 1], 0), scene([], 1), scene([2], 2)]
    detector = small_detector()
    knowing(detector, monkeypatch, scenes)
    outcome = judge([detector], box_set(("ant", "bee", "wasp"), *scenes), {})
    (row,) = outcome.models
    assert (row.measures.ap.value, row.measures.ap50.value) == (1.0, 1.0)
    assert (row.measures.faultless.value, outcome.scenes, outcome.things) == (1.0, 3, [1, 1, 1])
    assert outcome.notes == ("one was left out.",)


def test_what_is_kept_is_what_was_judged(tmp_path):
    """Every box of every model, in one file; what is measured of them again is the same."""
    scenes, told = box_set(("ant", "bee", "wasp"), scene([0, 1], 0), scene([], 1), scene([2], 2)), []
    outcome = judge(
        [small_detector(), small_detector(seed=1)], scenes, {"name": "toy"}, lambda *said: told.append(said[:4])
    )
    write_record(tmp_path / "outcome.npz", outcome)
    again = read_record(tmp_path / "outcome.npz", SceneOutcome)
    assert [row.name for row in again.models] == ["small", "small (2)"]
    assert told == [(0, "small", 3, 3), (1, "small (2)", 3, 3)]
    for row, other in zip(outcome.models, again.models, strict=True):
        assert row.measures == other.measures == measured_again(other.said, again.there, 3, 3)
        for name in ("scene", "labels", "boxes_cxcywh", "scores"):
            assert_array_equal(getattr(row.said, name), getattr(other.said, name))
        assert len(row.said) == 3 * 6  # queries
    assert [path.name for path in tmp_path.glob("out*")] == ["outcome.npz"]


@pytest.mark.rest
def test_stopped_it_goes_on_and_what_was_said_is_never_asked_again(monkeypatch):
    scenes, asked, told = box_set(("ant", "bee", "wasp"), scene([0, 1], 0), scene([], 1), scene([2], 2)), [], []
    whole, real = judge([small_detector()], scenes, {}), judging.found
    monkeypatch.setattr(judging, "BATCH", 1)
    monkeypatch.setattr(judging, "found", lambda answers: asked.append(1) or real(answers))
    monkeypatch.setenv("VIZKIT_CACHE", os.environ["VIZKIT_CACHE"] + " two")
    with pytest.raises(StoppedError):
        judge([small_detector()], scenes, {}, stopping=lambda: True)
    assert len(asked) == 1
    again = judge([small_detector()], scenes, {}, lambda *said: told.append(said[2]))
    assert (len(asked), told) == (3, [2, 3])
    assert again.models[0].measures == whole.models[0].measures
    judge([small_detector()], scenes, {})
    assert len(asked) == 3
    judge([small_detector(seed=1)], scenes, {})
    assert len(asked) == 6


def test_classes_are_the_same_where_their_names_are(monkeypatch):
    scenes = [scene([0, 1], 0), scene([2], 1)]
    detector = small_detector()
    knowing(detector, monkeypatch, scenes)
    named = box_set(("ant", "bee", "moth"), *scenes)  # the model says "wasp" where the data says "moth"
    outcome = judge([detector], named, {})
    assert outcome.models[0].measures.by_label == (1.0, 1.0, 0.0)
    assert outcome.models[0].measures.faultless.value == 0.5
    assert any("does not know moth" in note for note in outcome.notes)
    assert any("wasp is not counted" in note for note in outcome.notes)
    with pytest.raises(DatasetError, match="no class in common"):
        judge([detector], box_set(("moth", "louse", "flea"), *scenes), {})


def test_attention_per_pixel_by_hand():
    # 2 × 2 cells of 32 × 32 pixels; thing 1 is all of the first cell, thing 2 all of the last.
    weights = torch.tensor([[0.6, 0.1, 0.1, 0.2], [0.25, 0.25, 0.25, 0.25]])
    instances = scene([0, 1]).instances
    found = densities(weights, (2, 2), instances, (torch.tensor([0, 1]), torch.tensor([0, 1])))
    assert_allclose(found, [[2.4, 0.8], [1.0, 1.0]], rtol=1e-5)
    exchanged = densities(weights, (2, 2), instances, (torch.tensor([0]), torch.tensor([1])))
    assert_allclose(exchanged, [[0.8, 2.4]], rtol=1e-5)
    assert densities(weights, (2, 2), scene([0]).instances, (torch.tensor([0]), torch.tensor([0]))).shape == (0, 2)


def test_the_ratio_is_that_of_the_means():
    result = looking([np.array([[3.0, 1.0], [1.0, 1.0]]), np.zeros((0, 2)), np.array([[2.0, 1.0]])])
    assert result.ratio == 2.0
    assert (result.median, result.queries) == (2.0, 3)
    assert result.low <= 2.0 <= result.high
    with pytest.raises(ValueError, match="two things"):
        looking([np.zeros((0, 2))])


def test_all_is_measured_in_one_pass():
    scenes = [scene([0, 1], 40), scene([2], 80), scene([], 120)]
    detector = small_detector()
    data = box_set(("ant", "bee", "wasp"), *scenes)
    measured = measure(detector, data)
    (row,) = judge([detector], data, {}).models
    assert measured.whole.precision.ap == pytest.approx(row.measures.ap.value, abs=1e-4)  # recorded or not
    assert measured.whole.faultless == row.measures.faultless.value
    assert (measured.scenes, measured.things) == (3, (1, 1, 1))
    assert len(measured.looking) == len(detector.model.decoder)
    assert all(each.queries == 2 for each in measured.looking)


@pytest.mark.parametrize("fourth, expected", [(3.5, 1), (2.0, 0)])
def test_scenes_are_counted_in_which_the_cheapest_pair_first_costs_more(monkeypatch, fourth, expected):
    """Costs 1, 2 / 2, x: the cheapest pair first takes 1 + x; the least sum is 2 + 2 where x is above 3."""
    from benchmarks.bundled import scenes_measured as measured
    from vizkit.models.detection.matching import Costs

    def told(answers, things):
        total = torch.full((answers.logits.shape[1], len(things.labels)), 9.0)
        if len(things.labels) == 2:
            total[:2] = torch.tensor([[1.0, 2.0], [2.0, fourth]])
        return Costs(total, torch.zeros_like(total), torch.zeros_like(total))

    monkeypatch.setattr(measured, "costs_of", told)
    detector = small_detector()
    data = box_set(("ant", "bee", "wasp"), scene([0, 1], 40), scene([2], 80), scene([], 120))
    assert measure(detector, data).differing == (expected,) * len(detector.model.decoder)


def test_the_ablation_lets_no_query_look_at_another(monkeypatch):
    detector, asked = small_detector(), []
    inner = type(detector.model).decoded

    def decoded(self, memory, place, *, self_attention=True):
        asked.append(self_attention)
        return inner(self, memory, place, self_attention=self_attention)

    monkeypatch.setattr(type(detector.model), "decoded", decoded)
    measure(detector, box_set(("ant", "bee", "wasp"), scene([0, 1], 40)))
    assert asked.count(False) == 1


def test_the_page_holds_what_was_measured():
    said = {
        "precision": {"ap": 0.5, "ap50": 0.8125, "ap75": 0.6, "by_label": [0.75, 0.875]},
        "faultless": 0.25,
        "duplicates": 0.125,
    }
    line = {"epoch": 1, "train_loss": 2.0, "val_ap50": 0.4, "val_ap": 0.2, "seconds": 90.0}
    text = page(
        {
            "scenes": 1000,
            "parameters": 12345,
            "labels": ["ant", "bee"],
            "things": [3, 4],
            "minutes": 5.0,
            "threads": 1,
            "whole": said,
            "alone": said | {"duplicates": 2.5},
            "looking": [{"ratio": 7.25, "low": 7.0, "high": 7.5, "median": 9.0, "queries": 5}],
            "differing": [4, 0],
            "curves": {"detr-small": [line, line | {"epoch": 2}]},
        }
    )
    for part in (
        "AP50 0.812",
        "| bee | 4 | 0.875 |",
        "| 1, the last | 7.2 | 7.0 to 7.5 | 9.0 |",
        "| 2.50 |",
        "| 2 | 3 | 2.00 | 0.400 | 0.200 |",
        "12,345",
        "5.0 minutes on one core",
        "4 after layer 1, 0 after layer 2",
    ):
        assert part in text
