"""The convolutions, norms and activations of one forward pass, seen as they are computed.

A `TorchFunctionMode`, as in `recording`: nothing in the model is changed or hooked, and activations that a model calls
as functions are seen too.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor
from torch.overrides import TorchFunctionMode

from vizkit.models.recording.recorder import caller
from vizkit.models.recording.weights import precise
from vizkit.models.sources.loaded import Loaded

After = Literal["convolution", "norm", "activation"]
NORMS = frozenset({F.batch_norm, F.layer_norm, F.group_norm, F.instance_norm})
ACTIVATIONS: dict[Callable, str] = {
    F.relu: "ReLU",
    torch.relu: "ReLU",
    torch.relu_: "ReLU",
    Tensor.relu: "ReLU",
    Tensor.relu_: "ReLU",
    F.leaky_relu: "LeakyReLU",
    F.relu6: "ReLU6",
    F.gelu: "GELU",
    F.silu: "SiLU",
    torch.sigmoid: "sigmoid",
    Tensor.sigmoid: "sigmoid",
    Tensor.sigmoid_: "sigmoid",
    torch.tanh: "tanh",
    Tensor.tanh: "tanh",
    F.hardswish: "Hardswish",
    F.hardsigmoid: "Hardsigmoid",
    F.elu: "ELU",
    F.mish: "Mish",
}


@dataclass(frozen=True, eq=False)
class Activated:
    """What one activation was given: `counts` of the numbers in equal bins from `LOW` to `HIGH`, the last ones with
    all beyond; `negative` is the share below 0."""

    path: str
    name: str
    counts: Float[Tensor, " bin"]
    mean: float
    std: float
    negative: float


LOW, HIGH, BINS = -6.0, 6.0, 60


@dataclass(frozen=True, eq=False)
class Convolved:
    """One convolution: what it was given (padding done by the model included) and its arguments; `after` holds its
    output and what a norm and an activation make of it, where they follow at once. Without `keep` no tensors."""

    path: str
    shape: tuple[int, int, int]
    stages: tuple[After, ...]
    arguments: dict[str, Any] = field(default_factory=dict)
    after: dict[After, Float[Tensor, "channel row column"]] = field(default_factory=dict)


class Seeing(TorchFunctionMode):
    """Collects what a pass computes; of convolution number `keep` the tensors too."""

    def __init__(self, model: torch.nn.Module, keep: int | None = None) -> None:
        super().__init__()
        self.keep = keep
        self.convolved: list[Convolved] = []
        self.activated: list[Activated] = []
        self._last: Any = None  # what the latest convolution, or the norm after it, gave: the very tensor
        self._paths = {id(module): path for path, module in model.named_modules()}

    def __torch_function__(self, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        name = ACTIVATIONS.get(func)
        given = args[0] if args else kwargs.get("input")
        if name and isinstance(given, Tensor):  # before it may be overwritten
            self.activated.append(_activated(self._path(), name, given))
        follows = self._last is not None and given is self._last
        out = func(*args, **kwargs)
        if func is F.conv2d and out.dim() == 4:
            self._convolution(args, kwargs, out)
        elif follows and (name or func in NORMS):
            self._after("activation" if name else "norm", out)
        return out

    def _path(self) -> str:
        return (caller(self._paths) or ("", None))[0]

    def _kept(self) -> bool:
        return self.keep == len(self.convolved) - 1

    def _convolution(self, args: tuple, kwargs: dict, out: Tensor) -> None:
        self.convolved.append(Convolved(self._path(), (out.shape[1], out.shape[2], out.shape[3]), ("convolution",)))
        self._last = out
        if self._kept():
            names = ("input", "weight", "bias", "stride", "padding", "dilation", "groups")
            arguments = dict(zip(names, args, strict=False)) | kwargs
            kept = {
                key: precise(value.detach()).cpu().clone() if isinstance(value, Tensor) else value
                for key, value in arguments.items()
            }
            self.convolved[-1] = replace(self.convolved[-1], arguments=kept, after={"convolution": _map(out)})

    def _after(self, stage: After, out: Tensor) -> None:
        latest = self.convolved[-1]
        after = latest.after | ({stage: _map(out)} if self._kept() else {})
        self.convolved[-1] = replace(latest, stages=(*latest.stages, stage), after=after)
        self._last = out if stage == "norm" else None


def _map(out: Tensor) -> Tensor:
    return precise(out[0].detach()).cpu().clone()


def _activated(path: str, name: str, given: Tensor) -> Activated:
    values = precise(given.detach()).float().cpu().flatten()
    counts = torch.histc(values.clamp(LOW, HIGH), BINS, LOW, HIGH)
    std = float(values.std()) if len(values) > 1 else 0.0
    return Activated(path, name, counts, float(values.mean()), std, float((values < 0).float().mean()))


def seen(loaded: Loaded, pixels: Tensor, keep: int | None = None) -> Seeing:
    """One pass over (1, channel, height, width)."""
    seeing = Seeing(loaded.model, keep)
    with torch.no_grad(), seeing:
        loaded.model(pixels.to(loaded.device))
    return seeing
