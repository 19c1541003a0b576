"""A file of weights as a timm model: in timm's names, with the options that its shapes say, never resampled unasked."""

import inspect
import re
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from vizkit.models.sources import checkpoint
from vizkit.models.sources.creating import (
    Size,
    create,
    known,
    misfit,
    plan,
    published_as,
    refuse_stretched_positions,
)
from vizkit.models.sources.following import followed
from vizkit.models.sources.hub import ModelError
from vizkit.models.sources.loaded import Loaded, described
from vizkit.models.sources.weight_names import MONAI, from_monai

State = dict[str, Tensor]
RAW_PATCHES = ("visual.conv1.weight", "visual.trunk.patch_embed.proj.weight")  # of CLIP, of open_clip around timm
RAW_POSITIONS = ("visual.positional_embedding", "visual.trunk.pos_embed")
SIZED = re.compile(r"(patch_embed\.proj\.weight|visual\.conv1\.weight|pos_embed|positional_embedding|bias_table)$")
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
    path: Path, file: checkpoint.Checkpoint, architecture: str, size_hw: Size | None, model_args: Mapping[str, Any]
) -> Loaded:
    """`size_hw`: of the input, where it shall be another one than in training; positions are then stretched."""
    name = known(architecture)
    weights, apart = libraries(file.state)
    args, size = planned(path.name, name, weights, {**apart, **model_args})
    model: Any = create(name, size_hw or size, path.name, file.holds, **args)
    state = translated(path.name, name, weights, model, stretch=size_hw is not None)
    if error := misfit(path.name, name, state, model.state_dict()):
        raise error
    model.load_state_dict(state)
    _refuse_other_tables(path.name, file.state, model)
    if "visual.proj" in file.state:
        model.num_classes = 0  # CLIP's head projects into the space that it shares with texts: it gives features
    said = [file.averaged] if file.averaged else []
    said += [noted(args, size)] if noted(args, size) else []
    if size_hw and size and size_hw != size:
        said.append(f"stretched to {size_hw[0]}×{size_hw[1]}")
    source = ", ".join([f"checkpoint of {name}", *said])
    # What a file calls its own architecture may be where its training began.
    says = [path.stem, *published_as(path.name, name), "" if architecture == file.architecture else architecture]
    return described(path.stem, model, size_hw or size, source, channels=args.get("in_chans"), says=says)


def libraries(state: State) -> tuple[State, dict[str, Any]]:
    """The weights, and what their library does otherwise than timm, which no shape says."""
    if MONAI in state:
        return from_monai(state), {"norm_layer": partial(nn.LayerNorm, eps=1e-5)}
    return state, {"act_layer": "quick_gelu"} if OPENAI in state else {}


def noted(args: Mapping[str, Any], size: Size | None) -> str:
    """What a file says otherwise than its architecture, for the line about where a model comes from."""
    plain = {name: value for name, value in args.items() if name != "num_classes" and not callable(value)}
    shown = [f"{name}={value}" for name, value in plain.items()] + ([f"image {size[0]}×{size[1]}"] if size else [])
    return f"as its weights say: {', '.join(shown)}" if shown else ""


def planned(title: str, name: str, state: State, model_args: Mapping[str, Any]) -> tuple[dict[str, Any], Size | None]:
    """(arguments for timm, image size where it is not the architecture's own) of the model that fits the weights."""
    args = dict(model_args)
    size = args.pop("img_size", None)
    size = (size, size) if isinstance(size, int) else size
    drawn = plan(name, None, title, **args)
    if drawn is None:
        return args, size
    shapes = _shapes_in_timms_names(name, state, drawn)
    found = followed(title, drawn, shapes)
    follows = found.pop("img_size", None)
    return {**found, **args}, size or follows


def _shapes_in_timms_names(name: str, state: State, drawn: nn.Module) -> dict[str, tuple[int, ...]]:
    """What timm calls each tensor of a file, with the shape that it has there: what timm would resample is left out of
    its translation."""
    rest = {key: value.to("meta") for key, value in state.items() if not SIZED.search(key)}
    try:
        rest = {key: tuple(value.shape) for key, value in filtered(name, rest, drawn).items()}
    except Exception:  # weights of another model; comparing them will say so
        rest = {key: tuple(value.shape) for key, value in state.items()}
    buffers = ("relative_position_index", "attn_mask")
    kept = {k: tuple(v.shape) for k, v in state.items() if SIZED.search(k) or k.endswith(buffers)}
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


def translated(title: str, name: str, state: State, model: nn.Module, *, stretch: bool) -> State:
    """The weights in the names, and for `stretch` in the sizes, of a timm model. Raises ModelError."""
    own = model.state_dict()
    try:
        if stretch:
            return filtered(name, state, model)
        with _NoResampling():
            return filtered(name, state, model)
    except Exception as error:  # timm's translation trips over what it has never seen
        refuse_stretched_positions(title, {key: tuple(value.shape) for key, value in state.items()}, model)
        differs = next((k for k, v in state.items() if k in own and v.shape != own[k].shape), "")
        if isinstance(error, _ResampledError) and differs:
            raise ModelError(
                f"{title} would have to be resampled for {name}: {differs} is {tuple(state[differs].shape)}, "
                f"{tuple(own[differs].shape)} expected; choose the architecture with its patches and windows."
            ) from None
        raise misfit(title, name, state, own) or ModelError(f"{title} does not fit {name}.") from error


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
