"""`timm.create_model`, with its many ways to refuse, and its silences, turned into one sentence for the user."""

import re
from collections.abc import Mapping
from contextlib import nullcontext
from difflib import get_close_matches
from functools import lru_cache, partial
from threading import RLock
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from vizkit.image import MAX_INPUT_SIDE
from vizkit.models.sources.hub import ModelError
from vizkit.models.sources.sizing import Holding, bytes_of, measured, refuse_over_budget, refuse_unfit, sketch
from vizkit.settings import settings

Size = tuple[int, int]
_SCALING = {"erfinv_", "mul_", "add_", "clamp_"}  # what makes a truncated normal of uniform numbers
_BUILDING = RLock()  # one model at a time, for all sessions together: while it is made it takes its memory twice


def by(size_hw: Size) -> str:
    return f"{size_hw[0]}×{size_hw[1]}"


def known(name: str) -> str:
    """A timm name, brought up to date where timm has renamed the model; ModelError when there is none."""
    import timm

    import vizkit.models.networks  # noqa: F401  registers ours with timm

    architecture, _, tag = name.partition(".")
    current = timm.models.get_deprecated_models().get(architecture, architecture)
    if current is None or not timm.is_model(architecture):
        near = timm.list_models(f"*{re.sub('[^a-z0-9_]', '?', architecture[:12])}*")[:3] if architecture else ()
        near = near or get_close_matches(architecture, timm.list_models(), cutoff=0.8)
        raise ModelError(f"timm has no model {name[:80]!r}" + (f"; did you mean {', '.join(near)}?" if near else "."))
    name = f"{current}.{tag}" if tag else current
    tags = list(timm.models.get_arch_pretrained_cfgs(name))
    if "." in name and name not in tags:
        raise ModelError(f"timm has no weights {name[:80]!r}; there are {', '.join(tags) or 'none'}.")
    return name


def opens_at(config: Mapping[str, Any], title: str) -> Size | None:
    """The input, (height, width), that a folder's config.json asks for in place of the one of its weights, which may be
    slower; None where it asks for none."""
    stated = config.get("opens_at")
    if stated is None:
        return None
    fits = isinstance(stated, list) and len(stated) == 2 and all(type(side) is int for side in stated)
    if not fits or not all(1 <= side <= MAX_INPUT_SIDE for side in stated):
        raise ModelError(f"The config.json of {title} gives no possible height and width in opens_at.")
    return stated[0], stated[1]


def published_as(file: str, name: str) -> list[str]:
    """The tags under which timm publishes a file of this name for this architecture."""
    import timm

    configs = timm.models.get_arch_pretrained_cfgs(name.partition(".")[0])
    return [tag for tag, config in configs.items() if str(config.url).endswith(f"/{file}")]


class _NoRandomWeights(TorchFunctionMode):
    """Parameters that a constructor would draw at random are NaN: for weights that a file is about to replace, drawing
    takes most of the time of opening a model. One that no file replaces is refused with all that are no numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.left = set[int]()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        tensor, name = kwargs.get("tensor", args[0] if args else None), getattr(func, "__name__", "")
        if isinstance(tensor, nn.Parameter) and tensor.is_floating_point():
            if name.endswith(("uniform_", "normal_")):
                self.left.add(id(tensor))
                return nn.init.constant_(tensor, torch.nan)
            if name in _SCALING and id(tensor) in self.left:
                return tensor
        return func(*args, **kwargs)


def create(
    name: str,
    size_hw: Size | None,
    title: str,
    holds: Holding | None = None,
    ours: bool = False,
    replaced: bool = False,
    **options: Any,
) -> nn.Module:
    """A timm model that takes images of `size_hw` (None: its own size); `title` is what to call it in a sentence;
    `replaced`: a file's weights take the place of all that it would draw at random.

    Nothing is made before it is known that it stays within the budget, and fits the file of its weights, `holds`; but
    what is `ours`, bundled and small, is measured while it is made, for a plan makes torch import its compiler.
    """
    drawn = None if ours else plan(name, size_hw, title, **options)
    if drawn is not None and holds is not None:
        refuse_unfit(title, holds, drawn)
    try:
        counted = measured(title, settings().model_bytes) if drawn is None else nullcontext()
        with _BUILDING, counted, _NoRandomWeights() if replaced else nullcontext():
            model = _made(name, size_hw, **options)
    except ModelError:
        raise
    except Exception as error:  # strangers' configs and weights make constructors raise anything
        size = f" for images of {by(size_hw)} pixels" if size_hw else ""
        reason = re.sub(r"\S*/\S+", "", " ".join(str(error).split()))  # no path of this machine
        reason = re.split(r"[.!?:] (?=[A-Z])", reason)[0]  # one sentence
        raise ModelError(f"{title} cannot be made{size}: {reason[:140].rstrip('.') or 'timm refuses'}.") from error
    if size_hw:
        _refuse_cut_patches(model, size_hw, title)
    return model


def norm_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """The option of a timm model whose LayerNorms have another ε than its architecture, as `training.runs.saving`
    writes it into config.json: {} where it says nothing."""
    eps = config.get("norm_eps")
    return {"norm_layer": partial(nn.LayerNorm, eps=eps)} if isinstance(eps, float) and 0 < eps < 1 else {}


def plan(name: str, size_hw: Size | None, title: str, **options: Any) -> nn.Module | None:
    """The model without weights, None where it cannot be had so; ModelError when it is above the budget."""
    plain = {key: value for key, value in options.items() if key not in ("pretrained", "pretrained_cfg_overlay")}
    if plain or name.startswith("local-dir:"):  # whose content may change
        drawn = sketch(title, lambda: _made(name, size_hw, **plain))
    else:
        drawn = _sketch(name, size_hw)
    if drawn is not None:
        refuse_over_budget(title, bytes_of(drawn))
    return drawn


@lru_cache(maxsize=8)  # before a download and after it; and for every visitor of the same models
def _sketch(name: str, size_hw: Size | None) -> nn.Module | None:
    return sketch(name, lambda: _made(name, size_hw))


def _made(name: str, size_hw: Size | None, **options: Any) -> nn.Module:
    import timm

    import vizkit.models.networks  # noqa: F401  a checkpoint may name one of ours

    try:
        return timm.create_model(name, **({**options, "img_size": size_hw} if size_hw else options))
    except Exception as error:
        if size_hw and "unexpected keyword argument 'img_size'" in str(error):
            return timm.create_model(name, **options)  # convolutional: takes any size as it is
        raise


def _refuse_cut_patches(model: nn.Module, size_hw: Size, title: str) -> None:
    """A patch embedding drops, without a word, the rows and columns that fill no patch."""
    embed = getattr(model, "patch_embed", None)
    projection = getattr(embed, "proj", None)
    if not isinstance(projection, nn.Conv2d) or getattr(embed, "dynamic_img_pad", False):
        return
    rows, columns = projection.stride
    nearest = (max(1, round(size_hw[0] / rows)) * rows, max(1, round(size_hw[1] / columns)) * columns)
    if (rows, columns) == projection.kernel_size and nearest != size_hw:
        raise ModelError(
            f"{title} takes images in patches of {by((rows, columns))} pixels, which do not divide {by(size_hw)}; "
            f"the nearest size is {by(nearest)}."
        )


def misfit(file: str, name: str, state: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> ModelError | None:
    """How the weights in a file differ from those of a model, or None when they do not."""
    wrong = [key for key in expected if key not in state or state[key].shape != expected[key].shape]
    wrong += [key for key in state if key not in expected]
    if not wrong:
        return None
    own, needed = (str(tuple(s[wrong[0]].shape)) if wrong[0] in s else "none" for s in (state, expected))
    return ModelError(
        f"{file} does not fit {name}: {len(wrong)} tensors differ, the first is {wrong[0]} (found {own}, "
        f"expected {needed})."
    )


def load_weights(model: nn.Module, file: str, name: str, state: Mapping[str, Tensor]) -> None:
    """Put the weights of a file into the model. Raises ModelError where they are those of another one."""
    if error := misfit(file, name, state, model.state_dict()):
        raise error
    model.load_state_dict(state)


def refuse_stretched_positions(file: str, shapes: Mapping[str, tuple[int, ...]], model: nn.Module) -> None:
    """timm stretches a table of positions to the usual input size without a word; that is for the user to choose."""
    special = int(getattr(model, "num_prefix_tokens", 0))
    for key, own in model.state_dict().items():
        shape = shapes.get(key, ())
        if "pos" in key and min(own.dim(), len(shape)) >= 2 and abs(shape[-2] - own.shape[-2]) > special:
            # Up to `special`, the table only has or lacks places for the special tokens.
            raise ModelError(
                f"{file} was trained on images of another size ({key} has {shape[-2]} places, {own.shape[-2]} "
                "expected); give the image size."
            )
