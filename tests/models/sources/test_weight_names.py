"""Names of weights and the architectures that they are of, by hand; no weight is made."""

import pytest
import torch

from vizkit.models.sources import weight_names
from vizkit.models.sources.fitting import candidates, fitting
from vizkit.models.sources.weight_names import from_monai, renamed


def state(*names):
    return {name: torch.empty(1, device="meta") for name in names}


@pytest.mark.parametrize(
    "given, ours",
    [
        (("module.model.head.weight", "module.model.cls_token"), ("head.weight", "cls_token")),
        (("head.weight", "cls_token", "model.n_averaged"), ("head.weight", "cls_token")),
        (
            ("n_averaged", "head.mlp.0.weight", "decoder.norm.weight", "decoder_pos_embed", "norm.weight", "cls_token"),
            ("norm.weight", "cls_token"),
        ),
        (
            ("vit.head.weight", "vit.blocks.0.norm1.weight", "vit.pos_embed"),
            ("head.weight", "blocks.0.norm1.weight", "pos_embed"),
        ),
        (("a.b.head.weight", "a.b.cls_token"), ("head.weight", "cls_token")),
        (
            ("blocks.0.0.norm1.weight", "blocks.1.12.norm1.weight", "cls_token"),
            ("blocks.0.norm1.weight", "blocks.12.norm1.weight", "cls_token"),
        ),
        (
            ("blocks.0.norm1.weight", "blocks.0.1.weight", "cls_token"),
            ("blocks.0.norm1.weight", "blocks.0.1.weight", "cls_token"),
        ),
        (("norm.weight", "bias"), ("norm.weight", "bias")),
        (("weight",), ("weight",)),
        (("head", "head.weight"), ("head", "head.weight")),
        ((), ()),
        (("n_averaged",), ()),
    ],
)
def test_names_without_their_wrappers(given, ours):
    weights = state(*given)
    found = renamed(weights)
    assert tuple(found) == ours
    wrapped = {id(value): name.split(".")[-2:] for name, value in weights.items()}
    assert all(wrapped[id(value)][-1] == name.split(".")[-1] for name, value in found.items())


def test_names_of_monai():
    found = from_monai(
        state(
            "patch_embedding.patch_embeddings.weight",
            "blocks.0.cross_attn.out_proj.weight",
            "patch_embedding.position_embeddings",
            "blocks.0.attn.out_proj.weight",
            "blocks.0.mlp.linear1.bias",
            "blocks.0.mlp.linear2.bias",
            "classification_head.0.weight",
        )
    )
    assert list(found) == [
        "patch_embed.proj.weight",
        "pos_embed",
        "blocks.0.attn.proj.weight",
        "blocks.0.mlp.fc1.bias",
        "blocks.0.mlp.fc2.bias",
        "head.weight",
    ]
    assert list(from_monai(state("classification_head.weight"))) == ["head.weight"]
    assert weight_names.MONAI in weight_names.FROM_MONAI


def shaped(mark, width, patch=16):
    first = torch.empty(width, 3, patch, patch, device="meta")
    return {"patch_embed.proj.weight": first, "blocks.0.attn.qkv.weight": first} | state(mark)


@pytest.mark.parametrize(
    "mark, width, starts",
    [
        ("blocks.0.attn.qkv.weight", 192, ("vit_tiny_patch16_", "deit_tiny_", "vit_tiny_patch16")),
        ("dist_token", 384, ("deit_small_distilled_",)),
        ("reg_token", 768, ("vit_base_patch16_reg",)),
        ("blocks.0.gamma_1", 1024, ("deit3_large_",)),
        ("blocks.0.attn.relative_position_bias_table", 768, ("beit_base_", "beitv2_base_")),
        ("norm_pre.weight", 768, ("vit_base_patch16_clip_",)),
        ("attn_pool.latent", 768, ("vit_base_patch16_siglip_",)),
        ("layers.0.blocks.0.attn.logit_scale", 96, ("swinv2_tiny_", "swinv2_small_")),
        ("layers.0.blocks.0.attn.logit_scale", 128, ("swinv2_base_",)),
        ("layers.0.blocks.0.attn.relative_position_bias_table", 192, ("swin_large_",)),
        ("layers.0.blocks.0.attn.relative_position_bias_table", 100, ("swin_tiny_",)),
        ("layer1.0.conv1.weight", 64, ("resnet",)),
        ("stages.0.blocks.0.conv_dw.weight", 96, ("convnext",)),
    ],
)
def test_candidates_are_of_the_kind_that_a_weight_marks(mark, width, starts):
    weights = shaped(mark, width)
    if mark.startswith(("layer", "stages")):
        del weights["blocks.0.attn.qkv.weight"]
    found = candidates(weights)
    assert found
    assert all(name.startswith(starts) for name in found)
    assert len(set(found)) == len(found)
    first = [name for name in found if name.startswith(starts[0])]
    assert first == sorted(first, key=len)
    assert found[: len(first)] == first


def test_the_patch_tells_apart_and_nothing_is_made_up():
    assert all("patch32" in name or name.startswith("deit") for name in candidates(shaped("cls_token", 768, 32))[:3])
    assert candidates(state("unknown.weight")) == []


@pytest.mark.parametrize(
    "shapes, found",
    [
        ({"conv_proj.weight": (768, 3, 16, 16)}, ["torchvision:vit_b_16"]),
        ({"conv_proj.weight": (1024, 3, 32, 32)}, ["torchvision:vit_l_32"]),
        ({"conv_proj.weight": (768, 3, 8, 8)}, []),
        ({"conv_proj.weight": (100, 3, 16, 16)}, []),
        ({"unknown.weight": (3,)}, []),
    ],
)
def test_models_of_torchvision(tmp_path, shapes, found):
    weights = {name: torch.empty(shape, device="meta") for name, shape in shapes.items()}
    assert fitting(tmp_path / "file.pt", weights) == found
