"""Where a model's multiply–adds are, and what is saved."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.remarks.remark import counted, joined, percent

SAVED = 0.02
EVEN = 1.5  # times an equal share


def saved(own: int, other: int, what: str, instead: str, who: str = "This model") -> str | None:
    """`who` takes `own` against `other` of `what` ("multiply–adds") of something else (`instead`); None for alike."""
    if not other or abs(1 - own / other) < SAVED:
        return None
    share = 1 - own / other
    words = f"saves {percent(share)}" if share > 0 else f"takes {percent(-share)} more"
    return f"{who} {words} of the {what} of {instead}." if share > 0 else f"{who} {words} {what} than {instead}."


def lost(first: tuple[int, float], last: tuple[int, float], part: tuple[str, float, float] | None = None) -> str:
    """How many tokens, and the share of an image's contrast that the mean colours of their areas keep. `part`: a thing
    in the image, and how much of a token's area it fills at most, of the first ones and of the last."""
    (tokens, kept), (fewer, left) = first, last
    words = (
        f"{counted(tokens, 'token')} become {fewer:,}: the mean colours of their areas keep {percent(kept)} of the "
        f"image's contrast, then {percent(left)}, while the vectors may hold more"
    )
    if part is not None:
        name, most, now = part
        words += f"; what tells the class ({name}) fills {percent(most)} of an area at most, then {percent(now)}"
    return f"{words}."


def most_and_least(counts: Mapping[str, int | float], what: str, least_is: str = "") -> str | None:
    """Of several models the one that takes most of `what` against the one that takes least; None for alike.
    `least_is`: a clause on the latter, "which reads smaller images"."""
    if len(counts) < 2 or not min(counts.values()):
        return None
    most, least = max(counts, key=lambda name: counts[name]), min(counts, key=lambda name: counts[name])
    times = counts[most] / counts[least]
    if times < 1.1:
        return None
    clause = f", {least_is}" if least_is else ""
    return f"{most} takes {times:.{0 if times >= 10 else 1}f} times the {what} of {least}{clause}."


def narrows(grids: Mapping[str, tuple[Sequence[int], Sequence[int]]]) -> str:
    """Of several models the grids, (row, column), of the first block and of the last."""

    def size(grid: Sequence[int]) -> str:
        return " × ".join(map(str, grid))

    ways = [
        f"{name} keeps {size(first)}"
        if size(first) == size(last)
        else f"{name} goes from {size(first)} to {size(last)}"
        for name, (first, last) in grids.items()
    ]
    return f"From the first block to the last {joined(ways)} places."


def worth(costs: Mapping[str, int | float], shares: Mapping[str, int | float], what: str) -> str | None:
    """Of models with how many they take of `what` ("multiply–adds") and the share of the test images, 0 to 1, on which
    they are right: the best against the one that takes fewest. None for less than two."""
    if len(shares) < 2:
        return None
    best, least = max(shares, key=lambda name: shares[name]), min(shares, key=lambda name: costs[name])
    right = {name: f"{100 * shares[name]:.1f} %" for name in (best, least)}
    if best == least:
        return f"{best} is right most often, on {right[best]}, and takes the fewest {what}."
    times = costs[best] / costs[least]
    words = f"for {times:.1f} times the {what} of {least}, which is right on {right[least]}"
    return f"{best} is right most often, on {right[best]} of the test images, {words}."


def gathers(name: str, maps: Mapping[str, Float[np.ndarray, "row column"]]) -> str:
    """Of a model the blocks with the attention that each patch receives, in order: where one patch receives most."""
    times = {block: float(each.max() / (each.mean() or 1.0)) for block, each in maps.items()}
    first, most = next(iter(times)), max(times, key=lambda block: times[block])
    if times[most] < EVEN:
        return (
            f"In {name} attention is spread evenly: no patch receives more than {times[most]:.2g} times an equal share."
        )
    begun = f"In {name} the most attended patch receives {times[first]:.2g} times an equal share in {first}"
    if most == first:
        return f"{begun}, and no patch receives more in a later block." if len(times) > 1 else f"{begun}."
    return f"{begun} and {times[most]:.2g} times in {most}, where attention gathers most."


def strongest(name: str, maps: Mapping[str, Float[np.ndarray, "row column"]]) -> str:
    """Of a model the blocks with how often the median length the vector of each place is long, in order."""
    (first, one), (last, other) = (list(maps.items())[end] for end in (0, -1))
    rows, columns = other.shape
    return (
        f"In {name} the strongest place is {one.max():.2g} times as strong as the median one after {first}, and "
        f"{other.max():.2g} times after {last}, on {rows} × {columns} places."
    )


def adds(
    stream: Float[Tensor, "token dim"],
    attention: Float[Tensor, "token dim"],
    mlp: Float[Tensor, "token dim"],
    block: int,
) -> str:
    """How long the vectors are that the two halves of a block add to its tokens, on average."""
    length, first, second = (float(each.norm(dim=-1).mean()) for each in (stream, attention, mlp))
    even = max(first, second) < 1.1 * min(first, second)
    more = "about as much as" if even else "less than" if first < second else "more than"
    return (
        f"In block {block} attention adds {more} the MLP: vectors of mean length {first:.3g} and {second:.3g}, to "
        f"tokens of {length:.3g}."
    )
