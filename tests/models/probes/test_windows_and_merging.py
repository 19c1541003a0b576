"""What the views of windows, merging and cost compute, beside the models' own parts; and their figures."""

import math
from functools import cache

import numpy as np
import pytest
import timm
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from tests.drawn import seeded
from vizkit.analysis.attention.statistics import by_layer
from vizkit.analysis.swin.cost_curves import beside, exponent
from vizkit.analysis.swin.window_attention import lost_to_padding, moved, regions, sides
from vizkit.figure.feature_map import feature_map, neighbours
from vizkit.figure.scales import SHARES, between
from vizkit.figure.swin.power_laws import power_laws
from vizkit.figure.swin.window_map import window_map
from vizkit.models import families
from vizkit.models.probes import window_parts
from vizkit.models.probes.multiply_adds import work_of
from vizkit.models.probes.patch_merging import NEIGHBOURS, leaving, merged
from vizkit.models.sources.loaded import described
from vizkit.traces import NotApplicable, dense

SMALL = {"depths": (2, 2), "embed_dim": 8, "num_heads": (2, 2), "num_classes": 3}
MODELS = {  # name → (height, width)
    "v1": (32, 32),
    "v1 padded": (28, 44),
    "v1 window 7": (84, 56),
    "v2 padded": (28, 44),
    "torchvision v1 padded": (28, 44),
    "torchvision v2 padded": (28, 44),
}


def built(which):
    size_hw, window = MODELS[which], 7 if "7" in which else 4
    if "torchvision" in which:
        from torchvision.models import swin_transformer as tv

        two = {"block": tv.SwinTransformerBlockV2, "downsample_layer": tv.PatchMergingV2} if "v2" in which else {}
        options = {"num_classes": 3, "norm_layer": nn.LayerNorm} | two
        return tv.SwinTransformer([4, 4], 8, [2, 2], [2, 2], [window, window], **options)
    name = "swinv2_tiny_window8_256" if "v2" in which else "swin_tiny_patch4_window7_224"
    return timm.create_model(name, pretrained=False, img_size=size_hw, window_size=window, **SMALL)


@cache
def model(which):
    """Random weights with biases that are not zero and a position bias that is felt."""
    with seeded():
        net = built(which).eval().requires_grad_(False)
        for name, parameter in net.named_parameters():
            if parameter.dim() == 1:
                parameter.add_(0.2 * torch.randn_like(parameter))
            if "bias_table" in name or "cpb_mlp" in name or "qkv.weight" in name:
                nn.init.normal_(parameter, std=0.5)
        return described(which, net, MODELS[which], source="test"), torch.randn(1, 3, *MODELS[which])


@cache
def trace_of(which):
    loaded, pixels = model(which)
    return families.trace(loaded, pixels)


@cache
def parts_of(which, layer):
    return window_parts.window_parts(*model(which), layer)


def through(loaded, pixels, path):
    """What a module gets and gives, read with a hook, as the library never does."""
    seen = []
    handle = loaded.model.get_submodule(path).register_forward_hook(lambda _, given, out: seen.append((given[0], out)))
    with torch.no_grad():
        loaded.model(pixels)
    handle.remove()
    return seen[0]


# The window taken apart -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", MODELS)
@pytest.mark.parametrize("layer", [0, 1, 3])
def test_content_bias_and_mask_add_up_to_the_scores_exactly_and_the_branch_is_rebuilt(which, layer):
    parts = parts_of(which, layer)
    assert parts.score_error == 0
    assert parts.branch_error < 1e-4
    found = [one for one in trace_of(which).attention if one.learned][layer]
    assert found.name == parts.name
    assert torch.equal(found.query_ids, parts.ids)
    assert torch.equal(found.weights, parts.weights)
    assert_close(sides(parts.content, parts.relative, parts.masked).both, parts.weights)
    assert parts.relative.std() > 0.1  # felt, so that leaving it out would show


def test_content_and_bias_of_version_one_by_its_own_weights():
    loaded, pixels = model("v1 padded")
    parts = parts_of("v1 padded", 1)
    attention = loaded.model.get_submodule(parts.name)
    tokens, out = through(loaded, pixels, parts.name)  # window token channel
    query, key, value = F.linear(tokens, attention.qkv.weight, attention.qkv.bias).chunk(3, -1)
    for head in range(2):
        part = slice(4 * head, 4 * head + 4)
        content = query[..., part] @ key[..., part].transpose(1, 2) / 2  # √4 channels
        assert_close(parts.content[:, head], content, rtol=1e-4, atol=1e-5)
        table = attention.relative_position_bias_table[:, head][attention.relative_position_index]
        assert torch.equal(parts.relative[head], table)
    mixed = torch.cat([parts.weights[:, head] @ value[..., 4 * head : 4 * head + 4] for head in range(2)], -1)
    assert_close(F.linear(mixed, attention.proj.weight, attention.proj.bias), out, rtol=1e-4, atol=1e-5)


def test_content_and_bias_of_version_two_are_cosines_and_a_small_network():
    loaded, pixels = model("v2 padded")
    parts = parts_of("v2 padded", 1)
    attention = loaded.model.get_submodule(parts.name)
    tokens, _ = through(loaded, pixels, parts.name)
    bias = torch.cat([attention.q_bias, attention.k_bias, attention.v_bias])
    query, key, _ = F.linear(tokens, attention.qkv.weight, bias).unflatten(-1, (3, 2, 4)).permute(2, 0, 3, 1, 4)
    cosine = F.cosine_similarity(query[..., :, None, :], key[..., None, :, :], -1)
    scale = attention.logit_scale.clamp(max=math.log(100)).exp()
    assert_close(parts.content, cosine * scale, rtol=1e-4, atol=1e-4)
    # Two pairs of one offset, by the network: 16 · sigmoid of its answer to the logarithm of the offset.
    down, right = 2, -1
    offset = torch.tensor([8 * down / 3, 8 * right / 3])
    answer = attention.cpb_mlp(torch.sign(offset) * torch.log2(offset.abs() + 1) / 3)
    for query_at, key_at in (((2, 0), (0, 1)), ((3, 2), (1, 3))):
        pair = parts.relative[:, 4 * query_at[0] + query_at[1], 4 * key_at[0] + key_at[1]]
        assert_close(pair, 16 * torch.sigmoid(answer), rtol=1e-4, atol=1e-5)


def test_a_wrong_bias_would_be_caught(monkeypatch):
    loaded, pixels = model("v1")
    true = window_parts.relative_bias
    monkeypatch.setattr(window_parts, "relative_bias", lambda loaded, layer: true(loaded, 1 - layer))
    assert window_parts.window_parts(loaded, pixels, 1).score_error > 0.1


def test_a_vit_has_no_windows(vit):
    with pytest.raises(NotApplicable, match="no windows"):
        window_parts.window_parts(vit, torch.randn(1, 3, 160, 160), 0)


# With and without the bias, by hand -----------------------------------------------------------------------------------


def test_sides_by_hand():
    content = torch.tensor([[[[0.0, math.log(3), 5.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]]])
    relative = torch.tensor([[[math.log(3), 0.0, 9.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]])
    masked = torch.zeros(1, 3, 3, dtype=torch.bool)
    masked[0, 0, 2] = masked[0, 1, 2] = masked[0, 2, :2] = True
    found = sides(content, relative, masked)
    assert_close(found.both[0, 0, 0], torch.tensor([0.5, 0.5, 0.0]))
    assert_close(found.content[0, 0, 0], torch.tensor([0.25, 0.75, 0.0]))
    assert_close(found.bias[0, 0, 0], torch.tensor([0.75, 0.25, 0.0]))
    assert found.both[0, 0, 2].tolist() == [0, 0, 1]
    assert regions(masked).tolist() == [[0, 0, 2]]
    # Of three tokens one moves a quarter; when the last is padding, of two.
    assert moved(found.both, found.content, torch.tensor([[4, 5, 6]])).item() == pytest.approx(0.25 / 3)
    assert moved(found.both, found.content, torch.tensor([[4, 5, -1]])).item() == pytest.approx(0.25 / 2)


def test_what_padding_takes_by_hand_and_from_the_trace():
    weights = torch.tensor([[[[0.5, 0.3, 0.2], [0.1, 0.1, 0.8], [0, 0, 1]], [[0.7, 0.3, 0], [0, 0, 1], [0, 0, 1]]]])
    lost = lost_to_padding(weights, torch.tensor([[3, 1, -1]]))
    assert_close(lost, torch.tensor([[0.1, 0.9, math.nan]]), equal_nan=True)
    parts = parts_of("v1 padded", 1)
    lost = lost_to_padding(parts.weights, parts.ids)
    attention = [one for one in trace_of("v1 padded").attention if one.learned][1]
    missing = 1 - dense(attention).sum(-1).mean(0)
    real = parts.ids >= 0
    assert_close(lost[real], missing[parts.ids[real]], rtol=0, atol=1e-6)
    assert lost[real].max() > 0.05
    with pytest.raises(NotApplicable, match="nothing is padded"):
        lost_to_padding(parts_of("v1", 1).weights, parts_of("v1", 1).ids)


# Merging --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", MODELS)
def test_merging_is_the_models_own(which):
    loaded, pixels = model(which)
    features = leaving(loaded, pixels, trace_of(which), 0)
    path = "features.2" if "torchvision" in which else "layers.1.downsample"
    given, out = through(loaded, pixels, path)
    found = merged(loaded, features, 0)
    assert_close(found.before, given[0])
    assert_close(found.after, out[0], rtol=1e-4, atol=1e-5)
    assert found.error < 1e-5
    assert found.norm_first == ("v2" not in which)
    assert found.beside.shape[-1] == 4 * found.before.shape[-1] == 2 * found.after.shape[-1]


@pytest.mark.parametrize("which", ["v1 padded", "v2 padded"])
def test_the_parts_of_the_neighbours_add_up(which):
    loaded, pixels = model(which)
    found = merged(loaded, leaving(loaded, pixels, trace_of(which), 0), 0)
    weight = loaded.model.layers[1].downsample.reduction.weight
    entering = found.normalised if found.norm_first else found.beside
    total = torch.zeros_like(found.mapped)
    for place in range(4):
        part = entering[..., 8 * place : 8 * place + 8] @ weight[:, 8 * place : 8 * place + 8].T
        assert_close(part.norm(dim=-1), found.parts[..., place])
        total += part
    assert_close(total, found.mapped, rtol=1e-4, atol=1e-5)


def test_after_the_last_stage_nothing_is_merged():
    loaded, _ = model("v1")
    with pytest.raises(NotApplicable, match="Stage 2 is the last"):
        merged(loaded, trace_of("v1").features[-1], 1)


# Cost -----------------------------------------------------------------------------------------------------------------


def test_swin_tiny_costs_what_was_published():
    with torch.device("meta"):
        work = work_of(timm.create_model("swin_tiny_patch4_window7_224").eval(), (1, 3, 224, 224))
    published = 4.5e9  # Liu et al. 2021, table 1
    assert abs(work.total[""] - published) < 0.05 * published
    # One layer by the formula of the paper, twice in the first stage.
    assert work.total["layers.0.blocks.1.attn"] == beside(224, 4, 96, 7)[1].attention
    assert work.total["layers.2.blocks.5.attn"] == beside(224, 16, 384, 7)[1].attention
    layers = ((3136, 96, 2), (784, 192, 2), (196, 384, 6), (49, 768, 2))
    assert work.products[""] == sum(2 * 49 * tokens * channels * count for tokens, channels, count in layers)


def test_exponents():
    tokens = [100, 400, 1600]
    assert exponent(tokens, [3 * n**2 for n in tokens]) == pytest.approx(2)
    assert exponent(tokens, [0.1 * n for n in tokens]) == pytest.approx(1)
    for wrong in (([5], [1]), ([5, 5], [1, 2]), ([5, 6], [0, 1])):
        with pytest.raises(ValueError, match="power law"):
            exponent(*wrong)


def test_by_formula_windows_are_linear_and_global_attention_quadratic():
    pairs = [beside(size, 4, 96, 7) for size in range(224, 1025, 32)]
    tokens = [whole.tokens for whole, _ in pairs]
    assert exponent(tokens, [cut.attention for _, cut in pairs]) == pytest.approx(1, abs=1e-9)
    assert 1.9 < exponent(tokens, [whole.attention for whole, _ in pairs]) < 2
    assert exponent(tokens, [whole.pairs for whole, _ in pairs]) == pytest.approx(2, abs=1e-9)


# Distances ------------------------------------------------------------------------------------------------------------


def test_no_head_looks_further_than_its_window():
    caps = [math.hypot(6, 6) * stride_px for stride_px in (4, 4, 8, 8)]
    for layer, cap in zip(by_layer(trace_of("v1 window 7")), caps, strict=True):
        assert 0 < float(layer.distance_px.max()) < cap


# Figures --------------------------------------------------------------------------------------------------------------


def test_the_window_map_hatches_strikes_and_frames():
    values = np.arange(6.0).reshape(2, 3)
    hidden, padded = np.zeros((2, 3), bool), np.zeros((2, 3), bool)
    hidden[0, 2] = padded[1, 2] = True
    figure = window_map(
        values,
        "scores",
        between(-9, 9, signed=True),
        hidden=hidden,
        padded=padded,
        row_names=["5", "–"],
        column_names=["7", "8", "1"],
        query=(1, 0),
        digits=1,
    )
    heat, hatch, cross, frame = figure.data
    assert np.isnan(heat.z[1, 2])
    assert heat.z[0, 2] == 2  # hidden, but there
    assert (heat.zmin, heat.zmax) == (-9, 9)
    assert len(hatch.x) == 9  # three strokes of two ends and a gap
    assert 1.5 <= min(x for x in hatch.x if x is not None) <= max(x for x in hatch.x if x is not None) <= 2.5
    assert {y for y in cross.y if y is not None} == {0.5, 1.5}
    assert (min(frame.x), max(frame.x), min(frame.y), max(frame.y)) == (-0.5, 0.5, 0.5, 1.5)
    assert list(figure.layout.xaxis.ticktext) == ["7", "8", "1"]
    lines = window_map(
        values,
        "",
        SHARES,
        hidden=padded,
        padded=padded,
        row_names=["1", "2"],
        column_names=["1", "2", "3"],
        lines=(1, 2),
    ).data[3:]
    assert [tuple(line.x) for line in lines] == [(1.5, 1.5), (-0.5, 2.5)]


def test_feature_maps_and_the_four_neighbours():
    out = feature_map(np.array([[[1.0, 0, 0], [0, 1.0, 0]]]), side_px=20)
    assert out.shape == (10, 20, 3)
    assert out[5, 5].tolist() == [255, 0, 0]
    seen = np.arange(4, dtype=np.uint8).repeat(3).reshape(2, 2, 3) * 60
    four = neighbours(seen, list(NEIGHBOURS), side_px=40)
    assert four.shape == (46, 46, 3)
    assert four[-3, 3].tolist() == [120] * 3
    assert four[-3, -3].tolist() == [180] * 3


def test_power_laws():
    sides = np.array([100.0, 120.0, 200.0])
    lines = {"a": (sides, np.array([2.0, 3.0, 8.0]), 1.5), "b": (sides, np.array([1.0, 1.0, 1.0]), None)}
    drawn = power_laws(lines, "x", "y", chosen=120)
    shown = [(each.name, each.mode) for each in drawn.data if each.mode == "lines"]
    assert shown == [("a: as tokens to the power 1.50", "lines"), ("b", "lines")]
    assert [(list(dot.x), list(dot.y)) for dot in drawn.data if dot.mode == "markers"] == [([120], [3]), ([120], [1])]
    assert [(each.text[0], each.y[0]) for each in drawn.data if each.mode == "text"] == [("a", 8), ("b", 1)]
    assert list(drawn.layout.xaxis.tickvals) == [100, 200]  # 120 would stand on the 100
