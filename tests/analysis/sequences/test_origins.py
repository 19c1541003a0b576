"""Rollout through two texts, against the same written out as one matrix over both, and alignment by hand."""

from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close

from tests import toys
from vizkit.analysis.attribution.rollout import rollout, rollout_matrix
from vizkit.analysis.sequences.alignment import Aligned, alignment, target_roles, together
from vizkit.analysis.sequences.rollout import origins
from vizkit.traces import Attention, NotApplicable, Tokens, dense

SOURCE, TARGET = Tokens("source", (), (1, 4), stride=1.0), Tokens("target", (), (1, 3), stride=1.0)
ENCODER, MASKED, CROSS = (SOURCE, SOURCE), (TARGET, TARGET), (TARGET, SOURCE)


def trace_of(*kinds):
    torch.manual_seed(0)
    layers = []
    for i, (query, key) in enumerate(kinds):
        scores = torch.randn(1, 2, len(query), len(key))
        scores = (
            scores.masked_fill(torch.ones(3, 3).triu(1).bool(), float("-inf")) if query is key is TARGET else scores
        )
        ids = (torch.arange(len(query))[None], torch.arange(len(key))[None])
        layers.append(Attention(f"layer {i}", scores.softmax(-1), query, key, *ids))
    return toys.trace_of(*layers)


def test_rows_are_those_of_one_matrix_over_both_texts():
    """One product of 7 × 7 matrices: the encoder moves source tokens, the decoder target tokens, the rest stays."""
    trace = trace_of(ENCODER, ENCODER, MASKED, CROSS, MASKED, CROSS)
    whole = torch.eye(7)
    for layer in trace.attention:
        step, first = torch.eye(7), {"source": 0, "target": 4}
        begin, end = first[layer.query.name], first[layer.query.name] + len(layer.query)
        step[begin:end] *= 0.5
        at = first[layer.key.name]
        step[begin:end, at : at + len(layer.key)] += 0.5 * dense(layer).mean(0)
        whole = step @ whole
    result = origins(trace)
    assert_close(result.encoder, whole[:4, :4])
    assert_close(result.source, whole[4:, :4])
    assert_close(result.target, whole[4:, 4:])
    assert_close(result.source.sum(1) + result.target.sum(1), torch.ones(3))
    assert (result.target.triu(1) == 0).all()


@pytest.mark.parametrize("fusion", ["max", "min"])
def test_rows_sum_to_one_with_every_fusion(fusion):
    result = origins(trace_of(ENCODER, MASKED, CROSS), fusion, residual=0.2)
    assert_close(result.source.sum(1) + result.target.sum(1), torch.ones(3))


def test_without_residuals_additive_attention_is_its_own_rollout():
    trace = trace_of(CROSS)
    assert_close(origins(trace, residual=0.0).source, trace.attention[0].weights[0].mean(0))


def test_two_texts_are_no_single_stream_even_where_they_are_equally_long():
    ids = torch.arange(3)[None]
    layer = Attention("cross", torch.full((1, 1, 3, 3), 1 / 3), TARGET, replace(TARGET, name="source"), ids, ids)
    with pytest.raises(NotApplicable, match="looks at another"):
        rollout(toys.trace_of(layer), 0)


def test_the_rollout_of_a_causal_text_never_comes_from_later_words():
    rows = rollout_matrix(trace_of(MASKED, MASKED))
    assert (rows.triu(1) == 0).all()
    assert_close(rows.sum(1), torch.ones(3, dtype=rows.dtype))


def test_where_there_is_one_text_only_it_says_so():
    with pytest.raises(NotApplicable, match="no cross-attention"):
        origins(trace_of(ENCODER))
    with pytest.raises(ValueError, match="0 to 1"):
        origins(trace_of(CROSS), residual=1.5)


def test_roles_of_an_iso_date():
    roles = target_roles(tuple("2026-11-21"))
    assert roles == ("year",) * 4 + ("",) + ("month",) * 2 + ("",) + ("day",) * 2
    assert target_roles(tuple("1-2-3-4")) == ("year", "", "month", "", "day", "", "")


def test_alignment_by_hand():
    weights = torch.tensor([[0.7, 0.2, 0.1], [0.3, 0.3, 0.4], [0.0, 0.1, 0.9], [1.0, 0.0, 0.0]])
    roles = alignment(weights, ("year", "year", "day"), ("year", "year", "day"))
    assert (roles["year"].places, roles["year"].hits, roles["year"].mass) == (2, 1, pytest.approx(0.75))
    assert (roles["day"].places, roles["day"].hits, roles["day"].mass) == (1, 1, pytest.approx(0.9))
    assert roles["year"].share == 0.5
    assert alignment(weights, ("month", ""), ("year", "", "day")) == {}
    both = together([roles, roles, {"year": Aligned(1, 1, 0.3)}])
    assert (both["year"].places, both["year"].hits) == (5, 3)
    assert both["year"].mass == pytest.approx((4 * 0.75 + 0.3) / 5)
    assert together([]) == {}
