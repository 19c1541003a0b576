"""Where a token looks, worked out by hand on a tiny trace; the top classes; the strength of features."""

import pytest
import torch
from torch.testing import assert_close

from tests.toys import attending, trace_of
from vizkit.analysis.attention.attention_map import all_heads, attention_map, find_query, fused, layers, windows_of
from vizkit.analysis.attention.feature_strength import feature_strength
from vizkit.geometry import all_ids, merging, window_ids
from vizkit.traces import Attention, Features, NotApplicable, Tokens

PATCHES = Tokens("patches", ("cls",), (2, 3), stride=16.0)


def ramp(heads=2):
    """7 tokens; head h of query q pays (q + 1)·(k + 1 + h), made to sum to one."""
    key = torch.arange(1.0, 8.0)
    weights = torch.stack([(key + h).expand(7, 7) for h in range(heads)])
    weights = weights / weights.sum(-1, keepdim=True)
    return attending(weights[None], PATCHES, name="ramp")


def test_windows_are_known_by_the_tokens_of_a_group():
    """A shift tears a window of 2 × 3 into pieces at two edges: it still has two rows and three columns."""
    tokens = Tokens("stage 1", (), (4, 6), stride=4.0)
    layers_of = []
    for shift in ((0, 0), (1, 1)):
        ids = window_ids((4, 6), (2, 3), shift)
        layers_of.append(attending(torch.full((4, 1, 6, 6), 1 / 6), tokens, ids))
    assert windows_of(trace_of(*layers_of), tokens) == {(2, 3)}
    assert windows_of(trace_of(ramp()), PATCHES) == {None}
    assert windows_of(trace_of(ramp()), tokens) == set()


def test_a_row_is_laid_on_the_grid_row_by_row():
    found = attention_map(ramp(), (0.5, 0.9), head=0)
    assert found.query_id == 1 + 3 + 1  # lower row, middle column, after the class token
    assert_close(found.places, torch.tensor([[2.0, 3, 4], [5, 6, 7]]) / 28)
    assert found.special == {"cls": pytest.approx(1 / 28)}
    assert found.padding == pytest.approx(0, abs=1e-6)
    assert not found.fallback


def test_no_head_is_the_mean_of_all():
    one, two = (attention_map(ramp(), "cls", head=h).places for h in (0, 1))
    assert_close(attention_map(ramp(), "cls").places, (one + two) / 2)
    assert_close(fused(ramp(), None), (fused(ramp(), 0) + fused(ramp(), 1)) / 2)


def test_a_head_that_a_layer_does_not_have_is_its_last():
    assert_close(attention_map(ramp(), "cls", head=9).places, attention_map(ramp(), "cls", head=1).places)


@pytest.mark.parametrize(
    "query, expected",
    [("cls", (0, False)), ((0.0, 0.0), (1, False)), ((0.99, 0.99), (6, False)), ((-3.0, 5.0), (4, False))],
)
def test_a_point_or_a_name_finds_its_token(query, expected):
    assert find_query(ramp(), query) == expected


def test_a_missing_special_token_falls_back_to_the_middle_and_says_so():
    assert find_query(ramp(), "dist") == (1 + 3 + 1, True)


def test_a_pool_has_one_query_for_every_point():
    pool, weights = Tokens("pool", ("pool",)), torch.full((1, 1, 1, 7), 1 / 7)
    attention = Attention("attn_pool", weights, pool, PATCHES, all_ids(1), all_ids(7))
    assert find_query(attention, (0.1, 0.9)) == (0, True)
    assert attention_map(attention, (0.1, 0.9)).places.shape == (2, 3)


def test_padding_is_reported_not_drawn():
    grid = Tokens("stage 1", (), (2, 3))
    ids = window_ids((2, 3), (2, 2))  # the second window holds one column of padding
    attention = attending(torch.full((2, 1, 4, 4), 0.25), grid, ids)
    found = attention_map(attention, (0.99, 0.0))
    assert found.padding == pytest.approx(0.5)
    assert_close(found.places, torch.tensor([[0, 0, 0.25], [0, 0, 0.25]]))


def test_channels_look_nowhere():
    channels = Tokens("channels", free=4)
    attention = attending(torch.full((1, 2, 4, 4), 0.25), channels)
    with pytest.raises(NotApplicable, match="channels"):
        attention_map(attention, (0.5, 0.5))
    assert all_heads(trace_of(attention), (0.5, 0.5)) == [None]


def test_all_heads_are_the_single_maps():
    trace = trace_of(ramp(3), ramp(2))
    for layer, maps in zip(layers(trace), all_heads(trace, (0.2, 0.2)), strict=True):
        for head in range(layer.heads):
            assert_close(maps[head], attention_map(layer, (0.2, 0.2), head).places)


def test_fixed_pooling_is_no_layer():
    merge = merging("merging 1", Tokens("a", (), (4, 6)), Tokens("b", (), (2, 3)))
    assert [a.name for a in layers(trace_of(ramp(), merge))] == ["ramp"]


def test_strength_is_the_length_of_each_vector():
    values = torch.zeros(7, 2)
    values[0] = 99.0  # the class token has no place
    values[4] = torch.tensor([3.0, 4.0])
    assert_close(feature_strength(Features("f", values, PATCHES)), torch.tensor([[0.0, 0, 0], [5, 0, 0]]))
    with pytest.raises(NotApplicable):
        feature_strength(Features("f", values, Tokens("free", free=7)))
