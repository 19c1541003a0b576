"""What `vizkit.wrap` gives of other libraries' models is what these compute themselves, or nothing is said."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

import vizkit
from tests.drawn import noisy_picture, seeded
from vizkit.analysis.attribution.rollout import rollout
from vizkit.models import pixels_of
from vizkit.traces import NotApplicable

PICTURE = noisy_picture(96, 96)
SMALL = {"num_classes": 5, "dim": 32, "depth": 2, "heads": 4, "mlp_dim": 64, "dim_head": 8}


@pytest.fixture(autouse=True)
def same_weights():
    with seeded():
        yield


def traced(model, size_hw):
    """The trace, and the model's input."""
    loaded = vizkit.wrap(model, size_hw=size_hw, head="softmax")
    trace = vizkit.trace(loaded, PICTURE)
    assert trace.check.passed
    return trace, pixels_of(loaded, PICTURE)


def own_weights(model, pixels):
    """What every softmax module of vit-pytorch gives in a plain pass."""
    seen = []
    hooks = [m.register_forward_hook(lambda *a: seen.append(a[-1])) for m in model.modules() if type(m) is nn.Softmax]
    with torch.no_grad():
        model(pixels)
    for hook in hooks:
        hook.remove()
    return seen


def assert_same(trace, theirs):
    """Every layer's (group, head, query, key) within 1e-5."""
    for layer, weights in zip(trace.attention, theirs, strict=True):
        assert_close(layer.weights, weights.reshape(layer.weights.shape), rtol=0, atol=1e-5)


def grids(trace):
    return [layer.query.grid for layer in trace.attention]


def unknown(trace):
    (note,) = (note for note in trace.notes if "no known places" in note)
    return note


# vit-pytorch ----------------------------------------------------------------------------------------------------------


def cait():
    from vit_pytorch.cait import CaiT

    return CaiT(image_size=32, patch_size=8, cls_depth=2, **SMALL)


def t2t():
    from vit_pytorch.t2t import T2TViT

    return T2TViT(image_size=64, **SMALL)


def cross_vit():
    from vit_pytorch.cross_vit import CrossViT

    sides = {"enc_depth": 1, "enc_heads": 4, "enc_mlp_dim": 64, "enc_dim_head": 8}
    options = {f"{side}_{name}": value for side in ("sm", "lg") for name, value in ({"dim": 32} | sides).items()}
    cross = {"depth": 1, "cross_attn_depth": 1, "cross_attn_heads": 4, "cross_attn_dim_head": 8}
    return CrossViT(image_size=48, num_classes=5, sm_patch_size=8, lg_patch_size=24, **cross, **options)


def max_vit():
    from vit_pytorch.max_vit import MaxViT

    return MaxViT(num_classes=5, dim=16, depth=(1, 1), dim_head=8, window_size=4, dim_conv_stem=16)


OPENED = {
    "CaiT": (cait, 32, [(4, 4), (4, 4), None, None]),
    "T2T": (t2t, 64, [(16, 16), None, None, None]),
    "CrossViT": (cross_vit, 48, [(6, 6), None, None, None]),
    "MaxViT": (max_vit, 32, [None] * 4),
}


@pytest.mark.product
@pytest.mark.parametrize("name", OPENED)
def test_vit_pytorch_is_recorded_and_placed_as_far_as_the_pixels_say(name):
    pytest.importorskip("vit_pytorch")
    make, side, expected = OPENED[name]
    model = make()
    trace, pixels = traced(model, (side, side))
    assert_same(trace, own_weights(model, pixels))
    assert grids(trace) == expected
    unplaced = sum(layer.query.grid is None and layer.key.grid is None for layer in trace.attention)
    assert unknown(trace).startswith(f"{unplaced} of 4 layers")
    if expected[0] is not None:
        first = trace.attention[0]
        assert first.query_ids.tolist() == [list(range(len(first.query)))]
        assert first.query.stride == side / expected[0][1]
    mixed = any(note.startswith("4 of 4 layers change their weights after the softmax;") for note in trace.notes)
    assert mixed == (name == "CaiT")
    with pytest.raises(NotApplicable):  # a product of layers whose tokens nobody knows to be the same
        rollout(trace, "cls")


# MONAI and open_clip --------------------------------------------------------------------------------------------------


def test_monais_vit_gives_the_weights_that_it_saves_itself():
    pytest.importorskip("monai")
    from monai.networks.nets import ViT

    size_hw, sizes = (24, 40), {"patch_size": (8, 8), "hidden_size": 32, "mlp_dim": 64, "num_layers": 2, "num_heads": 4}
    options = {"classification": True, "num_classes": 5, "spatial_dims": 2, "save_attn": True}
    model = ViT(in_channels=3, img_size=size_hw, **sizes, **options)
    trace, pixels = traced(model, size_hw)
    with torch.no_grad():
        logits = model(pixels)[0]
    assert_close(trace.logits, logits[0], rtol=0, atol=1e-5)
    assert_same(trace, [block.attn.att_mat for block in model.blocks])
    assert grids(trace) == [(3, 5)] * 2
    layer = trace.attention[1]
    assert (layer.query.special, layer.query.stride) == (("cls",), 8)
    assert layer.query_ids.tolist() == [list(range(16))]
    assert rollout(trace, "cls").shape == (3, 5)


def test_open_clips_tower_gives_the_weights_computed_by_hand():
    pytest.importorskip("open_clip")
    from open_clip.transformer import VisionTransformer

    sizes = {"patch_size": 8, "width": 32, "layers": 2, "heads": 4, "mlp_ratio": 2.0, "output_dim": 16}
    model = VisionTransformer(image_size=(24, 40), **sizes)
    inputs = []
    loaded = vizkit.wrap(model, size_hw=(24, 40), head="embedding")
    trace = vizkit.trace(loaded, PICTURE)
    assert trace.check.passed
    layers = [module for module in model.modules() if isinstance(module, nn.MultiheadAttention)]
    hooks = [
        layer.register_forward_pre_hook(
            lambda _, args, named: inputs.append((*args, *named.values())[0]), with_kwargs=True
        )
        for layer in layers
    ]
    with torch.no_grad():
        model(pixels_of(loaded, PICTURE))
    for hook in hooks:
        hook.remove()
    by_hand = []
    for layer, tokens in zip(layers, inputs, strict=True):  # (image, token, channel)
        query, key, _ = F.linear(tokens, layer.in_proj_weight, layer.in_proj_bias).chunk(3, -1)
        query, key = (part.unflatten(-1, (4, 8)).transpose(1, 2) for part in (query, key))
        by_hand.append((query @ key.mT / 8**0.5).softmax(-1))
    assert_same(trace, by_hand)
    assert grids(trace) == [(3, 5)] * 2
    layer = trace.attention[1]
    assert (layer.query.special, layer.query.stride) == (("cls",), 8)
    assert layer.query_ids.tolist() == [list(range(16))]
    assert rollout(trace, "cls").shape == (3, 5)
