"""One forward pass that leaves logits, attention calls and features behind, and the comparison with the plain one."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from vizkit.models.loading import Loaded
from vizkit.models.recording import Call, Keep, Recorder
from vizkit.trace import LOGIT_TOLERANCE, TraceError


@dataclass(frozen=True)
class Pass:
    """`maps`: what leaves each block, (channel, row, column); `specials`: its special tokens, (token, channel)."""

    logits: Tensor
    calls: tuple[Call, ...]
    maps: tuple[Tensor, ...]
    specials: tuple[Tensor | None, ...]
    logit_error: float


def forward(loaded: Loaded, pixels: Tensor, keep: Keep | None = None, target: int | None = None) -> Pass:
    """Run one image, (1, channel, height, width), and record it. `target`: gradients of that class's logit too."""
    pixels = pixels.to(loaded.device)
    size_hw = (pixels.shape[-2], pixels.shape[-1])
    if size_hw not in loaded.compared:
        loaded.compared[size_hw] = compare(loaded.model, pixels)
    with_features, logit_error = loaded.compared[size_hw]
    recorder = Recorder(loaded.model, keep, gradient=target is not None)
    with torch.set_grad_enabled(target is not None), recorder:
        # Parameters carry no gradient, so the graph starts at the pixels.
        out, maps, specials = run(loaded.model, pixels.detach().requires_grad_(target is not None), with_features)
    logits = logits_of(out)
    if target is not None:
        if not 0 <= target < logits.shape[0]:
            raise ValueError(f"Class {target} does not exist: {loaded.name} has {logits.shape[0]} classes.")
        recorder.take_gradients(logits[target])
    detached = tuple(m[0].detach() for m in maps)
    return Pass(logits.detach().float(), tuple(recorder.calls), detached, specials, logit_error)


def run(
    model: nn.Module, pixels: Tensor, with_features: bool
) -> tuple[Tensor, list[Tensor], tuple[Tensor | None, ...]]:
    """Logits and, when asked, the features of every block, through timm's own `forward_intermediates`."""
    if not with_features:
        return model(pixels), [], ()
    options = {"return_prefix_tokens": True} if takes_prefix(model) else {}
    final, blocks = model.forward_intermediates(pixels, **options)  # pyright: ignore[reportCallIssue]
    maps, specials = [], []
    for block in blocks:
        spatial, special = block if isinstance(block, tuple) else (block, None)
        maps.append(spatial)
        specials.append(None if special is None else special[0].detach())
    return model.forward_head(final), maps, tuple(specials)  # pyright: ignore[reportCallIssue]


def takes_prefix(model: nn.Module) -> bool:
    code = getattr(type(model).forward_intermediates, "__code__", None)  # pyright: ignore[reportAttributeAccessIssue]
    return code is not None and "return_prefix_tokens" in code.co_varnames


def compare(model: nn.Module, pixels: Tensor) -> tuple[bool, float]:
    """Whether features can be had on the way, and the largest relative difference of a logit with and without recording.

    Measured once for a model and input size, on the image at hand. `forward_intermediates` is believed only when it ends
    in the same logits; a few models finish differently there.
    """
    with torch.no_grad():
        plain = logits_of(model(pixels))
        errors = {}
        for with_features in (True, False):
            try:
                with Recorder(model):
                    logits = logits_of(run(model, pixels, with_features)[0])
                errors[with_features] = float((logits - plain).abs().max() / plain.abs().max().clamp(min=1))
            except (AttributeError, NotImplementedError, TypeError, RuntimeError, AssertionError, ValueError):
                if not with_features:
                    raise
                continue
            if errors[with_features] <= LOGIT_TOLERANCE:
                return with_features, errors[with_features]
    return False, errors[False]


def logits_of(out: Tensor | tuple[Tensor, ...] | list[Tensor]) -> Tensor:
    """The vector of logits of one image; models with two heads (distilled LeViT in training) give their mean."""
    if isinstance(out, tuple | list):
        out = torch.stack([one for one in out if one.dim() == 2]).mean(0)
    if out.dim() > 2:
        raise TraceError("This model ends in a map, not in class scores; vizkit shows classifiers and feature vectors.")
    return out[0].float()
