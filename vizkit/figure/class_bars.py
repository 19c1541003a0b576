"""A bar for each class: one bar now, and a tick where it stood before.

HTML, not a plot: it follows a slider at once, where a plot of the page would be made anew.
"""

import math
import re
from collections.abc import Sequence
from html import escape

from vizkit.figure.palette import OTHERS, faint

FLOOR = 1e-6  # where a logarithmic axis begins; a shorter bar is drawn as nothing
POWERS = {1e-6: "10⁻⁶", 1e-4: "10⁻⁴", 1e-2: "10⁻²", 1.0: "1"}


def class_bars(
    names: Sequence[str],
    values: Sequence[float],
    colours: Sequence[str],
    *,
    before: Sequence[float] | None = None,
    log: bool = False,
    signed: bool = False,
    top: float = 1.0,
    title: str = "",
) -> str:
    """HTML of horizontal bars, the first on top, each with its name and number above it. `before`: where a tick stands
    in each row. `log`: the axis from 10⁻⁶ on. `signed`: zero in the middle. `top`: what the longest bar may be, which
    should not change while a slider moves, or all bars seem to. `title`: of the axis.
    """
    low = FLOOR if log else -top if signed else 0.0

    def place(value: float) -> float:
        """Where a value stands, in percent of the width; beyond an end of the axis: at that end."""
        value = min(max(value, low), top)
        share = math.log(value / low) / math.log(top / low) if log else (value - low) / (top - low)
        return round(100 * share, 3)

    zero = place(0.0)
    rows = []
    for at, (name, value, colour) in enumerate(zip(distinct(names), values, colours, strict=True)):
        start, end = sorted((zero, place(value)))
        drawn = f"left:{start}%;width:{round(end - start, 3)}%;{_BAR};background:{colour}"
        tick = ""
        if before is not None:
            tick = f'<i class="tick" title="{before[at]:.8g}" style="left:{place(before[at])}%;{_TICK}"></i>'
        rows.append(
            f'<div class="row" title="{escape(name)}: {value:.8g}" style="{_ROW}">'
            f'<span class="name" style="{_NAME}">{escape(name)}</span>'
            f'<span class="number">{in_short(value, signed)}</span></div>'
            f'<div class="track" style="{_TRACK}"><i class="bar" style="{drawn}"></i>{tick}</div>'
        )
    grid = "".join(f'<i style="left:{place(mark)}%;{_LINE}"></i>' for mark in _axis_marks(low, top, log))
    marks = "".join(
        f'<span style="left:{place(mark)}%;transform:translateX(-{place(mark)}%);position:absolute">{words}</span>'
        for mark, words in _axis_marks(low, top, log).items()
    )
    below = f'<div class="title" style="text-align:center">{escape(title)}</div>' if title else ""
    return (
        f'<div class="class-bars" style="position:relative"><div style="position:relative">{grid}{"".join(rows)}</div>'
        f'<div class="axis" style="{_AXIS}">{marks}</div>{below}</div>'
    )


_ROW = "display:flex;justify-content:space-between;gap:8px;line-height:1.35;position:relative"
_NAME = "overflow:hidden;text-overflow:ellipsis;white-space:nowrap"
_TRACK = "position:relative;height:14px;margin-bottom:6px"
_BAR = "position:absolute;top:0;height:100%;border-radius:3px"
_TICK = f"position:absolute;top:-3px;height:20px;width:3px;margin-left:-1.5px;background:{OTHERS}"
_LINE = f"position:absolute;top:0;bottom:0;width:1px;background:{faint(OTHERS, 0.3)}"
_AXIS = "position:relative;height:20px;font-size:.8em;opacity:.75"


def _axis_marks(low: float, top: float, log: bool) -> dict[float, str]:
    """What is written below the axis: value → words."""
    if log:
        return {mark: words for mark, words in POWERS.items() if low <= mark <= top}
    return {mark: f"{mark:.2g}".replace("-", "−") for mark in (low, (low + top) / 2, top)}


def in_short(value: float, signed: bool = False) -> str:
    """A number as short as it can be read from afar: 0.936, 2e-4, −0.075."""
    small = 0 < abs(value) < 9.5e-4
    number = re.sub("e-0*", "e-", f"{abs(value):.0e}") if small else f"{abs(value):.3f}"
    return ("−" if value < 0 else "+" if signed else "") + number


def reach(*values: Sequence[float]) -> float:
    """A round number, a power of two, that no bar goes beyond: an axis that stands still while bars move a little."""
    largest = max((abs(value) for each in values for value in each), default=0.0)
    return 2.0 ** math.ceil(math.log2(largest)) if largest > 1e-12 else 1.0


def distinct(names: Sequence[str]) -> list[str]:
    """Rows of one name would be drawn over each other; ImageNet has two cranes."""
    return [name if name not in names[:i] else f"{name} ({i + 1})" for i, name in enumerate(names)]
