"""Run folders of texts: opened as they were saved, and refused in a sentence where they are not whole."""

import json

import pytest
import torch
from safetensors.torch import save_file

from tests.models.sequences.texts import TASKS, VOCABULARY, made
from vizkit.models import ModelError
from vizkit.models.sequences import bundled_sequences, open_sequence, trace_pair
from vizkit.models.sequences.opening import is_sequence_folder


def saved(folder, name="seq2seq_transformer", **changes):
    model = made(name)
    config = {
        "architecture": name,
        "sizes": model.model.sizes,
        "task": TASKS[name],
        "data": "copy",
        "vocabulary": list(VOCABULARY.words),
    }
    (folder / "config.json").write_text(json.dumps(config | changes))
    save_file(model.model.state_dict(), folder / "model.safetensors")
    (folder / "result.json").write_text('{"test_accuracy": 0.97}')
    return model


@pytest.mark.parametrize("name", TASKS)
def test_a_saved_model_comes_back(tmp_path, name):
    model, opened = saved(tmp_path, name), open_sequence(tmp_path)
    assert is_sequence_folder(tmp_path)
    assert (opened.task, opened.data, opened.vocabulary) == (model.task, "copy", VOCABULARY)
    assert opened.facts["test_accuracy"] == 0.97
    assert opened.parameters == model.parameters
    assert opened.max_length == model.max_length
    assert not opened.model.training
    assert not any(p.requires_grad for p in opened.model.parameters())
    for key, tensor in model.model.state_dict().items():
        assert torch.equal(opened.model.state_dict()[key], tensor)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"task": "sing"}, "names no task"),
        ({"architecture": "resnet18"}, "names no network of texts"),
        ({"sizes": []}, "names no network of texts"),
        ({"sizes": {"heads": 5}}, "sizes that no"),
        ({"sizes": {"colour": 5}}, "sizes that no"),
        ({"sizes": {"dim": -4}}, "sizes that no"),
        ({"sizes": {"dim": "wide"}}, "sizes that no"),
        ({"sizes": {"dim": 10**9}}, "a size above"),
        ({"sizes": {"depth": 10**9}}, "a size above"),
        ({"sizes": {"dim": 65536, "hidden": 65536, "depth": 4}}, "GiB"),
        ({"sizes": {"dim": 32}}, "another network"),
        ({"vocabulary": None}, "no vocabulary"),
        ({"vocabulary": ["a", "b"]}, "no vocabulary"),
        ({"vocabulary": [*VOCABULARY.words, "a"]}, "no vocabulary"),
        ({"vocabulary": [*VOCABULARY.words, 7]}, "no vocabulary"),
        ({"vocabulary": [*VOCABULARY.words, "z"]}, "another network"),
    ],
)
def test_a_broken_config_is_refused_in_a_sentence(tmp_path, changes, sentence):
    saved(tmp_path, **changes)
    with pytest.raises(ModelError, match=sentence):
        open_sequence(tmp_path)


def test_broken_files_are_refused_in_a_sentence(tmp_path):
    with pytest.raises(ModelError, match="no run folder"):
        open_sequence(tmp_path)
    model = saved(tmp_path)
    broken = {key: tensor.clone() for key, tensor in model.model.state_dict().items()}
    broken["head.bias"][0] = float("nan")
    save_file(broken, tmp_path / "model.safetensors")
    with pytest.raises(ModelError, match="no numbers"):
        open_sequence(tmp_path)
    save_file({"head.bias": broken["head.bias"]}, tmp_path / "model.safetensors")
    with pytest.raises(ModelError, match="another network"):
        open_sequence(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"12345678")
    with pytest.raises(ModelError, match="not a whole"):
        open_sequence(tmp_path)
    (tmp_path / "config.json").write_text("[]")
    with pytest.raises(ModelError, match=r"config\.json"):
        open_sequence(tmp_path)
    assert not is_sequence_folder(tmp_path)
    with pytest.raises(ModelError, match="no bundled model of texts"):
        open_sequence("bundled:nothing")


def test_bundled_models_of_texts_are_whole():
    for name in bundled_sequences():
        model = open_sequence(f"bundled:{name}")
        if model.translates:
            assert trace_pair(model, model.vocabulary.words[5:8]).check.passed
