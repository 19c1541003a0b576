"""Direct logit attribution: what the embedding, each head and each MLP add to a logit (Elhage et al. 2021, "A
Mathematical Framework for Transformer Circuits"; the name is TransformerLens's).

What leaves the last block is the sum of all that was added to the stream. With the scale 1/σ of the last normalisation
frozen, the way from there to a logit is linear, so the logit is a sum too: one number for each part, and the biases.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor
from torch.overrides import TorchFunctionMode

from vizkit.models.probes.flow import watched
from vizkit.models.probes.lenses.logit_lens import readable
from vizkit.models.recording.forward import UNABLE
from vizkit.models.sources.loaded import Loaded
from vizkit.traces import LOGIT_TOLERANCE, NotApplicable, Trace

__all__ = ["Contributions", "direct_attribution"]

LAYER_NORM = inspect.signature(F.layer_norm)
PROJECTIONS = ("attn.proj", "attn.out")
"""Where W_O stands in a block: in timm's models, and in ours."""


@dataclass(frozen=True)
class Contributions:
    """What each part adds to a logit, or to the difference of two. `attention_bias`: the bias of W_O, of no head.
    `bias`: of the last normalisation and of the head. `logit`: what the model itself gives."""

    embedding: float
    heads: Float[Tensor, "layer head"]
    attention_bias: Float[Tensor, " layer"]
    mlp: Float[Tensor, " layer"]
    bias: float
    logit: float

    @property
    def attention(self) -> Float[Tensor, " layer"]:
        return self.heads.sum(1) + self.attention_bias

    @property
    def error(self) -> float:
        """How far the sum of all parts is from the logit, relative to it, but at least to 1."""
        total = self.embedding + float(self.attention.sum() + self.mlp.sum()) + self.bias
        return abs(total - self.logit) / max(1.0, abs(self.logit))


@torch.no_grad()
def direct_attribution(
    loaded: Loaded, trace: Trace, pixels: Float[Tensor, "1 channel height width"], target: int, against: int | None
) -> Contributions:
    """`trace`: of the same `pixels`. `against`: the class whose logit is subtracted. One more pass, of a second model
    with the same weights. NotApplicable for models whose parts do not add up to their logit within 1e-4.
    """

    def score(logits: Tensor) -> Tensor:
        return logits[target] - (0.0 if against is None else logits[against])

    different = NotApplicable(f"{loaded.name} is built otherwise: its parts do not add up to its logit.")
    if not hasattr(loaded.model, "blocks"):
        raise different
    try:
        direction, bias = _direction(loaded, trace, score)
        parts = _added(loaded, pixels.to(loaded.device), direction)
        made = Contributions(*parts, bias, float(score(trace.logits.double())))
    except UNABLE as error:
        raise different from error
    if not made.error <= LOGIT_TOLERANCE:
        raise different
    return made


def _direction(loaded: Loaded, trace: Trace, score: Callable[[Tensor], Tensor]) -> tuple[Tensor, float]:
    """(∂score/∂tokens, (token, channel), where the scale of the normalisation is frozen; the score of no tokens)."""
    read = readable(loaded, trace)
    final = trace.features[-1].values.to(loaded.device, next(loaded.model.parameters()).dtype)[None]
    frozen = _FrozenScale()
    with torch.enable_grad(), frozen:
        final = final.detach().requires_grad_()
        (direction,) = torch.autograd.grad(score(read(final)[0]), final)
    frozen.again = iter(frozen.scales)
    with frozen:
        return direction[0].double(), float(score(read(torch.zeros_like(final))[0].double()))


class _FrozenScale(TorchFunctionMode):
    """Layer normalisation with 1/σ as a constant: of what comes in the first pass, kept for another one."""

    def __init__(self) -> None:
        super().__init__()
        self.scales: list[Tensor] = []
        self.again: Any = None

    def __torch_function__(self, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:  # noqa: ANN401
        if func is not F.layer_norm:
            return func(*args, **(kwargs or {}))
        call = LAYER_NORM.bind(*args, **(kwargs or {}))
        call.apply_defaults()
        x, shape, weight, bias, eps = call.arguments.values()
        axes = tuple(range(-len(shape), 0))
        centred = x - x.mean(axes, keepdim=True)
        if self.again is None:
            self.scales.append((centred.square().mean(axes, keepdim=True) + eps).rsqrt().detach())
        scaled = centred * (self.scales[-1] if self.again is None else next(self.again))
        scaled = scaled if weight is None else scaled * weight
        return scaled if bias is None else scaled + bias


def _added(
    loaded: Loaded, pixels: Tensor, direction: Float[Tensor, "token channel"]
) -> tuple[float, Tensor, Tensor, Tensor]:
    """What embedding, heads, biases of W_O and MLPs add along the direction."""
    model: Any = loaded.model
    blocks = list(model.blocks)
    paths = {f"blocks.{i}.{path}": i for i, block in enumerate(blocks) for path in PROJECTIONS if _has(block, path)}
    embedding: list[float] = []
    heads, biases, mlps = ({} for _ in range(3))

    def see(path: str, inputs: tuple, out: Any) -> None:  # noqa: ANN401
        given = inputs[0][0].double()
        if path in paths:
            at = paths[path]
            projection = model.get_submodule(path)
            along = direction * _scale(blocks[at], 1)
            shares = (along @ projection.weight.double() * given).sum(0)
            heads[at] = shares.unflatten(0, (blocks[at].attn.num_heads, -1)).sum(1)
            own = projection.bias
            biases[at] = torch.zeros(()) if own is None else (along @ own.double()).sum()
        elif path.endswith(".mlp"):
            at = int(path.split(".")[1])
            mlps[at] = (direction * _scale(blocks[at], 2) * out[0].double()).sum()
        else:
            embedding.append(float((direction * given).sum()))

    watched(model, ["blocks.0", *paths, *(f"blocks.{i}.mlp" for i in range(len(blocks)))], see)(pixels)

    def in_order(values: dict[int, Tensor]) -> Tensor:
        return torch.stack([values[i].cpu() for i in range(len(blocks))])

    return embedding[0], in_order(heads), in_order(biases), in_order(mlps)


def _has(block: Any, path: str) -> bool:  # noqa: ANN401
    first, second = path.split(".")
    return hasattr(getattr(block, first, None), second)


def _scale(block: Any, which: int) -> Tensor | float:  # noqa: ANN401
    """What a block multiplies its attention (1) or its MLP (2) by before it is added, channel by channel."""
    own = getattr(getattr(block, f"ls{which}", None), "gamma", None)
    own = getattr(block, f"gamma_{which}", None) if own is None else own
    return 1.0 if own is None else own.double()
