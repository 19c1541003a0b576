"""One kind of picture per file: tensors to plotly figures or uint8 RGB."""

from importlib import import_module
from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    """`vizkit.figure.<file or package>` without a second import line."""
    try:
        return import_module(f"{__name__}.{name}")
    except ModuleNotFoundError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
