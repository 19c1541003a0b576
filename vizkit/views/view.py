"""A view: a record of settings that knows what it shows of a subject. Every host draws it from that alone."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from vizkit.views.blocks import Block

__all__ = ["How", "View"]


@dataclass(frozen=True)
class How:
    """How a picture is read, in two sentences; its formula in LaTeX; what it does not show; where it is from."""

    read: str
    formula: str
    not_shown: str
    source: str


@dataclass(frozen=True)
class View:
    """`how`: how it is read. `together`: `show` is given all models at once, as a sequence of subjects; else it is
    shown for each of them by itself, or, with `alone`, for one of them, which a page asks for. `overlays`: whether it
    lays maps over the picture, so that a page asks how they are drawn."""

    how: ClassVar[How]
    together: ClassVar[bool] = False
    alone: ClassVar[bool] = False
    overlays: ClassVar[bool] = True

    def show(self, of: Any) -> "Iterator[Block]":  # noqa: ANN401 - a Subject, or several where `together`
        """What is seen, part by part in the order of the page. Raises NotApplicable with a sentence where it has no
        meaning for this subject."""
        raise NotImplementedError

    def title(self, of: Any) -> str:  # noqa: ANN401
        """Of a saved picture: what it is of, with its settings."""
        raise NotImplementedError

    @classmethod
    def summary(cls) -> str:
        """What it shows, in one sentence: the first of the class's own words."""
        return (cls.__doc__ or "").partition("\n")[0].strip()
