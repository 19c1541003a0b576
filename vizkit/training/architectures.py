"""The small models of our own that train on a laptop: timm architectures with arguments, and how they begin.

`small_*` see 112×112 pixels, `digits_*` 32×32. timm's checkpoint layout holds their arguments, so that
`timm.create_model("local-dir:…")` opens what was trained.
"""

import json
import tempfile
from pathlib import Path
from typing import Any

import torch
from timm.models import create_model, get_pretrained_cfg
from torch import nn

import vizkit.models.networks  # noqa: F401  registers ours with timm
from vizkit.models.networks.timm_protocol import StageByStage
from vizkit.models.sources import checkpoint
from vizkit.models.sources.creating import create, known, norm_of, opens_at
from vizkit.models.sources.from_transformers import is_transformers
from vizkit.models.sources.loading import bundled_folder, load, published_weights
from vizkit.models.sources.sizing import sketch
from vizkit.training.init_weights import narrow
from vizkit.training.recipe import Recipe, RecipeError
from vizkit.training.runs import saving
from vizkit.training.runs.naming import safe_name
from vizkit.training.tuning import begins_elsewhere, classes_in, head_rows, refuse_other_task, refuse_untrained

_VIT = {"img_size": 112, "patch_size": 8, "embed_dim": 128, "depth": 6, "num_heads": 4}
_DIGITS_VIT = {"img_size": 32, "patch_size": 4, "embed_dim": 96, "depth": 6, "num_heads": 4}
# Two scales and fewer and fewer tokens, against a plain ViT of fine and one of coarse patches: all else is equal.
_SMALL = {"img_size": 112, "patch_size": 8, "embed_dim": 128, "depth": 8, "num_heads": 4}
_DIGITS = {"img_size": 32, "patch_size": 4, "embed_dim": 64, "depth": 4, "num_heads": 4}
_SMALL_DUAL = {**_SMALL, "coarse_patch_size": 16, "merge_block": 6}
_DIGITS_DUAL = {**_DIGITS, "coarse_patch_size": 8, "merge_block": 3}

# name → timm's architecture, its arguments, the input side in pixels.
# Tokens of small_vit: 14×14, as ViT-B/16 has at 224². small_swin: 14×14 in shifted windows of 7, then 7×7 in one.
# A usual ResNet would end in 4×4 cells at 112², and in one at 32²; ours stop at stride 8 or 16 for finer maps.
OURS: dict[str, tuple[str, dict[str, Any], int]] = {
    "small_vit": ("vit_tiny_patch16_224", _VIT, 112),
    "small_deit": ("deit_tiny_distilled_patch16_224", _VIT, 112),
    "small_swin": (
        "swin_tiny_patch4_window7_224",
        {"img_size": 112, "patch_size": 8, "window_size": 7, "embed_dim": 64, "depths": [4, 2], "num_heads": [2, 4]},
        112,
    ),
    "small_cnn": ("resnetv2_18d", {"layers": [2, 2, 2], "channels": [32, 64, 128], "stem_chs": 32}, 112),
    # 14×14 fine and 7×7 coarse tokens at 112²; merging after three quarters of the blocks, as in the thesis.
    "small_vit_fine": ("vit_tiny_patch16_224", _SMALL, 112),
    "small_vit_coarse": ("vit_tiny_patch16_224", {**_SMALL, "patch_size": 16}, 112),
    "small_dual": ("dual_scale_tiny", _SMALL_DUAL, 112),
    "small_dual_half": ("dual_scale_tiny", {**_SMALL_DUAL, "learn_alpha": False}, 112),
    # 14×14 tokens, then 14×7, then 7×7, which cannot be halved again.
    "small_gradual": ("gradual_reduction_tiny", {**_SMALL, "reduce_after": [3, 6]}, 112),
    "digits_vit": ("vit_tiny_patch16_224", _DIGITS_VIT, 32),
    "digits_deit": ("deit_tiny_distilled_patch16_224", _DIGITS_VIT, 32),
    "digits_swin": (
        "swin_tiny_patch4_window7_224",
        {"img_size": 32, "patch_size": 2, "window_size": 4, "embed_dim": 48, "depths": [2, 4], "num_heads": [4, 8]},
        32,
    ),
    "digits_cnn": (
        "resnetv2_18d",
        {"layers": [2, 2, 2], "channels": [16, 32, 64], "stem_chs": 32, "output_stride": 8},
        32,
    ),
    # The two that are older than transformers; their pictures are grey.
    "digits_lenet": ("lenet5", {"img_size": 32}, 32),
    "digits_mlp": ("pixel_mlp", {"img_size": 32}, 32),
    "digits_vit_fine": ("vit_tiny_patch16_224", _DIGITS, 32),
    "digits_vit_coarse": ("vit_tiny_patch16_224", {**_DIGITS, "patch_size": 8}, 32),
    "digits_dual": ("dual_scale_tiny", _DIGITS_DUAL, 32),
    "digits_dual_half": ("dual_scale_tiny", {**_DIGITS_DUAL, "learn_alpha": False}, 32),
    "digits_gradual": ("gradual_reduction_tiny", {**_DIGITS, "reduce_after": [1, 2, 3]}, 32),
}


def build(recipe: Recipe, labels: tuple[str, ...]) -> nn.Module:
    """The model of a recipe with one output per label, as `start` gives it."""
    return start(recipe, labels)[0]


def start(recipe: Recipe, labels: tuple[str, ...]) -> tuple[nn.Module, bool]:
    """The model of a recipe with one output per label, its initial weights drawn from the recipe's seed, and whether it
    knows these labels before its first step.

    Ours and timm's names begin at random (or from published weights); all else that `vizkit.load` opens goes on from
    its own weights, with a new head where it does not know the classes by their names. Raises ModelError or RecipeError
    with one sentence when it cannot be made, OfflineError when weights are out of reach.
    """
    torch.manual_seed(recipe.seed)
    name, arguments = recipe.model, {**recipe.model_args, "num_classes": len(labels)}
    if recipe.drop_path:
        arguments["drop_path_rate"] = recipe.drop_path
    if recipe.patch_drop:
        arguments["patch_drop_rate"] = recipe.patch_drop
    side = recipe.image_size or arguments.pop("img_size", 0)
    arguments.pop("img_size", None)
    knows = False
    if name in OURS:
        model = ours(name, side, arguments)
    elif begins_elsewhere(name):
        model, knows = begun(name, side, arguments, labels)
    else:
        if recipe.pretrained:
            arguments["pretrained_cfg_overlay"] = {"file": str(published_weights(known(name))[0])}
        model = create(known(name), (side, side) if side else None, name, pretrained=recipe.pretrained, **arguments)
    if side and name not in OURS:
        _say_size(model, (side, side))
    model.pretrained_cfg = {**model.pretrained_cfg, "license": _licence(recipe, model)}  # type: ignore[dict-item]
    if recipe.distillation != "none" and hasattr(model, "set_distilled_training"):
        model.set_distilled_training(True)  # type: ignore[operator] # both heads apart while training
    return model, knows


def _say_size(model: Any, size_hw: tuple[int, int]) -> None:
    """timm keeps the usual size there, whatever its arguments."""
    channels = model.pretrained_cfg["input_size"][0]
    model.pretrained_cfg = {**model.pretrained_cfg, "input_size": (channels, *size_hw)}


def begun(name: str, side: int, arguments: dict[str, Any], labels: tuple[str, ...]) -> tuple[nn.Module, bool]:
    """A trained model with one output per label: what comes before its head is as it was, and so is its preprocessing;
    and whether its outputs are its own, as where it knows all these labels by their names.

    `name`: "bundled:<name>", a folder, a checkpoint file (with its "architecture" among the arguments, where it does
    not name it), "hf-hub:<owner/name>". What does not lie in timm's layout is brought into it first.
    """
    refuse_untrained(name, OURS)
    folder = bundled_folder(name.removeprefix("bundled:")) if name.startswith("bundled:") else Path(name)
    architecture = arguments.pop("architecture", None)
    with tempfile.TemporaryDirectory() as place:
        if not (folder / "config.json").is_file() or is_transformers(folder):
            given = {key: value for key, value in arguments.items() if key != "num_classes"}
            own = Path(place) / (safe_name(folder.stem) or "model")
            own.mkdir()
            saving.save_opened(own, load(name, device="cpu", architecture=architecture, model_args=given))
            folder = own
        title = folder.name
        config = checkpoint.read_config(folder / "config.json", title)
        refuse_other_task(title, config["architecture"])
        known(config["architecture"])
        size_hw = (side, side) if side else opens_at(config, title)
        outputs = classes_in(folder)
        rows = head_rows(outputs, labels) if config.get("head", "softmax") == "softmax" else None
        options = {"pretrained": True, **norm_of(config), **arguments}
        if rows is not None:  # timm keeps the head of as many classes alone
            options["num_classes"] = len(outputs)
        model: Any = create(f"local-dir:{folder}", size_hw, title, **options)
        if size_hw:
            _say_size(model, size_hw)
    if rows is None:
        model.reset_classifier(len(labels))  # timm keeps the head of as many other classes
    elif rows != [*range(len(outputs))]:
        _choose_outputs(model, rows)
    return model, rows is not None


@torch.no_grad()
def _choose_outputs(model: Any, rows: list[int]) -> None:
    """The model with these outputs of its head alone, or of its heads."""

    def heads() -> list[nn.Module]:
        own = model.get_classifier()
        return [*own] if isinstance(own, tuple | list) else [own]

    before = [{name: each[rows] for name, each in head.state_dict().items()} for head in heads()]
    model.reset_classifier(len(rows))
    for head, own in zip(heads(), before, strict=True):
        head.load_state_dict(own)


def sketched(name: str, side_px: int, classes: int) -> nn.Module | None:
    """One of ours without numbers, to be counted; None where it cannot be made so."""
    architecture, arguments, _ = OURS[name]
    given: dict[str, Any] = arguments | {"img_size": side_px, "num_classes": classes}
    return sketch(name, lambda: create_model(architecture, **given))


def _licence(recipe: Recipe, model: Any) -> str | None:
    """That of the user, else that of the weights from which the run begins: what was drawn at random has none."""
    trained = begins_elsewhere(recipe.model) or (recipe.pretrained and recipe.model not in OURS)
    return recipe.licence or (model.pretrained_cfg.get("license") if trained else None)


def ours(name: str, side: int, given: dict[str, Any]) -> nn.Module:
    architecture, arguments, usual_side = OURS[name]
    side = side or usual_side
    usual: Any = get_pretrained_cfg(architecture)
    channels = given.get("in_chans", usual.input_size[0])
    facts = ("fixed_input_size", "first_conv", "classifier")  # of the architecture, not of ImageNet
    config = {key: getattr(usual, key) for key in facts} | {
        "architecture": architecture,
        "input_size": (channels, side, side),
        "num_classes": given["num_classes"],
        "mean": (0.5,) * channels,
        "std": (0.5,) * channels,
        "crop_pct": 1.0,
        "crop_mode": "center",
        "interpolation": "bilinear",
    }
    sized = "img_size" in arguments
    arguments = {key: value for key, value in arguments.items() if key != "img_size"}
    size_hw = (side, side) if sized else None
    model = create(architecture, size_hw, name, pretrained_cfg=config, **{**arguments, **given})
    if sized and not isinstance(model, StageByStage):
        narrow(model)
    return model


def parse_args(text: str) -> dict[str, Any]:
    """timm arguments typed as JSON."""
    try:
        arguments = json.loads(text or "{}")
    except ValueError:
        raise RecipeError('Model arguments are JSON, for example {"depth": 6}.') from None
    if not isinstance(arguments, dict):
        raise RecipeError('Model arguments are a JSON object, for example {"depth": 6}.')
    return arguments
