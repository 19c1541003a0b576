"""Distance, entropy and shares of every head against plain loops; what several images spread over."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from tests.drawn import noise
from tests.toys import attending, trace_of
from vizkit.analysis.attention.statistics import (
    Layer,
    by_layer,
    entropy_by_place,
    layer,
    mean_distance_px,
    mean_entropy,
    paid_to,
    spread,
)
from vizkit.geometry import all_ids, window_ids
from vizkit.traces import Attention, NotApplicable, Tokens

HEADS, GRID, STRIDE = 3, (2, 5), 7.0


def random_weights(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.softmax(2 * torch.randn(*shape, generator=generator), -1)


def whole_image(prefix, weights=None, grid=GRID):
    tokens = Tokens("patches", tuple(f"s{i}" for i in range(prefix)), grid, stride=STRIDE)
    count = len(tokens)
    weights = random_weights(1, HEADS, count, count) if weights is None else weights
    return attending(weights, tokens)


def windows(shift=(1, 1)):
    """Windows of 2×3 on a 5×7 grid: padded below and on the right, rolled."""
    tokens = Tokens("stage 1", (), (5, 7), stride=STRIDE)
    ids = window_ids((5, 7), (2, 3), shift)
    assert (ids < 0).any()
    return attending(random_weights(len(ids), HEADS, 6, 6), tokens, ids)


def by_loops(attention, head):
    """(distance, H, share of each special token, padding, itself): number by number, as the formulas are written."""
    tokens, columns = attention.key, attention.key.grid[1]
    first = len(tokens.special)
    distances, entropies, padding, itself = [], [], [], []
    special = [[] for _ in range(first)]
    groups, _, queries, keys = attention.weights.shape
    for g in range(groups):
        for i in range(queries):
            query = int(attention.query_ids[g, i])
            if query < 0:
                continue
            row = [float(attention.weights[g, head, i, j]) for j in range(keys)]
            ids = [int(attention.key_ids[g, j]) for j in range(keys)]
            entropies.append(-sum(w * math.log(w) for w in row if w > 0))
            padding.append(sum(w for w, k in zip(row, ids, strict=True) if k < 0))
            itself.append(sum(w for w, k in zip(row, ids, strict=True) if k == query))
            for s in range(first):
                special[s].append(sum(w for w, k in zip(row, ids, strict=True) if k == s))
            if query < first:
                continue
            total = travelled = 0.0
            for w, k in zip(row, ids, strict=True):
                if k >= first:
                    down = (query - first) // columns - (k - first) // columns
                    right = (query - first) % columns - (k - first) % columns
                    total, travelled = total + w, travelled + w * STRIDE * math.hypot(down, right)
            if total > 0:
                distances.append(travelled / total)

    def mean(values):
        return sum(values) / len(values)

    return mean(distances), mean(entropies), [mean(s) for s in special], mean(padding), mean(itself)


CASES = [*(f"prefix {n}" for n in (0, 1, 2, 5)), "windows", "shifted windows"]


def case(name):
    if "windows" in name:
        return windows((1, 1) if "shifted" in name else (0, 0))
    return whole_image(int(name.split()[-1]))


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_plain_loops(name):
    attention = case(name)
    found = layer(attention)
    for head in range(HEADS):
        distance, entropy, special, padding, itself = by_loops(attention, head)
        assert float(found.distance_px[head]) == pytest.approx(distance, rel=1e-5)
        assert float(mean_entropy(attention)[head]) == pytest.approx(entropy, rel=1e-5)
        assert float(found.entropy[head]) == pytest.approx(entropy / math.log(attention.weights.shape[-1]), rel=1e-5)
        assert float(found.effective[head]) == pytest.approx(math.exp(entropy), rel=1e-5)
        assert [float(share[head]) for share in found.special.values()] == pytest.approx(special, rel=1e-5)
        assert float(found.padding[head]) == pytest.approx(padding, rel=1e-5, abs=1e-9)
        assert float(found.itself[head]) == pytest.approx(itself, rel=1e-5)
    assert list(found.special) == list(attention.key.special)


def test_a_row_that_pays_nothing_to_patches_is_left_out():
    weights = torch.zeros(1, 1, 11, 11)
    weights[..., 0] = 1
    assert math.isnan(float(mean_distance_px(whole_image(1, weights))[0]))
    weights[0, 0, 3] = 0
    weights[0, 0, 3, 4] = 1  # its right neighbour
    assert float(mean_distance_px(whole_image(1, weights))[0]) == pytest.approx(STRIDE)


def test_extremes():
    count = 10
    found = layer(whole_image(0, torch.eye(count)[None, None]))
    assert [float(x) for x in (found.distance_px, found.entropy, found.effective, found.itself)] == [0, 0, 1, 1]
    found = layer(whole_image(0, torch.full((1, 1, count, count), 1 / count)))
    assert float(found.entropy) == pytest.approx(1)
    assert float(found.effective) == pytest.approx(count, rel=1e-5)


@settings(deadline=None)
@given(st.integers(0, 999), st.floats(0, 30), st.integers(0, 3))
def test_ranges(seed, sharpness, prefix):
    count = prefix + 10
    scores = sharpness * noise(1, 2, count, count, seed=seed)
    found = layer(whole_image(prefix, scores.softmax(-1)))
    longest = STRIDE * math.hypot(GRID[0] - 1, GRID[1] - 1)
    assert (found.entropy >= 0).all()
    assert (found.entropy <= 1 + 1e-6).all()
    assert (found.effective <= count * (1 + 1e-5)).all()
    assert (found.distance_px.nan_to_num() <= longest * (1 + 1e-6)).all()
    shares = torch.stack([*found.special.values(), found.padding])
    assert (shares >= 0).all()
    assert (shares.sum(0) <= 1 + 1e-5).all()


def test_what_outliers_take():
    attention = whole_image(1)
    taken = paid_to(attention, torch.tensor([3, 7]))
    assert_close(taken, attention.weights[0, :, :, [3, 7]].sum(-1).mean(-1))
    assert_close(paid_to(attention, torch.arange(11)), torch.ones(HEADS))
    assert not paid_to(attention, torch.tensor([], dtype=torch.long)).any()


def test_a_sink_is_the_patch_that_gets_most():
    """Of the class token nothing is counted, in windows all that look at a patch together."""
    weights = torch.full((1, 1, 11, 11), 0.05)
    weights[..., 0], weights[..., 4] = 0.1, 0.45
    assert layer(replace(whole_image(1), weights=weights)).sink.tolist() == pytest.approx([0.45])
    attention = whole_image(1)
    expected = attention.weights[0, :, :, 1:].mean(1).amax(-1)
    assert_close(layer(attention).sink, expected)


def test_a_pool_and_channels_have_no_distance():
    pool, patches = Tokens("pool", ("pool",)), Tokens("patches", ("cls",), GRID, stride=STRIDE)
    attention = Attention("attn_pool", random_weights(1, HEADS, 1, 11), pool, patches, all_ids(1), all_ids(11))
    with pytest.raises(NotApplicable, match="where queries and keys lie"):
        mean_distance_px(attention)
    found = layer(attention)
    assert found.distance_px.isnan().all()
    assert not found.itself.any()  # the pool is not among its keys
    even = replace(attention, weights=torch.full((1, HEADS, 1, 11), 1 / 11))
    assert layer(even).entropy.tolist() == pytest.approx([1] * HEADS)
    assert_close(found.special["cls"], attention.weights[0, :, 0, 0])


def toy_layer(value):
    one = torch.tensor([value, 2 * value])
    return (Layer("blocks.0", one, one + 1, one + 2, {"cls": one + 3}, one + 4, one + 5, one + 6),)


def test_spread_by_hand():
    mean, deviation = spread([toy_layer(1.0), toy_layer(3.0), toy_layer(8.0)])
    assert mean[0].distance_px.tolist() == [4, 8]
    assert mean[0].special["cls"].tolist() == [7, 11]
    assert mean[0].itself.tolist() == [9, 13]
    expected = math.sqrt(((1 - 4) ** 2 + (3 - 4) ** 2 + (8 - 4) ** 2) / 2)
    for values in (deviation[0].distance_px, deviation[0].entropy, deviation[0].special["cls"], deviation[0].padding):
        assert values.tolist() == pytest.approx([expected, 2 * expected])
    assert mean[0].name == "blocks.0"


def test_a_token_without_a_place_behind_the_grid_has_no_distance():
    tokens = Tokens("patches", ("cls",), (1, 2), free=1, stride=STRIDE)
    weights = torch.full((1, 1, 4, 4), 0.25)  # of patches: half of a step to the other, whatever the rest takes
    attention = attending(weights, tokens)
    assert mean_distance_px(attention).tolist() == [STRIDE / 2]


def test_one_image_has_no_spread_and_two_models_none_together():
    mean, deviation = spread([toy_layer(2.0)])
    assert mean[0].effective.tolist() == [4, 6]
    assert not deviation[0].effective.any()
    other = (Layer("other", *([torch.ones(2)] * 3), {}, torch.ones(2), torch.ones(2), torch.ones(2)),)
    for images in ([], [toy_layer(1.0), other], [toy_layer(1.0), toy_layer(1.0) * 2]):
        with pytest.raises(NotApplicable):
            spread(images)


def test_a_network_without_attention_says_so():
    with pytest.raises(NotApplicable, match="no attention"):
        by_layer(trace_of())


def test_one_token_has_nothing_to_choose_from():
    assert float(layer(whole_image(0, torch.ones(1, 1, 1, 1), (1, 1))).entropy) == 0


# ---- by place --------------------------------------------------------------------------------------------------------
def test_the_entropy_of_a_place_is_that_of_its_own_row():
    """Two tokens in front of 2 × 5 places; one place attends to a single token, one to four alike, the rest evenly."""
    weights = torch.full((1, HEADS, 12, 12), 1 / 12)
    weights[0, :, 2], weights[0, :, 5] = torch.eye(12)[0], torch.tensor([0.25] * 4 + [0.0] * 8)
    found = entropy_by_place(whole_image(2, weights))
    expected = torch.ones(2, 5)
    expected[0, 0], expected[0, 3] = 0.0, math.log(4) / math.log(12)
    assert_close(found, expected)


def test_of_windows_only_their_own_keys_count():
    attention = windows()
    found = entropy_by_place(attention, 1)
    assert found.shape == (5, 7)
    group, position = map(int, (attention.query_ids == 9).nonzero()[0])
    row, keys = attention.weights[group, 1, position], int((attention.key_ids[group] >= 0).sum())
    entropy = -float((row * row.log()).sum()) / math.log(keys)
    assert float(found.flatten()[9]) == pytest.approx(min(1.0, entropy), abs=1e-5)


def test_without_places_there_is_no_map_of_entropies():
    tokens = Tokens("words", ("a", "b", "c", "d"), None, stride=1.0)
    assert entropy_by_place(attending(random_weights(1, HEADS, 4, 4), tokens)) is None
