"""Run folders of texts: opened as they were saved, and refused in a sentence where they are not whole."""

import json

import pytest
import torch
from safetensors.torch import save_file

import vizkit
from tests.models.sequences.texts import TASKS, VOCABULARY, made
from vizkit.datasets.sequences.opening import open_pairs
from vizkit.models import ModelError
from vizkit.models.sequences import bundled_sequences, greedy, open_sequence
from vizkit.training.sequences.lines import Lines


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
    assert (opened.task, opened.data, opened.vocabulary) == (model.task, "copy", VOCABULARY)
    assert opened.facts["test_accuracy"] == 0.97
    assert opened.parameters == model.parameters
    assert opened.max_length == model.max_length
    assert not opened.model.training
    assert not any(p.requires_grad for p in opened.model.parameters())
    for key, tensor in model.model.state_dict().items():
        assert torch.equal(opened.model.state_dict()[key], tensor)


@pytest.mark.parametrize(
    "changes, sentence",
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
    with pytest.raises(ModelError, match="no bundled model of texts"):
        open_sequence("bundled:nothing")
    with pytest.raises(ModelError, match="no run folder"):
        open_sequence("x" * 5000)


def test_a_model_of_texts_is_no_model_of_pictures(tmp_path):
    saved(tmp_path)
    with pytest.raises(ModelError, match="reads texts, not images"):
        vizkit.load(tmp_path)


@pytest.mark.product
@pytest.mark.parametrize("name", bundled_sequences())
def test_bundled_models_write_as_often_right_as_their_cards_say(name):
    """So they are given texts here as they were in training, with every special word in its place."""
    model = open_sequence(f"bundled:{name}")
    pairs = open_pairs(model.data, "test", count=20, seed=2)
    lines = Lines(pairs, model.task, learns=False)
    (given, *_), _ = lines.__getitems__([(0, 0)])
    if model.writes:
        right = sum(greedy(model, pair.source).words == pair.target for pair in pairs)
        assert right / len(pairs) == pytest.approx(model.facts["test_accuracy"], abs=0.3)
    before = model.source_ids(pairs[0].source) if model.translates else model.line_ids(pairs[0].source, pairs[0].target)
    assert given.shape == (1, len(before))
    same = [mine == theirs for mine, theirs in zip(before, given[0].tolist(), strict=True)]
    assert all(same) if model.writes else sum(same) / len(same) > 0.5  # the others were hidden
