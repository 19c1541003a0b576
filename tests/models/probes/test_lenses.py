"""The logit lens and direct attribution, against the models' own logits and against the same sums made by hand."""

from functools import cache

import pytest
import timm
import torch
from torch.testing import assert_close

from tests.drawn import noisy_picture
from vizkit.models import load, pixels_of, trace, wrap
from vizkit.models.probes.lenses.direct_attribution import direct_attribution
from vizkit.models.probes.lenses.logit_lens import logit_lens, patch_outputs
from vizkit.traces import NotApplicable

IMAGE = noisy_picture(32, 32)
NARROW = {"embed_dim": 48, "num_heads": 3}
KINDS = {  # architecture → (pixels, what its head reads)
    "vit_tiny_patch16_224": (32, "the class token"),
    "deit_tiny_distilled_patch16_224": (32, "the class and the distillation token"),
    "vit_small_patch14_reg4_dinov2": (28, "the class token"),
    "vit_relpos_small_patch16_224": (32, "the mean of the patches"),
    "beit_base_patch16_224": (32, "the mean of the patches"),
    "eva02_tiny_patch14_224": (28, "the mean of the patches"),
}


@cache
def made(name):
    """With random weights, also where a model begins with zeros: a head without weights would agree with anything."""
    torch.manual_seed(0)
    side, _ = KINDS[name]
    model = timm.create_model(name, img_size=side, num_classes=5, depth=3, **NARROW).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    loaded = wrap(model, head="softmax", size_hw=(side, side))
    return loaded, trace(loaded, IMAGE)


@pytest.mark.parametrize("name", KINDS)
def test_after_the_last_block_the_lens_gives_the_models_own_logits(name):
    loaded, traced = made(name)
    lens = logit_lens(loaded, traced)
    assert_close(lens.logits[-1], traced.logits, atol=1e-4, rtol=1e-4)
    assert lens.logits.shape == (3, 5)
    assert lens.error <= 1e-4
    assert lens.read == KINDS[name][1]
    assert float((lens.logits[0] - lens.logits[-1]).abs().max()) > 1e-3  # the layers do something


@pytest.mark.parametrize("name", KINDS)
def test_parts_add_up_to_the_logit(name):
    loaded, traced = made(name)
    pixels = pixels_of(loaded, IMAGE)
    first, second, both = (
        direct_attribution(loaded, traced, pixels, *which) for which in ((1, None), (3, None), (1, 3))
    )
    for parts in (first, second, both):
        total = parts.embedding + float(parts.heads.sum() + parts.attention_bias.sum() + parts.mlp.sum()) + parts.bias
        assert total == pytest.approx(parts.logit, abs=1e-4 * max(1, abs(parts.logit)))
        assert len(parts.heads) == 3
    assert_close(both.heads, first.heads - second.heads, atol=1e-5, rtol=1e-4)
    assert both.logit == pytest.approx(float(traced.logits[1] - traced.logits[3]), abs=1e-5)


def test_a_head_gives_what_its_slice_of_the_projection_gives():
    """By hand: the class token's output of one head, through W_O, the frozen norm and the head."""
    loaded, traced = made("vit_tiny_patch16_224")
    model = loaded.model
    entered = {}
    handle = model.blocks[1].attn.proj.register_forward_hook(lambda _, given, out: entered.update(given=given[0]))
    with torch.no_grad():
        model(pixels_of(loaded, IMAGE))
        handle.remove()
        width = model.embed_dim // model.blocks[1].attn.num_heads
        own = torch.zeros_like(entered["given"][0, 0])
        own[width : 2 * width] = entered["given"][0, 0, width : 2 * width]
        added = own @ model.blocks[1].attn.proj.weight.T
        sigma = traced.features[-1].values[0].var(unbiased=False).add(model.norm.eps).sqrt()
        expected = (added - added.mean()) / sigma * model.norm.weight @ model.head.weight[2]
    parts = direct_attribution(loaded, traced, pixels_of(loaded, IMAGE), 2, None)
    assert float(parts.heads[1, 1]) == pytest.approx(float(expected), rel=1e-4)


def test_a_patch_is_read_as_the_class_token_is_and_patches_of_a_pooled_model_average_to_its_logits():
    loaded, traced = made("vit_tiny_patch16_224")
    first = traced.features[1]
    plain = loaded.model
    with torch.no_grad():
        own = plain.head(plain.norm(first.values[1:])).unflatten(0, (2, 2))
    assert_close(patch_outputs(loaded, traced, 1), own, atol=1e-5, rtol=1e-4)
    options = {"global_pool": "avg", "class_token": False, "fc_norm": False}  # normalised before the mean is taken
    model = timm.create_model("vit_tiny_patch16_224", img_size=32, num_classes=5, depth=3, **options).eval()
    pooled = wrap(model, head="softmax", size_hw=(32, 32))
    seen = trace(pooled, IMAGE)
    assert logit_lens(pooled, seen).read == "the mean of the patches"
    assert_close(patch_outputs(pooled, seen, 2).mean((0, 1)), seen.logits, atol=1e-4, rtol=1e-4)


def test_what_a_head_carries_from_each_patch():
    """By hand: the weight of the class token's query, times the value, through W_O, the frozen norm and the head."""
    loaded, traced = made("vit_tiny_patch16_224")
    model = loaded.model
    entered = {}
    handle = model.blocks[2].attn.qkv.register_forward_hook(lambda _, given, out: entered.update(out=out[0]))
    with torch.no_grad():
        model(pixels_of(loaded, IMAGE))
        handle.remove()
        values = entered["out"].chunk(3, -1)[2].unflatten(-1, (model.blocks[2].attn.num_heads, -1))  # token head d
        sigma = traced.features[-1].values[0].var(unbiased=False).add(model.norm.eps).sqrt()
        expected = torch.zeros(4)
        for place in range(4):
            weights = traced.attention[2].weights[0, :, 0, 1 + place]  # head
            added = (weights[:, None] * values[1 + place]).flatten() @ model.blocks[2].attn.proj.weight.T
            expected[place] = (added - added.mean()) / sigma * model.norm.weight @ model.head.weight[2]
    parts = direct_attribution(loaded, traced, pixels_of(loaded, IMAGE), 2, None)
    assert_close(parts.places[2].flatten().float(), expected, rtol=1e-4, atol=1e-5)


def test_a_swin_is_a_sum_from_its_last_stage_on():
    """What its windows carry from all places is all that its heads add: there is no class token."""
    loaded = load("bundled:digits_swin")
    traced = trace(loaded, IMAGE)
    parts = direct_attribution(loaded, traced, pixels_of(loaded, IMAGE), 3, None)
    assert parts.error < 1e-5
    assert (parts.before, tuple(parts.heads.shape)) == (2, (4, 8))
    assert_close(parts.places.sum((1, 2)), parts.heads.sum(1))
    assert parts.heads.abs().min() > 0


def test_a_norm_behind_the_attention_is_no_sum():
    options = {"img_size": 64, "window_size": 2, "num_classes": 5, "depths": (1, 1), "embed_dim": 12}
    model = timm.create_model("swinv2_tiny_window8_256", num_heads=(1, 2), **options)
    loaded = wrap(model.eval(), head="softmax", size_hw=(64, 64))
    with pytest.raises(NotApplicable, match="do not add up"):
        direct_attribution(loaded, trace(loaded, IMAGE), pixels_of(loaded, IMAGE), 0, None)


@pytest.mark.parametrize("name, words", [("digits_swin", "change their length"), ("digits_cnn", "change their")])
def test_a_model_without_a_lens_says_so(name, words):
    loaded = load(f"bundled:{name}")
    with pytest.raises(NotApplicable, match=words):
        logit_lens(loaded, trace(loaded, IMAGE))


def test_a_cnn_is_no_sum():
    loaded = load("bundled:digits_cnn")
    with pytest.raises(NotApplicable, match="do not add up"):
        direct_attribution(loaded, trace(loaded, IMAGE), pixels_of(loaded, IMAGE), 0, None)


def test_attention_pooling_has_a_lens_but_no_sum():
    model = timm.create_model("vit_base_patch16_siglip_224", img_size=32, num_classes=5, depth=1, **NARROW).eval()
    loaded = wrap(model, head="softmax", size_hw=(32, 32))
    traced = trace(loaded, IMAGE)
    assert logit_lens(loaded, traced).read == "the attention pool"
    with pytest.raises(NotApplicable, match="do not add up"):
        direct_attribution(loaded, traced, pixels_of(loaded, IMAGE), 0, None)
