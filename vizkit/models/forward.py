"""One forward pass that leaves logits, attention calls and features behind, and the comparison with the plain one."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from vizkit.models.loading import Loaded
from vizkit.models.recording import Call, Keep, Recorder
from vizkit.trace import LOGIT_TOLERANCE, TraceError

UNABLE = (AttributeError, NameError, NotImplementedError, TypeError, RuntimeError, AssertionError, ValueError)
"""How models say that they have no features on the way."""


@dataclass(frozen=True)
class Pass:
    """`maps`: what leaves each block, (channel, row, column), or (token, channel) when the pass was asked for `tokens`;
    `specials`: its special tokens, (token, channel)."""

    logits: Tensor
    calls: tuple[Call, ...]
    maps: tuple[Tensor, ...]
    specials: tuple[Tensor | None, ...]
    logit_error: float


def forward(
    loaded: Loaded, pixels: Tensor, keep: Keep | None = None, target: int | None = None, *, tokens: bool = False
) -> Pass:
    """Run one image, (1, channel, height, width), and record it. `target`: gradients of that class's logit too.
    `tokens`: features in the order of the tokens, as a ViT has them; maps would be copied.

    The first pass of a model at an input size, and for the kind of recording, is compared with a plain one. timm's
    `forward_intermediates` is believed only when it ends in the same logits; a few models finish differently there.
    """
    pixels, keep = pixels.to(loaded.device), keep or Keep()
    kind = (pixels.shape[-2], pixels.shape[-1], keep.rows is None, keep.heads, target is None)
    if kind in loaded.compared:
        return recorded(loaded, pixels, keep, target, tokens, *loaded.compared[kind])
    with torch.no_grad():
        plain = logits_of(loaded.model(pixels))
    refuse_unknown(target, plain, loaded)
    result = None
    for with_features in (True, False):
        try:
            result = recorded(loaded, pixels, keep, target, tokens, with_features, float("nan"))
        except UNABLE:
            if not with_features:
                raise
            continue
        error = float((result.logits - plain).abs().max() / plain.abs().max().clamp(min=1))
        loaded.compared[kind], result = (with_features, error), replace(result, logit_error=error)
        if error <= LOGIT_TOLERANCE:
            break
    assert result is not None
    return result


def recorded(
    loaded: Loaded,
    pixels: Tensor,
    keep: Keep,
    target: int | None,
    tokens: bool,
    with_features: bool,
    logit_error: float,
) -> Pass:
    recorder = Recorder(loaded.model, keep, gradient=target is not None)
    with torch.set_grad_enabled(target is not None), recorder:
        # Parameters carry no gradient, so the graph starts at the pixels.
        pixels = pixels.detach().requires_grad_(target is not None)
        out, maps, specials = run(loaded.model, pixels, with_features, tokens)
    logits = logits_of(out)
    refuse_unknown(target, logits, loaded)
    if target is not None:
        recorder.take_gradients(logits[target])
    detached = tuple(m[0].detach() for m in maps)
    return Pass(logits.detach().float(), tuple(recorder.calls), detached, specials, logit_error)


def refuse_unknown(target: int | None, logits: Tensor, loaded: Loaded) -> None:
    if target is not None and not 0 <= target < len(logits):
        raise ValueError(f"Class {target} does not exist: {loaded.name} has {len(logits)} classes.")


def run(
    model: nn.Module, pixels: Tensor, with_features: bool, tokens: bool = False
) -> tuple[Tensor, list[Tensor], tuple[Tensor | None, ...]]:
    """Logits and, when asked, the features of every block, through timm's own `forward_intermediates`."""
    if not with_features:
        return model(pixels), [], ()
    # timm's own function fails when it is asked for prefix tokens that the model does not have.
    prefix = getattr(model, "num_prefix_tokens", 0) and takes_prefix(model)
    options: dict = {"return_prefix_tokens": True} if prefix else {}
    options |= {"output_fmt": "NLC"} if tokens else {}
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


def logits_of(out: Tensor | tuple[Tensor, ...] | list[Tensor]) -> Tensor:
    """The vector of logits of one image; models with two heads (distilled LeViT in training) give their mean."""
    if isinstance(out, tuple | list):
        out = torch.stack([one for one in out if one.dim() == 2]).mean(0)
    if out.dim() > 2:
        raise TraceError("This model ends in a map, not in class scores; vizkit shows classifiers and feature vectors.")
    return out[0].float()
