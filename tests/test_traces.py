"""Two layers worked out by hand, and what a Trace refuses."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from vizkit.traces import (
    PADDING,
    Attention,
    Check,
    Features,
    Tokens,
    Trace,
    TraceError,
    dense,
    query_row,
    row_sum_error,
    row_times,
    tolerance,
)

THREE = Tokens("patches", grid=(1, 3), stride=16.0)
GOOD = Check(row_sum_error=1e-7, layers_found=1, layers_expected=1, output_error=1e-6)


def toy():
    """Two groups of two places, two heads, three tokens: group 0 is tokens 2 and 0, group 1 is token 1 and padding."""
    weights = torch.tensor(
        [
            [[[0.25, 0.75], [0.5, 0.5]], [[1.0, 0.0], [0.125, 0.875]]],  # group 0: head 0, head 1
            [[[0.625, 0.375], [0.5, 0.5]], [[0.75, 0.25], [0.0, 1.0]]],  # group 1
        ]
    )
    ids = torch.tensor([[2, 0], [1, PADDING]])
    return Attention("toy", weights, THREE, THREE, ids, ids)


# The same on paper: row 0 is the second place of group 0, its keys in the order (2, 0).
DENSE = torch.tensor(
    [
        [[0.5, 0.0, 0.5], [0.0, 0.625, 0.0], [0.75, 0.0, 0.25]],
        [[0.875, 0.0, 0.125], [0.0, 0.75, 0.0], [0.0, 0.0, 1.0]],
    ]
)


def trace_of(attention, logits=None, check=GOOD):
    logits = torch.tensor([0.5, -1.0]) if logits is None else logits
    return Trace("toy", (16, 48), logits, (attention,), (), check)


def test_tokens_are_counted():
    assert len(Tokens("t", ("cls", "dist"), (3, 5), free=7)) == 2 + 15 + 7
    assert len(Tokens("none")) == 0


def test_dense_by_hand():
    assert torch.equal(dense(toy()), DENSE)


def test_dense_leaves_out_what_padding_takes():
    assert torch.equal(dense(toy()).sum(-1), torch.tensor([[1.0, 0.625, 1.0], [1.0, 0.75, 1.0]]))


def test_dense_adds_up_a_key_that_stands_twice():
    ids = torch.tensor([[0, 0, 2]])
    one = Attention("twice", torch.tensor([[[[0.5, 0.25, 0.25]]]]), THREE, THREE, torch.tensor([[1]]), ids)
    assert torch.equal(dense(one)[0, 1], torch.tensor([0.75, 0.0, 0.25]))
    assert torch.equal(query_row(one, 1)[0], torch.tensor([0.75, 0.0, 0.25]))


def test_dense_does_not_share_memory_with_the_trace():
    ids = torch.arange(3)[None]
    one = Attention("global", torch.eye(3)[None, None], THREE, THREE, ids, ids)
    dense(one).zero_()
    assert torch.equal(one.weights, torch.eye(3)[None, None])


def test_row_times_by_hand():
    row = torch.tensor([2.0, 8.0, 4.0])
    # ½ (head 0 + head 1): row 0 = (.6875, 0, .3125), row 1 = (0, .6875, 0), row 2 = (.375, 0, .625)
    assert torch.equal(row_times(row, toy()), torch.tensor([2.875, 5.5, 3.125]))


def test_row_times_with_head_weights():
    row = torch.tensor([2.0, 8.0, 4.0])
    got = row_times(row, toy(), head_weights=torch.tensor([0.0, 3.0]))
    assert torch.equal(got, 3 * row @ DENSE[1])


def test_row_times_of_half_precision_is_float32():
    half = replace(toy(), weights=toy().weights.half())
    assert row_times(torch.ones(3), half).dtype == torch.float32


def test_query_row_is_the_row_of_dense():
    for token in range(3):
        assert torch.equal(query_row(toy(), token), DENSE[:, token])


@pytest.mark.parametrize("token", [PADDING, 3])
def test_query_row_refuses_tokens_that_are_not_there(token):
    with pytest.raises(KeyError):
        query_row(toy(), token)


@st.composite
def layouts(draw) -> tuple:
    """Any groups: each query in one of them at most, keys anywhere, also twice, padding among both."""
    groups, heads = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    queries, keys = draw(st.integers(1, 5)), draw(st.integers(1, 6))
    order = draw(st.permutations(range(groups * queries + 1)))[: groups * queries]
    padded = draw(st.lists(st.booleans(), min_size=groups * queries, max_size=groups * queries))
    query_ids = [PADDING if pad else token for token, pad in zip(order, padded, strict=True)]
    key_ids = draw(st.lists(st.integers(PADDING, 13), min_size=groups * keys, max_size=groups * keys))
    return (groups, heads, queries, keys), query_ids, key_ids, draw(st.integers(0, 2**31))


def attention_of(layout):
    shape, query_ids, key_ids, seed = layout
    generator = torch.Generator().manual_seed(seed)
    query, key = Tokens("q", ("cls",), free=shape[0] * shape[2]), Tokens("k", grid=(2, 7))
    ids = torch.tensor(query_ids).view(shape[0], -1), torch.tensor(key_ids).view(shape[0], -1)
    weights = torch.randn(shape, generator=generator).softmax(-1)
    return Attention("any", weights, query, key, *ids), torch.randn(len(query), generator=generator)


@settings(max_examples=200, deadline=None)
@given(layouts())
def test_row_times_is_the_product_with_dense(layout):
    attention, row = attention_of(layout)
    assert_close(row_times(row, attention), row @ dense(attention).mean(0))


@settings(max_examples=100, deadline=None)
@given(layouts())
def test_query_rows_stacked_are_dense(layout):
    attention, _ = attention_of(layout)
    full = dense(attention)
    for token in range(len(attention.query)):
        if (attention.query_ids == token).any():
            assert_close(query_row(attention, token), full[:, token])
        else:
            assert not full[:, token].any()


@pytest.mark.parametrize(
    "change, message",
    [
        ({"query_ids": torch.zeros(2, 3, dtype=torch.long)}, r"query ids are \(2, 3\), expected \(2, 2\)"),
        ({"key_ids": torch.zeros(1, 2, dtype=torch.long)}, r"key ids are \(1, 2\), expected \(2, 2\)"),
        ({"key_ids": torch.tensor([[0, 1], [2, 3]])}, "key ids go 0 to 3, but patches has 3"),
        ({"query_ids": torch.tensor([[0, 1], [2, -2]])}, "query ids go -2 to 2"),
        ({"query_ids": torch.tensor([[0, 1], [1, 2]])}, "stands in two groups"),
        ({"gradient": torch.zeros(2, 2, 2, 3)}, "gradient"),
    ],
)
def test_attention_refuses_ids_that_do_not_fit(change, message):
    # The shape checks of the annotations would speak first: they are switched off as they are for users.
    fields = {name: getattr(toy(), name) for name in ("name", "weights", "query", "key", "query_ids", "key_ids")}
    one = object.__new__(Attention)
    for name, value in ({"gradient": None, "learned": True, "heads": 0} | fields | change).items():
        object.__setattr__(one, name, value)
    with pytest.raises(TraceError, match=message):
        one.__post_init__()


def test_attention_refuses_an_empty_layer():
    none = torch.zeros(1, 0, dtype=torch.long)
    with pytest.raises(TraceError, match="there is no query"):
        Attention("empty", torch.zeros(1, 2, 0, 3), THREE, THREE, none, torch.arange(3)[None])


def test_attention_knows_its_heads_even_when_their_mean_was_kept():
    assert toy().heads == 2
    assert replace(toy(), weights=toy().weights.mean(1, keepdim=True), heads=12).heads == 12


def test_row_sum_error_is_the_largest_over_layers():
    wrong = replace(toy(), weights=toy().weights * torch.tensor([1.0, 1.25])[:, None, None, None])
    assert row_sum_error([toy(), wrong, toy()]) == pytest.approx(0.25)
    assert row_sum_error([]) == 0


@pytest.mark.parametrize("place", [0, 1])
def test_row_sum_error_does_not_swallow_nan(place):
    broken = toy().weights.clone()
    broken[1, 0, 0, 0] = float("nan")
    layers = [toy(), toy()]
    layers[place] = replace(toy(), weights=broken)
    error = row_sum_error(layers)
    assert error != error
    assert not replace(GOOD, row_sum_error=error).passed
    with pytest.raises(TraceError, match="misses one by nan"):
        trace_of(layers[place], check=replace(GOOD, row_sum_error=error))


def test_check_passes_only_when_everything_holds():
    assert GOOD.passed
    assert replace(GOOD, logit_error=1e-5).passed
    assert not replace(GOOD, logit_error=1e-3).passed
    assert not replace(GOOD, logit_error=float("nan")).passed
    assert not replace(GOOD, row_sum_error=1e-3).passed
    assert not replace(GOOD, layers_found=0).passed
    assert not replace(GOOD, output_error=2e-4).passed
    assert replace(GOOD, output_error=2e-4, output_tolerance=2e-3).passed
    assert not replace(GOOD, output_error=float("nan")).passed


def test_a_check_without_any_comparison_does_not_pass():
    nothing = replace(GOOD, output_error=None)
    assert nothing.proofs == ()
    assert not nothing.passed
    assert "no proof" in str(nothing.failure)
    assert replace(nothing, logit_error=0.0).passed


def test_a_check_names_its_proofs_and_why_it_failed():
    both = replace(GOOD, logit_error=0.0)
    assert (GOOD.proofs, both.proofs) == (("output of every layer",), ("output of every layer", "logits"))
    assert replace(both, output_error=None).proofs == ("logits",)
    assert both.failure is both.refused is None
    assert replace(both, places_error=0.0).proofs == ("output of every layer", "logits", "places")
    wrong = replace(both, output_error=2e-2, logit_error=3e-3)
    assert "what a layer itself gave (they differ by 2.0e-02, allowed are 1e-04)" in str(wrong.refused)
    assert wrong.failure == wrong.refused
    moved = replace(both, logit_error=3e-3)
    assert moved.refused is None
    assert "prediction is another than without (logits differ by 3.0e-03" in str(moved.failure)


@pytest.mark.parametrize(
    "dtype, allowed",
    [(torch.float64, 1e-4), (torch.float32, 1e-4), (torch.float16, 2**-9), (torch.bfloat16, 2**-6)],
)
def test_half_precision_is_allowed_twice_its_spacing(dtype, allowed):
    assert tolerance(dtype) == allowed


def test_trace_accepts_what_holds_together():
    patches = Features("block", torch.zeros(3, 5), THREE)
    assert replace(trace_of(toy()), features=(patches,)).features[0].values.shape == (3, 5)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_trace_refuses_broken_logits(bad):
    with pytest.raises(TraceError, match="not numbers"):
        trace_of(toy(), logits=torch.tensor([0.0, bad]))


def test_trace_refuses_missing_layers():
    with pytest.raises(TraceError, match="1 of 12 attention layers"):
        trace_of(toy(), check=replace(GOOD, layers_expected=12))


def test_trace_refuses_rows_that_do_not_sum_to_one():
    with pytest.raises(TraceError, match=r"misses one by 2\.0e-04"):
        trace_of(toy(), check=replace(GOOD, row_sum_error=2e-4))


def test_a_check_says_of_how_many_rows_and_layers_it_speaks():
    some = replace(GOOD, rows_compared=48, rows_recorded=2364, places_error=0.0, places_found=11, places_claimed=12)
    assert (some.compared, some.places) == (" in 48 of 2,364 rows", "places measured in 11 of 12 layers")
    assert (GOOD.compared, GOOD.places) == ("", "")
    assert replace(some, output_error=None).compared == ""
    assert replace(some, places_error=None, places_found=0).places == "places measured in no layer"
    moved = replace(some, places_error=3.0)
    assert moved.places == "places wrong in 11 of 12 layers"
    assert (
        moved.refused
        == "The check failed: a patch that was changed is found 3 tokens away from where the trace places it."
    )
    assert replace(some, places_error=1.0).refused.count("1 token away") == 1
    assert replace(some, places_error=float("nan")).refused
