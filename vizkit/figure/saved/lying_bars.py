"""Bars that lie below one another, each with its name before it and its number at its end."""

from collections.abc import Sequence
from math import ceil, log10

import numpy as np

from vizkit.figure.palette import rgb_of
from vizkit.figure.saved.panel import INKS, Line, Panel
from vizkit.figure.saved.plate import INK, PALE, Drawn, Mark, Raster, Stroke, Words, clean, font, wrapped
from vizkit.figure.saved.single import MARGIN, SMALL, TEXT, WIDTH

THICK, GAP, NUMBER = 11.0, 5.0, 42.0  # of a bar, between names, and the room for a number at an end
NAMES = 0.4  # of the width, at most


def flat(colour: str) -> np.ndarray:
    """One cell of a colour #rrggbb."""
    return np.array([[rgb_of(colour)]], np.uint8)


def bar_marks(panel: Panel, y: float, sheet: float = WIDTH) -> Drawn:
    """(every name with its bar of every kind, what their lengths are, and the kinds by their colours, from `y` down;
    where they end)."""
    kinds = [dict(zip(line.words, line.y, strict=True)) for line in panel.lines]
    names = list(dict.fromkeys(name for kind in kinds for name in kind))
    inner = sheet - 2 * MARGIN
    room = min(NAMES * inner, max((font(SMALL).getlength(clean(name)) for name in names), default=0.0) + 6)
    ends = [dict(zip(line.words, line.ends, strict=False)) for line in panel.lines]
    given = [value for kind in kinds for value in kind.values() if value is not None]
    given += [end for kind in ends for pair in kind.values() for end in pair]
    low, high = min([0.0, *given, *(panel.span_y or ())]), max([0.0, *given, *(panel.span_y or ())])
    left = MARGIN + room + (NUMBER if low < 0 else 0)
    times = (MARGIN + inner - NUMBER - left) / ((high - low) or 1.0)
    zero, top = left - low * times, y
    marks: list[Mark] = []
    for name in names:
        lines = wrapped(name, SMALL, room - 4, 12)
        there = [(index, kind[name]) for index, kind in enumerate(kinds) if name in kind]
        tall = max(len(lines) * SMALL * 1.2, len(there) * THICK)
        start = y + (tall - len(lines) * SMALL * 1.2) / 2
        marks += [Words(line, MARGIN, start + (at + 1) * SMALL * 1.2 - 2, SMALL) for at, line in enumerate(lines)]
        start = y + (tall - len(there) * THICK) / 2
        for at, (index, value) in enumerate(there):
            words = "–" if value is None else rounded(value, max(-low, high))
            level, pair = start + at * THICK, ends[index].get(name)
            marks += _bar(value or 0.0, words, zero, times, level, panel.lines[index].colour, pair)
        y += tall + GAP
    marks.append(Stroke(((zero, top - 2), (zero, y - 2)), PALE, 0.6))
    for line in wrapped(panel.y or panel.x, SMALL, inner, 12):
        y += SMALL * 1.2
        marks.append(Words(line, MARGIN, y, SMALL, PALE))
    named, y = legend([line for line in panel.lines if line.name], y, sheet)
    return [*marks, *named], y + 6


def _bar(
    value: float, words: str, zero: float, times: float, y: float, colour: int, ends: tuple[float, float] | None = None
) -> list[Mark]:
    """One bar from zero, the interval around its end, and its number beyond both."""
    long = abs(value) * times
    start, anchor = (zero - long, "end") if value < 0 else (zero, "start")
    bar: list[Mark] = [Raster(flat(INKS[colour % len(INKS)]), start, y + 1, long, THICK - 2)] if long > 0.25 else []
    left, right = start, start + long
    if ends:
        low, high = (zero + end * times for end in ends)
        left, right = min(left, low), max(right, high)
        bar.append(Stroke(((low, y + THICK / 2), (high, y + THICK / 2)), INK, 1.2))
    at = left - 3 if value < 0 else right + 3
    return [*bar, Words(words, at, y + THICK - 3, SMALL, INK, anchor)]


def rounded(value: float, largest: float) -> str:
    """With as many decimals as the largest of them has for three digits: 0.43 and 0 beside 1, not 4.86e-07."""
    if not 1e-6 < largest < 1e7:
        return f"{value:.3g}".replace("-", "−")
    decimals = max(0, 3 - ceil(log10(largest)))
    words = f"{round(value, decimals) + 0.0:.{decimals}f}"  # + 0.0: no −0
    return (words.rstrip("0").rstrip(".") if "." in words else words).replace("-", "−")


def legend(lines: Sequence[Line], y: float, sheet: float = WIDTH) -> Drawn:
    """(names with samples of their colours, two in a row where there is room; where they end)."""
    across = 2 if sheet > 0.7 * WIDTH else 1
    wide = (sheet - 2 * MARGIN) / across
    marks: list[Mark] = []
    for first in range(0, len(lines), across):
        lowest = y
        for place, line in enumerate(lines[first : first + across]):
            x, at = MARGIN + wide * place, y
            ink = INKS[line.colour % len(INKS)]
            marks.append(Stroke(((x, y + TEXT * 1.3 - 3), (x + 22, y + TEXT * 1.3 - 3)), ink, 1.6, line.dash))
            for words in wrapped(line.name, SMALL, wide - 30, 12) or [""]:
                at += TEXT * 1.3
                marks.append(Words(words, x + 27, at, SMALL))
            lowest = max(lowest, at)
        y = lowest
    return marks, y
