"""Any module of anybody's as a `Loaded`: what a file or timm would have said about it, its owner says."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
from timm.data import IMAGENET_DEFAULT_MEAN, IMAGENET_DEFAULT_STD
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from vizkit.heads import SIGMOID, SOFTMAX
from vizkit.image import Preprocessing
from vizkit.models.sources.hub import ModelError
from vizkit.models.sources.loaded import Loaded, guessed_head, outputs_of, with_head, with_labels

SIGMOIDS = frozenset({torch.sigmoid, torch.special.expit, nn.functional.sigmoid, Tensor.sigmoid, Tensor.sigmoid_})
AROUND = ("_orig_mod", "module")
"""Under which name a compiled module, and one that is spread over devices or averaged, holds what was wrapped."""
LOUD = (1.0, 20.0)
ROUNDING = 1e-2  # of a sum of probabilities, also in bfloat16
CHANNELS = re.compile(r"expected input\[1, (\d+), .* to have (\d+) channels")  # torch's words


class _Sigmoids(TorchFunctionMode):
    """Keeps what the latest sigmoid gave."""

    latest: Tensor | None = None

    def __torch_function__(self, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        out = func(*args, **(kwargs or {}))
        self.latest = out if func in SIGMOIDS else self.latest
        return out


def wrap(
    module: Any,
    *,
    size_hw: tuple[int, int] = (224, 224),
    mean: Sequence[float] = IMAGENET_DEFAULT_MEAN,
    std: Sequence[float] = IMAGENET_DEFAULT_STD,
    labels: Sequence[str] = (),
    grid: tuple[int, int] | None = None,
    crop_pct: float = 1.0,
    crop_mode: str = "center",
    interpolation: str = "bicubic",
    name: str = "",
    device: str | torch.device | None = None,
    head: str | None = None,
) -> Loaded:
    """A module that takes pictures, (image, channel, height, width), as a model to look at.

    `size_hw` of its input in pixels; `mean` and `std` on the scale 0–1, one number for each channel (1 or 3), by which
    (rgb / 255 − mean) / std is what it was trained on; `labels` in the order of its outputs. `grid`: (rows, columns) of
    its patches, where you know them; otherwise they are measured. `head`: what the outputs are, "softmax" over classes,
    "sigmoid" for each of several labels, "regression" or "embedding" (`vizkit.heads`); left out, it is guessed from
    their number, which a pass with an empty picture counts. That pass also tells whether the module ends in a softmax
    or sigmoid of its own; then its outputs are the probabilities. `device=None` leaves the module where it is.

    The module itself is used: it is set to evaluation mode, and its parameters take no gradients any more; what is
    compiled in it runs as it was before, so that its calls can be watched. What it returns may be a tensor
    (image, class) or (image,), or hold one: the first of a tuple, `logits` of an object. Raises ModelError.
    """
    if not isinstance(module, nn.Module):
        raise ModelError(f"wrap takes a torch module, and this is a {type(module).__name__}.")
    module = _unwrapped(module)
    try:
        preprocessing = Preprocessing(
            (int(size_hw[0]), int(size_hw[1])),
            tuple(map(float, mean)),
            tuple(map(float, std)),
            crop_pct,
            crop_mode,
            interpolation,
            len(tuple(mean)),
        )
    except (TypeError, ValueError) as error:
        raise ModelError(f"This module cannot be shown: {error}") from None
    weight = next(module.parameters(), torch.empty(0))
    chosen = weight.device if device is None else torch.device(device)
    if chosen.type == "meta":
        raise ModelError("This module has no weights yet (they are on the meta device); load them first.")
    module.to(chosen).eval().requires_grad_(False)
    title = name or type(module).__name__
    named = tuple(map(str, labels))
    loaded = _answering(Loaded(title, module, chosen, preprocessing, named, "wrapped module", grid=grid))
    loaded = with_labels(loaded, labels) if labels else loaded
    return loaded if head is None else with_head(loaded, head)


def _unwrapped(module: nn.Module) -> nn.Module:
    """The module that a compiled or spread one holds, and nothing compiled in it."""
    while type(module).__module__.startswith("torch."):
        inner = next((part for name in AROUND if isinstance(part := getattr(module, name, None), nn.Module)), None)
        if inner is None:
            break
        module = inner
    for parent in [*module.modules()]:
        parent._compiled_call_impl = None  # of `module.compile()`
        for name, child in parent.named_children():
            if (original := child._modules.get(AROUND[0])) is not None:
                setattr(parent, name, original)
    return module


def _answering(loaded: Loaded) -> Loaded:
    """With what a few passes tell of its outputs: how many there are, and whether they are probabilities already. Where
    it does not run nothing is told, and its first picture says why; but not of too many channels."""
    needs, draw, sigmoids = loaded.preprocessing, torch.Generator().manual_seed(0), _Sigmoids()
    blank = torch.zeros(1, needs.channels, *needs.size_hw, dtype=loaded.dtype)

    def answered(pixels: Tensor) -> Tensor:
        return outputs_of(loaded.model(pixels.to(loaded.device)))[0]

    try:
        with torch.no_grad(), sigmoids:
            outputs = [answered(blank)]
            last = sigmoids.latest
            ended = last is not None and torch.equal(last.float().flatten(), outputs[0])
            if _summing(outputs[0]) or _within(outputs[0]):
                noise = torch.randn(blank.shape, generator=draw).to(loaded.dtype)
                outputs += [answered(factor * noise) for factor in LOUD]
    except Exception as error:  # every module has its own way to refuse
        _refuse_channels(loaded, error)
        return loaded if loaded.outputs or not loaded.labels else replace(loaded, outputs=len(loaded.labels))
    loaded, many = replace(loaded, outputs=len(outputs[0])), len(outputs[0]) > 1
    if many and all(map(_summing, outputs)):
        return replace(loaded, head=SOFTMAX, head_guessed=False, probabilities=_within(outputs[0]))
    if all(map(_within, outputs)) and (ended or many):
        return replace(loaded, head=SIGMOID, head_guessed=not ended, probabilities=True)
    head, guessed = guessed_head(loaded.outputs, loaded.labels)
    return replace(loaded, head=head, head_guessed=guessed)


def _within(outputs: Tensor) -> bool:
    return bool(((outputs >= 0) & (outputs <= 1)).all())


def _summing(outputs: Tensor) -> bool:
    """Whether these are the probabilities of classes, or their logarithms."""
    shares = outputs if _within(outputs) else outputs.exp() * (outputs <= 0)
    return len(outputs) > 1 and abs(float(shares.sum()) - 1) < ROUNDING


def _refuse_channels(loaded: Loaded, error: Exception) -> None:
    own, words = loaded.preprocessing.channels, CHANNELS.search(str(error))
    if words is None or int(words[1]) != own:
        return
    wanted = {"1": "1 channel: give mean and std of 1 number", "3": "3 channels: give mean and std of 3 numbers"}
    more = (
        f"{words[2]} channels, with mean and std of {words[2]} numbers; images here have 3, or 1: wrap a module that "
        f"makes {words[2]} of them"
    )
    raise ModelError(f"{loaded.name} takes images of {wanted.get(words[2], more)}.")
