"""Which architectures a file of weights fits: guessed from a few names and widths, then compared tensor by tensor."""

from collections.abc import Mapping
from pathlib import Path

from torch import Tensor

from vizkit.models.sources.creating import misfit, plan
from vizkit.models.sources.from_file import RAW_PATCHES, libraries, noted, planned, translated
from vizkit.models.sources.hub import ModelError
from vizkit.models.sources.sizing import shapes_of
from vizkit.models.sources.torchvision_models import WIDTHS, arguments, cnn_of

State = Mapping[str, Tensor]
MOST_COMPARED = 6  # each takes a fifth of a second to draw
MOST_NAMED = 3
BY_WIDTH = {192: "tiny", 384: "small", 768: "base", 1024: "large", 1280: "huge", 1536: "giant"}  # of ViTs
SWINS = {96: ("tiny", "small"), 128: ("base",), 192: ("large",)}
# A weight that only these have → names, with the width as a word and the patch in pixels. The first that is there.
VITS = (
    ("visual.class_embedding", ("vit_{width}_patch{patch}_clip_*",)),
    ("visual.trunk.pos_embed", ("vit_{width}_patch{patch}_siglip_*",)),
    ("dist_token", ("deit_{width}_distilled_*",)),
    ("blocks.0.attn.relative_position_bias_table", ("beit_{width}_*", "beitv2_{width}_*")),
    ("register_tokens", ("vit_{width}_patch{patch}_reg*_dinov2",)),
    ("reg_token", ("vit_{width}_patch{patch}_reg*",)),
    ("blocks.0.gamma_1", ("deit3_{width}_*",)),
    ("blocks.0.ls1.gamma", ("vit_{width}_patch{patch}_dinov2", "deit3_{width}_*")),
    ("norm_pre.weight", ("vit_{width}_patch{patch}_clip_*",)),
    ("attn_pool.latent", ("vit_{width}_patch{patch}_siglip_*",)),
    ("blocks.0.attn.qkv.weight", ("vit_{width}_patch{patch}_*", "deit_{width}_*", "vit_{width}_patch*")),
)
OTHERS = (
    ("layers.0.blocks.0.attn.logit_scale", ("swinv2_{width}_*",)),
    ("layers.0.blocks.0.attn.relative_position_bias_table", ("swin_{width}_*",)),
    ("stages.0.blocks.0.conv_dw.weight", ("convnext*",)),
    ("stages.0.0.dwconv.weight", ("convnext*",)),
    ("layer1.0.conv1.weight", ("resnet18", "resnet34", "resnet50", "resnet101", "resnet152")),
)


def fitting(path: Path, state: State) -> list[str]:
    """At most three names, those first whose own options say most of the file; for `load(…, architecture=…)`."""
    weights, _ = libraries({name: value.to("meta") for name, value in state.items()})
    found = []
    for name in candidates(weights)[:MOST_COMPARED]:
        differs = compared(path, name, weights)
        if differs is not None:
            found.append((differs, name))
    return [name for _, name in sorted(found, key=lambda pair: pair[0])[:MOST_NAMED]] or _of_torchvision(state)


def fits(path: Path, name: str, state: State) -> bool:
    weights, _ = libraries({key: value.to("meta") for key, value in state.items()})
    return compared(path, name, weights) is not None


def compared(path: Path, name: str, weights: dict[str, Tensor]) -> int | None:
    """How many options the file says otherwise than an architecture; None where it does not fit at all."""
    try:
        args, size = planned(path.name, name, weights, {})
        model = plan(name, size, path.name, **args)
        if model is None or misfit(
            path.name, name, translated(path.name, name, weights, model, stretch=False), model.state_dict()
        ):
            return None
    except ModelError:
        return None
    note = noted(args, size)
    return note.count("=") + note.count("×")


def candidates(weights: State) -> list[str]:
    import timm

    patch, width = _patch_and_width(weights)
    for marks, words in ((VITS, (BY_WIDTH.get(width, "*"),)), (OTHERS, SWINS.get(width, ("tiny",)))):
        patterns = next((patterns for mark, patterns in marks if mark in weights), ())
        names = [
            name
            for pattern in patterns
            for word in words
            for name in sorted(timm.list_models(pattern.format(width=word, patch=patch)), key=len)
        ]
        if names:
            return list(dict.fromkeys(names))
    return []


def _patch_and_width(weights: State) -> tuple[int, int]:
    first = next((weights[name] for name in ("patch_embed.proj.weight", *RAW_PATCHES) if name in weights), None)
    return (first.shape[-1], first.shape[0]) if first is not None and first.dim() == 4 else (0, 0)


def _of_torchvision(state: State) -> list[str]:
    shapes = shapes_of(state)
    if name := cnn_of(shapes):
        return [f"torchvision:{name}"]
    if "conv_proj.weight" in shapes:
        width, _, patch, _ = shapes["conv_proj.weight"]
        return [f"torchvision:vit_{size}_{patch}" for size, own in WIDTHS.items() if own == width and patch in (16, 32)]
    if "features.1.0.attn.relative_position_bias_table" not in shapes and "features.1.0.attn.logit_scale" not in shapes:
        return []
    version = "swin_v2" if "features.1.0.attn.logit_scale" in shapes else "swin"
    try:
        _, options = arguments("", f"{version}_t", shapes)
    except ModelError:
        return []
    deep = max(options["depths"]) > 6
    return [f"torchvision:{version}_{'b' if options['embed_dim'] == 128 else 's' if deep else 't'}"]
