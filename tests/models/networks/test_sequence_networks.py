"""The networks on texts: against torch's own, and what their masks promise."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from vizkit.models.networks.sequence_models import NETWORKS, build
from vizkit.models.networks.sequence_parts import causal, no_pads
from vizkit.models.networks.sequence_transformer import LanguageModel, Seq2SeqTransformer
from vizkit.vocabulary import PAD

WORDS = 23
SEQ2SEQ = [name for name in NETWORKS if name.startswith("seq2seq")]
SIZES = {"seq2seq_transformer": {"dim": 12, "depth": 2, "heads": 2, "hidden": 20, "max_length": 19}}


def network(name):
    torch.manual_seed(7)
    return build(name, WORDS, SIZES.get(name, {"dim": 12})).eval()


def texts(count, length, seed=0):
    return torch.randint(5, WORDS, (count, length), generator=torch.Generator().manual_seed(seed))


def copy_attention(ours, theirs):
    parts = [ours.query, ours.key, ours.value]  # type: ignore[attr-defined]
    theirs.in_proj_weight.copy_(torch.cat([part.weight for part in parts]))
    theirs.in_proj_bias.copy_(torch.cat([part.bias for part in parts]))
    theirs.out_proj.load_state_dict(ours.out.state_dict())  # type: ignore[attr-defined]


@torch.no_grad()
def test_the_transformer_is_torchs_own():
    """nn.Transformer, without the norm that it puts after the last layer, with copied weights; a padded batch too."""
    ours = network("seq2seq_transformer")
    assert isinstance(ours, Seq2SeqTransformer)
    theirs = nn.Transformer(12, 2, 2, 2, 20, dropout=0.0, batch_first=True).eval()
    theirs.encoder.norm = theirs.decoder.norm = None
    theirs.encoder.use_nested_tensor = False  # in a prototype stage, says torch itself
    for mine, its in zip(ours.encoder, theirs.encoder.layers, strict=True):
        copy_attention(mine.attn, its.self_attn)
    for mine, its in zip(ours.decoder, theirs.decoder.layers, strict=True):
        copy_attention(mine.attn, its.self_attn)
        copy_attention(mine.cross, its.multihead_attn)
        its.norm3.load_state_dict(mine.norm3.state_dict())
    for mine, its in zip([*ours.encoder, *ours.decoder], [*theirs.encoder.layers, *theirs.decoder.layers], strict=True):
        its.linear1.load_state_dict(mine.ffn.first.state_dict())
        its.linear2.load_state_dict(mine.ffn.second.state_dict())
        its.norm1.load_state_dict(mine.norm1.state_dict())
        its.norm2.load_state_dict(mine.norm2.state_dict())
    source, target = texts(3, 11), texts(3, 7, seed=1)
    source[1, 8:] = PAD
    pads = source == PAD
    expected = theirs(
        ours.source(source),
        ours.target(target),
        tgt_mask=nn.Transformer.generate_square_subsequent_mask(7),
        src_key_padding_mask=pads,
        memory_key_padding_mask=pads,
    )
    assert_close(ours(source, target), ours.head(expected), atol=1e-5, rtol=0)


@pytest.mark.parametrize("name", [*SEQ2SEQ, "causal_lm"])
@torch.no_grad()
def test_a_later_word_changes_no_earlier_output(name):
    model, source, target = network(name), texts(2, 9), texts(2, 7, seed=1)
    ask = (lambda ids: model(ids)) if name == "causal_lm" else (lambda ids: model(source, ids))
    changed = target.clone()
    changed[:, 4:] = texts(2, 3, seed=2)
    before, after = ask(target), ask(changed)
    assert_close(before[:, :4], after[:, :4], atol=1e-6, rtol=0)
    assert (before[:, 4:] - after[:, 4:]).abs().max() > 1e-3


@torch.no_grad()
def test_an_unmasked_model_sees_the_words_to_come():
    model, ids = network("masked_lm"), texts(1, 7)
    changed = ids.clone()
    changed[:, 6] = (ids[:, 6] + 1 - 5) % (WORDS - 5) + 5
    assert (model(ids)[:, 0] - model(changed)[:, 0]).abs().max() > 1e-4


@pytest.mark.parametrize("name", NETWORKS)
@torch.no_grad()
def test_the_filling_of_a_shorter_text_changes_nothing(name):
    model, short = network(name), texts(1, 6)
    filled = torch.cat([short, torch.full((1, 5), PAD)], 1)
    target = texts(1, 4, seed=1)
    ask = (lambda ids: model(ids, target)) if name in SEQ2SEQ else (lambda ids: model(ids)[:, :6])
    assert_close(ask(short), ask(filled), atol=1e-5, rtol=0)


@pytest.mark.parametrize("name", [*SEQ2SEQ, "causal_lm"])
@torch.no_grad()
def test_words_one_by_one_give_what_all_at_once_give(name):
    model, source, target = network(name), texts(3, 9), texts(3, 7, seed=1)
    source[2, 5:] = PAD
    expected = model(target) if name == "causal_lm" else model(source, target)
    state = model.start(target if name == "causal_lm" else source)
    for place in range(7):
        logits, state = model.step(target[:, place], state)
        assert_close(logits, expected[:, place], atol=1e-5, rtol=0)


@pytest.mark.parametrize("name", [*SEQ2SEQ, "causal_lm"])
@torch.no_grad()
def test_rows_of_a_state_go_on_as_their_texts(name):
    model, source, first = network(name), texts(3, 9), texts(3, 1, seed=1)[:, 0]
    start = model.start(source)
    _, state = model.step(first, start)
    order = torch.tensor([2, 0])
    again, _ = model.step(first[order], state.rows(order))
    both, _ = model.step(first, state)
    assert_close(again, both[order], atol=1e-6, rtol=0)


@pytest.mark.parametrize("name", SEQ2SEQ)
def test_what_translates_has_about_as_many_parameters(name):
    counts = {each: sum(p.numel() for p in build(each, 117).parameters()) for each in SEQ2SEQ}
    assert abs(counts[name] / counts["seq2seq_transformer"] - 1) < 0.05, counts


def test_masks_by_hand():
    assert causal(2, 4)[0, 0].int().tolist() == [[1, 1, 1, 0], [1, 1, 1, 1]]
    assert no_pads(torch.tensor([[7, 8, PAD]]))[0, 0, 0].tolist() == [True, True, False]


def test_a_text_longer_than_the_table_of_positions_gets_a_sentence():
    with pytest.raises(ValueError, match="up to 19 tokens; this one has 21"):
        network("seq2seq_transformer")(texts(1, 21), texts(1, 3))


def test_a_model_that_sees_everything_does_not_write():
    model = network("masked_lm")
    assert isinstance(model, LanguageModel)
    with pytest.raises(ValueError, match="one after another"):
        model.start(texts(1, 3))


@torch.no_grad()
def test_the_lstms_state_is_the_formula():
    """c = f c + i tanh(…), h = o tanh(c) (theory: Hochreiter and Schmidhuber 1997), written out."""
    model, source = network("seq2seq_lstm"), texts(1, 5)
    cell = model.encoder
    hidden = state = torch.zeros(cell.hidden_size)
    for x in model.source(source)[0]:
        gates = cell.weight_ih_l0 @ x + cell.bias_ih_l0 + cell.weight_hh_l0 @ hidden + cell.bias_hh_l0
        let_in, keep, new, out = gates.chunk(4)
        state = keep.sigmoid() * state + let_in.sigmoid() * new.tanh()
        hidden = out.sigmoid() * state.tanh()
    assert_close(model.encode(source)[0, -1], hidden, atol=1e-6, rtol=0)
    assert_close(model.start(source).cell[0], state, atol=1e-6, rtol=0)
