"""Rows through one layer at a time, by hand: windows with padding, class attention, merging, tokens that do not ask."""

import pytest
import torch
from torch.testing import assert_close

from tests.toys import attending, trace_of
from vizkit.analysis.attribution import layer_product
from vizkit.analysis.attribution.layer_product import (
    Factor,
    Mass,
    factors,
    joined,
    row_sums,
    same_token,
    spike,
    spread,
    start,
    stream,
    times,
)
from vizkit.geometry import all_ids, merging
from vizkit.traces import PADDING, Attention, Check, NotApplicable, Tokens

ROW = Tokens("patches", (), (1, 3))
WHOLE = Tokens("patches", ("cls",), (1, 2))
CLASS = Tokens("class", ("cls",))


def layer(weights, query, key, query_ids=None, key_ids=None, name="toy", learned=True):
    """`weights`: (group, query, key) of one head, or with its heads."""
    weights = torch.tensor(weights)
    weights = weights[:, None] if weights.dim() == 3 else weights
    query_ids = all_ids(len(query)) if query_ids is None else torch.tensor(query_ids)
    key_ids = all_ids(len(key)) if key_ids is None else torch.tensor(key_ids)
    return Attention(name, weights, query, key, query_ids, key_ids, learned)


def even(tokens, name="even", **more):
    return layer(torch.full((1, len(tokens), len(tokens)), 1 / len(tokens)).tolist(), tokens, tokens, name=name, **more)


def row_of(*mass):
    return torch.tensor([mass], dtype=torch.float64)


def close(found, expected):
    assert_close(found, torch.as_tensor(expected, dtype=found.dtype), atol=1e-6, rtol=0)


WINDOWS = [[[0.7, 0.3], [0.4, 0.6]], [[0.8, 0.2], [0.5, 0.5]]]  # of 2 on a row of 3: the last is padding
IDS = [[0, 1], [2, PADDING]]


def windows():
    return layer(WINDOWS, ROW, ROW, IDS, IDS)


# ---- one layer -------------------------------------------------------------------------------------------------------


def test_rows_of_a_mixture_are_divided_by_their_sums():
    mixing = torch.tensor([[[0.2, 0.2], [0.5, 0.1]], [[0.4, 0.4], [9.0, 9.0]]])
    factor = Factor(windows(), mixing, 0.5, 0.5, True)
    close(row_sums(factor), [0.4, 0.6, 0.8, 0])
    found = times(Mass(torch.eye(3).double(), torch.zeros(3).double(), ROW), factor)
    close(found.rows, [[0.6 / 0.7, 0.1 / 0.7, 0], [0.25 / 0.8, 0.55 / 0.8, 0], [0, 0, 0.7 / 0.9]])
    close(found.padding, [0, 0, 0.2 / 0.9])
    plain = times(Mass(torch.eye(3).double(), torch.zeros(3).double(), ROW), Factor(windows(), mixing, 0.5, 0.5, False))
    close(plain.rows[0], [0.6, 0.1, 0])


def test_a_row_that_goes_nowhere_is_lost_and_not_nan():
    mixing = torch.tensor([[[0.0, 0.0], [0.5, 0.5]], [[1.0, 0.0], [0.0, 0.0]]])
    found = times(Mass(torch.eye(3).double(), torch.zeros(3).double(), ROW), Factor(windows(), mixing, 0.0, 1.0, True))
    close(found.rows, [[0, 0, 0], [0.5, 0.5, 0], [0, 0, 1]])


def test_the_sums_of_recorded_means_are_one():
    close(row_sums(Factor(windows(), None, 0.5, 0.5, True)), [1, 1, 1, 0])
    assert row_sums(Factor(windows(), torch.ones(2, 2, 2).double(), 0.5, 0.5, True)).dtype == torch.float64


def test_a_layer_that_is_the_identity_is_not_even_read():
    mass = Mass(row_of(0.2, 0.3, 0.5), torch.zeros(1).double(), ROW)
    assert times(mass, Factor(windows(), None, 1.0, 0.0, False)) is mass
    assert times(mass, Factor(windows(), None, 1.0, 0.0, True)) is not mass


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("count", [1, 2, 7])
def test_few_rows_many_rows_and_one_token_take_different_ways_to_the_same_numbers(mixed, count):
    """9 windows of 2 with 3 heads on 17 tokens: with one token of 18 places only its own window is read."""
    draw = torch.Generator().manual_seed(3)
    tokens = Tokens("patches", (), (1, 17))
    ids = torch.arange(18).where(torch.arange(18) < 17, PADDING).view(9, 2)
    weights = torch.rand(9, 3, 2, 2, generator=draw).softmax(-1)
    asked = attending(weights, tokens, ids)
    mixing = torch.rand(9, 2, 2, generator=draw) if mixed else None
    dense = torch.zeros(18, 18).double()  # the last row and column are padding
    for group in range(9):
        for i in range(2):
            for j in range(2):
                one = mixing[group, i, j] if mixed else weights[group, :, i, j].mean()
                dense[ids[group, i], ids[group, j]] = one
    dense[-1] = 0
    for taken in (torch.rand(count, 18, generator=draw).double(), torch.eye(18).double()[[4]]):
        taken[:, -1] = 0
        close(spread(taken, Factor(asked, mixing, 0.5, 0.5, False)), taken @ dense)


# ---- which layers ----------------------------------------------------------------------------------------------------
def test_early_layers_are_the_identity_and_merging_is_as_it_is():
    fine, coarse = Tokens("fine", (), (1, 4)), Tokens("coarse", (), (1, 2))
    layers = [even(fine, "a"), even(fine, "b"), merging("m", fine, coarse, (1, 2)), even(coarse, "c")]
    told = []
    found = factors(layers, lambda each: told.append(each.name), 0.4, 0.6, 1)
    assert [(each.identity, each.share, each.normalise) for each in found] == [
        (1.0, 0.0, False),
        (0.4, 0.6, True),
        (0.0, 1.0, False),
        (0.4, 0.6, True),
    ]
    assert told == ["b", "c"]
    assert [each.layer.name for each in found] == ["a", "b", "m", "c"]
    assert [each.share for each in factors(layers, lambda _: None, 0.4, 0.6)] == [0.6, 0.6, 1.0, 0.6]
    assert not factors(layers, lambda _: None, 0.4, 0.6, normalise=False)[0].normalise
    assert factors(layers, lambda _: None, 0.4, 0.6, 2)[3].share == 0.6
    for wrong in (3, -1):
        with pytest.raises(ValueError, match=f"no layer {wrong}: there are 3"):
            factors(layers, lambda _: None, 0.4, 0.6, wrong)


def test_a_layer_whose_queries_are_no_keys_is_never_left_out():
    pool = layer([[[0.1, 0.6, 0.3]]], Tokens("pool", ("pool",)), WHOLE)
    some = layer([[[0.1, 0.6, 0.3]] * 2], Tokens("pool", ("cls", "pool")), WHOLE)
    for early in (pool, some):
        found = factors([early, even(WHOLE)], lambda _: None, 0.5, 0.5, 1)
        assert [each.share for each in found] == [0.5, 0.5]


def test_the_stream_leaves_out_tokens_of_another_name():
    words = Tokens("words", (), (2, 2))
    layers = [even(WHOLE, "a"), even(words, "inner"), even(WHOLE, "b")]
    assert [each.name for each in stream(trace_of(*layers))] == ["a", "b"]
    asks = layer([[[0.5, 0.3, 0.2]]], CLASS, WHOLE, name="class")
    assert [each.name for each in stream(trace_of(*layers, asks))] == ["a", "b", "class"]
    fine, coarse = Tokens("stage 1", (), (1, 4)), Tokens("stage 2", (), (1, 2))
    layers = [even(fine, "a"), merging("m", fine, coarse, (1, 2)), even(coarse, "b")]
    assert [each.name for each in stream(trace_of(*layers))] == ["a", "m", "b"]


def free(query=0, key=0):
    count = 3
    given = (Tokens("patches", (), None if slots else (1, count), free=slots) for slots in (query, key))
    return layer(torch.full((1, count, count), 1 / count).tolist(), *given)


@pytest.mark.parametrize(
    "trace, words",
    [
        (trace_of(merging("m", Tokens("a", (), (1, 4)), Tokens("b", (), (1, 2)), (1, 2))), "has no attention"),
        (trace_of(even(WHOLE), check=Check(0.0, 2, 2, 0.0)), "Some layers were not recorded"),
        (trace_of(free(query=3)), "not tokens with known places"),
        (trace_of(free(key=3)), "not tokens with known places"),
        (trace_of(even(WHOLE, "blocks.0 · 2")), "several maps"),
        (trace_of(even(Tokens("a", (), (1, 4))), even(Tokens("a", (), (1, 2)))), "changes its tokens"),
        (trace_of(even(Tokens("a", (), (1, 4))), even(Tokens("a", (), (2, 2)))), "changes its tokens"),
        (trace_of(layer([[[0.5, 0.5]]], Tokens("a", (), (1, 1)), Tokens("a", (), (1, 2)))), "changes its tokens"),
        (trace_of(layer([[[0.2, 0.3, 0.5]]], WHOLE, WHOLE, [[1]])), "Only some rows"),
        (trace_of(even(CLASS)), "no known places"),
    ],
)
def test_what_cannot_be_followed_is_said(trace, words):
    with pytest.raises(NotApplicable, match=words):
        stream(trace)


# ---- where it starts -------------------------------------------------------------------------------------------------
def test_a_spike_is_shared_evenly():
    assert spike(WHOLE, [0, 2]).tolist() == [[0.5, 0, 0.5]]
    assert spike(WHOLE, [1]).dtype == torch.float64


MARKED = Tokens("patches", ("cls", "dist"), (1, 2))
REGISTER = Tokens("patches", ("reg1",), (1, 2))
POOL = layer([[[0.1, 0.6, 0.3]]], Tokens("pool", ("pool", "other")), REGISTER, [[0]])


@pytest.mark.parametrize(
    "layers, query, expected",
    [
        ([even(MARKED)] * 2, "cls", (1, [1, 0, 0, 0], "cls")),
        ([even(MARKED)] * 2, "dist", (1, [0, 1, 0, 0], "dist")),
        ([even(MARKED)] * 2, "cls+dist", (1, [0.5, 0.5, 0, 0], "cls+dist")),
        ([even(MARKED), even(WHOLE)], "dist", (0, [0, 1, 0, 0], "dist")),
        ([even(MARKED), even(WHOLE)], "cls+dist", (0, [0.5, 0.5, 0, 0], "cls+dist")),
        ([even(MARKED)] * 2, "mean", (1, [0, 0, 0.5, 0.5], "mean")),
        ([even(REGISTER)] * 2, "cls", (1, [0, 0.5, 0.5], "mean")),
        ([even(REGISTER), POOL], "cls", (1, [1, 0], "pool")),
        ([even(REGISTER), POOL], "pool", (1, [1, 0], "pool")),
        ([even(REGISTER), POOL], "mean", (0, [0, 0.5, 0.5], "mean")),
        ([even(REGISTER), POOL], 0, (0, [1, 0, 0], "[reg1]")),
        ([even(REGISTER), POOL], 2, (0, [0, 0, 1], "row 1, column 2")),
        ([even(REGISTER), POOL], (0, 0), (0, [0, 1, 0], "row 1, column 1")),
        ([even(CLASS)], 0, (0, [1], "[cls]")),
    ],
)
def test_where_a_query_starts(layers, query, expected):
    position, row, name = start(layers, query)
    assert (position, row.tolist(), name) == (expected[0], [expected[1]], expected[2])


def test_the_head_reads_the_special_tokens_of_the_last_layer_that_learned():
    assert layer_product.read_by_head(trace_of(even(WHOLE), even(MARKED))) == "cls+dist"
    assert layer_product.read_by_head(trace_of(even(MARKED), even(WHOLE))) == "cls"
    assert layer_product.read_by_head(trace_of(even(WHOLE), even(MARKED, learned=False))) == "cls"
    assert layer_product.read_by_head(trace_of(even(MARKED, learned=False))) == "cls"


@pytest.mark.parametrize(
    "layers, query, error, words",
    [
        ([even(WHOLE)], "dist", NotApplicable, "no dist token"),
        ([even(WHOLE)], "cls+dist", NotApplicable, "no cls and dist token"),
        ([even(CLASS)], "mean", NotApplicable, "no places, so there is no mean"),
        ([free(query=3, key=3)], "cls", NotApplicable, "no places, so there is no mean"),
        ([even(WHOLE)], 3, ValueError, "Token 3 does not exist: there are 3"),
        ([even(WHOLE)], -1, ValueError, "Token -1 does not exist"),
        ([even(WHOLE)], (1, 0), ValueError, "not on the 1 × 2 grid"),
    ],
)
def test_queries_that_are_not_there(layers, query, error, words):
    with pytest.raises(error, match=words):
        start(layers, query)


# ---- the same token among others -------------------------------------------------------------------------------------
def test_the_same_token_has_the_same_name_or_the_same_place():
    source = Tokens("a", ("cls", "reg1", "dist"), (1, 2), free=2)
    assert same_token(source, Tokens("b", ("reg1", "cls"), (1, 2))).tolist() == [1, 0, -1, 2, 3]
    assert same_token(source, Tokens("b", ("cls",), (2, 1))).tolist() == [0, -1, -1, -1, -1]
    assert same_token(CLASS, source).tolist() == [0]
    assert same_token(Tokens("slots", free=2), source).tolist() == []


def test_keys_are_joined_by_what_did_not_ask():
    before = Tokens("patches", ("cls", "dist", "pool"), (1, 2), stride=4.0)
    asks = layer([[[0.5, 0.3, 0.2]]], Tokens("class", ("pool",)), WHOLE)
    found = joined(asks, before)
    assert (found.special, found.grid, found.name) == (("cls", "dist"), (1, 2), "patches")
    assert found.stride == 0  # the keys' own
    slots = layer([[[0.5, 0.5]]], CLASS, Tokens("slots", (), (1, 1), free=1))
    assert joined(slots, before).free == 0
    special = layer([[[0.5, 0.5]]], CLASS, Tokens("special", ("cls", "reg1")))
    found = joined(special, before)
    assert (found.special, found.grid, found.stride) == (("cls", "reg1", "dist", "pool"), (1, 2), 4.0)


def test_rows_are_picked_where_few_queries_hold_mass(monkeypatch):
    """Only the window of the one token is read: the other holds no numbers."""
    weights = torch.tensor(WINDOWS * 5)[:, None]
    weights[2:] = torch.nan
    tokens = Tokens("patches", (), (1, 20))
    ids = torch.arange(20).view(10, 2)
    asked = attending(weights, tokens, ids)
    taken = torch.zeros(1, 21).double()
    taken[0, 1] = 1
    assert layer_product.FEW < 20
    found = spread(taken, Factor(asked, None, 0.5, 0.5, False))
    close(found[0, :3], [0.4, 0.6, 0])
    assert bool(found.isfinite().all())
