"""One published idea per file: pure functions from a Trace to tensors."""

from importlib import import_module
from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    """`vizkit.analysis.<package>` without a second import line."""
    try:
        return import_module(f"{__name__}.{name}")
    except ModuleNotFoundError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
