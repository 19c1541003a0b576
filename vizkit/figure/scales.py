"""Which colour a value has: the scales of all maps, which canvases, charts and saved pictures read from here.

*Shares* that add up (attention, rollout, relevance) are counted in times an equal share, one colour step for each
doubling from ¼ to 32 times: the same for all layers, heads, pictures and models, so that any two maps can be compared.
*Other quantities* (cosine, entropy, length) go from the 1st to the 99th percentile of all that is shown together; what
lies beyond has the colour of the end, and the bar says how far the values go.
"""

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, UInt8

from vizkit.figure.palette import CEILING, FLOOR, SCALE, SIGNED
from vizkit.percent import in_percent

LEAST_TIMES, MOST_TIMES = 0.25, 32.0
PERCENTILES, FEW = (1.0, 99.0), 100
STEPS = 16  # of a scale, among which `colours_used` counts
FRACTIONS = {0.25: "¼", 0.5: "½"}
DOUBLINGS, LINEAR = "doublings", "linear"
CHOICES = (DOUBLINGS, LINEAR)
Places = Float[np.ndarray, "row column"]
"""A number for every place of a grid."""
Ticks = tuple[tuple[float, str], ...]
"""(place on the bar from 0 to 1, words)."""


@dataclass(frozen=True)
class Scale:
    """`low` and `top`: the values of the first and of the last colour, in times an equal share where `kind` is
    "doublings"; `top` None: a map's own largest value, without the place that asks. `signed`: blue below zero, red
    above it, and zero in the middle. `unit`: of the values, "%" for a share, "" for a number. `equal`: the value of an
    equal share, None: the mean of a map's own places. `full`: how far the values go, where some lie beyond the ends."""

    kind: Literal["doublings", "linear"] = "doublings"
    low: float = LEAST_TIMES
    top: float | None = MOST_TIMES
    signed: bool = False
    unit: str = "%"
    equal: float | None = None
    full: tuple[float, float] | None = None

    @property
    def palette(self) -> str:
        return SIGNED if self.signed else SCALE

    def of(self, values: Float[np.ndarray, "*shape"], places: int = 0, own: int | None = None) -> "Scale":
        """The scale of one map with what depends on it. `places`: among how many an equal share is, else all; `own`:
        the number of the place that asks, row by row."""
        if self.kind == DOUBLINGS:
            total = float((np.abs(values) if self.signed else values).sum())
            return self if self.equal is not None else replace(self, equal=total / (places or values.size or 1))
        if self.top is not None:
            return self
        others = values.ravel() if own is None else np.delete(values.ravel(), own)
        return replace(self, top=float(others.max(initial=0)) or 1.0)

    def positions(self, values: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
        """Where values lie on the bar, 0 to 1."""
        settled = self.of(values)
        assert settled.top is not None
        if self.kind == LINEAR:
            return np.clip((values - self.low) / ((settled.top - self.low) or 1.0), 0, 1)
        times = values / (settled.equal or 1.0)
        if self.signed:
            share = np.sign(times) * np.log2(1 + np.abs(times)) / math.log2(1 + settled.top)
            return 0.5 + 0.5 * np.clip(share, -1, 1)
        doublings = np.log2(np.maximum(times, 1e-12) / self.low)
        return np.clip(doublings / math.log2(settled.top / self.low), 0, 1)

    def levels(self, values: Float[np.ndarray, "*shape"]) -> UInt8[np.ndarray, "*shape"]:
        """The number of each value's colour, of 256."""
        return np.rint(255 * self.positions(values)).astype(np.uint8)

    def opacities(
        self, levels: UInt8[np.ndarray, "*shape"], floor: float = FLOOR, ceiling: float = CEILING
    ) -> Float[np.ndarray, "*shape"]:
        """From `floor` to `ceiling`; of a signed scale zero is clear, for white would only veil the picture."""
        share = np.abs(levels / 127.5 - 1) if self.signed else levels / 255.0
        least = 0.0 if self.signed and ceiling < 1 else floor
        return least + (ceiling - least) * share

    # ---- its bar -----------------------------------------------------------------------------------------------------
    @property
    def ticks(self) -> Ticks:
        """What stands along the bar: every doubling, or the two ends, and zero where it is in the middle."""
        top = self.top or 0.0
        if self.kind == LINEAR:
            least, largest = self.full or (self.low, top)
            low = ("≤ " if least < self.low else "") + number_words(self.low, self.unit)
            high = ("≥ " if largest > top else "") + number_words(top, self.unit)
            middle = ((0.5, "0"),) if self.low == -top < 0 else ()
            return ((0.0, low), *middle, (1.0, high))
        if self.signed:
            marks = (-top, -4.0, 0.0, 4.0, top)
            places = replace(self, equal=1.0).positions(np.array(marks)).tolist()
            words = [number_words(mark, "×") for mark in marks]
        else:
            count = round(math.log2(top / self.low))
            marks = [self.low * 2**step for step in range(count + 1)]
            places = [step / count for step in range(count + 1)]
            words = [FRACTIONS.get(mark, f"{mark:g}") for mark in marks[:-1]] + [number_words(top, "×")]
        words[0], words[-1] = f"≤ {words[0]}", f"≥ {words[-1]}"  # the ends are the same for all maps: some go beyond
        return tuple(zip(places, words, strict=True))

    @property
    def said(self) -> str:
        """What values are counted in, or how far they go, where that is not at the ends of the bar."""
        if self.kind == DOUBLINGS:
            return "times an equal share"
        return "" if self.full is None else "all: {} to {}".format(*(number_words(end, self.unit) for end in self.full))

    def words(self, value: float) -> str:
        """A value of a map, as it is read."""
        if self.kind == LINEAR:
            return number_words(value, self.unit)
        times = number_words(value / (self.equal or 1.0), "×")
        return f"{number_words(value, '%')}, {times}" if self.unit == "%" else times

    def packed(self) -> dict[str, Any]:
        """As scales.js reads it."""
        return asdict(self) | {"ticks": self.ticks, "said": self.said}


SHARES = Scale()
"""Of shares, each 0 or more."""
SIGNED_SHARES = Scale(low=-MOST_TIMES, signed=True, unit="")
OWN = Scale(LINEAR, 0.0, None)
"""Linear from 0 to the largest value of each map."""


def of_shares(kind: str) -> Scale:
    """The scale of shares that was chosen."""
    return OWN if kind == LINEAR else SHARES


def of_evidence(values: Places, unit: str = "", kind: str = DOUBLINGS, *, signed: bool = False) -> Scale:
    """Of a map of relevance: what speaks for and against something around zero, the rest as shares."""
    return robust([values], unit, signed=True) if signed else replace(of_shares(kind), unit=unit)


def between(low: int | float, top: int | float, unit: str = "", *, signed: bool = False) -> Scale:
    """Linear, with known ends."""
    return Scale(LINEAR, float(low), float(top), signed, unit)


def robust(maps: Iterable[Float[np.ndarray, "..."]], unit: str = "", *, signed: bool = False) -> Scale:
    """Linear, from the 1st to the 99th percentile of all finite values that are shown together. Signed: as far below
    zero as above it, to the 99th percentile of the magnitudes. Of fewer than 100 values all: one is more than 1 %."""
    every = [np.asarray(each, float).ravel() for each in maps]
    values = np.concatenate(every or [np.zeros(1)])
    values = values[np.isfinite(values)]
    values = values if values.size else np.zeros(1)
    least, largest = float(values.min()), float(values.max())
    cut = PERCENTILES if values.size >= FEW else (0.0, 100.0)
    if signed:
        top = float(np.percentile(np.abs(values), cut[1])) or max(-least, largest) or 1.0
        low = -top
    else:
        low, top = (float(end) for end in np.percentile(values, cut))
        if low == top:
            low, top = least, largest
        top = top if top > low else low + (abs(low) or 1.0)
    beyond = least < low or largest > top
    return Scale(LINEAR, low, top, signed, unit, full=(least, largest) if beyond else None)


def colours_used(positions: Float[np.ndarray, "*shape"]) -> float:
    """Of 16 equal steps of a scale how many a map uses evenly, or as good as that: e to the entropy (in nats) of the
    histogram of where its values lie, 0 to 1. 1: all in one step; 16: as many in each."""
    counts = np.histogram(positions, STEPS, (0.0, 1.0))[0]
    shares = counts[counts > 0] / max(1, counts.sum())
    return float(np.exp(-(shares * np.log(shares)).sum()))


def number_words(value: float, unit: str) -> str:
    """As it stands beside colours and bars."""
    if value == 0:
        return "0"
    if unit == "%":
        return in_percent(value)
    return f"{value:.3g} {unit}".rstrip().replace("-", "−")
