"""A bar for each class: one bar now, and a tick where it stood before.

HTML, not a plot: it follows a slider at once, where a plot of the page would be made anew.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape

from vizkit.figure.palette import OTHERS, faint
from vizkit.percent import in_percent

FLOOR = 1e-6  # where a logarithmic axis begins; a shorter bar is drawn as nothing
POWERS = {1e-6: "10⁻⁶", 1e-4: "10⁻⁴", 1e-2: "10⁻²", 1.0: "1"}


RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Axis:
    """Of bars: from 0, from 10⁻⁶ with `log`, or from −`top` with `signed`, to `top`. `percent`: of probabilities."""

    top: float = 1.0
    log: bool = False
    signed: bool = False
    percent: bool = False

    @property
    def low(self) -> float:
        return FLOOR if self.log else -self.top if self.signed else 0.0

    def place(self, value: float) -> float:
        """Where a value stands, in percent of the width; beyond an end of the axis: at that end."""
        low, value = self.low, min(max(value, self.low), self.top)
        share = math.log(value / low) / math.log(self.top / low) if self.log else (value - low) / (self.top - low)
        return round(100 * share, 3)

    def span(self, value: float) -> tuple[float, float]:
        """Where its bar begins and ends."""
        start, end = sorted((self.place(0.0), self.place(value)))
        return start, end

    def marks(self) -> dict[float, str]:
        """What is written below: value → words."""
        if self.log:
            return {mark: words for mark, words in POWERS.items() if self.low <= mark <= self.top}
        marks = (self.low, (self.low + self.top) / 2, self.top)
        return {at: in_percent(at) if self.percent else f"{at:.2g}".replace("-", "−") for at in marks}

    def number(self, value: float) -> str:
        """In the one notation of this axis: 0.936, −0.075, and < 0.001 of what is too small; with `log` 2.3 · 10⁻⁴, and
        with `percent` 94 %."""
        if self.percent:
            return in_percent(value)
        if self.log:
            digits, _, power = f"{value:.1e}".partition("e")
            return f"{digits} · 10{str(int(power)).translate(RAISED)}" if value else "0"
        if 0 < abs(value) < 0.0005:
            return "≈ 0" if self.signed else "< 0.001"
        return ("−" if value < 0 else "+" if self.signed else "") + f"{abs(value):.3f}"


@dataclass(frozen=True)
class Answer:
    """One class of an answer as a line with a bar: `share` of it, 0 to 1, and its value as it is read. `right`: whether
    it is what the image shows, None where that is not said."""

    name: str
    share: float
    colour: str
    value: str
    right: bool | None = None


@dataclass(frozen=True)
class ClassBars:
    """Bars of classes, the first on top, each with its name and number above it. `before`: where a tick stands in each
    row. The `top` of the axis should not change while a slider moves, or all bars seem to; it has room for a value
    below 0 (a cosine) where there is one. `title`: of the axis."""

    names: Sequence[str]
    values: Sequence[float]
    colours: Sequence[str]
    before: Sequence[float] | None = None
    axis: Axis = Axis()
    title: str = ""

    def __post_init__(self) -> None:
        if not self.axis.log and min([*self.values, *(self.before or ())], default=0.0) < 0:
            object.__setattr__(self, "axis", replace(self.axis, signed=True))

    def html(self) -> str:
        axis, place = self.axis, self.axis.place
        rows = []
        for at, (name, value, colour) in enumerate(zip(distinct(self.names), self.values, self.colours, strict=True)):
            start, end = axis.span(value)
            drawn = f"left:{start}%;width:{round(end - start, 3)}%;{_BAR};background:{colour}"
            tick = ""
            if self.before is not None:
                was = self.before[at]
                tick = f'<i class="tick" title="{was:.8g}" style="left:{place(was)}%;{_TICK}"></i>'
            rows.append(
                f'<div class="row" title="{escape(name)}: {value:.8g}" style="{_ROW}">'
                f'<span class="name" style="{_NAME}">{escape(name)}</span>'
                f'<span class="number">{escape(axis.number(value))}</span></div>'
                f'<div class="track" style="{_TRACK}"><i class="bar" style="{drawn}"></i>{tick}</div>'
            )
        grid = "".join(f'<i style="left:{place(mark)}%;{_LINE}"></i>' for mark in axis.marks())
        marks = "".join(
            f'<span style="left:{place(mark)}%;transform:translateX(-{place(mark)}%);{_MARK}">{words}</span>'
            for mark, words in axis.marks().items()
        )
        below = f'<div class="title" style="text-align:center">{escape(self.title)}</div>' if self.title else ""
        return (
            '<div class="class-bars" style="position:relative">'
            f'<div style="position:relative">{grid}{"".join(rows)}</div>'
            f'<div class="axis" style="{_AXIS}">{marks}</div>{below}</div>'
        )


_ROW = "display:flex;justify-content:space-between;gap:8px;line-height:1.35;position:relative"
_NAME = "overflow:hidden;text-overflow:ellipsis;white-space:nowrap"
_TRACK = "position:relative;height:14px;margin-bottom:6px"
_BAR = "position:absolute;top:0;height:100%;border-radius:3px"
_TICK = f"position:absolute;top:-3px;height:20px;width:3px;margin-left:-1.5px;background:{OTHERS}"
_LINE = f"position:absolute;top:0;bottom:0;width:1px;background:{faint(OTHERS, 0.3)}"
_MARK = "position:absolute;white-space:nowrap"
_AXIS = "position:relative;height:20px;font-size:.8em;opacity:.75"


def reach(*values: Sequence[float]) -> float:
    """A round number, a power of two, that no bar goes beyond: an axis that stands still while bars move a little."""
    largest = max((abs(value) for each in values for value in each), default=0.0)
    return 2.0 ** math.ceil(math.log2(largest)) if largest > 1e-12 else 1.0


def distinct(names: Sequence[str]) -> list[str]:
    """Rows of one name would be drawn over each other; ImageNet has two cranes."""
    return [name if name not in names[:i] else f"{name} ({i + 1})" for i, name in enumerate(names)]
