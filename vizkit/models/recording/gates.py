"""Softmaxes that are no attention: gates of experts, confidences, entropies.

Whether weights mix the values of several places shows only after their softmax, so `counting` says it of a plain pass,
and what runs the model again asks here. A softmax goes by the module that calls it and the place in its code.
"""

import sys
from types import CodeType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from vizkit.models.recording.weights import softmax_axis

BETWEEN = ("torch", "jaxtyping", "beartype")  # what calls others' functions for them; "<@" begins the last one's files
Code = tuple[tuple[CodeType, int], ...]
_GATES: "WeakKeyDictionary[nn.Module, set[Code]]" = WeakKeyDictionary()


class Site(NamedTuple):
    """Which module calls, and the instructions on the way from it to the call, the innermost first."""

    module: nn.Module
    code: Code

    @property
    def is_gate(self) -> bool:
        return self.code in _GATES.get(self.module, ())

    def settle(self, gate: bool) -> None:
        """What a plain pass has shown."""
        known = _GATES.setdefault(self.module, set())
        known.add(self.code) if gate else known.discard(self.code)


def site() -> Site | None:
    """Of the call that a mode of torch is told of; None outside of all modules but torch's own."""
    frame, code = sys._getframe(1), list[tuple[CodeType, int]]()
    while frame is not None:
        own = frame.f_locals.get("self")
        if isinstance(own, TorchFunctionMode | TorchDispatchMode):
            code.clear()  # so far only who is told
        elif frame.f_code.co_filename[:2] != "<@" and str(frame.f_globals.get("__name__")).split(".")[0] not in BETWEEN:
            code.append((frame.f_code, frame.f_lasti))
            if isinstance(own, nn.Module):
                return Site(own, tuple(code))
        frame = frame.f_back
    return None


def attention_axis(out: Tensor, args: tuple, kwargs: dict[str, Any], single_keys: bool = False) -> int | None:
    """`weights.softmax_axis`, None for a gate too."""
    axis = softmax_axis(out, args, kwargs, single_keys)
    return None if axis is not None and len(_GATES) and (here := site()) and here.is_gate else axis


def carry_over(model: nn.Module, twin: nn.Module) -> None:
    """What is known of a model also holds of a copy of its modules."""
    for own, copied in zip(model.modules(), twin.modules(), strict=True):
        if own in _GATES:
            _GATES[copied] = _GATES[own]
