"""Direct logit attribution: what the embedding, each head and each MLP add to a logit (Elhage et al. 2021, "A
Mathematical Framework for Transformer Circuits"; the name is TransformerLens's).

What leaves the last block is the sum of all that was added to the stream. With the scale 1/σ of the last normalisation
frozen, the way from there to a logit is linear, so the logit is a sum too: one number for each part, and the biases.
What a head adds is in turn a sum over the patches it looks at. Where stages change the width of the stream, as in a
Swin, the sum begins with what enters the last one.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from vizkit.models.probes.interventions.stream import blocks_of
from vizkit.models.probes.multiply_adds import copy_with
from vizkit.models.recording.forward import UNABLE
from vizkit.models.recording.layer_scores import reader
from vizkit.models.recording.meeting import SOFTMAXES
from vizkit.models.sources.loaded import Loaded
from vizkit.traces import Attention, NotApplicable, Trace

LAYER_NORM = inspect.signature(F.layer_norm)
PROJECTIONS = ("attn.proj", "attn.out")
"""Where W_O stands in a block: in timm's models, and in ours."""
PRODUCTS = frozenset({torch.matmul, Tensor.matmul, Tensor.__matmul__})


@dataclass(frozen=True)
class Contributions:
    """What each part adds to a logit, or to the difference of two. `before`: attention layers whose sum enters as one
    part, with the embedding; 0 but where the stream changes its width. `attention_bias`: the bias of W_O, of no head.
    `bias`: of the last normalisation and of the head. `places`: what the heads of each layer carry from each patch;
    None where a layer's keys are not patches. `logit`: what the model itself gives."""

    embedding: float
    heads: Float[Tensor, "layer head"]
    attention_bias: Float[Tensor, " layer"]
    mlp: Float[Tensor, " layer"]
    bias: float
    places: Float[Tensor, "layer row column"] | None
    logit: float
    before: int = 0

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
    learned = [layer for layer in trace.attention if layer.learned]
    try:
        every = blocks_of(loaded)
        paths = [path for path in every if path.rpartition(".")[0] == every[-1].rpartition(".")[0]]
        seen = _entered(loaded, pixels, paths)
        direction, bias = _direction(loaded, seen.out[-1], lambda out: score(loaded.logits_of(out)[0]))
        with torch.enable_grad():
            added = [_added(seen, at, direction, layer.heads) for at, layer in enumerate(learned[-len(paths) :])]
        shares, biases, mlps = zip(*added, strict=True)
        places = [_by_place(each, layer) for each, layer in zip(shares, learned[-len(paths) :], strict=True)]
        made = Contributions(
            float((direction * seen.given[0].cpu()).sum()),
            torch.stack([each.sum((0, 2)) for each in shares]),
            torch.stack(biases),
            torch.stack(mlps),
            bias,
            torch.stack([each for each in places if each is not None]) if all(p is not None for p in places) else None,
            float(score(trace.logits.cpu().double())),
            len(learned) - len(paths),
        )
    except (NotApplicable, *UNABLE) as error:
        raise different from error
    if not made.error <= trace.check.logit_tolerance:
        raise different
    return made


def _direction(loaded: Loaded, final: Tensor, score: Callable[[Tensor], Tensor]) -> tuple[Tensor, float]:
    """(∂score/∂what leaves the last block, where the scale of the normalisation is frozen; the score of nothing)."""
    read = reader(loaded.model)
    if read is None:
        raise ValueError("no last normalisation and head")
    frozen = _FrozenScale()
    with torch.enable_grad(), frozen:
        final = final.detach().requires_grad_()
        (direction,) = torch.autograd.grad(score(read(final)), final)
    frozen.again = iter(frozen.scales)
    with frozen:
        return direction.cpu().double(), float(score(read(torch.zeros_like(final))))


class _FrozenScale(TorchFunctionMode):
    """Layer normalisation with 1/σ as a constant: of what comes in the first pass, kept for another one."""

    def __init__(self) -> None:
        super().__init__()
        self.scales: list[Tensor] = []
        self.again: Any = None

    def __torch_function__(self, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
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


def _entered(loaded: Loaded, pixels: Float[Tensor, "1 channel height width"], paths: Sequence[str]) -> "_Blocks":
    """One pass with the blocks of `paths` cut apart, so that what each adds is a function of its own parts."""
    clone = copy_with(loaded.model)
    seen = _Blocks(clone, paths)
    with torch.enable_grad(), seen:
        clone(pixels.to(loaded.device))
    return seen


class _Blocks(TorchFunctionMode):
    """Hears of some blocks what they are given, what their heads mix and what they give.

    Within a block values and the output of W_O are leaves of a graph: what a block's attention adds is linear in them,
    so ∂/∂value · value is what each key of each head adds, and ∂/∂output · bias what the bias adds.
    """

    def __init__(self, model: Any, paths: Sequence[str]) -> None:
        super().__init__()
        none: list[Any] = [None] * len(paths)
        self.given, self.middle, self.out, self.values, self.projected, self.biases = ([*none] for _ in range(6))
        self._now = -1
        self._weights: Tensor | None = None
        for at, path in enumerate(paths):
            block = model.get_submodule(path)
            projection = next((each for name in PROJECTIONS if (each := _sub(block, name)) is not None), None)
            norm = _sub(block, "norm2")
            if projection is None or norm is None:
                raise ValueError("no W_O, or no normalisation between attention and MLP")
            self.biases[at] = projection.bias
            block.register_forward_pre_hook(partial(self._begin, at))
            projection.register_forward_hook(partial(self._project, at))
            norm.register_forward_pre_hook(partial(self._between, at))
            block.register_forward_hook(partial(self._end, at))

    def _begin(self, at: int, _: nn.Module, inputs: tuple) -> tuple:
        self._now, self.given[at] = at, inputs[0].detach()
        return (self.given[at], *inputs[1:])

    def _project(self, at: int, _: nn.Module, inputs: tuple, out: Tensor) -> Tensor:
        self.projected[at] = (inputs[0], out)
        return out

    def _between(self, at: int, _: nn.Module, inputs: tuple) -> tuple:
        self.middle[at] = inputs[0].reshape(self.given[at].shape)  # Swin lays rows and columns in a line here
        return (inputs[0].detach(),)

    def _end(self, at: int, _: nn.Module, inputs: tuple, out: Tensor) -> Tensor:
        self._now, self.out[at] = -1, out.detach()
        return self.out[at]

    def __torch_function__(self, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        if self._now < 0 or self.values[self._now] is not None:
            return func(*args, **kwargs)
        if func is F.scaled_dot_product_attention:
            query, key, value, *others = args
            return func(query.detach(), key.detach(), self._leaf(value), *others, **kwargs)
        if func in SOFTMAXES:
            self._weights = func(*args, **kwargs).detach()
            return self._weights
        if func in PRODUCTS and args[0] is self._weights and self._weights is not None:
            return func(args[0], self._leaf(args[1]))
        return func(*args, **kwargs)

    def _leaf(self, value: Tensor) -> Tensor:
        leaf = value.detach().requires_grad_()
        self.values[self._now] = leaf
        return leaf


def _added(seen: _Blocks, at: int, direction: Tensor, heads: int) -> tuple[Tensor, Tensor, Tensor]:
    """Of one block: what each head adds by each key, (group, head, key), what the bias of W_O adds, and the MLP. On the
    CPU, as Apple's GPUs know no float64."""
    value, (_, out) = seen.values[at], seen.projected[at]
    added = (direction * (seen.middle[at] - seen.given[at]).cpu().double()).sum()
    by_value, by_out = torch.autograd.grad(added, [value, out])
    shares = (by_value * value).cpu().double().sum(-1)
    if shares.dim() != 3 or shares.shape[1] != heads:
        raise ValueError("values that do not lie as (group, head, key)")
    own = seen.biases[at]
    bias = shares.new_zeros(()) if own is None else (by_out.cpu().double() * own.cpu().double()).sum()
    mlp = (direction * (seen.out[at] - seen.middle[at].detach()).cpu().double()).sum()
    return shares.detach(), bias.detach(), mlp.detach()


def _by_place(shares: Float[Tensor, "group head key"], layer: Attention) -> Float[Tensor, "row column"] | None:
    """What the heads of a layer carry from each place; None where a key has no place of its own."""
    if layer.key.grid is None or tuple(layer.key_ids.shape) != (len(shares), shares.shape[2]):
        return None
    tokens = torch.zeros(len(layer.key) + 1, dtype=shares.dtype)  # the last collects the padding
    tokens.index_add_(0, layer.key_ids.cpu().flatten() % (len(layer.key) + 1), shares.sum(1).flatten())
    first, (rows, columns) = len(layer.key.special), layer.key.grid
    return tokens[first : first + rows * columns].unflatten(0, (rows, columns))


def _sub(block: nn.Module, path: str) -> Any:
    for name in path.split("."):
        block = getattr(block, name, None)  # type: ignore[assignment]
    return block
