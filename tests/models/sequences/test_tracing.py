"""Traces of texts: their layers, whose tokens, masks, and that the weights are what the layers used."""

import pytest
import torch
from torch.testing import assert_close

from tests.models.sequences.texts import TASKS, made
from vizkit.models.sequences import trace_pair, trace_text
from vizkit.saving import open_npz, save_npz
from vizkit.traces import NotApplicable, dense
from vizkit.vocabulary import TextError

SOURCE, TARGET = tuple("abcde"), tuple("abc")
LAYERS = {
    "seq2seq_transformer": [
        ("encoder.0.attn", "source", "source"),
        ("encoder.1.attn", "source", "source"),
        ("decoder.0.attn", "target", "target"),
        ("decoder.0.cross", "target", "source"),
        ("decoder.1.attn", "target", "target"),
        ("decoder.1.cross", "target", "source"),
    ],
    "seq2seq_rnn": [],
    "seq2seq_lstm": [],
    "seq2seq_lstm_attention": [("attention", "target", "source")],
}
TRANSLATING = list(LAYERS)


@pytest.mark.parametrize("name", TRANSLATING)
def test_layers_of_translation_and_their_proof(name):
    model = made(name)
    trace = trace_pair(model, SOURCE, TARGET)
    assert [(layer.name, layer.query.name, layer.key.name) for layer in trace.attention] == LAYERS[name]
    for layer in trace.attention:
        sizes = {"source": len(SOURCE), "target": len(TARGET) + 1}
        assert layer.query.grid == (1, sizes[layer.query.name])
        assert layer.key.grid == (1, sizes[layer.key.name])
    assert trace.check.passed
    assert trace.check.layers_expected == trace.check.layers_found == len(LAYERS[name])
    assert trace.image_size == (1, len(SOURCE))
    with torch.no_grad():
        plain = model.model(model.tensor(model.source_ids(SOURCE)), model.tensor(model.target_ids(TARGET)))[0]
    assert_close(trace.logits, plain)


def test_weights_of_cross_attention_are_those_of_the_formula():
    """softmax(Q Kᵀ / √d_k) from what the layer was given, queries of the target and keys of the source."""
    model = made("seq2seq_transformer")
    network, layer = model.model, model.model.decoder[0]
    given = {}
    handle = layer.cross.register_forward_hook(lambda _, arguments, __: given.update(x=arguments[0]))
    trace = trace_pair(model, SOURCE, TARGET)
    handle.remove()
    with torch.no_grad():
        memory = network.encode(model.tensor(model.source_ids(SOURCE)))
        query = layer.cross.by_head(layer.cross.query(given["x"]))
        key = layer.cross.by_head(layer.cross.key(memory))
        expected = (query @ key.transpose(-2, -1) / layer.cross.d_k**0.5).softmax(-1)
    assert_close(trace.attention[3].weights, expected)


@pytest.mark.parametrize("name", ["seq2seq_transformer", "causal_lm"])
def test_a_causal_layer_looks_at_nothing_that_comes_later(name):
    model = made(name)
    trace = trace_pair(model, SOURCE, TARGET) if model.translates else trace_text(model, model.source_ids(SOURCE))
    masked = [layer for layer in trace.attention if "decoder" in layer.name or not model.translates]
    masked = [layer for layer in masked if layer.query == layer.key]
    assert len(masked) == 2
    for layer in masked:
        weights = dense(layer)
        assert (weights.triu(1) == 0).all()
        assert (weights.tril() > 0).sum() == weights.shape[0] * len(layer.query) * (len(layer.query) + 1) // 2


def test_a_masked_model_looks_both_ways():
    model = made("masked_lm")
    trace = trace_text(model, model.vocabulary.ids(["a", "[MASK]", "c"]))
    assert trace.logits.shape == (3, len(model.vocabulary))
    assert all((layer.weights > 0).all() for layer in trace.attention)


@pytest.mark.parametrize("name", TASKS)
def test_a_text_of_one_token(name):
    model = made(name)
    trace = trace_pair(model, ("a",)) if model.translates else trace_text(model, model.vocabulary.ids("a"))
    assert trace.check.passed
    assert all(layer.weights.shape[-2:] == (1, 1) for layer in trace.attention)


def test_a_trace_of_two_texts_is_saved_and_opened_again(tmp_path):
    trace = trace_pair(made("seq2seq_transformer"), SOURCE, TARGET)
    save_npz(trace, tmp_path / "trace.npz")
    again, _ = open_npz(tmp_path / "trace.npz")
    assert torch.equal(again.logits, trace.logits)
    for mine, theirs in zip(again.attention, trace.attention, strict=True):
        assert (mine.name, mine.query, mine.key) == (theirs.name, theirs.query, theirs.key)
        assert torch.equal(mine.weights, theirs.weights)


def test_padding_gets_no_weight():
    model = made("seq2seq_transformer")
    ids = [*model.vocabulary.ids("ab"), 0, 0]
    trace = trace_pair(model, ["a", "b", "[PAD]", "[PAD]"], TARGET)
    assert trace.image_size == (1, len(ids))
    for layer in trace.attention:
        if layer.key.name == "source":
            assert (layer.weights[..., 2:] == 0).all()
    assert_close(trace.logits, trace_pair(model, "ab", TARGET).logits)


def test_what_cannot_be_traced_says_so():
    pair, text = made("seq2seq_transformer"), made("causal_lm")
    with pytest.raises(TextError, match="no “z”"):
        trace_pair(pair, ("z",))
    with pytest.raises(TextError, match="up to 12 tokens; this one has 13"):
        trace_pair(pair, "a" * 13)
    with pytest.raises(TextError, match="There is no text"):
        trace_text(text, [])
    with pytest.raises(TextError, match="another one"):
        trace_text(text, [99])
    with pytest.raises(NotApplicable, match="no decoder"):
        trace_pair(text, ("a",))
    with pytest.raises(NotApplicable, match="a source and a target"):
        trace_text(pair, [5])
