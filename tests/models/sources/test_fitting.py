"""Which names are proposed for a file of weights, by hand: the mark that tells the family, its width and its patch."""

import pytest
import timm
import torch
import torchvision

from vizkit.models import ModelError
from vizkit.models.sources import fitting as module
from vizkit.models.sources.fitting import candidates, fitting


def state(mark, width=192, patch=16):
    first = {"patch_embed.proj.weight": torch.empty(width, 3, patch, patch, device="meta")}
    return first | {mark: torch.empty(1, device="meta")}


# mark, width, patch → how every proposed name begins, one that is among them, and one of another family that is not
PROPOSED = [
    (
        "visual.class_embedding",
        768,
        32,
        ("vit_base_patch32_clip_",),
        "vit_base_patch32_clip_224",
        "vit_base_patch32_224",
    ),
    (
        "visual.trunk.pos_embed",
        768,
        16,
        ("vit_base_patch16_siglip_",),
        "vit_base_patch16_siglip_224",
        "vit_base_patch16_224",
    ),
    ("dist_token", 192, 16, ("deit_tiny_distilled_",), "deit_tiny_distilled_patch16_224", "deit_tiny_patch16_224"),
    ("dist_token", 384, 16, ("deit_small_distilled_",), "deit_small_distilled_patch16_224", "deit_small_patch16_224"),
    (
        "blocks.0.attn.relative_position_bias_table",
        768,
        16,
        ("beit_base_", "beitv2_base_"),
        "beitv2_base_patch16_224",
        "vit_base_patch16_224",
    ),
    (
        "blocks.0.attn.relative_position_bias_table",
        1024,
        16,
        ("beit_large_", "beitv2_large_"),
        "beit_large_patch16_224",
        "beit_base_patch16_224",
    ),
    (
        "register_tokens",
        384,
        14,
        ("vit_small_patch14_reg",),
        "vit_small_patch14_reg4_dinov2",
        "vit_small_patch14_dinov2",
    ),
    ("reg_token", 384, 14, ("vit_small_patch14_reg",), "vit_small_patch14_reg4_dinov2", "vit_small_patch14_dinov2"),
    ("blocks.0.gamma_1", 1280, 14, ("deit3_huge_",), "deit3_huge_patch14_224", "vit_huge_patch14_224"),
    (
        "blocks.0.ls1.gamma",
        1024,
        14,
        ("vit_large_patch14_dinov2", "deit3_large_"),
        "vit_large_patch14_dinov2",
        "vit_large_patch14_224",
    ),
    (
        "blocks.0.ls1.gamma",
        1536,
        14,
        ("vit_giant_patch14_dinov2",),
        "vit_giant_patch14_dinov2",
        "vit_large_patch14_dinov2",
    ),
    ("norm_pre.weight", 768, 16, ("vit_base_patch16_clip_",), "vit_base_patch16_clip_224", "vit_base_patch16_224"),
    ("attn_pool.latent", 768, 16, ("vit_base_patch16_siglip_",), "vit_base_patch16_siglip_224", "vit_base_patch16_224"),
    (
        "blocks.0.attn.qkv.weight",
        192,
        16,
        ("vit_tiny_patch16_", "deit_tiny_"),
        "vit_tiny_patch16_224",
        "vit_small_patch16_224",
    ),
    (
        "layers.0.blocks.0.attn.logit_scale",
        96,
        4,
        ("swinv2_tiny_", "swinv2_small_"),
        "swinv2_small_window8_256",
        "swin_tiny_patch4_window7_224",
    ),
    (
        "layers.0.blocks.0.attn.relative_position_bias_table",
        96,
        4,
        ("swin_tiny_", "swin_small_"),
        "swin_small_patch4_window7_224",
        "swinv2_tiny_window8_256",
    ),
    (
        "layers.0.blocks.0.attn.relative_position_bias_table",
        128,
        4,
        ("swin_base_",),
        "swin_base_patch4_window7_224",
        "swin_large_patch4_window7_224",
    ),
    (
        "layers.0.blocks.0.attn.relative_position_bias_table",
        192,
        4,
        ("swin_large_",),
        "swin_large_patch4_window7_224",
        "swin_base_patch4_window7_224",
    ),
    ("stages.0.blocks.0.conv_dw.weight", 96, 4, ("convnext",), "convnext_tiny", "resnet50"),
    ("stages.0.0.dwconv.weight", 96, 4, ("convnext",), "convnextv2_base", "resnet50"),
    ("layer1.0.conv1.weight", 64, 7, ("resnet",), "resnet152", "convnext_tiny"),
]


@pytest.mark.parametrize("mark, width, patch, begin, among, other", PROPOSED)
def test_a_mark_proposes_its_family_at_its_width(mark, width, patch, begin, among, other):
    found = candidates(state(mark, width, patch))
    assert all(name.startswith(begin) for name in found), found
    assert all(any(name.startswith(one) for name in found) for one in begin)
    assert set(found) <= set(timm.list_models())
    assert among in found
    assert other not in found
    assert len(set(found)) == len(found)
    first = [name for name in found if name.startswith(begin[0])]
    assert first == found[: len(first)]
    assert first == sorted(first, key=len)


def test_resnets_are_proposed_one_by_one_and_nothing_for_strangers():
    assert candidates(state("layer1.0.conv1.weight")) == ["resnet18", "resnet34", "resnet50", "resnet101", "resnet152"]
    assert candidates(state("stranger")) == []


def test_a_width_that_no_vit_has_leaves_it_open():
    found = candidates(state("blocks.0.attn.qkv.weight", 777, 16))
    assert {"vit_tiny_patch16_224", "vit_base_patch16_224"} <= set(found)


def test_without_a_first_layer_neither_width_nor_patch_is_known():
    assert module._patch_and_width({}) == (0, 0)
    assert module._patch_and_width({"patch_embed.proj.weight": torch.empty(192, 768)}) == (0, 0)
    assert module._patch_and_width(state("cls_token", 384, 14)) == (14, 384)


def empty(name):
    """The names and shapes of a network of torchvision."""
    with torch.device("meta"):
        return dict(getattr(torchvision.models, name)(weights=None).state_dict())


@pytest.mark.parametrize("name", ["swin_t", "swin_s", "swin_b", "swin_v2_t", "swin_v2_s", "swin_v2_b"])
def test_torchvisions_swins_by_depth_and_width(name):
    assert module._of_torchvision(empty(name)) == [f"torchvision:{name}"]


@pytest.mark.parametrize("name", ["vit_b_16", "vit_b_32", "vit_l_16", "vit_l_32", "resnet18"])
def test_torchvisions_others(name):
    assert module._of_torchvision(empty(name)) == [f"torchvision:{name}"]


def test_of_torchvision_nothing_for_others(tmp_path):
    assert fitting(tmp_path / "x.pth", {"conv_proj.weight": torch.empty(768, 3, 16, 16)}) == ["torchvision:vit_b_16"]
    assert module._of_torchvision({"conv_proj.weight": torch.empty(768, 3, 8, 8)}) == []
    assert module._of_torchvision(state("stranger")) == []


def test_those_that_say_least_against_the_file_come_first(tmp_path, monkeypatch):
    """Six are compared, three are named, equal ones in their order; what does not fit at all is left out."""
    compared = {"a": 2, "b": None, "z": 0, "c": 0, "e": 5, "f": 4, "g": 0}
    asked = []

    def compare(path, name, weights):
        asked.append(name)
        return compared[name]

    monkeypatch.setattr(module, "candidates", lambda weights: list(compared))
    monkeypatch.setattr(module, "compared", compare)
    assert fitting(tmp_path / "x.pth", {"w": torch.empty(1)}) == ["z", "c", "a"]
    assert asked == list("abzcef")


def test_options_that_differ_are_counted(tmp_path, monkeypatch):
    model, file, weights = torch.nn.Linear(1, 1), "x.pth", {"w": torch.empty(1)}
    options = {"depth": 3, "num_heads": 2}

    def planned(path, name, given, own):
        assert (path, name, given, own) == (file, "vit", weights, {})
        return options, (64, 64)

    def plan(name, size, path, **given):
        assert (name, size, path, given) == ("vit", (64, 64), file, options)
        return model

    def translated(path, name, given, made, *, stretch):
        assert (path, name, given, made, stretch) == (file, "vit", weights, model, False)
        return {"theirs": 1}

    def misfit(path, name, state, own):
        assert (path, name, state, list(own)) == (file, "vit", {"theirs": 1}, ["weight", "bias"])
        return ""

    for name, stand_in in {"planned": planned, "plan": plan, "translated": translated, "misfit": misfit}.items():
        monkeypatch.setattr(module, name, stand_in)
    monkeypatch.setattr(module, "noted", lambda args, size: "depth=3, num_heads=2, 64 × 64")
    assert module.compared(tmp_path / file, "vit", weights) == 3
    monkeypatch.setattr(module, "misfit", lambda *given: "another shape")
    assert module.compared(tmp_path / file, "vit", weights) is None
    monkeypatch.setattr(module, "plan", lambda *given, **args: None)
    monkeypatch.setattr(module, "misfit", lambda *given: "")
    assert module.compared(tmp_path / file, "vit", weights) is None

    def refused(*given):
        raise ModelError("no")

    monkeypatch.setattr(module, "planned", refused)
    assert module.compared(tmp_path / file, "vit", weights) is None
