"""Shares and probabilities as they are read, in one form everywhere; short.js writes the same in the browser."""

from math import floor, isfinite
from typing import SupportsFloat

WHOLE = 1 - 1e-6  # from here on a share is all, but for rounding
MOST_DECIMALS = 4


def in_percent(share: SupportsFloat, decimals: int | None = None) -> str:
    """0.051 as "5.1 %": two digits below 10 %, one decimal above 90 %, whole numbers between; of a share that is nearly
    nothing or nearly all that it is. `decimals`: always so many, for accuracies that stand below one another, but for a
    share that would be written as nothing or all and is not."""
    share = float(share)
    if not isfinite(share):
        return "–"
    if share < 0:
        return f"−{in_percent(-share, decimals)}"
    if decimals is not None:
        while decimals < MOST_DECIMALS and 0 < share < WHOLE and rounded(share, decimals) in (0, 100):
            decimals += 1
        return f"{rounded(share, decimals):.{decimals}f} %"
    if 0 < share < 1e-5:
        return "< 0.001 %"
    if 0.999 < share < WHOLE:
        return "> 99.9 %"
    below = sum(share < limit for limit in (0.1, 0.01, 0.001, 0.0001)) if share else 0
    digits = below or int(0.9 < share < WHOLE)
    text = f"{rounded(share, digits):.{digits}f}"
    return f"{text.rstrip('0').rstrip('.') if digits else text} %"


def rounded(share: float, digits: int) -> float:
    """Half of a step upwards, as browsers do it."""
    return floor(100 * share * 10**digits + 0.5) / 10**digits
