"""Which arguments of an architecture follow from the shapes of a file's weights: its depth, patches, windows, classes.

Only what differs from the architecture itself is returned, so that a note can say it.
"""

import re
from collections.abc import Mapping
from math import isqrt
from typing import Any

from torch import nn

from vizkit.models.sources.hub import ModelError
from vizkit.models.sources.sizing import shapes_of

Shapes = Mapping[str, tuple[int, ...]]
Options = Mapping[str, Any]
Found = dict[str, Any]


def followed(title: str, model: nn.Module, shapes: Shapes, size_hw: tuple[int, int] | None = None) -> Found:
    """The arguments for `timm.create_model`, `img_size` as (height, width). `model`: the architecture as it is.

    `shapes` of the weights in timm's names; `size_hw`: of the image, where it is known. Raises ModelError where the
    file cannot be of such a model.
    """
    class_name = type(model).__name__
    args = classes(model, shapes) | patches(title, model, shapes)
    if class_name in ("VisionTransformer", "VisionTransformerDistilled", "Beit", "Eva"):
        args |= depth(model, shapes) | positions(model, shapes, args)
    if class_name in ("VisionTransformer", "VisionTransformerDistilled"):
        args |= vit(title, model, shapes, args, size_hw)
    if class_name in ("SwinTransformer", "SwinTransformerV2"):
        args |= swin(model, shapes, args)
    return args


def weight_named(model: Any, entry: str, usual: str) -> str:
    """What timm calls the weight of its "classifier" or "first_conv", of several the first."""
    name = (getattr(model, "pretrained_cfg", None) or {}).get(entry) or usual
    return f"{name if isinstance(name, str) else name[0]}.weight"


def classes(model: Any, shapes: Shapes) -> Found:
    """No head: the model gives features."""
    shape = shapes.get(weight_named(model, "classifier", "head"), ())
    return {"num_classes": shape[0] if len(shape) > 1 else 0}


def patches(title: str, model: Any, shapes: Shapes) -> Found:
    name = weight_named(model, "first_conv", "patch_embed.proj")
    found, own = shapes.get(name, ()), model.state_dict().get(name)
    if len(found) == 5:
        raise ModelError(f"{title} takes volumes, not images: its patches have three sides.")
    if own is None or len(found) != 4 or own.dim() != 4:
        return {}
    if found[1] not in (1, 3):
        raise ModelError(f"{title} takes images of {found[1]} channels, and vizkit prepares 3, or 1 for grey.")
    args = {} if found[1] == own.shape[1] else {"in_chans": found[1]}
    if name != "patch_embed.proj.weight":
        return args
    if found[-2:] == own.shape[-2:]:
        return args
    return {**args, "patch_size": found[-1] if found[-1] == found[-2] else (found[-2], found[-1])}


def patch_of(model: Any, args: Options) -> tuple[int, int]:
    """(height, width) in pixels."""
    size = args.get("patch_size", model.patch_embed.patch_size)
    return (size, size) if isinstance(size, int) else (size[0], size[1])


def depth(model: Any, shapes: Shapes) -> Found:
    found = count(shapes, r"blocks\.(\d+)\.")
    return {} if found in (0, len(model.blocks)) else {"depth": found}


def count(shapes: Shapes, pattern: str) -> int:
    """One more than the largest number that stands in a name."""
    return max((int(match[1]) + 1 for name in shapes if (match := re.match(pattern, name))), default=0)


def positions(model: Any, shapes: Shapes, args: Options) -> Found:
    """The image size, where the table of positions is that of a square image; as it is also that of others, this is
    supposed, not said."""
    patch = patch_of(model, args)
    table, own = shapes.get("pos_embed", ()), model.state_dict().get("pos_embed")
    if own is not None and tuple(own.shape) == table and "patch_size" not in args:
        return {}
    relative = next((s for name, s in shapes.items() if name.endswith("relative_position_bias_table")), ())
    if len(table) == 4:
        grid = (table[1], table[2])
    elif len(table) == 3:
        special = 1 + shapes.get("reg_token", (1, 0))[1] + ("dist_token" in shapes)
        grid = square(table[1], (*range(special + 1),), patch)
    elif relative:
        side = isqrt(relative[0] - 3)  # (2 · side − 1)² offsets, and three to and from the class token
        grid = ((side + 1) // 2,) * 2 if side**2 == relative[0] - 3 else None
    else:
        grid = None
    size = (grid[0] * patch[0], grid[1] * patch[1]) if grid else None
    changed = size and size != tuple(model.patch_embed.img_size or ())
    return {"img_size": size} if changed else {}


def trained_at(model: nn.Module, shapes: Shapes) -> tuple[int, int] | None:
    """(height, width) of the images that the table of positions was made for, where that is another size than the
    model's and they were square; else None, as of a model that does not say what its patches are."""
    cut = getattr(model, "patch_embed", None)
    says = hasattr(cut, "patch_size") and hasattr(cut, "img_size")
    return positions(model, shapes, {}).get("img_size") if says else None


def square(places: int, special: tuple[int, ...], patch: tuple[int, int] = (1, 1)) -> tuple[int, int] | None:
    """(rows, columns) of the patches of a square image; None where none has so many, less one of the numbers of
    `special`."""
    for patches in (places - n for n in special if places > n):
        side = isqrt(patches * patch[0] * patch[1])
        rows, columns = side // patch[0], side // patch[1]
        if rows * columns == patches and rows * patch[0] == columns * patch[1]:
            return rows, columns
    return None


def vit(title: str, model: Any, shapes: Shapes, found: Options, size_hw: tuple[int, int] | None) -> Found:
    """What timm's ViT has as an option."""
    own = shapes_of(model.state_dict())
    width, needed = shapes.get("norm.weight", shapes.get("fc_norm.weight", (0,)))[0], model.embed_dim
    if width not in (0, needed):
        raise ModelError(
            f"{title} has tokens of {width} numbers, those of this architecture have {needed}: choose one of that "
            'width, or give model_args={"embed_dim": …, "num_heads": …}, for heads do not follow from shapes.'
        )
    args: Found = {}
    for name, option in (
        ("cls_token", "class_token"),
        ("norm_pre.weight", "pre_norm"),
        ("blocks.0.attn.qkv.bias", "qkv_bias"),
        ("blocks.0.attn.q_norm.weight", "qk_norm"),
    ):
        if (name in shapes) != (name in own):
            args[option] = name in shapes
    if ("blocks.0.ls1.gamma" in shapes) != ("blocks.0.ls1.gamma" in own):
        args["init_values"] = 1e-5 if "blocks.0.ls1.gamma" in shapes else None
    registers = shapes.get("reg_token", (1, 0))[1]
    if registers != own.get("reg_token", (1, 0))[1]:
        args["reg_tokens"] = registers
    table, patch = shapes.get("pos_embed", (1, 0)), patch_of(model, found)
    patches = (size_hw[0] // patch[0]) * (size_hw[1] // patch[1]) if size_hw else 0
    of_size = patches <= table[1] <= patches + 2 + registers
    bare = table[1] == patches if size_hw and of_size else square(table[1], (0,), patch) is not None
    if len(table) == 3 and bare != bool(model.no_embed_class or not model.num_prefix_tokens):
        args["no_embed_class"] = bare and "cls_token" in shapes
    hidden = shapes.get("blocks.0.mlp.fc1.weight", (0,))[0]
    if hidden not in (0, own.get("blocks.0.mlp.fc1.weight", (0,))[0]):
        args["mlp_ratio"] = hidden / needed
    return args | pooling(model, shapes)


def pooling(model: Any, shapes: Shapes) -> Found:
    """A norm after the mean ("fc_norm", as in MAE's fine-tuning) or before it; attention pooling; no class token."""
    own = model.state_dict()
    if all((name in shapes) == (name in own) for name in ("fc_norm.weight", "cls_token", "attn_pool.q.weight")):
        return {}
    after, has_class = "fc_norm.weight" in shapes, "cls_token" in shapes
    if "attn_pool.q.weight" in shapes:
        pool = "map"
    elif after or not has_class:
        pool = "avg"
    else:
        pool = "token"
    args: Found = {} if pool == model.global_pool else {"global_pool": pool}
    if after != ("fc_norm.weight" in own) or pool == "avg":
        args["fc_norm"] = after
    return args


def swin(model: Any, shapes: Shapes, args: Options) -> Found:
    """Windows from the table of their offsets or, of V2, from their index; the image from the mask of shifted ones."""
    stages = count(shapes, r"layers\.(\d+)\.blocks\.")
    if not stages:
        return {}
    found: Found = {"depths": tuple(count(shapes, rf"layers\.{i}\.blocks\.(\d+)\.") for i in range(stages))}
    heads = [heads_of(shapes, f"layers.{i}.blocks.0.attn.") for i in range(stages)]
    if all(heads):
        found["num_heads"] = tuple(heads)
    width = shapes.get("patch_embed.proj.weight", (model.embed_dim,))[0]
    found["embed_dim"] = width
    windows = [window_of(shapes, f"layers.{i}.blocks.0.attn.") for i in range(stages)]
    patch = max(patch_of(model, args))  # of others than square ones the image has to be given
    own_size, last = model.patch_embed.img_size, patch * 2 ** (stages - 1)
    own = {
        "depths": tuple(len(layer.blocks) for layer in model.layers),
        "num_heads": tuple(layer.blocks[0].attn.num_heads for layer in model.layers),
        "embed_dim": model.embed_dim,
        "window_size": model.layers[0].blocks[0].attn.window_size[0],
        "img_size": tuple(own_size),
    }
    if all(windows):
        found["window_size"] = window = max(windows)
        masks = shapes.get("layers.0.blocks.1.attn_mask", (0,))[0]
        if masks:
            side = isqrt(masks) * window * patch
        elif windows[-1] < window:
            side = windows[-1] * last
        else:
            fits = own_size[0] % last == 0 and (own_size[0] // last) % window == 0
            side = own_size[0] if fits else window * last
        found["img_size"] = (side, side)
    return {name: value for name, value in found.items() if value != own[name]}


def heads_of(shapes: Shapes, attention: str) -> int:
    table = shapes.get(f"{attention}relative_position_bias_table", (0, 0))
    return table[1] or shapes.get(f"{attention}logit_scale", (0,))[0]


def window_of(shapes: Shapes, attention: str) -> int:
    offsets = shapes.get(f"{attention}relative_position_bias_table", (0,))[0]
    index = shapes.get(f"{attention}relative_position_index", (0,))
    return (isqrt(offsets) + 1) // 2 or isqrt(index[0] if len(index) == 2 else isqrt(index[0]))  # torchvision's is flat
