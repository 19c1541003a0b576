"""The steps of a layer, the gradients of an answer and the states of a recurrent network, against the model itself."""

import pytest
import torch
from torch.testing import assert_close

from tests.models.sequences.texts import VOCABULARY, made
from vizkit.analysis.sequences.gates import lstm_gates, rnn_states
from vizkit.models.sequences import trace_pair, trace_text
from vizkit.models.sequences.influence import influence
from vizkit.models.sequences.recurrent import given_to_cells
from vizkit.models.sequences.walk import walk, walk_text
from vizkit.traces import NotApplicable
from vizkit.vocabulary import END

SOURCE, TARGET = tuple("abcde"), tuple("fgh")
WRITING = ["seq2seq_transformer", "seq2seq_rnn", "seq2seq_lstm", "seq2seq_lstm_attention", "causal_lm"]


def test_the_steps_of_a_translation_end_in_its_logits_and_give_its_weights():
    model = made("seq2seq_transformer")
    steps, trace = walk(model, SOURCE, TARGET), trace_pair(model, SOURCE, TARGET)
    assert steps.error < 1e-5
    assert_close(steps.logits, trace.logits, atol=1e-5, rtol=1e-5)
    taken = [layer.attention for layer in steps.encoder]
    taken += [part for layer in steps.decoder for part in (layer.attention, layer.cross)]
    for part, layer in zip(taken, trace.attention, strict=True):
        assert_close(part.weights, layer.weights[0])
    assert taken[2].allowed.int().tolist() == torch.ones(4, 4).tril().int().tolist()
    assert bool((taken[2].masked.isinf() == ~taken[2].allowed).all())
    assert_close(steps.decoder[0].cross.context, steps.encoder[-1].feed_forward.left)
    assert_close(steps.target.given[0], model.model.target(torch.tensor([[1]]))[0, 0])


@pytest.mark.parametrize("name", ["masked_lm", "causal_lm"])
def test_the_steps_of_a_language_model_end_in_its_logits(name):
    model = made(name)
    ids = model.line_ids("ab", "c")
    steps, trace = walk_text(model, ids), trace_text(model, ids)
    assert steps.error < 1e-5
    for layer, recorded in zip(steps.encoder, trace.attention, strict=True):
        assert_close(layer.attention.weights, recorded.weights[0])
        assert layer.cross is None


def test_a_wrong_step_would_show_in_the_error(monkeypatch):
    """The proof can fail: without the norm's small number the logits are others."""
    model = made("seq2seq_transformer")
    monkeypatch.setattr("vizkit.models.sequences.walk._normed", lambda norm, x: x)
    assert walk(model, SOURCE, TARGET).error > 1e-2


def test_padding_is_looked_at_by_nobody():
    model = made("seq2seq_transformer")
    steps = walk(model, ["a", "b", "[PAD]"], TARGET)
    assert steps.error < 1e-5
    assert (steps.decoder[1].cross.weights[..., 2] == 0).all()


@pytest.mark.parametrize("name", WRITING)
def test_gradients_are_those_of_finite_differences(name):
    """Moving one word's vector by a little moves the answer's log-probability by the length of its gradient at most,
    and along the gradient by just that."""
    model = made(name)
    model.model.double()
    network, result = model.model, influence(model, SOURCE, TARGET)
    count = len(SOURCE) if model.translates else len(model.line_ids(SOURCE, TARGET))
    assert result.answers.shape == (4, count)
    table = network.source.words if hasattr(network.source, "words") else network.source
    number, answers, first = VOCABULARY.ids("c")[0], [*VOCABULARY.ids(TARGET), END], 0 if model.translates else 5
    texts = [model.tensor(model.source_ids(SOURCE)), model.tensor(model.target_ids(TARGET))]
    texts = texts if model.translates else [model.tensor(model.line_ids(SOURCE, TARGET))]

    def scores():
        return network(*texts)[0, first : first + 4].log_softmax(-1)[torch.arange(4), answers]

    gradient = torch.zeros(4, table.weight.shape[1], dtype=torch.float64)
    for channel in range(gradient.shape[1]):  # "c" stands once in the text, so its row of the table is its vector
        for sign in (1, -1):
            table.weight[number, channel] += sign * 1e-4
            gradient[:, channel] += sign * scores() / 2e-4
            table.weight[number, channel] -= sign * 1e-4
    place = SOURCE.index("c")
    assert_close(result.answers[:, place].double(), gradient.norm(dim=-1), rtol=1e-3, atol=1e-5)
    assert float(result.whole[place]) == pytest.approx(float(gradient.sum(0).norm()), rel=1e-3, abs=1e-5)
    assert_close(result.log_probabilities.double(), scores(), rtol=1e-4, atol=1e-4)


def test_a_later_word_of_a_causal_line_has_no_gradient():
    model = made("causal_lm")
    answers = influence(model, SOURCE, TARGET).answers
    assert (answers[0, 6:] == 0).all()
    assert (answers[-1] > 0).all()


@pytest.mark.parametrize("name", ["seq2seq_rnn", "seq2seq_lstm", "seq2seq_lstm_attention"])
def test_the_states_are_those_that_the_network_carries(name):
    model = made(name)
    network = model.model
    reader, writer = given_to_cells(model, SOURCE, TARGET)
    for given in (reader, writer):
        assert given.vectors.shape == (len(SOURCE) if given is reader else len(TARGET) + 1, 12)
    memory = network.encode(model.tensor(model.source_ids(SOURCE)))[0]
    state = network.start(model.tensor(model.source_ids(SOURCE)))
    for number in model.target_ids(TARGET):
        _, state = network.step(torch.tensor([number]), state)
    states = [
        rnn_states(given.network, given.vectors, given.hidden)
        if given.cell is None
        else lstm_gates(given.network, given.vectors, given.hidden, given.cell).hidden
        for given in (reader, writer)
    ]
    assert_close(states[0], memory, rtol=0, atol=1e-5)
    assert_close(states[1][-1], state.hidden[0], rtol=0, atol=1e-5)


def test_what_a_model_does_not_have_is_said():
    for function, name in ((walk, "seq2seq_lstm"), (walk, "masked_lm"), (influence, "masked_lm")):
        with pytest.raises(NotApplicable):
            function(made(name), SOURCE, TARGET)
    with pytest.raises(NotApplicable):
        walk_text(made("seq2seq_transformer"), [5])
    with pytest.raises(NotApplicable):
        given_to_cells(made("seq2seq_transformer"), SOURCE, TARGET)
