"""Attention step by step: by hand, against torch's kernel, and real layers rebuilt from their parts."""

import math
from functools import cache

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.overrides import _get_current_function_mode_stack
from torch.testing import assert_close

import vizkit
from tests.drawn import noise
from tests.models.test_positions import torchvision_swin, toy
from vizkit.analysis.attention.attention_map import layers
from vizkit.analysis.attention.value_weighted import transformed, value_weighted
from vizkit.analysis.attention.walkthrough import (
    SENTENCE,
    SENTENCE_WEIGHTS,
    entropy,
    largest_difference,
    layer_output,
    saturation,
    single_head,
    softmax,
    steps,
)
from vizkit.models import families
from vizkit.models.probes.parts import attention_parts
from vizkit.models.recording.watching import Seen, fused
from vizkit.traces import NotApplicable

HEADS, QUERIES, KEYS, WIDTH, VALUES, OUT = 3, 5, 7, 11, 13, 17  # a different prime for every axis
CLOSE = {"rtol": 1e-4, "atol": 1e-5}


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def qkv():
    return torch.randn(HEADS, QUERIES, WIDTH), torch.randn(HEADS, KEYS, WIDTH), torch.randn(HEADS, KEYS, VALUES)


# The formulas


def test_steps_by_hand():
    # d_k = 4, so 1/√d_k = ½. Scores 0 and 2·log 3; scaled 0 and log 3; softmax ¼ and ¾; output ¼·8 + ¾·4 = 5.
    query = torch.tensor([[[2 * math.log(3), 0.0, 0.0, 0.0]]])
    key = torch.tensor([[[0.0, 1, 1, 1], [1.0, 0, 0, 0]]])
    found = steps(query, key, torch.tensor([[[8.0], [4.0]]]))
    assert found.scores.flatten().tolist() == pytest.approx([0, 2 * math.log(3)])
    assert found.scaled.flatten().tolist() == pytest.approx([0, math.log(3)])
    assert found.weights.flatten().tolist() == pytest.approx([0.25, 0.75])
    assert found.mixed.item() == pytest.approx(5)
    unscaled = steps(query, key, torch.tensor([[[8.0], [4.0]]]), scale=1.0)
    assert unscaled.weights.flatten().tolist() == pytest.approx([0.1, 0.9])  # 1 : 9
    masked = steps(query, key, torch.tensor([[[8.0], [4.0]]]), bias=torch.tensor([[[0.0, float("-inf")]]]))
    assert masked.weights.flatten().tolist() == [1, 0]


def test_steps_are_torchs_kernel():
    query, key, value = qkv()
    bias = torch.randn(HEADS, QUERIES, KEYS)
    assert_close(steps(query, key, value).mixed, F.scaled_dot_product_attention(query, key, value))
    expected = F.scaled_dot_product_attention(query, key, value, attn_mask=bias, scale=0.3)
    assert_close(steps(query, key, value, 0.3, bias).mixed, expected)
    each = torch.tensor([0.1, 0.3, 0.7])
    found = steps(query, key, value, each, bias)
    assert_close(found.weights[1], steps(query, key, value, 0.3, bias).weights[1])
    assert_close(found.biased, found.scores * each[:, None, None] + bias)


@settings(deadline=None)
@given(st.integers(0, 999), st.floats(0.01, 50))
def test_rows_sum_to_one_and_ignore_a_constant(seed, factor):
    scores = factor * noise(2, 3, 5, seed=seed)
    weights = softmax(scores)
    assert_close(weights.sum(-1), torch.ones(2, 3))
    assert_close(softmax(scores + 3.0), weights, rtol=1e-3, atol=1e-4)
    assert (entropy(weights) <= math.log(5) + 1e-5).all()


def test_a_row_that_may_look_nowhere_pays_nothing():
    assert softmax(torch.full((1, 1, 3), float("-inf"))).tolist() == [[[0, 0, 0]]]


def test_saturation():
    spread, sharp = torch.full((1, 1, 8), 1 / 8), torch.eye(8)[None, :1]
    found = saturation(torch.cat([spread, sharp], 1))
    assert found.entropy.tolist() == [pytest.approx([1, 0])]
    assert found.largest.tolist() == [pytest.approx([1 / 8, 1])]


def test_one_head_in_place_of_many():
    query, key, value = qkv()
    found = single_head(query, key, value)
    scores = sum(query[h] @ key[h].T for h in range(HEADS)) / math.sqrt(HEADS * WIDTH)
    assert_close(found.weights[0], scores.softmax(-1))
    assert_close(found.mixed[0], torch.cat([scores.softmax(-1) @ value[h] for h in range(HEADS)], -1))
    bias = torch.randn(HEADS, QUERIES, KEYS)
    assert_close(single_head(query, key, value, bias).biased[0], scores + bias.mean(0))
    one = slice(0, 1)
    assert_close(single_head(query[one], key[one], value[one]).mixed, steps(query[one], key[one], value[one]).mixed)


def test_the_golden_sentence():
    weights = torch.tensor(SENTENCE_WEIGHTS)
    assert weights.shape == (6, 6) == (len(SENTENCE), len(SENTENCE))
    assert (weights.sum(-1) - 1).abs().max() <= 0.002
    assert [float(weights[i, j]) for i, j in ((0, 0), (1, 1), (2, 4), (3, 0), (5, 2))] == pytest.approx(
        [0.268, 0.278, 0.218, 0.210, 0.203]
    )


def test_the_heads_are_projected_side_by_side():
    mixed, weight, bias = torch.randn(HEADS, QUERIES, VALUES), torch.randn(OUT, HEADS * VALUES), torch.randn(OUT)
    found = layer_output(mixed, weight, bias)
    for i in range(QUERIES):
        parts = sum(weight[:, h * VALUES : (h + 1) * VALUES] @ mixed[h, i] for h in range(HEADS))
        assert_close(found[i], parts + bias, **CLOSE)
    assert_close(found - layer_output(mixed, weight), bias.expand(QUERIES, OUT), **CLOSE)


def test_a_largest_difference_hides_nothing():
    assert largest_difference(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 1.5])) == 0.5
    assert largest_difference(torch.tensor([1.0]), torch.tensor([float("nan")])) == math.inf


# Value-weighted


def test_value_weighted_against_loops():
    query, key, value = qkv()
    weights, projection = steps(query, key, value).weights, torch.randn(OUT, HEADS * VALUES)
    found = value_weighted(weights, value, projection)
    for i in range(QUERIES):
        for j in range(KEYS):
            for h in range(HEADS):
                passed = weights[h, i, j] * (projection[:, h * VALUES : (h + 1) * VALUES] @ value[h, j])
                assert float(found[h, i, j]) == pytest.approx(float(passed.norm()), rel=1e-4)


# Real layers


def normalised_vit():
    """Query and key norm, attention pooling, registers."""
    from timm.models.vision_transformer import VisionTransformer

    options = {"qk_norm": True, "global_pool": "map", "class_token": False, "reg_tokens": 2, "num_classes": 5}
    return VisionTransformer((48, 80), 16, embed_dim=22, depth=1, num_heads=2, **options)


def eva(**options):
    from timm.models.eva import Eva

    return Eva((48, 80), 16, num_classes=5, embed_dim=24, depth=2, num_heads=3, use_rot_pos_emb=True, **options)


def swin(version=1):
    """Windows of 2 × 3 on a 5 × 7 grid: padded, and shifted in every second block."""
    from timm.models.swin_transformer import SwinTransformer
    from timm.models.swin_transformer_v2 import SwinTransformerV2

    kinds = {1: SwinTransformer, 2: SwinTransformerV2}
    model = kinds[version](
        (20, 28), 4, depths=(2, 2), num_heads=(2, 2), embed_dim=22, window_size=(2, 3), num_classes=5
    )
    for name, parameter in model.named_parameters():
        if "bias_table" in name or "cpb_mlp" in name or "logit_scale" in name:
            torch.nn.init.normal_(parameter)
    return model


def torchvision_vit():
    from torchvision.models import VisionTransformer

    return VisionTransformer(image_size=48, patch_size=16, num_layers=2, num_heads=2, hidden_dim=22, mlp_dim=8)


LOADERS = {
    "vit": lambda: vizkit.load("test_vit", pretrained=False, image_size=(48, 80)),
    "deit": lambda: vizkit.load("deit_tiny_distilled_patch16_224", pretrained=False, image_size=(48, 80)),
    "dinov2": lambda: vizkit.load("vit_small_patch14_reg4_dinov2", pretrained=False, image_size=(56, 70)),
    "eva02": lambda: vizkit.load("eva02_tiny_patch14_224", pretrained=False, image_size=(28, 70)),
    "normalised, pooled": lambda: toy(normalised_vit(), (48, 80)),
    "eva grouped": lambda: toy(eva(attn_type="rope", qkv_fused=False, num_kv_heads=1), (48, 80)),
    "swin": lambda: toy(swin(), (20, 28)),
    "swin v2": lambda: toy(swin(2), (20, 28)),
    "torchvision swin": lambda: toy(torchvision_swin(1), (20, 28)),
    "torchvision swin v2": lambda: toy(torchvision_swin(2), (20, 28)),
    "torchvision vit": lambda: toy(torchvision_vit(), (48, 48)),
}


@cache
def made(which):
    return LOADERS[which]()


def seen_by_the_module(loaded, pixels, path):
    """What attention module `path` really returns, (group, token, out): read with a hook, as the library never does."""
    outputs = []

    def keep(module, given, out):
        outputs.append(out[0] if isinstance(out, tuple) else out)

    # torchvision's and the pool's modules do more than attention; there the projection's own output is taken.
    inside = path if hasattr(loaded.model.get_submodule(path), "qkv") else f"{path}.proj"
    hook = loaded.model.get_submodule(inside if "pool" in path else path).register_forward_hook(keep)
    with torch.no_grad():
        loaded.model(pixels)
    hook.remove()
    return outputs[0]


@pytest.mark.parametrize("which", LOADERS)
@pytest.mark.parametrize("index", [0, 1])
def test_the_layer_is_rebuilt_from_its_parts(which, index):
    loaded = made(which)
    pixels = torch.randn(1, 3, *loaded.preprocessing.size_hw)
    first = attention_parts(loaded, pixels, index)
    real = seen_by_the_module(loaded, pixels, first.name)
    for window in {0, first.windows - 1}:
        parts = attention_parts(loaded, pixels, index, window=window)
        assert parts.window == window
        assert parts.plain
        rebuilt = steps(parts.query, parts.key, parts.value, parts.scale, parts.bias)
        assert_close(rebuilt.weights, parts.weights, **CLOSE)
        assert_close(rebuilt.scores, parts.scores, **CLOSE)
        assert_close(rebuilt.scaled, parts.scaled, **CLOSE)
        assert_close(rebuilt.biased, parts.biased, **CLOSE)
        assert_close(rebuilt.mixed, parts.mixed, **CLOSE)
        beside = torch.cat(list(rebuilt.mixed), -1)  # head after head
        assert_close(beside, parts.concatenated, **CLOSE)
        out = F.linear(beside, parts.out_weight, parts.out_bias)
        assert_close(out, parts.projected, rtol=1e-4, atol=1e-4)
        if "torchvision swin" not in which:  # its module returns the whole grid, windows undone
            assert_close(out, real[window], rtol=1e-4, atol=1e-4)
        passed = (transformed(parts.value, parts.out_weight)[:, None] * parts.weights[..., None]).sum((0, 2))
        bias = 0 if parts.out_bias is None else parts.out_bias
        assert_close(passed + bias, parts.projected, rtol=1e-4, atol=1e-4)


def given_to(loaded, pixels, *paths):
    """What modules are given, read with hooks."""
    given, hooks = {}, []
    for path in paths:

        def note(_, arguments, path=path):
            given[path] = arguments[0]

        hooks.append(loaded.model.get_submodule(path).register_forward_pre_hook(note))
    with torch.no_grad():
        loaded.model(pixels)
    for hook in hooks:
        hook.remove()
    return [given[path] for path in paths]


@pytest.mark.parametrize("which", ["vit", "dinov2", "eva02", "swin", "swin v2", "torchvision vit"])
def test_what_arrives_and_what_goes_past_are_those_of_the_block(which):
    loaded = made(which)
    pixels = torch.randn(1, 3, *loaded.preprocessing.size_hw)
    windows = attention_parts(loaded, pixels, 0).windows
    for window in {0, windows - 1}:
        parts = attention_parts(loaded, pixels, 0, window=window)
        path, later = parts.name.rpartition(".")[0], "ln_2" if which == "torchvision vit" else "norm2"
        block, arriving, summed = given_to(loaded, pixels, path, parts.name, f"{path}.{later}")
        real = parts.query_ids >= 0
        stream, ids = parts.stream, parts.query_ids[real]
        assert_close(stream.before[real], block.flatten(0, -2)[ids])
        assert stream.before[~real].isnan().all()
        assert_close(stream.before + stream.branch, stream.after, equal_nan=True)
        assert_close(parts.arriving, arriving[window])
        if which != "swin v2":  # its second norm comes after the MLP
            assert_close(stream.after[real], summed.flatten(0, -2)[ids])


def test_nothing_goes_past_an_attention_pool():
    loaded = made("normalised, pooled")
    assert attention_parts(loaded, torch.randn(1, 3, 48, 80), 1).stream is None


@pytest.mark.product
@pytest.mark.parametrize("which", LOADERS)
def test_the_weights_and_ids_are_those_of_the_trace(which):
    loaded = made(which)
    pixels = torch.randn(1, 3, *loaded.preprocessing.size_hw)
    trace = families.trace(loaded, pixels)
    for index, attention in enumerate(layers(trace)):
        for window in {0, len(attention.weights) // 2, len(attention.weights) - 1}:
            parts = attention_parts(loaded, pixels, index, window=window)
            assert parts.name == attention.name
            assert parts.windows == len(attention.weights)
            assert (parts.tokens, parts.key_tokens) == (attention.query, attention.key)
            assert torch.equal(parts.query_ids, attention.query_ids[window])
            assert torch.equal(parts.key_ids, attention.key_ids[window])
            assert_close(parts.weights, attention.weights[window], **CLOSE)


@pytest.mark.parametrize("which", ["swin", "torchvision swin"])
def test_whole_layer_of_a_torchvision_swin_and_a_shifted_one(which):
    """All windows together, put back on the grid, are the output of the block's attention."""
    loaded = made(which)
    pixels = torch.randn(1, 3, 20, 28)
    parts = [attention_parts(loaded, pixels, 1, window=w) for w in range(9)]
    assert parts[0].windows == 9
    grid = torch.full((5 * 7, 22), float("nan"))
    for part in parts:
        there = part.query_ids >= 0
        grid[part.query_ids[there]] = part.projected[there]
    outputs = []
    if which == "swin":
        block = loaded.model.layers[0].blocks[1]
        with torch.no_grad():
            hook = block.norm1.register_forward_hook(lambda module, given, out: outputs.append(block._attn(out)))
            loaded.model(pixels)
            hook.remove()
        real = outputs[-1]
    else:
        real = seen_by_the_module(loaded, pixels, parts[0].name)
    assert_close(grid, real.flatten(0, 2), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("options", [{"enable_gqa": True}, {"is_causal": True}, {"scale": 0.7}, {"attn_mask": "bool"}])
def test_what_the_kernel_is_told_is_among_the_parts(options):
    heads = 1 if "enable_gqa" in options else HEADS
    query, key, value = (torch.randn(2, n, t, w) for n, t, w in ((HEADS, 5, 11), (heads, 5, 11), (heads, 5, 13)))
    if "attn_mask" in options:
        options = {"attn_mask": torch.rand(5, 5) < 0.7 + torch.eye(5)}
    out = F.scaled_dot_product_attention(query, key, value, **options)
    fused(seen := Seen(), out, query, key, value, **options)
    bias = None if seen.bias is None else seen.bias[1]
    found = steps(seen.query[1], seen.key[1], seen.value[1], seen.scale, bias)
    assert_close(found.weights, seen.weights[1])
    assert_close(found.mixed, out[1])


def test_a_query_finds_its_window():
    loaded = made("swin")
    pixels = torch.randn(1, 3, 20, 28)
    parts = [attention_parts(loaded, pixels, 1, token_id=token_id) for token_id in range(35)]
    assert all(token_id in part.query_ids.tolist() for token_id, part in enumerate(parts))
    assert len({part.window for part in parts}) == 9


@pytest.mark.parametrize("what", ["normalises", "gates"])
def test_a_layer_that_normalises_or_gates_its_heads_says_so(what):
    model = eva(scale_attn_inner=what == "normalises")
    if what == "gates":
        model.blocks[0].attn.gate = torch.nn.Linear(24, 24)
    loaded = toy(model, (48, 80))
    pixels = torch.randn(1, 3, 48, 80)
    parts = attention_parts(loaded, pixels, 0)
    assert not parts.plain
    assert_close(torch.cat(list(parts.weights @ parts.value), -1), parts.concatenated, **CLOSE)
    out = F.linear(parts.entering, parts.out_weight, parts.out_bias)
    assert_close(out, parts.projected, **CLOSE)
    assert_close(out, seen_by_the_module(loaded, pixels, "blocks.0.attn")[0], rtol=1e-4, atol=1e-4)


def test_swin_v2_compares_directions():
    parts = attention_parts(made("swin v2"), torch.randn(1, 3, 20, 28), 0)
    assert_close(parts.query.norm(dim=-1), torch.ones(2, 6))
    assert float(parts.scores.abs().max()) <= 1 + 1e-5  # cosines
    assert parts.scale[0] != parts.scale[1]  # learned for each head


def test_what_has_no_such_layer_says_so(cnn):
    loaded = made("vit")
    pixels = torch.randn(1, 3, 48, 80)
    for index in (6, -1):
        with pytest.raises(NotApplicable, match="6 attention layers"):
            attention_parts(loaded, pixels, index)
    with pytest.raises(NotApplicable, match="built differently"):
        attention_parts(cnn, torch.randn(1, 3, 160, 160), 0)


def test_nothing_is_left_behind():
    loaded = made("vit")
    pixels = torch.randn(1, 3, 48, 80)
    with torch.no_grad():
        before = loaded.model(pixels)
        attention_parts(loaded, pixels, 3)
        assert not _get_current_function_mode_stack()
        assert torch.equal(loaded.model(pixels), before)
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in loaded.model.modules())
