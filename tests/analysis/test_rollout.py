"""Rollout against the definition written out: loops over tokens, full matrices, windows scattered weight by weight."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import timm
import torch
from torch.testing import assert_close

from tests.drawn import seeded
from tests.toys import attending, trace_of
from vizkit.analysis.attribution.rollout import (
    rollout,
    rollout_by_layer,
    rollout_masses,
    rollout_matrix,
    rollout_terms,
)
from vizkit.geometry import all_ids, merging
from vizkit.models import Keep, families
from vizkit.models.sources.loaded import described
from vizkit.traces import PADDING, Attention, NotApplicable, Tokens

MODELS = {  # name → (timm name, (height, width), options)
    "vit": ("test_vit", (48, 48), {"depth": 3}),
    "distilled": ("deit_tiny_distilled_patch16_224", (48, 48), {"depth": 3}),
    "registers": ("test_vit", (48, 80), {"depth": 3, "reg_tokens": 3}),
    "oblong": ("test_vit", (32, 96), {"depth": 3}),
    "mean": ("test_vit2", (48, 80), {"depth": 3}),
    "pool": ("test_vit3", (48, 80), {"depth": 3}),
    "swin": (
        "swin_tiny_patch4_window7_224",
        (60, 92),  # grids of 15×23, 8×12, 4×6, 2×3: windows of 4 shift, pad and merge odd edges
        {"depths": (2, 2, 2, 2), "window_size": 4, "embed_dim": 24, "num_heads": (1, 2, 2, 4)},
    ),
    "cait": ("cait_xxs24_224", (32, 48), {"depth": 2}),
    "tnt": ("tnt_s_patch16_224", (32, 48), {"depth": 2}),
    "pvt": ("pvt_v2_b0", (64, 64), {}),
    "xcit": ("xcit_nano_12_p8_224", (32, 48), {"depth": 2}),
    "cnn": ("test_resnet", (64, 64), {}),
}


@cache
def traced(key, keep=None, target=None):
    """One image through a small model whose queries and keys are scaled up, so that its attention is far from even."""
    name, size_hw, options = MODELS[key]
    sized = {} if key in ("pvt", "cnn") else {"img_size": size_hw}
    with seeded():
        model = (
            timm.create_model(name, pretrained=False, num_classes=5, **options, **sized).eval().requires_grad_(False)
        )
        pixels = torch.randn(1, 3, *size_hw)
    for path, weight in model.named_parameters():
        if path.endswith(("qkv.weight", ".q.weight", ".k.weight")):
            weight.mul_(6)
    loaded = described(name, model, size_hw, source="test")
    return families.trace(loaded, pixels, target=target, keep=keep)


def by_loops(layers, residual=0.5, fuse=np.mean, start_layer=0):
    """R of global self-attention, token by token, in float64."""
    count = len(layers[0].query)
    product = np.eye(count)
    for layer in layers[start_layer:]:
        weights = layer.weights[0].double().numpy()
        full = np.zeros((count, count))
        for i in range(count):
            for j in range(count):
                full[i, j] = (1 - residual) * fuse(weights[:, i, j]) + residual * (i == j)
            full[i] /= full[i].sum()
        product = full @ product
    return product


def picture(row, tokens):
    places = torch.tensor(row[len(tokens.special) :]).view(tokens.grid)
    return (places / places.sum()).float()


def close(found, expected, atol=1e-6):
    assert_close(found.float(), torch.as_tensor(expected).float(), atol=atol, rtol=0)


@pytest.mark.parametrize("key", ["vit", "distilled", "registers", "oblong"])
@pytest.mark.parametrize("fusion", ["mean", "max", "min"])
def test_rollout_is_its_definition(key, fusion):
    trace = traced(key)
    tokens, fuse = trace.attention[0].query, {"mean": np.mean, "max": np.max, "min": np.min}[fusion]
    product = by_loops(trace.attention, fuse=fuse)
    found = rollout(trace, fusion=fusion)
    assert tuple(found.shape) == tokens.grid
    assert float(found.std()) > 1e-4  # the picture is not even, so an error would show
    close(found, picture(product[0], tokens))
    masses = rollout_masses(trace, fusion=fusion)
    close(torch.tensor([*masses.special.values()]), product[0, : len(tokens.special)])
    assert list(masses.special) == list(tokens.special)
    close(rollout_matrix(trace, fusion=fusion), product)


@pytest.mark.parametrize("residual", [0.0, 0.3, 0.9])
def test_the_weight_of_the_identity(residual):
    trace = traced("vit")
    close(rollout(trace, residual=residual), picture(by_loops(trace.attention, residual)[0], trace.attention[0].query))


def test_layers_before_the_start_are_the_identity():
    trace = traced("oblong")
    expected = by_loops(trace.attention, start_layer=2)[0]
    close(rollout(trace, start_layer=2), picture(expected, trace.attention[0].query))


@pytest.mark.parametrize("query, label", [("mean", "mean"), (7, "row 2, column 2"), ((1, 1), "row 2, column 2")])
def test_queries(query, label):
    trace = traced("registers")  # 3 × 5 cells behind 4 special tokens
    product, first = by_loops(trace.attention), 4
    row = product[first:].mean(0) if query == "mean" else product[first + 1 * 5 + 1 if query != 7 else 7]
    label = "row 1, column 4" if query == 7 else label
    found = rollout_masses(trace, query)
    assert found.query == label
    close(found.grid, row[first:].reshape(3, 5))
    close(rollout(trace, query), picture(row, trace.attention[0].query))


def test_the_two_tokens_of_a_distilled_model():
    trace = traced("distilled")
    product, tokens = by_loops(trace.attention), trace.attention[0].query
    assert tokens.special == ("cls", "dist")
    close(rollout(trace, "dist"), picture(product[1], tokens))
    close(rollout(trace, "cls+dist"), picture(product[:2].mean(0), tokens))


def test_a_model_without_a_class_token_gives_what_its_head_reads():
    mean, pool = traced("mean"), traced("pool")
    product = by_loops(mean.attention)
    assert rollout_masses(mean).query == "mean"
    close(rollout(mean), picture(product[1:].mean(0), mean.attention[0].query))
    product = pool.attention[-1].weights[0].double().mean(0).numpy() @ by_loops(pool.attention[:-1])
    found = rollout_masses(pool)
    assert (found.query, list(found.special)) == ("pool", ["reg1"])
    close(rollout(pool), picture(product[0], pool.attention[0].query))
    assert rollout_masses(pool, (0, 2)).query == "row 1, column 3"  # below the pool, which has no places


def test_class_attention_leaves_the_patches_where_they_are():
    trace = traced("cait")
    patches = [layer for layer in trace.attention if layer.query.grid]
    row = np.zeros(1 + len(patches[0].query))
    row[0] = 1
    for layer in [layer for layer in trace.attention if not layer.query.grid][::-1]:
        weights = layer.weights[0].double().mean(0).numpy()[0]
        row = np.concatenate([[0], row[1:]]) + row[0] * (weights / 2 + np.eye(len(row))[0] / 2)
    expected = row[1:] @ by_loops(patches)
    found = rollout_masses(trace)
    assert found.query == "cls"
    close(found.grid.flatten(), expected)
    assert found.special["cls"] == pytest.approx(row[0], abs=1e-6)
    assert len(rollout_by_layer(trace)) == len(trace.attention)


def test_inner_tokens_are_no_part_of_the_stream():
    trace = traced("tnt")
    outer = [layer for layer in trace.attention if layer.query.name == "patches"]
    assert len(outer) < len(trace.attention)
    close(rollout(trace), picture(by_loops(outer)[0], outer[0].query))


# Swin ----------------------------------------------------------------------------------------------------------------


def scattered(layer):
    """(queries + 1, keys + 1) in float64, weight by weight; padding is the last row and column."""
    full = np.zeros((len(layer.query) + 1, len(layer.key) + 1))
    full[-1, -1] = 1
    weights = layer.weights.double().mean(1).numpy()
    for group, (queries, keys) in enumerate(zip(layer.query_ids.tolist(), layer.key_ids.tolist(), strict=True)):
        for i, query in enumerate(queries):
            for j, key in enumerate(keys):
                if query != PADDING:
                    full[query, key] += weights[group, i, j]
    return (full + np.eye(len(full))) / 2 if layer.learned else full


@pytest.fixture(scope="module")
def swin_product():
    trace = traced("swin")
    product = None
    for layer in trace.attention:
        one = scattered(layer)
        product = one if product is None else one @ product
    return product


@pytest.mark.parametrize("query", ["cls", "mean", (1, 2), 0])
def test_rollout_through_swin(swin_product, query):
    trace = traced("swin")
    assert trace.attention[0].query.grid == (15, 23)
    assert trace.attention[-1].query.grid == (2, 3)
    assert [layer.learned for layer in trace.attention].count(False) == 3
    row = swin_product[:-1].mean(0) if query in ("cls", "mean") else swin_product[5 if query == (1, 2) else 0]
    found = rollout_masses(trace, query)
    assert found.grid.shape == (15, 23)
    close(found.grid, row[:-1].reshape(15, 23), atol=1e-5)
    assert found.padding == pytest.approx(row[-1], abs=1e-5)
    assert found.padding > 0.01
    assert float(found.grid.sum()) + found.padding == pytest.approx(1, abs=1e-5)
    assert float(rollout(trace, query).sum()) == pytest.approx(1, abs=1e-5)


def test_every_row_below_class_attention_at_once():
    trace = traced("cait")
    close(rollout_matrix(trace), by_loops([layer for layer in trace.attention if layer.query.grid]))


def test_every_row_of_swin_at_once(swin_product):
    close(rollout_matrix(traced("swin")), swin_product[:-1, :-1], atol=1e-5)


def test_swin_by_layer_stays_on_the_input_patches():
    trace = traced("swin")
    growing = rollout_by_layer(trace, (1, 2))
    assert len(growing) == 8
    assert {tuple(one.grid.shape) for one in growing} == {(15, 23)}
    reach = [int((one.grid > 0).sum()) for one in growing]
    assert reach == sorted(reach)
    assert reach[0] <= 16 < reach[-1]  # one window at first
    close(growing[-1].grid, rollout_masses(trace, (1, 2)).grid)
    assert growing[0].query == "row 12, column 20"  # the middle of cell (1, 2) of 2 × 3 on 15 × 23
    for one, same in zip(growing, rollout_by_layer(trace, 5), strict=True):
        assert one.query == same.query
        close(one.grid, same.grid)


@pytest.mark.parametrize("key", ["swin", "cait"])
def test_by_layer_the_id_of_the_first_place_is_its_cell(key):
    trace = traced(key)
    for one, same in zip(rollout_by_layer(trace, 0), rollout_by_layer(trace, (0, 0)), strict=True):
        assert one.query == same.query
        close(one.grid, same.grid)


def test_by_layer_the_id_of_a_special_token_is_its_name():
    for one, same in zip(
        rollout_by_layer(traced("registers"), 2), rollout_by_layer(traced("registers"), "reg2"), strict=True
    ):
        assert one.query == same.query == "reg2"
        close(one.grid, same.grid)


def class_attention(fine):
    tokens, count = Tokens("class", ("cls",)), len(fine)
    return Attention("class", torch.full((1, 1, 1, count), 1 / count), tokens, fine, all_ids(1), all_ids(count))


def test_by_layer_class_attention_in_between_has_the_places_of_the_layer_before():
    fine, coarse = Tokens("fine", ("cls",), (1, 4)), Tokens("coarse", (), (1, 2))
    one, other = (attending(torch.full((1, 1, n, n), 1 / n), tokens) for tokens, n in ((fine, 5), (coarse, 2)))
    trace = trace_of(one, class_attention(fine), merging("m", fine, coarse, (1, 2)), other)
    assert [each.query for each in rollout_by_layer(trace, (0, 1))] == [
        "row 1, column 4",
        "row 1, column 4",
        "row 1, column 2",
    ]


def test_by_layer_class_attention_before_all_places_answers_for_its_own_token_alone():
    fine = Tokens("fine", ("cls",), (1, 2))
    even = attending(torch.full((1, 1, 3, 3), 1 / 3), fine)
    trace = trace_of(class_attention(fine), even)
    first, _ = rollout_by_layer(trace, "cls")
    close(first.grid, torch.tensor([[1 / 6, 1 / 6]]))
    with pytest.raises(ValueError, match="not on the 0 × 0 grid"):
        rollout_by_layer(trace, (0, 0))


@pytest.mark.parametrize("query", [-1, 10, 99])
def test_by_layer_an_id_that_is_not_there_is_refused(query):
    with pytest.raises(ValueError, match=f"Token {query} does not exist: there are 10"):
        rollout_by_layer(traced("vit"), query)


# Properties ----------------------------------------------------------------------------------------------------------


def layer_of(*rows):
    tokens = Tokens("patches", ("cls",), (1, len(rows) - 1))
    weights = torch.tensor(rows)[None, None]
    return attending(weights, tokens)


@pytest.mark.parametrize("key", ["vit", "registers", "mean", "pool", "swin", "cait"])
@pytest.mark.parametrize("options", [{}, {"fusion": "max"}, {"fusion": "min"}, {"discard": 0.6}, {"start_layer": 1}])
def test_the_picture_sums_to_one(key, options):
    found = rollout(traced(key), **options)
    assert float(found.sum()) == pytest.approx(1, abs=1e-5)
    assert float(found.min()) >= 0
    masses = rollout_masses(traced(key), **options)
    total = float(masses.grid.sum()) + sum(masses.special.values()) + masses.padding
    assert total == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("fusion", ["mean", "max"])
@pytest.mark.parametrize("key", ["vit", "swin"])
def test_the_order_of_heads_does_not_matter(key, fusion):
    trace = traced(key)
    turned = tuple(replace(a, weights=a.weights.flip(1)) for a in trace.attention)
    close(rollout(replace(trace, attention=turned), fusion=fusion), rollout(trace, fusion=fusion))


def test_by_layer_is_the_product_so_far():
    trace = traced("registers")
    for count, one in enumerate(rollout_by_layer(trace), start=1):
        close(one.grid.flatten(), by_loops(trace.attention[:count])[0, 4:])
    assert len(rollout_by_layer(trace, start_layer=2)) == 1


def test_discard_by_hand():
    layer = layer_of([0.6, 0.3, 0.1], [0.5, 0.05, 0.45], [0.2, 0.02, 0.78])
    # Of nine weights the two smallest are .02 and .05; the latter is on the diagonal and stays. Three: .1 goes as well.
    close(rollout_masses(trace_of(layer), discard=2 / 9 + 0.01).grid, torch.tensor([[0.15, 0.05]]))
    close(rollout_masses(trace_of(layer), discard=3 / 9 + 0.01).grid, torch.tensor([[0.15, 0]]) / 0.95)
    close(rollout_masses(trace_of(layer), (0, 1), discard=2 / 9 + 0.01).grid, torch.tensor([[0, 0.89]]) / 0.99)


def test_discard_never_takes_the_weight_of_a_token_to_itself():
    layer = layer_of([0.6, 0.3, 0.1], [0.5, 0.05, 0.45], [0.2, 0.02, 0.78])
    # The first patch pays itself .05, among the two smallest of nine: its row is .25, .525, .225.
    found = rollout_masses(trace_of(layer), (0, 0), discard=2 / 9 + 0.01)
    close(found.grid, torch.tensor([[0.525, 0.225]]))
    assert found.special["cls"] == pytest.approx(0.25)


def test_discard_counts_no_weight_of_padding():
    tokens, ids = Tokens("patches", (), (1, 3)), torch.tensor([[0, 1, 2, PADDING]])
    rows = [[0.5, 0.2, 0.2, 0.1], [0.2, 0.5, 0.2, 0.1], [0.05, 0.35, 0.5, 0.1], [0.01, 0.01, 0.01, 0.97]]
    layer = attending(torch.tensor(rows)[None, None], tokens, ids)
    # Of the nine weights between tokens the smallest is .05; a ninth of all sixteen would end at the .01 of padding.
    found = rollout_masses(trace_of(layer), (0, 2), discard=1 / 9 + 0.01)
    close(found.grid, torch.tensor([[0, 0.175, 0.75]]) / 0.975)
    assert found.padding == pytest.approx(0.05 / 0.975)


def test_discard_keeps_even_attention():
    layer = layer_of(*[[0.25] * 4] * 4)
    close(rollout(trace_of(layer), discard=0.5), torch.full((1, 3), 1 / 3))


def test_what_only_the_mean_of_heads_can_do():
    mean = traced("vit", Keep(heads="mean"))
    close(rollout(mean), rollout(traced("vit")))
    close(rollout(mean, discard=0.3), rollout(traced("vit"), discard=0.3))
    with pytest.raises(NotApplicable, match="mean over heads"):
        rollout(mean, fusion="max")


def test_half_precision_is_near():
    close(rollout(traced("vit", Keep(dtype=torch.float16))), rollout(traced("vit")), atol=1e-3)


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: rollout(traced("vit", Keep(rows=(0,)))), "rows"),
        (lambda: rollout(traced("vit", Keep(layers=(0, 2)))), "layers"),
        (lambda: rollout(traced("cnn")), "no attention"),
        (lambda: rollout(traced("pvt")), "changes its tokens"),
        (lambda: rollout(traced("xcit")), "known places"),
        (lambda: rollout(traced("vit"), "dist"), "no dist token"),
        (lambda: rollout(traced("swin"), "reg1"), "no reg1 token"),
        (lambda: rollout(traced("vit"), residual=1.0), "nothing"),
    ],
)
def test_what_cannot_be_shown_is_said(make, words):
    with pytest.raises(NotApplicable, match=words):
        make()


@pytest.mark.parametrize(
    "options",
    [
        {"discard": 1.0},
        {"discard": -0.1},
        {"start_layer": 3},
        {"query": (9, 0)},
        {"query": 99},
    ],
)
def test_numbers_out_of_range(options):
    with pytest.raises(ValueError, match=r"not|no layer|exist"):
        rollout(traced("vit"), **options)


@pytest.mark.parametrize("residual", [-0.01, 1.01])
def test_the_weight_of_the_identity_is_a_share(residual):
    with pytest.raises(ValueError, match="The weight of the identity is 0 to 1"):
        rollout(traced("vit"), residual=residual)


@pytest.mark.product("key", "query")
@pytest.mark.parametrize("key", ["vit", "distilled", "swin", "cait"])
@pytest.mark.parametrize("start", [0, 1])
@pytest.mark.parametrize("query", ["cls", "mean", (1, 0)])
def test_all_terms_together_are_the_row(key, start, query):
    """Of every layer, through windows and merging too; each is a product of two shares."""
    options = {"start_layer": start, "discard": 0.1}
    for layer, row in enumerate(rollout_by_layer(traced(key), query, **options)):
        terms = rollout_terms(traced(key), query, layer=layer, count=10**6, **options)
        close((terms.taken * terms.passed).sum(1), row.mass.rows[0])
        few = rollout_terms(traced(key), query, layer=layer, count=2, **options)
        assert few.through.shape == (len(row.tokens), 2)
        close(few.taken * few.passed, (terms.taken * terms.passed)[:, :2])  # the largest
