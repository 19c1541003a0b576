"""The evaluations that come with vizkit are of its own models, on pictures as they are drawn today."""

import json

import numpy as np
import pytest

import vizkit
from vizkit.evaluation.answer_cache import weights_digest
from vizkit.evaluation.outcome import read
from vizkit.evaluation.pictures import open_pictures
from vizkit.evaluation.scenes.boxes import measure
from vizkit.models.detection.opening import BUNDLED, open_detector
from vizkit.views import bundled
from vizkit.views.evaluate.recorded import RECORDED, SETS, outcome_of, scene_set, scenes_of
from vizkit.views.evaluate.results import Results
from vizkit.views.subject import Subject, no_model, no_picture


@pytest.mark.parametrize("name", SETS)
def test_a_recorded_evaluation_is_of_these_pictures_and_weights(name):
    """If this fails: `python -m vizkit evaluate insects --images 1000 --model … -o insects.npz` records it anew."""
    found = read(RECORDED / f"{name}.npz")
    assert open_pictures(**found.opened).digest == found.digest
    assert (RECORDED / f"{name}.npz").stat().st_size < 200_000
    for row, judged in zip(found.models, found.judged, strict=True):
        assert weights_digest(vizkit.load(f"bundled:{row.name}", device="cpu").model) == row.weights
        assert row.measures.accuracy.value == pytest.approx(judged.right.mean())
        if name == "digits":
            result = json.loads((bundled.FOLDER / row.name / "result.json").read_text())
            assert (result["test_accuracy"], result["test_images"]) == (pytest.approx(judged.right.mean()), 359)


def test_the_recorded_boxes_are_of_these_scenes_and_weights():
    """If this fails: `python -m benchmarks scenes` records them anew."""
    found = scenes_of("scenes")
    assert scene_set(found, 64).name == "scenes"
    assert (RECORDED / "scenes.npz").stat().st_size < 300_000
    (row,) = found.models
    assert weights_digest(open_detector("bundled:scenes_detr").model) == row.weights
    assert measure(row.said, found.there, len(found.labels), found.scenes) == row.measures
    measured = json.loads((BUNDLED / "scenes_detr" / "measured.json").read_text())["whole"]
    assert row.measures.faultless.value == measured["faultless"]
    for name in ("ap", "ap50", "ap75"):
        assert getattr(row.measures, name).value == pytest.approx(measured["precision"][name], abs=1e-4)


def test_some_of_its_models_alone_are_corrected_for_their_own_pairs():
    whole = outcome_of("digits")
    two = whole.among([0, 3])
    assert [row.name for row in two.models] == ["ViT", "Dual-scale"]
    (pair,) = two.pairs
    (same,) = [each for each in whole.pairs if {each.a, each.b} == {pair.a, pair.b}]
    assert pair.p == same.p == pair.corrected
    assert (whole.models[0], same.pairs, pair.pairs) == (two.models[0], 21, 1)
    assert same.corrected > 0.05 > pair.corrected  # seven models ask more questions than two
    assert np.array_equal(two.judged[1].answer, whole.judged[3].answer)


def test_the_models_of_the_sidebar_decide_what_is_shown_first():
    of = Subject(no_model, no_picture())
    assert Results().title(of) == "6 models on 1,000 pictures of insects"
    of.chosen = ["bundled:digits_cnn", "run:mine"]
    assert Results().title(of) == "7 models on 359 pictures of digits"
    of.chosen = ["bundled:digits_cnn", "bundled:digits_mlp"]
    assert Results().title(of) == "2 models on 359 pictures of digits"
    assert outcome_of("../digits") is None
    assert outcome_of("0" * 64) is None
