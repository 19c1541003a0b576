"""Blocks that are words, and what all blocks are."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vizkit.analysis.remarks.remark import Remark
    from vizkit.models import Loaded


class Block:
    """A part of what a view shows."""


@dataclass(frozen=True)
class Heading(Block):
    text: str


@dataclass(frozen=True)
class Line(Block):
    """A quiet line beside what it is about."""

    text: str


@dataclass(frozen=True)
class Said(Block):
    """What is to be seen, computed for this very picture; "" where nothing stands out, and its place is kept."""

    text: str


@dataclass(frozen=True, eq=False)
class Answered(Block):
    """Beside answers of a model: hosts that can say what it knows at all, such as twelve drawn insects, say it here."""

    loaded: "Loaded"


@dataclass(frozen=True)
class Code(Block):
    """Lines of a program, to be read or copied."""

    code: str
    language: str = "python"


@dataclass(frozen=True)
class Formula(Block):
    """In LaTeX."""

    latex: str


def first_said(*remarks: "Remark | None") -> str:
    """Of several rules the first that says something."""
    return next((remark.words for remark in remarks if remark is not None), "")
