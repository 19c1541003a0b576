"""Files as other people's programs write them: opened as they are, or refused with the true reason."""

import argparse
import re
from functools import partial

import pytest
import safetensors.torch
import timm
import torch
import torchvision
from torch import nn
from torch.testing import assert_close

import vizkit
from tests.drawn import noise, seeded
from vizkit.image import Preprocessing
from vizkit.models import ModelError, family_of, pixels_of
from vizkit.models.sources.hub import UnnamedError
from vizkit.models.sources.torchvision_models import CNNS, cnn_of

VIT, SWIN, SWIN2 = "vit_tiny_patch16_224", "swin_tiny_patch4_window7_224", "swinv2_tiny_window8_256"
SMALL_SWIN = {"embed_dim": 12, "depths": (2, 1), "num_heads": (1, 2)}


@pytest.fixture(autouse=True)
def same_weights():
    with seeded():
        yield


def made(name, **options):
    model = timm.create_model(name, **options).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.2)
    return model


def prefixed(prefix, state):
    return {f"{prefix}{key}": value for key, value in state.items()}


def opened(tmp_path, content, architecture, **options):
    torch.save(content, tmp_path / "file.pth")
    return vizkit.load(tmp_path / "file.pth", architecture=architecture, **options)


def same_answer(loaded, model, photo):
    pixels = pixels_of(loaded, photo)
    with torch.no_grad():
        assert_close(loaded.model(pixels), model(pixels), rtol=0, atol=1e-5)
    assert vizkit.trace(loaded, photo).check.passed


# ---- Swin ------------------------------------------------------------------------------------------------------------
def official_swin(model):
    """Microsoft's layout: merging at the end of a stage, a plain head, and the tables that timm makes anew."""
    state = {}
    for key, value in model.state_dict().items():
        key = re.sub(r"layers\.(\d+)\.downsample", lambda m: f"layers.{int(m[1]) - 1}.downsample", key)
        state[key.replace("head.fc.", "head.")] = value
    for name, buffer in model.named_buffers():
        if name.endswith(("relative_position_index", "relative_coords_table", "attn_mask")):
            state[name] = buffer
    return {"model": state, "epoch": 3}


@pytest.mark.parametrize(
    "name, options",
    [
        (SWIN, {"img_size": 64, "window_size": 8}),
        (SWIN, {"img_size": 56, "window_size": 7}),
        (SWIN, {"img_size": 48, "window_size": 12}),  # the last stage has 6 × 6 tokens, one window
        (SWIN2, {"img_size": 64, "window_size": 4}),
    ],
)
def test_official_swin_gives_its_windows_and_its_image_size(tmp_path, photo, name, options):
    model = made(name, num_classes=5, **SMALL_SWIN, **options)
    loaded = opened(tmp_path, official_swin(model), name)
    assert loaded.preprocessing.size_hw == (options["img_size"],) * 2
    assert family_of(loaded.model) == "swin"
    assert len(vizkit.trace(loaded, photo).logits) == 5
    same_answer(loaded, model, photo)
    for key in ("embed_dim=12", "depths=(2, 1)"):
        assert key in loaded.source


def test_timm_swin_of_other_windows_opens_at_a_size_that_they_divide(tmp_path, photo):
    model = made(SWIN, img_size=256, window_size=8, embed_dim=12, depths=(1, 1, 1, 1), num_heads=(1, 2, 3, 4))
    loaded = opened(tmp_path, model.state_dict(), SWIN)
    assert loaded.preprocessing.size_hw == (256, 256)
    assert "window_size=8" in loaded.source
    same_answer(loaded, model, photo)


def test_swin_v2_that_was_trained_with_other_windows_before(tmp_path, photo):
    options = {"img_size": 64, "window_size": 8, "pretrained_window_sizes": (4, 4, 4, 4)}
    model = made(SWIN2, **SMALL_SWIN, **options)
    with pytest.raises(ModelError, match="other windows before"):
        opened(tmp_path, official_swin(model), SWIN2)
    loaded = opened(tmp_path, official_swin(model), SWIN2, model_args={"pretrained_window_sizes": (4, 4, 4, 4)})
    same_answer(loaded, model, photo)


# ---- ViT -------------------------------------------------------------------------------------------------------------
FOLLOWS = {
    "patches": {"patch_size": 32, "img_size": 96},
    "depth and image": {"depth": 3, "img_size": 64},
    "mean": {"global_pool": "avg"},  # MAE's fine-tuning
    "mean of patches alone": {"global_pool": "avg", "class_token": False},
    "registers": {"reg_tokens": 4, "no_embed_class": True},
    "layer scale": {"init_values": 1e-5},
    "norm before": {"pre_norm": True},
    "plain q, k, v": {"qkv_bias": False},
    "normed q, k": {"qk_norm": True},
    "wide MLP": {"mlp_ratio": 2.0},
    "attention pooling": {"global_pool": "map", "class_token": False},
    "grey": {"in_chans": 1},
    "no head": {"num_classes": 0},
    "mean without a norm after it": {"global_pool": "avg", "class_token": False, "fc_norm": False},
}


@pytest.mark.parametrize("case", FOLLOWS)
def test_what_a_vit_is_follows_from_its_file(tmp_path, photo, case):
    model = made(VIT, **{"depth": 1, "img_size": 64, "num_classes": 5, **FOLLOWS[case]})
    loaded = opened(tmp_path, model.state_dict(), VIT)
    assert loaded.preprocessing.channels == FOLLOWS[case].get("in_chans", 3)
    assert loaded.preprocessing.size_hw == tuple(model.patch_embed.img_size)
    same_answer(loaded, model, photo)


@pytest.mark.product
@pytest.mark.parametrize(
    "architecture, options",
    [
        ("deit_tiny_distilled_patch16_224", {"depth": 1, "img_size": 64}),
        ("beit_base_patch16_224", {"depth": 1, "img_size": 64}),
        ("eva02_tiny_patch14_224", {"depth": 1, "img_size": 56}),
        ("vit_small_patch14_reg4_dinov2", {"depth": 1, "img_size": 56}),
    ],
)
def test_other_vits_open_at_the_size_of_their_file(tmp_path, photo, architecture, options):
    model = made(architecture, **options)
    loaded = opened(tmp_path, model.state_dict(), architecture)
    assert loaded.preprocessing.size_hw == tuple(model.patch_embed.img_size)
    same_answer(loaded, model, photo)


def test_a_given_size_stretches_and_says_so(tmp_path):
    model = made(VIT, depth=1, img_size=64)
    loaded = opened(tmp_path, model.state_dict(), VIT, image_size=96)
    assert loaded.preprocessing.size_hw == (96, 96)
    assert "stretched to 96×96" in loaded.source


def test_model_args_decide_what_shapes_cannot_say(tmp_path, photo):
    model = made(VIT, depth=1, img_size=64, embed_dim=96, num_heads=2)
    with pytest.raises(ModelError, match=r"tokens of 96 numbers.*num_heads"):
        opened(tmp_path, model.state_dict(), VIT)
    loaded = opened(tmp_path, model.state_dict(), VIT, model_args={"embed_dim": 96, "num_heads": 2})
    same_answer(loaded, model, photo)
    with pytest.raises(ModelError, match="cannot be made"):
        opened(tmp_path, model.state_dict(), VIT, model_args={"colour": "red"})


def test_model_args_of_a_name(photo):
    options = {"depth": 2, "in_chans": 1, "img_size": 64}
    loaded = vizkit.load(VIT, pretrained=False, model_args=options)
    assert len(loaded.model.blocks) == 2
    assert (loaded.preprocessing.channels, loaded.preprocessing.size_hw) == (1, (64, 64))
    assert vizkit.trace(loaded, photo).check.passed


@pytest.mark.parametrize("channels", [2, 4])
def test_other_channels_are_refused(tmp_path, channels):
    with pytest.raises(ModelError, match=f"images of {channels} channels"):
        opened(tmp_path, made(VIT, depth=1, in_chans=channels).state_dict(), VIT)


# ---- training programs -----------------------------------------------------------------------------------------------
def dino(state):
    head = {"head.mlp.0.weight": torch.ones(8, 192), "head.last_layer.weight_g": torch.ones(9, 1)}
    other = {key: torch.zeros_like(value) for key, value in state.items()}
    return {
        "student": prefixed("module.backbone.", other) | prefixed("module.", head),
        "teacher": prefixed("backbone.", state) | head,
        "dino_loss": {"center": torch.zeros(1, 9)},
    }


def dinov2_training(state):
    chunked = {re.sub(r"^blocks\.(\d+)", r"blocks.0.\1", key): value for key, value in state.items()}
    return {"teacher": prefixed("backbone.", chunked) | {"dino_head.mlp.0.weight": torch.ones(8, 192)}}


TRAINING = {
    "dino": dino,
    "dinov2": dinov2_training,
    "Lightning": lambda state: {"state_dict": prefixed("net.", state), "hyper_parameters": {"lr": 0.1}},
    "Lightning around a backbone": lambda state: {"state_dict": prefixed("model.backbone._orig_mod.", state)},
    "somebody's name": lambda state: prefixed("encoder.", state),
    "MAE": lambda state: {
        "model": state | {"decoder_pos_embed": torch.ones(1, 17, 8), "mask_token": torch.ones(1, 1, 8)}
    },
}


@pytest.mark.product
@pytest.mark.parametrize("case", TRAINING)
def test_training_files_give_the_model_that_is_evaluated(tmp_path, photo, case):
    model = made(VIT, depth=2, img_size=64, num_classes=0)
    loaded = opened(tmp_path, TRAINING[case](model.state_dict()), VIT)
    same_answer(loaded, model, photo)
    expected = {"dino": "teacher", "dinov2": "teacher"}
    assert expected.get(case, "") in loaded.source
    flat = TRAINING[case](model.state_dict())
    flat = next((flat[key] for key in ("teacher", "model", "state_dict") if key in flat), flat)
    safetensors.torch.save_file(flat, tmp_path / "same.safetensors")
    again = vizkit.load(tmp_path / "same.safetensors", architecture=VIT)
    same_answer(again, model, photo)


# ---- CLIP ------------------------------------------------------------------------------------------------------------
CLIP_NAMES = {"patch_embed.proj": "conv1", "norm_pre": "ln_pre", "blocks.": "transformer.resblocks."}
CLIP_NAMES |= {".norm1": ".ln_1", ".norm2": ".ln_2", "attn.qkv.": "attn.in_proj_", "attn.proj": "attn.out_proj"}
CLIP_NAMES |= {"mlp.fc1": "mlp.c_fc", "mlp.fc2": "mlp.c_proj"}


def clip(model):
    """OpenAI's and open_clip's names, with a text tower beside it."""
    state = {"transformer.resblocks.0.ln_1.weight": torch.ones(8), "token_embedding.weight": torch.ones(20, 8)}
    state |= {"positional_embedding": torch.ones(77, 8), "logit_scale": torch.tensor(4.6)}
    for key, value in model.state_dict().items():
        for ours, theirs in CLIP_NAMES.items():
            key = key.replace(ours, theirs)
        key = re.sub(r"^norm\.", "ln_post.", key)
        if key == "cls_token":
            key, value = "class_embedding", value[0, 0]
        if key == "pos_embed":
            key, value = "positional_embedding", value[0]
        if key == "head.weight":
            key, value = "proj", value.T.contiguous()
        if key != "head.bias":
            state[f"visual.{key}"] = value
    return state


@pytest.mark.parametrize("openai", [False, True])
def test_the_picture_tower_of_clip(tmp_path, photo, openai):
    name = "vit_base_patch32_clip_224"
    options = {"embed_dim": 64, "num_heads": 4}
    gelu = {"act_layer": "quick_gelu"} if openai else {}
    model = made(name, depth=2, img_size=96, patch_size=16, num_classes=10, **options, **gelu)
    nn.init.zeros_(model.head.bias)
    state = clip(model) | ({"input_resolution": torch.tensor(96)} if openai else {})
    loaded = opened(tmp_path, state, name, model_args=options)
    same_answer(loaded, model, photo)
    assert loaded.preprocessing.size_hw == (96, 96)
    assert loaded.preprocessing.mean[0] == pytest.approx(0.48145466)
    assert not loaded.classifies


def test_open_clip_around_a_timm_model(tmp_path, photo):
    narrow = {"embed_dim": 64, "num_heads": 4}
    model = made("vit_base_patch16_siglip_224", depth=1, img_size=64, num_classes=0, **narrow)
    state = prefixed("visual.trunk.", model.state_dict()) | {"text.ln_final.weight": torch.ones(8)}
    loaded = opened(tmp_path, state, "vit_base_patch16_siglip_224", model_args=narrow)
    same_answer(loaded, model, photo)


# ---- torchvision, MONAI, transformers --------------------------------------------------------------------------------
def test_fine_tuned_torchvision_vit(tmp_path, photo):
    options = {"image_size": 64, "patch_size": 32, "num_layers": 1, "num_heads": 12, "hidden_dim": 768, "mlp_dim": 64}
    model = torchvision.models.VisionTransformer(**options, num_classes=4).eval()
    nn.init.normal_(model.heads.head.weight)
    loaded = opened(tmp_path, {"model": prefixed("module.", model.state_dict())}, "torchvision:vit_b_16")
    assert loaded.preprocessing.size_hw == (64, 64)
    same_answer(loaded, model, photo)
    plain = {key.replace("heads.head", "heads"): value for key, value in model.state_dict().items()}
    same_answer(opened(tmp_path, plain, "torchvision:vit_b_16"), model, photo)


@pytest.mark.parametrize("name", ["swin_t", "swin_v2_t"])
def test_fine_tuned_torchvision_swin(tmp_path, photo, name):
    parts = torchvision.models.swin_transformer
    second = {"block": parts.SwinTransformerBlockV2, "downsample_layer": parts.PatchMergingV2} if "v2" in name else {}
    model = parts.SwinTransformer([4, 4], 24, [1, 2], [3, 6], [8, 8], num_classes=4, **second).eval()
    loaded = opened(tmp_path, model.state_dict(), f"torchvision:{name}", image_size=64)
    same_answer(loaded, model, photo)


def test_torchvision_files_that_do_not_fit(tmp_path):
    with pytest.raises(ModelError, match="is no torchvision model of this kind"):
        opened(tmp_path, made(VIT, depth=1).state_dict(), "torchvision:vit_b_16")
    with pytest.raises(ModelError, match="it lacks fc or classifier"):
        opened(tmp_path, {"a": torch.ones(2)}, "torchvision:resnet50")
    state = torchvision.models.resnet18(num_classes=3).state_dict()
    with pytest.raises(ModelError, match=r"does not fit torchvision:resnet50"):
        opened(tmp_path, state, "torchvision:resnet50")


@pytest.mark.rest
@pytest.mark.parametrize("name, suffix", [("alexnet", "pth"), ("resnet18", "pth"), ("resnet18", "safetensors")])
def test_fine_tuned_torchvision_cnns(tmp_path, photo, name, suffix):
    model = torchvision.models.get_model(name, weights=None, num_classes=4).eval()
    file = tmp_path / f"file.{suffix}"
    if suffix == "pth":
        torch.save({"state_dict": prefixed("module.", model.state_dict())}, file)
    else:
        safetensors.torch.save_file(model.state_dict(), file)
    with pytest.raises(UnnamedError) as caught:
        vizkit.load(file)
    assert caught.value.fits[0].removeprefix("torchvision:") == name
    loaded = vizkit.load(file, architecture=f"torchvision:{name}", image_size=64)
    same_answer(loaded, model, photo)
    assert loaded.outputs == 4


@pytest.mark.parametrize("name", CNNS)
def test_torchvision_cnns_are_known_by_their_shapes(name):
    with torch.device("meta"):
        state = torchvision.models.get_model(name, weights=None, num_classes=4).state_dict()
    assert cnn_of({key: tuple(value.shape) for key, value in state.items()}) == name
    other = {key: tuple(value.shape) for key, value in state.items() if not key.startswith(("layer3", "features.10"))}
    assert cnn_of(other) is None


def monai(model):
    names = {
        "patch_embed.proj.": "patch_embedding.patch_embeddings.",
        "pos_embed": "patch_embedding.position_embeddings",
    }
    names |= {".attn.proj.": ".attn.out_proj.", ".mlp.fc1.": ".mlp.linear1.", ".mlp.fc2.": ".mlp.linear2."}
    state = {"blocks.0.norm_cross_attn.weight": torch.ones(192), "blocks.0.cross_attn.out_proj.bias": torch.ones(192)}
    for key, value in model.state_dict().items():
        for ours, theirs in names.items():
            key = key.replace(ours, theirs)
        state[re.sub(r"^head\.", "classification_head.0.", key)] = value
    return state


def test_monai(tmp_path, photo):
    options = {"depth": 1, "img_size": 64, "in_chans": 1, "num_classes": 2, "qkv_bias": False}
    model = made(VIT, no_embed_class=True, norm_layer=partial(nn.LayerNorm, eps=1e-5), **options)
    loaded = opened(tmp_path, monai(model), VIT)
    assert loaded.preprocessing.channels == 1
    same_answer(loaded, model, photo)
    volume = monai(model) | {"patch_embedding.patch_embeddings.weight": torch.ones(192, 1, 16, 16, 16)}
    with pytest.raises(ModelError, match="volumes, not images"):
        opened(tmp_path, volume, VIT)


def test_weights_of_transformers_without_their_folder(tmp_path):
    names = ("vit.embeddings.patch_embeddings.projection.weight", "vit.layernorm.weight")
    with pytest.raises(ModelError, match="open the folder that save_pretrained wrote"):
        opened(tmp_path, dict.fromkeys(names, torch.ones(4)), VIT)


# ---- which architecture ----------------------------------------------------------------------------------------------
SUGGESTED = {  # what the file holds → what has to be suggested first
    "deit_tiny_distilled_patch16_224": lambda: made("deit_tiny_distilled_patch16_224", depth=12).state_dict(),
    "vit_tiny_patch16_224": lambda: made(VIT, num_classes=7, img_size=96).state_dict(),
    "swin_tiny_patch4_window7_224": lambda: official_swin(made(SWIN, num_classes=3, window_size=8, img_size=256)),
    "resnet18": lambda: timm.create_model("resnet18", num_classes=4).state_dict(),
    "torchvision:swin_t": lambda: {
        key: value.to(torch.float16)
        for key, value in torchvision.models.swin_transformer.SwinTransformer(
            [4, 4], 96, [2, 2], [3, 6], [7, 7], num_classes=4
        )
        .state_dict()
        .items()
    },
}


@pytest.mark.product
@pytest.mark.parametrize("name", SUGGESTED)
def test_architectures_that_fit_are_suggested(tmp_path, name):
    torch.save(SUGGESTED[name](), tmp_path / "file.pth")
    with pytest.raises(UnnamedError) as caught:
        vizkit.load(tmp_path / "file.pth")
    assert caught.value.fits[0] == name
    assert f"its shapes fit {name}" in str(caught.value)
    vizkit.load(tmp_path / "file.pth", architecture=name)


# ---- what timm's train.py was told -----------------------------------------------------------------------------------
GREY = {"gp": "max", "in_chans": 1, "img_size": 96, "mean": [0.3], "std": [0.2]}
TOLD = [
    ("resnet18", {"global_pool": "max", "in_chans": 1}, GREY),
    ("resnet18", {}, {"crop_pct": 0.9, "interpolation": "bilinear", "img_size": 160, "mean": (0.5,) * 3}),
    (VIT, {"global_pool": "avg", "img_size": 96}, {"gp": "avg", "img_size": 96, "std": [0.4] * 3, "crop_pct": 1.0}),
]


@pytest.mark.rest
@pytest.mark.parametrize("name, options, told", TOLD)
def test_options_of_timms_training_are_used_and_named(tmp_path, name, options, told):
    """A file of train.py keeps them in "args"; timm's own `resolve_data_config` says what they mean."""
    model = made(name, num_classes=5, **options)
    every = {"model": name, "gp": None, "mean": None, "std": None, "crop_pct": None, "interpolation": "", "lr": 0.1}
    told_all = argparse.Namespace(**{**every, "img_size": None, "input_size": None, "in_chans": None, **told})
    content = {"arch": name, "state_dict": model.state_dict(), "args": told_all}
    torch.save(content, tmp_path / "last.pth.tar")
    loaded = vizkit.load(tmp_path / "last.pth.tar")
    config = timm.data.resolve_data_config(vars(told_all), model=model)
    config["input_size"] = (options.get("in_chans", 3), *config["input_size"][1:])  # timm leaves those of the name
    assert loaded.preprocessing == Preprocessing.from_config(config)
    pixels = noise(1, *config["input_size"])
    with torch.no_grad():
        assert torch.equal(loaded.model(pixels), model.eval()(pixels))
    assert "as its training was told" in loaded.source
    assert all(f"{'global_pool' if key == 'gp' else key}=" in loaded.source for key in told)


@pytest.mark.rest
def test_options_of_training_that_make_no_sense_are_refused(tmp_path):
    state = made("resnet18", num_classes=5).state_dict()
    for told in (
        {"mean": [0.5, 0.5]},
        {"std": [0.0] * 3},
        {"interpolation": "magic"},
        {"gp": "magic"},
        {"img_size": 10**9},
    ):
        torch.save({"arch": "resnet18", "state_dict": state, "args": argparse.Namespace(**told)}, tmp_path / "a.pth")
        with pytest.raises(ModelError):
            vizkit.load(tmp_path / "a.pth")
