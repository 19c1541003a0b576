"""What the owner of a machine opens of its folders, and what an opened model can be trained from and taught by."""

import re
import shutil
from pathlib import Path

import pytest
import streamlit as st
import timm
import torch
from safetensors.torch import load_file, save_file
from torch import nn

import vizkit
from tests.ui.conftest import choose, click, opened, texts
from vizkit.models import Loaded
from vizkit.training.architectures import build
from vizkit.training.recipe import Recipe, RecipeError
from vizkit.ui.pages.train import model
from vizkit.ui.session import model_names
from vizkit.ui.sidebar import folders

RUN = model_names.BUNDLED / "digits_vit"


@pytest.fixture
def models(tmp_path, monkeypatch):
    """Allowed: the folder of a run, a bare file, one that is broken; beside it what nobody allowed."""
    monkeypatch.setenv("VIZKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("VIZKIT_RUNS", str(tmp_path / "runs"))
    root = tmp_path / "models"
    shutil.copytree(RUN, root / "mine")
    (root / "weights" / ".hidden").mkdir(parents=True)
    with torch.random.fork_rng():
        torch.manual_seed(3)
        save_file(timm.create_model("test_vit", num_classes=7).state_dict(), root / "weights" / "bare.safetensors")
    (root / "weights" / "broken.pt").write_bytes(b"PK")
    shutil.copytree(RUN, root / "weights" / ".hidden" / "run")
    shutil.copytree(RUN, tmp_path / "secret" / "run")
    (root / "out").symlink_to(tmp_path / "secret" / "run")
    (root / "out.pt").symlink_to(tmp_path / "secret" / "run" / "model.safetensors")
    monkeypatch.setenv("VIZKIT_DATA_ROOTS", str(root))
    return root


def opening(path="models/mine", architecture=None):
    test = opened(models="bundled:digits_cnn", image="digit 3")
    choose(test, checkpoint_folder=path)
    if architecture:
        choose(test, architecture=architecture)
    click(test, "open_checkpoint")
    return test


def test_models_of_allowed_folders_are_offered_and_links_out_of_them_are_not(models):
    offered = folders.weights((models.resolve(),))
    assert set(offered) == {"models/mine", "models/weights/bare.safetensors", "models/weights/broken.pt"}
    assert folders.offered((models.resolve(),)) == {"models": str(models.resolve())}


def test_without_an_allowed_folder_none_is_offered(monkeypatch):
    monkeypatch.setenv("VIZKIT_DATA_ROOTS", "")
    test = opened(models="bundled:digits_cnn", image="digit 3")
    assert "checkpoint_folder" not in [each.key for each in test.selectbox]
    assert "Folders of this machine are off" in texts(test)
    assert test.button(key="open_checkpoint").disabled


def test_a_folder_is_opened_as_it_lies_there(models):
    test = opening()
    assert not test.error
    assert not test.warning
    name = test.session_state["models"][-1]
    assert name.startswith("checkpoint:mine-")
    assert test.session_state["_checkpoints"][name].path == str(models.resolve() / "mine")
    (models / "mine" / "model.safetensors").touch()  # other weights have another name
    click(test, "open_checkpoint")
    assert len(test.session_state["_checkpoints"]) == 2


def test_what_cannot_be_opened_is_said_and_stays_where_it_is(models):
    test = opening("models/weights/broken.pt", "test_vit")
    assert test.error
    assert (models / "weights" / "broken.pt").is_file()
    assert "_checkpoints" not in test.session_state


# ---- trained on, and as a teacher ------------------------------------------------------------------------------------
@pytest.mark.rest
def test_an_opened_model_is_where_a_training_begins(models, monkeypatch):
    test = opening("models/weights/bare.safetensors", "test_vit")
    name = test.session_state["models"][-1]
    test.session_state["train_view"] = "Start"
    test.switch_page("pages/train.py").run()
    assert model_names.title(name) in test.selectbox(key="field_model").options
    choose(test, field_model=model_names.title(name))
    assert not test.error
    assert "goes on from the opened weights" in texts(test)
    (path,) = (models.parent / "cache" / "uploads").glob("*/*")
    assert re.search(rf"--model \S*{path.name} ", test.code[0].value)  # as the process is given it
    monkeypatch.setattr(st, "session_state", {"_checkpoints": test.session_state["_checkpoints"]})
    assert model.folder_of(name) == str(path)
    begun = build(Recipe().but({"model": str(path)}), ("a", "b", "c")).state_dict()
    weights = load_file(models / "weights" / "bare.safetensors")
    assert {key for key, value in begun.items() if not torch.equal(value, weights[key])} == {"head.weight", "head.bias"}


@pytest.mark.rest
def test_an_opened_model_teaches_as_it_is(models):
    test = opening()
    name = test.session_state["models"][-1]
    test.session_state["train_view"] = "Start"
    test.session_state["train_data"] = "digits"  # whose classes it knows
    test.switch_page("pages/train.py").run()
    choose(test, field_teacher=model_names.title(name))
    assert not test.error
    (path,) = (models.parent / "cache" / "uploads").glob("*/*")
    assert re.search(rf"--teacher \S*{path.name}( |$)", test.code[0].value)
    pixels = torch.rand(2, 3, 32, 32)
    kept, own = vizkit.load(path), vizkit.load(RUN)
    assert (kept.labels, kept.head, kept.preprocessing) == (own.labels, own.head, own.preprocessing)
    assert torch.equal(kept.model(pixels), own.model(pixels))


def test_what_timm_does_not_make_cannot_be_trained(tmp_path, monkeypatch):
    network = Loaded("mine", nn.Sequential(), torch.device("cpu"), vizkit.load(RUN).preprocessing, ("a",))
    monkeypatch.setattr("vizkit.ui.session.models.model", lambda source: network)
    with pytest.raises(RecipeError, match="mine runs by the code of another library than timm"):
        model._kept("checkpoint:mine-0")
    assert not [path for path in Path(tmp_path).rglob("*") if path.is_file()]
