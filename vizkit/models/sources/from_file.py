"""A file of weights as a timm model: in timm's names, with the options that its shapes say, never resampled unasked."""

import inspect
import re
import sys
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from vizkit.models.sources import checkpoint
from vizkit.models.sources.creating import (
    Size,
    by,
    create,
    known,
    load_weights,
    misfit,
    plan,
    published_as,
    refuse_stretched_positions,
)
from vizkit.models.sources.following import Options, followed
from vizkit.models.sources.hub import ModelError
from vizkit.models.sources.loaded import Loaded, described
from vizkit.models.sources.sizing import shapes_of
from vizkit.models.sources.weight_names import MONAI, from_monai

State = dict[str, Tensor]
RAW_PATCHES = ("visual.conv1.weight", "visual.trunk.patch_embed.proj.weight")  # of CLIP, of open_clip around timm
RAW_POSITIONS = ("visual.positional_embedding", "visual.trunk.pos_embed")
SIZED = re.compile(r"(patch_embed\.proj\.weight|visual\.conv1\.weight|pos_embed|positional_embedding|bias_table)$")
SUPPOSED = (("global_pool", "avg"), ("global_pool", "token"), ("act_layer", "quick_gelu"))
SUPPOSED += (("no_embed_class", True), ("no_embed_class", False))
VALUED = ("init_values",)  # only whether there are any is an option; the numbers are weights
OPENAI = "input_resolution"  # in the state dict of OpenAI's CLIP, whose GELU is another


class _ResampledError(Exception):
    pass


class _NoResampling(TorchFunctionMode):
    """timm stretches tables and patches that do not fit, without a word; all of it goes through one function."""

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        if func is F.interpolate:
            raise _ResampledError
        return func(*args, **(kwargs or {}))


def from_checkpoint(
    path: Path, file: checkpoint.Checkpoint, architecture: str, size_hw: Size | None, model_args: Options
) -> Loaded:
    """`size_hw`: of the input; where it is another one than in training, positions are stretched."""
    name = known(architecture)
    weights, apart = libraries(file.state)
    built, pictures = told(path.name, file.told)
    given = {**model_args, **({"img_size": size_hw} if size_hw else {})}
    args, size = planned(path.name, name, weights, {**apart, **built, **given})
    size = size or _size_told(pictures)
    model: Any = create(name, size, path.name, file.holds, replaced=True, **args)
    try:
        state, stretched = translated(path.name, name, weights, model, stretch=False, size_hw=size), False
    except ModelError:
        if size_hw is None:
            raise
        state, stretched = translated(path.name, name, weights, model, stretch=True), True
    load_weights(model, path.name, name, state)
    _refuse_other_tables(path.name, file.state, model)
    if "visual.proj" in file.state:
        model.num_classes = 0  # CLIP's head projects into the space that it shares with texts: it gives features
    follows = {key: value for key, value in args.items() if key not in built or built[key] != value}
    said = [file.part, noted(follows, None if size == _size_told(pictures) else size, given)]
    said += [_listed("as its training was told", {**built, **pictures})]
    said += [f"stretched to {by(size)}"] if size and stretched else []
    source = ", ".join([f"checkpoint of {name}", *filter(None, said)])
    # What a file calls its own architecture may be where its training began.
    says = [path.stem, *published_as(path.name, name), "" if architecture == file.architecture else architecture]
    channels = args.get("in_chans")
    return described(path.stem, model, size, source, channels=channels, told=pictures, says=says)


def libraries(state: State) -> tuple[State, dict[str, Any]]:
    """The weights, and what their library does otherwise than timm, which no shape says."""
    if MONAI in state:
        return from_monai(state), {"norm_layer": partial(nn.LayerNorm, eps=1e-5)}
    return state, {"act_layer": "quick_gelu"} if OPENAI in state else {}


def noted(args: Options, size: Size | None, given: Options = MappingProxyType({})) -> str:
    """What a file says otherwise than its architecture, for the line about where a model comes from; and, as such, what
    its shapes leave open, and what was `given`."""
    plain = {name: value for name, value in args.items() if name != "num_classes" and not callable(value)}
    said, open_, stated = list[str](), list[str](), list[str]()
    for name, value in plain.items():
        kind = stated if name in given else open_ if (name, value) in SUPPOSED else said
        kind.append(f"{name}={'of the file' if name in VALUED else value}")
    if size and "img_size" not in given:
        open_.append(f"a square image of {by(size)}")
    kinds = {"as its weights say": said, "supposed, as no shape says it": open_, "as given": stated}
    return "; ".join(f"{words}: {', '.join(kind)}" for words, kind in kinds.items() if kind)


def _listed(who: str, values: Options) -> str:
    shown = ", ".join(f"{name}={str(value)[:60]}" for name, value in values.items())
    return f"{who}: {shown}" if shown else ""


def told(title: str, options: Options) -> tuple[dict[str, Any], dict[str, Any]]:
    """(arguments of the model, words of its pictures) that timm's train.py was given. Raises ModelError."""
    checkpoint.refuse_sizes(title, options)
    names = {"gp": "global_pool", "in_chans": "in_chans"}
    built = {names[key]: value for key, value in options.items() if key in names}
    return built, {key: value for key, value in options.items() if key not in names}


def _size_told(pictures: Options) -> Size | None:
    side = pictures.get("img_size")
    sides = tuple(pictures.get("input_size", (0, side, side)))[-2:]
    return (sides[0], sides[1]) if len(sides) == 2 and all(isinstance(each, int) for each in sides) else None


def planned(title: str, name: str, state: State, model_args: Options) -> tuple[dict[str, Any], Size | None]:
    """(arguments for timm, image size where it is not the architecture's own) of the model that fits the weights."""
    args = dict(model_args)
    size = args.pop("img_size", None)
    size = (size, size) if isinstance(size, int) else tuple(size) if size else None
    drawn = plan(name, None, title, **args)
    if drawn is None:
        return args, size
    shapes = _shapes_in_timms_names(name, state, drawn)
    found = followed(title, drawn, shapes, size)
    follows = found.pop("img_size", None)
    return {**found, **args}, size or follows


def _shapes_in_timms_names(name: str, state: State, drawn: nn.Module) -> dict[str, tuple[int, ...]]:
    """What timm calls each tensor of a file, with the shape that it has there: what timm would resample is left out of
    its translation."""
    rest = {key: value.to("meta") for key, value in state.items() if not SIZED.search(key)}
    try:
        rest = shapes_of(filtered(name, rest, drawn))
    except Exception:  # weights of another model; comparing them will say so
        rest = shapes_of(state)
    buffers = ("relative_position_index", "attn_mask")
    kept = {key: shape for key, shape in shapes_of(state).items() if SIZED.search(key) or key.endswith(buffers)}
    for raw, own in ((RAW_PATCHES, "patch_embed.proj.weight"), (RAW_POSITIONS, "pos_embed")):
        for key in raw:
            if key in kept:
                kept[own] = kept.pop(key)
    if len(kept.get("pos_embed", ())) == 2:
        kept["pos_embed"] = (1, *kept["pos_embed"])
    return {**rest, **kept}


def filtered(name: str, state: State, model: nn.Module) -> State:
    """Through timm's own translation of other people's names, where the architecture has one."""
    import timm

    module = sys.modules[timm.model_entrypoint(name.partition(".")[0]).__module__]
    function = getattr(module, "checkpoint_filter_fn", None) or getattr(module, "from_timm", None)
    state = dict(state)  # some translations take their input apart
    if function is None:
        return state
    options = {"adapt_layer_scale": True} if "adapt_layer_scale" in inspect.signature(function).parameters else {}
    return function(state, model, **options)


def translated(title: str, name: str, state: State, model: Any, *, stretch: bool, size_hw: Size | None = None) -> State:
    """The weights in the names, and for `stretch` in the sizes, of a timm model. `size_hw`: of the images in training,
    which timm else takes from its architecture, and would stretch 16 × 4 places from 8 × 8. Raises ModelError."""
    own, config = model.state_dict(), getattr(model, "pretrained_cfg", None)
    try:
        if stretch:
            return filtered(name, state, model)
        if size_hw and config:
            model.pretrained_cfg = {**config, "input_size": (3, *size_hw)}
        with _NoResampling():
            return filtered(name, state, model)
    except Exception as error:  # timm's translation trips over what it has never seen
        refuse_stretched_positions(title, shapes_of(state), model)
        differs = next((k for k, v in state.items() if k in own and v.shape != own[k].shape), "")
        if isinstance(error, _ResampledError) and differs:
            raise ModelError(
                f"{title} would have to be resampled for {name}: {differs} is {tuple(state[differs].shape)}, "
                f"{tuple(own[differs].shape)} expected; choose the architecture with its patches and windows."
            ) from None
        raise misfit(title, name, state, own) or ModelError(f"{title} does not fit {name}.") from error
    finally:
        if size_hw and config:
            model.pretrained_cfg = config


def _refuse_other_tables(title: str, state: State, model: Any) -> None:
    """Swin V2 keeps the size of its windows in training in a table that timm makes anew."""
    buffers = dict(model.named_buffers())
    for key, table in state.items():
        own = buffers.get(key)
        if not key.endswith("relative_coords_table") or own is None:
            continue
        if own.shape != table.shape or float((own - table).abs().max()) > 1e-4:
            raise ModelError(
                f"{title} was trained with other windows before: give them, as in "
                'model_args={"pretrained_window_sizes": [12, 12, 12, 6]}, or choose the architecture that has them.'
            )


def refuse_foreign(title: str, state: State) -> None:
    if any("embeddings.patch_embeddings" in name or "vision_model.embeddings" in name for name in state):
        raise ModelError(
            f"{title} holds weights of the transformers library: open the folder that save_pretrained wrote, with its "
            "config.json."
        )
