"""Weights of transformers folders in several files."""

import json

import pytest
import torch
from safetensors.torch import load_file
from torch.testing import assert_close

import vizkit
from tests.models.test_transformers import CASES, answer, made
from vizkit.models import ModelError, pixels_of


@pytest.fixture
def sharded(tmp_path):
    """Makes a folder of a case in several files; gives it and its model."""

    def make(case):
        model = made(*CASES[case][:2])
        model.save_pretrained(tmp_path / "folder", max_shard_size="20KB")
        assert len([*(tmp_path / "folder").glob("*.safetensors")]) > 1
        return tmp_path / "folder", model

    return make


@pytest.mark.parametrize("case", ["vit", "segformer"])  # by timm, and as the library's own module
def test_several_files_give_the_logits_of_the_library(sharded, photo, case):
    folder, model = sharded(case)
    loaded = vizkit.load(folder, image_size=32)
    expected = answer(model, pixels_of(loaded, photo))[0]
    assert_close(vizkit.trace(loaded, photo).logits, expected, rtol=0, atol=1e-4)


def change(folder, edit):
    path = folder / "model.safetensors.index.json"
    index = json.loads(path.read_text())
    edit(index)
    path.write_text(json.dumps(index))


def elsewhere(index):
    index["weight_map"] |= dict.fromkeys(list(index["weight_map"])[:1], "../other.safetensors")


def missing(index):
    index["weight_map"] |= dict.fromkeys(list(index["weight_map"])[:1], "none.safetensors")


def swapped(index):
    name, own = next(iter(index["weight_map"].items()))
    index["weight_map"][name] = next(place for place in index["weight_map"].values() if place != own)


def pickled(index):
    index["weight_map"] |= dict.fromkeys(index["weight_map"], "pytorch_model.bin")


@pytest.mark.parametrize(
    "edit, words",
    [
        (elsewhere, "no safetensors file beside it"),
        (pickled, "no safetensors file beside it"),
        (missing, r"lacks none\.safetensors"),
        (swapped, "does not hold the tensors that its index names"),
        (lambda index: index.pop("weight_map"), "does not say where its weights are"),
        (lambda index: index.update(weight_map={"a": 3}), "does not say where its weights are"),
    ],
)
def test_an_index_that_is_wrong_is_refused_in_a_sentence(sharded, edit, words):
    folder, _ = sharded("vit")
    change(folder, edit)
    with pytest.raises(ModelError, match=words):
        vizkit.load(folder)


def test_more_than_the_memory_holds_is_refused_before_it_is_read(sharded, monkeypatch):
    folder, _ = sharded("vit")
    monkeypatch.setattr("vizkit.models.sources.transformers_weights.load_file", pytest.fail)
    monkeypatch.setenv("VIZKIT_MODEL_GIB", "0.00001")
    with pytest.raises(ModelError, match="memory"):
        vizkit.load(folder)


def earlier(model, folder, **more):
    """The folder as it was before safetensors."""
    model.save_pretrained(folder)
    torch.save(load_file(folder / "model.safetensors") | more, folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()


class Code:
    def __reduce__(self):
        return print, ("run",)


@pytest.mark.parametrize("case", ["vit", "segformer"])
def test_the_pickle_of_earlier_versions_gives_the_logits_of_the_library(tmp_path, photo, case):
    model = made(*CASES[case][:2])
    earlier(model, tmp_path / "folder")
    loaded = vizkit.load(tmp_path / "folder", image_size=32)
    expected = answer(model, pixels_of(loaded, photo))[0]
    assert_close(vizkit.trace(loaded, photo).logits, expected, rtol=0, atol=1e-4)


def test_a_pickle_that_would_run_code_is_refused(tmp_path, capsys):
    model = made(*CASES["vit"][:2])
    earlier(model, tmp_path, code=Code())
    with pytest.raises(ModelError, match="could run code when opened"):
        vizkit.load(tmp_path)
    assert capsys.readouterr().out == ""
