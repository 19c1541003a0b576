"""How large a model would be, measured by building it without its weights, and whether its file fits it."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.modules import module as registration
from torch.overrides import TorchFunctionMode

from vizkit.models.sources.hub import ModelError, over_budget
from vizkit.settings import settings

MOST_MODULES = 20_000  # timm's hrnet_w64 has 1,534, efficientnet_l2 1,757
SKETCHING_S = 5.0  # of the processor; mvitv2_large_cls, slow among timm's, takes 1.1
_FILLING = {
    Tensor.uniform_,
    Tensor.normal_,
    Tensor.erfinv_,
    Tensor.mul_,
    Tensor.add_,
    Tensor.clamp_,
    Tensor.fill_,
    Tensor.zero_,
    nn.init.uniform_,
    nn.init.normal_,
    nn.init.kaiming_uniform_,
    nn.init.kaiming_normal_,
    nn.init.trunc_normal_,
}
WEIGHTS = frozenset(("float16", "bfloat16", "float32", "float64"))


class Holding(NamedTuple):
    """What a file of weights holds: the shape of every tensor, and the kind of its numbers in torch's words."""

    shapes: Mapping[str, tuple[int, ...]]
    kinds: Mapping[str, str]


def shapes_of(tensors: Mapping[str, Tensor]) -> dict[str, tuple[int, ...]]:
    return {name: tuple(tensor.shape) for name, tensor in tensors.items()}


class _LateError(ModelError):
    """Building took too long."""


class _Meter(threading.local):
    """What the model that this thread builds has so far; None where none is measured."""

    check: "Callable[[int, int], None] | None" = None


_meter = _Meter()


def _see(_: nn.Module, __: str, part: "Tensor | nn.Module | None") -> None:
    if _meter.check is not None and part is not None:
        tensor = isinstance(part, Tensor)
        _meter.check(part.numel() * part.element_size() if tensor else 0, 0 if tensor else 1)


# For good and for all threads: torch walks through its table of hooks without a lock. For others they cost 0.1 µs.
registration.register_module_parameter_registration_hook(_see)
registration.register_module_buffer_registration_hook(_see)
registration.register_module_module_registration_hook(_see)


@contextmanager
def measured(title: str, limit_bytes: int | None = None, seconds: float | None = None) -> Iterator[None]:
    """Ends the building of a model inside, with a ModelError, as soon as it has too many parts, bytes or seconds. Those
    are of the processor, from its first part on: what is imported before is no matter of the model."""
    total, modules, started, outer = 0, 0, None, _meter.check

    def check(size: int, parts: int) -> None:
        nonlocal total, modules, started
        total, modules = total + size, modules + parts
        started = time.thread_time() if started is None else started
        if modules > MOST_MODULES:
            raise ModelError(f"{title} has more than {MOST_MODULES:,} parts, as no model has; choose another one.")
        if limit_bytes is not None and total > limit_bytes:
            raise over_budget(title, total, limit_bytes)
        if seconds is not None and time.thread_time() > started + seconds:
            raise _LateError(f"{title} takes more than {seconds:g} seconds to plan; choose a smaller model.")

    _meter.check = check
    try:
        yield
    finally:
        _meter.check = outer


class _WithoutNumbers(TorchFunctionMode):
    """What fills tensors in place does nothing to those without numbers, and torch takes 0.1 ms each time to find out:
    most of the time that planning a model took."""

    def __torch_function__(self, func, types, args=(), kwargs=None):  # noqa: ANN001, ANN204
        if func in _FILLING and args and args[0].is_meta:
            return args[0]
        return func(*args, **(kwargs or {}))


def sketch(title: str, make: Callable[[], nn.Module]) -> nn.Module | None:
    """The model without numbers ("meta" tensors), which takes no memory; None where it cannot be made so.

    Raises ModelError when it has too many parts, or twice takes too long: the first model of a process imports what
    torch needs for such tensors, 1.4 s for one of 63 parts, and more on a busy machine.
    """
    try:
        return _sketched(title, make)
    except _LateError:
        return _sketched(title, make)


def _sketched(title: str, make: Callable[[], nn.Module]) -> nn.Module | None:
    with measured(title, seconds=SKETCHING_S):
        try:
            with torch.device("meta"), _WithoutNumbers():
                model = make()
        except ModelError:
            raise
        except Exception:  # it needs a number; or it cannot be made at all, which making it will say
            return None
    return model


def planned(title: str, make: Callable[[], nn.Module], holds: Holding | None = None) -> nn.Module | None:
    """The `sketch` of a model: a small file cannot ask for a large network. Raises ModelError where it is above the
    budget, or where what its file holds is of another one."""
    drawn = sketch(title, make)
    if drawn is not None:
        refuse_over_budget(title, bytes_of(drawn))
        if holds is not None:
            refuse_unfit(title, holds, drawn)
    return drawn


def refuse_over_budget(title: str, size: int) -> None:
    limit = settings().model_bytes
    if size > limit:
        raise over_budget(title, size, limit)


def bytes_of(model: nn.Module) -> int:
    """Of all parameters and buffers."""
    return sum(tensor.numel() * tensor.element_size() for tensor in (*model.parameters(), *model.buffers()))


def refuse_unfit(title: str, file: Holding, model: nn.Module) -> None:
    """A file with far more numbers than its model, or with numbers that are no weights. Other differences are named by
    loading: many files use their authors' names, which timm translates."""
    own = model.state_dict()
    held = sum(torch.Size(shape).numel() for shape in file.shapes.values())
    needed = sum(tensor.numel() for tensor in own.values())
    if held > 4 * needed + 2**24:
        raise ModelError(f"{title} holds {held:,} numbers, and the model has only {needed:,}; it is of another model.")
    for name, kind in file.kinds.items():
        whole = name in own and not own[name].is_floating_point()  # a table of indices, or a count of batches
        extra = name not in own and not name.endswith(("weight", "bias"))
        if kind not in WEIGHTS and not whole and not extra:
            raise ModelError(
                f"{title} holds {kind} numbers in {name[:60]}, which are no weights; save it in float32 or float16."
            )


def refuse_missing_numbers(title: str, model: nn.Module) -> None:
    """Weights that are not a number, or infinite: nothing that such a model computes means anything."""
    for name, tensor in model.state_dict().items():
        if tensor.is_floating_point() and tensor.numel() and not torch.stack(tensor.aminmax()).isfinite().all():
            raise ModelError(
                f"{title} holds weights that are no numbers (NaN or infinite) in {name[:60]}; save it again."
            )
