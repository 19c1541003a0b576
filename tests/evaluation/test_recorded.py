"""The evaluations that come with vizkit are of its own models, on pictures as they are drawn today."""

import json
import shutil
from itertools import combinations

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from safetensors.torch import load_file, save_file

import vizkit
from vizkit.datasets.scenes.opening import open_boxes
from vizkit.evaluation.outcome import Outcome
from vizkit.evaluation.pictures import open_pictures
from vizkit.evaluation.scenes.boxes import measure
from vizkit.evaluation.scenes.judging import judge
from vizkit.explanations.kept import weights_digest
from vizkit.models import pixels_of
from vizkit.models.detection.opening import BUNDLED, open_detector
from vizkit.models.sequences import open_sequence
from vizkit.models.sequences.opening import BUNDLED as SEQUENCES
from vizkit.traces import NotApplicable
from vizkit.training.sequences.answers import TextAnswers, answered
from vizkit.views import bundled
from vizkit.views.blocks import Chart, Hint, Said, Table
from vizkit.views.detection import detectors
from vizkit.views.detection.detectors import Detectors
from vizkit.views.evaluate.measured import finding, pairs
from vizkit.views.evaluate.recorded import PICTURES, RECORDED, SCENES, judging, scene_set
from vizkit.views.evaluate.results import Results, models, outcome
from vizkit.views.sequences import texts
from vizkit.views.sequences.memory import Memory
from vizkit.views.sequences.texts import both
from vizkit.views.settled import flat
from vizkit.views.subject import Subject, no_model, no_picture
from vizkit.writing import read_record

TEXTS = read_record(RECORDED / "texts.npz", dict[str, TextAnswers])

FIRST = 24


@pytest.mark.parametrize("name", ["insects", "insects_hard"])
def test_insects_are_drawn_as_they_were_judged(name):
    """If this fails others are drawn: raise `vizkit.datasets.insects.EDITION` and record the evaluations anew."""
    found = read_record(RECORDED / f"{name}.npz", Outcome)
    pictures = open_pictures(**found.opened)
    row, judged = found.models[0], found.judged[0]
    loaded = vizkit.load(f"bundled:{row.name}")
    seen = torch.cat([pixels_of(loaded, pictures[index][0]) for index in range(FIRST)])
    with torch.no_grad():
        sure, answer = loaded.model(seen).softmax(1).max(1)
    assert answer.tolist() == judged.answer[:FIRST].tolist()
    assert_allclose(sure, judged.probability[:FIRST], atol=1e-3)


def test_scenes_are_drawn_as_they_were_judged():
    """The same."""
    found = SCENES.find("scenes")
    opened = dict(found.opened) | {"count": 6}
    fresh = judge([open_detector("bundled:scenes_detr")], open_boxes(**opened), opened)
    for mine, theirs in ((fresh.there, found.there), (fresh.models[0].said, found.models[0].said)):
        mine, theirs = (each.where((each.scene < 6) & (each.scores > 0.5)) for each in (mine, theirs))
        assert_array_equal(mine.labels, theirs.labels)
        assert_allclose(mine.boxes_cxcywh, theirs.boxes_cxcywh, atol=1e-3)


def test_another_score_draws_no_curve_and_no_scene_again(monkeypatch):
    of, drawn = Subject(no_model, no_picture()), []
    monkeypatch.setattr(detectors, "precision_recall", lambda *given: drawn.append("curve"))
    monkeypatch.setattr(detectors, "scene_set", lambda found, px: drawn.append(px) or scene_set(found, px))
    list(Detectors(scene=5, score=0.5).show(of))
    assert drawn.count("curve") == drawn.count(detectors.SHARP_PX) == 1
    list(Detectors(scene=5, score=0.6).show(of))
    assert drawn.count("curve") == drawn.count(detectors.SHARP_PX) == 1


@pytest.mark.rest
@pytest.mark.parametrize("name", PICTURES)
def test_a_recorded_evaluation_is_of_these_pictures_and_weights(name):
    """If this fails: `python -m vizkit evaluate insects --model … -o insects.npz` records it anew."""
    found = read_record(RECORDED / f"{name}.npz", Outcome)
    assert open_pictures(**found.opened).digest == found.digest
    assert (RECORDED / f"{name}.npz").stat().st_size < 200_000
    for row, judged in zip(found.models, found.judged, strict=True):
        assert weights_digest(vizkit.load(f"bundled:{row.name}").model) == row.weights
        assert row.measures.accuracy.value == pytest.approx(judged.right.mean())
        if name != "insects_hard" and row.size_hw == (found.opened["size_px"],) * 2:  # as its own test drew them
            result = json.loads((bundled.FOLDER / row.name / "result.json").read_text())
            assert (result["test_accuracy"], result["test_images"]) == (
                pytest.approx(judged.right.mean()),
                len(found.rows),
            )


@pytest.mark.rest
def test_the_recorded_boxes_are_of_these_scenes_and_weights():
    """If this fails: `python -m benchmarks scenes` records them anew."""
    found = SCENES.find("scenes")
    assert scene_set(found, 64).name == "scenes"
    assert (RECORDED / "scenes.npz").stat().st_size < 300_000
    (row,) = found.models
    assert weights_digest(open_detector("bundled:scenes_detr").model) == row.weights
    assert measure(row.said, found.there, len(found.labels), found.scenes) == row.measures
    measured = json.loads((BUNDLED / "scenes_detr" / "measured.json").read_text())["whole"]
    assert row.measures.faultless.value == measured["faultless"]
    for name in ("ap", "ap50", "ap75"):
        assert getattr(row.measures, name).value == pytest.approx(measured["precision"][name], abs=1e-4)


@pytest.mark.product
@pytest.mark.parametrize("name", sorted(TEXTS))
def test_the_recorded_answers_to_texts_are_those_of_the_test(name):
    """If this fails: `python -m benchmarks texts` records them anew."""
    found = TEXTS[name]
    result = json.loads((SEQUENCES / name / "result.json").read_text())
    whole, words = both(found)
    assert (whole.value, len(found.wrong)) == (result["test_accuracy"], result["test_images"])
    assert words.value == pytest.approx(result["test_answers_right"], abs=1e-9)
    assert len(found.worst) == min(12, (found.wrong > 0).sum())
    again = answered(open_sequence(f"bundled:{name}"), 130)
    for part in ("length", "asked", "wrong"):
        assert_array_equal(getattr(again, part), getattr(found, part)[:130])
    if not name.endswith("bert"):  # who writes a text wholly right has made no mistake on the way
        assert all(true != own for _, true, own in found.worst)


def test_a_run_of_one_s_own_is_measured_where_nothing_is_recorded(monkeypatch):
    monkeypatch.setattr(texts, "trained_texts", lambda: {"mine": str(SEQUENCES / "copy_rnn")})
    blocks = [*flat(Memory(task="texts", model="mine").show(Subject(no_model, no_picture())))]
    assert next(block.text for block in blocks if isinstance(block, Said)).startswith("mine answers 81 of 2,000 texts")
    (chart, *_) = [block for block in blocks if isinstance(block, Chart)]
    assert "RNN 4.1 % and 34.4 %" in chart.alt
    with pytest.raises(NotApplicable, match="not here"):
        list(Memory(task="texts", model="yours").show(Subject(no_model, no_picture())))


def test_every_pair_is_a_row_in_the_order_of_the_ranks():
    found = outcome([], Results(evaluated="insects"))
    assert finding(found, []).endswith(
        "on average it is too unsure by 8.0 points; Gradual, the best, is off by 0.9 (ECE)."
    )
    (table,) = pairs(found)
    rank = [row.name for row in sorted(found.models, key=lambda row: -row.measures.accuracy.value)]
    assert [(row["Model"], row["Against"]) for row in table.rows] == list(combinations(rank, 2))
    assert [row["Better"] for row in table.rows].count("yes") == sum(pair.significant for pair in found.pairs)


def test_a_model_of_the_sidebar_that_was_not_tested_is_named():
    of = Subject(no_model, no_picture())
    of.chosen = ["bundled:photographs_vit"]
    lines = [block.text for block in Results().show(of) if isinstance(block, Hint)]
    assert lines[0].startswith("ViT · photographs gives features, not classes: fine-tune it (page Train)")
    of.chosen = ["bundled:digits_cnn"]
    lines = [block.text for block in Results(evaluated="insects").show(of) if isinstance(block, Hint)]
    assert lines[0].startswith("CNN · digits was not tested on these images: evaluate it above. Shown instead: models")
    of.chosen = ["bundled:digits_cnn", "bundled:insects_cnn"]
    lines = [block.text for block in Results(evaluated="insects").show(of) if isinstance(block, Hint)]
    assert lines[0] == "CNN · digits was not tested on these images: evaluate it above."


def charts(chosen, **asked):
    of = Subject(no_model, no_picture())
    of.chosen = chosen
    return [block.title for block in flat(Results(evaluated="insects", **asked).show(of)) if isinstance(block, Chart)]


def test_the_calibration_of_the_model_that_the_sentence_is_about_is_seen():
    for chosen, asked, seen in (
        ([], {}, ["CNN"]),
        (["bundled:insects_swin"], {}, ["Swin", "CNN"]),
        (["bundled:insects_vit", "bundled:insects_swin"], {}, ["ViT"]),
        ([], {"model": "ViT"}, ["ViT", "CNN"]),
    ):
        titles = charts(chosen, **asked)
        assert [title.partition(" · ECE")[0] for title in titles if " · ECE" in title] == seen
        assert f"{seen[0]}: what each label is taken for" in titles


def test_a_mean_confidence_below_the_accuracy_is_too_unsure():
    for row in outcome([], Results(evaluated="insects")).models:
        direction = sum(each.images * (each.confidence - each.accuracy) for each in row.measures.bins)
        assert row.measures.surer == pytest.approx(direction / row.measures.images)
        assert abs(row.measures.surer) <= row.measures.ece + 1e-9


def test_a_run_stands_among_the_models_of_its_test_images(tmp_path, monkeypatch):
    monkeypatch.setenv("VIZKIT_RUNS", str(tmp_path))
    trained(tmp_path / "mine", "digits_cnn")
    trained(tmp_path / "other seed", "digits_cnn", data_seed=1)
    of = Subject(no_model, no_picture())
    of.chosen = ["run:mine"]
    view = Results()
    blocks = [*flat(view.show(of))]
    assert view.title(of) == "8 models on 359 images of digits"
    table = next(block for block in blocks if isinstance(block, Table))
    assert [row["Model"] for row in table.rows][-1] == "mine"
    said = next(block.text for block in blocks if isinstance(block, Said))
    right = round(359 * outcome([of], view).models[-1].measures.accuracy.value)
    assert said.startswith(f"mine is right on {right} of 359 images")
    assert "the paired test finds it" in said
    assert models([of], view)[0] == "mine"
    assert len(outcome([of], view).pairs) == 28
    of.chosen = ["run:other seed"]  # other test images: those of this set may be its training images
    assert not [*judging(outcome([of], view), of.chosen)]


def trained(folder, name, **changed):
    """A run whose weights are a little off those of a bundled model."""
    folder.mkdir()
    for file in ("config.json", "recipe.json"):
        shutil.copy(bundled.FOLDER / name / file, folder / file)
    recipe = json.loads((folder / "recipe.json").read_text()) | changed
    (folder / "recipe.json").write_text(json.dumps(recipe))
    weights = load_file(bundled.FOLDER / name / "model.safetensors")
    save_file(
        {key: each * 1.001 if each.is_floating_point() else each for key, each in weights.items()},
        folder / "model.safetensors",
    )


def test_some_of_its_models_alone_are_corrected_for_their_own_pairs():
    whole = PICTURES.find("digits")
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
    assert Results().title(of) == "6 models on 2,000 images of insects"
    of.chosen = ["bundled:digits_cnn", "run:mine"]
    assert Results().title(of) == "7 models on 359 images of digits"
    of.chosen = ["bundled:digits_cnn", "bundled:digits_mlp"]
    assert Results().title(of) == "2 models on 359 images of digits"
    of.chosen = ["bundled:insects_vit"]
    assert Results().title(of) == "6 models on 2,000 images of insects"
    assert PICTURES.find("../digits") is None
    assert PICTURES.find("0" * 64) is None
