"""What a run knew at its checkpoints: its answers and maps against the model itself, kept by content, in a sentence."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

import vizkit
from tests.training.test_training import followed
from vizkit.analysis.remarks.evaluation import learned
from vizkit.evaluation import learning
from vizkit.image import seen
from vizkit.models import pixels_of
from vizkit.scoring import explain
from vizkit.traces import NotApplicable
from vizkit.training.recipe import Recipe
from vizkit.training.runs.folder import RunFolder
from vizkit.views import bundled
from vizkit.views.address import from_address, to_address
from vizkit.views.blocks import Tiles
from vizkit.views.controls import ControlError
from vizkit.views.settled import flat
from vizkit.views.subject import Subject, no_model, no_picture
from vizkit.views.train.learned import Learned
from vizkit.work_folder import steps_in

RUN = RunFolder(bundled.RECORDED_FOLDER)


@pytest.fixture(scope="module")
def watched():
    return learning.watched(RUN, 990)


def test_answers_and_maps_are_those_of_the_model_of_that_step(watched, tmp_path, monkeypatch):
    monkeypatch.setenv("VIZKIT_CACHE", str(tmp_path))
    found = learning.answers(RUN, 64, watched)
    loaded = vizkit.load(f"{RUN.path}@64")
    for row, (rgb, target) in enumerate(watched.images):
        with torch.no_grad():
            chances = loaded.model(pixels_of(loaded, rgb)).softmax(-1)[0]
        assert int(chances.argmax()) == found.predicted[row]
        assert float(chances.max()) == pytest.approx(found.probability[row], abs=1e-5)
        heat = explain(loaded, rgb, "generic_relevance", target).heat.numpy()
        assert_allclose(found.maps[row], heat / np.abs(heat).mean(), rtol=1e-4, atol=1e-6)
        drawn = np.repeat((rgb.mean(-1) > learning.INK).astype(np.uint8)[..., None] * 255, 3, -1)
        ink = (seen(drawn, loaded.preprocessing)[..., 0] >= 128).reshape(8, 4, 8, 4).mean((1, 3))
        assert found.on_object[row] == pytest.approx(float((heat * ink).sum() / heat.sum()), abs=1e-4)


def test_a_checkpoint_is_asked_once_and_another_files_answers_are_not_taken(watched, tmp_path, monkeypatch):
    monkeypatch.setenv("VIZKIT_CACHE", str(tmp_path))
    asked, own = [], learning._asked
    monkeypatch.setattr(learning, "_asked", lambda *given: asked.append(given[0].name) or own(*given))
    first, again = (learning.answers(RUN, 8, watched) for _ in range(2))
    assert asked == ["digits_small@8"]
    assert np.array_equal(first.maps, again.maps)
    learning.answers(RUN, 8, replace(watched, method="grad_cam"))
    learning.answers(RUN, 16, watched)
    assert asked == ["digits_small@8", "digits_small@8", "digits_small@16"]


def test_the_recorded_run_has_its_checkpoints():
    assert len(steps_in(RUN.path)) == RUN.recipe.checkpoints == 14


def test_the_sentence_is_the_runs_own():
    said = learned([1, 990], [1, 6], 8, [0.4, 0.69], "digit", 0.35)
    assert said == (
        "Of 8 test images 1 is right after step 1, 6 after step 990. Of what speaks for the right class 40 % at first, "
        "69 % at last lies on the digit, by chance 35 %."
    )
    assert learned([1, 4], [0, 0], 8, [None, None]) == "Of 8 test images 0 are right after step 1, 0 after step 4."
    assert learned([1, 4], [0, 8], 8, [0.5, 0.501], "insect", 0.1).endswith(
        "50 % at first and at last lies on the insect, by chance 10 %."
    )
    assert learned([1, 4], [2, 8], 8, [None, 0.2]) == "Of 8 test images 2 are right after step 1, 8 after step 4."
    between = learned([1, 4, 6], [2, 3, 8], 8, [None] * 3, at=4)
    assert between == "Of 8 test images 2 are right after step 1, 3 after step 4, 8 after step 6."
    assert learned([4], [1], 1, [None]) == "Of 1 test image 1 is right after step 4."


def test_a_link_and_a_command_name_the_step_itself():
    of = Subject(no_model, no_picture())
    assert Learned(step=64).title(of) == "What tiny ViT · digits had learned after step 64"
    assert Learned(step=70).shown(steps_in(RUN.path)) == 64
    assert Learned().shown(steps_in(RUN.path)) == 990
    assert to_address(Learned(step=64)) == {"learned_step": "64"}
    assert from_address(Learned, {"learned_step": "64"}) == Learned(step=64)
    with pytest.raises(ControlError, match=r"step is one of 1, 2, 4, .* 825, 990, not 70\.$"):
        vizkit.show("learned", step=70)


def test_a_run_that_is_not_here_or_reads_texts_is_a_sentence():
    of = Subject(no_model, no_picture())
    with pytest.raises(NotApplicable, match="There is no run 'none' here"):
        list(Learned(run="none").show(of))


@pytest.mark.parametrize(
    "model, method", [("digits_cnn", "grad_cam"), ("digits_swin", "generic_relevance"), ("digits_mlp", "")]
)
def test_a_network_without_a_class_token_has_the_map_that_it_can_have(tmp_path, monkeypatch, model, method):
    monkeypatch.setenv("VIZKIT_CACHE", str(tmp_path / "cache"))
    run = followed(
        tmp_path / "run", Recipe(data="digits", images=32, model=model, epochs=1, batch=32, warmup_epochs=0.0)
    )
    of = Subject(no_model, no_picture())
    of.texts = {"run": str(run.path)}
    if not method:
        with pytest.raises(NotApplicable, match="so no map of what it learned"):
            list(Learned(run="run").show(of))
        return
    assert learning.watched(run, 1).method == method
    (shown,) = (block for block in flat(Learned(run="run").show(of)) if isinstance(block, Tiles))
    assert len({tile.places.shape for tile in shown.maps}) == 1
    assert all(np.isfinite(tile.places).all() for tile in shown.maps)
