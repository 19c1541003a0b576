"""The image as a sequence: how many tokens, what they cost, what the filters and the vectors have in common."""

from collections.abc import Collection

from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.remarks.remark import counted, joined, percent

ALIKE = 0.9  # cosine
GROWN = 1.5  # times as long, or as short
MOSTLY = 0.5  # of a place, from which it belongs to an object
MORE_ORDERLY = {
    0.95: "they are as many-sided as the noise that training starts from",
    0.5: "they have learned a few patterns and are still much like noise",
    0.0: "few patterns make them up",
}
"""What is said of filters that need at least this share of the components that noise needs."""


def tokens(grid: tuple[int, int], special: int, windows: Collection[tuple[int, int] | None]) -> str:
    """`windows`: rows and columns of tokens inside which the layers of this grid attend, None for the whole grid. Where
    some do this and some that, nothing is said of pairs."""
    count = grid[0] * grid[1]
    length = counted(count + special, "token") + (f", {counted(special, 'special one')} included" if special else "")
    pairs = _pairs(grid, windows)
    return f"The model reads this image as {length}; patches of half the side would be {4 * count:,}{pairs}."


def _pairs(grid: tuple[int, int], windows: Collection[tuple[int, int] | None]) -> str:
    """How many times the pairs four times the tokens are: 4² = 16 times, or 4 times the windows of the same size, which
    is exact where they divide the grid."""
    sizes = sorted(window for window in windows if window is not None)
    if not sizes:
        return " and 16 times the pairs" if windows else ""
    if len(sizes) < len(windows):
        return ""
    divide = all(side % edge == 0 for window in sizes for side, edge in zip(grid, window, strict=True))
    times = "4 times" if divide else "about 4 times"
    inside = joined([f"{rows} × {columns}" for rows, columns in sizes])
    return f" and {times} the pairs, since attention stays inside windows of {inside} tokens"


def compared(seen: int, dim: int, windows: bool = False) -> str:
    """The part of a layer's multiply–adds, 12·N·C² + 2·N·M·C with its MLP, that compares and mixes tokens, each with
    the M that it sees: all N, or those of its window where there are `windows`."""
    grows = "only as the number of tokens does" if windows else "with the square of the number of tokens"
    return (
        f"Here {percent(seen / (6 * dim + seen))} of the multiply–adds of one layer, attention and MLP together, "
        f"compare and mix tokens: that part grows {grows}."
    )


def learned(explained: Float[Tensor, " component"], noise: Float[Tensor, " component"]) -> str:
    """How many components explain half of the variance of the filters, and of `noise`, as many of random numbers."""
    half, random = (int((each.cumsum(0) < 0.5).sum()) + 1 for each in (explained, noise))
    share = half / random
    how = next(words for least, words in MORE_ORDERLY.items() if share >= least)
    return (
        f"Half of the variance of these filters lies in {counted(half, 'component')}, that of noise of the same size "
        f"in {random:,}: {how}."
    )


def even(patches: Float[Tensor, " patch"], layer: int) -> str:
    """Where no patch is an outlier: how much the longest is longer than the median."""
    times = float(patches.max() / patches.median().clamp(min=1e-12))
    return f"After layer {layer} no patch is an outlier: the longest is {times:.1f} times as long as the median."


def beside_object(
    cosines: Float[Tensor, " place"], covered: Float[Tensor, " place"], chosen: int, after: str, what: str = "insect"
) -> str | None:
    """The mean similarity of the chosen place to the others on an object, and to those that it does not touch; None
    where there are none of either. `covered`: how much of every place the object covers."""
    on, around = covered >= MOSTLY, covered == 0
    on[chosen], around[chosen] = False, False
    if not (on.any() and around.any()):
        return None
    near, far = float(cosines[on].mean()), float(cosines[around].mean())
    how = "more" if near > far else "no more"
    return (
        f"After {after}, the chosen place is {how} similar to the {what} than to what is around it: mean cosine "
        f"{near:.2f} and {far:.2f}.".replace("-", "−")
    )


def alike(cosines: Float[Tensor, " place"], after: str) -> str | None:
    """`cosines`: of the chosen place with every place, itself too; `after`: "block 4 of 12". None where no other is
    alike."""
    others = int((cosines >= ALIKE).sum()) - 1
    if others < 1:
        return None
    are = "is" if others == 1 else "are"
    return (
        f"After {after}, {counted(others, 'other place')} of {len(cosines) - 1:,} {are} similar to the "
        f"chosen one: cosine {ALIKE} or more."
    )


def nearest(cosines: Float[Tensor, " place"], after: str) -> str | None:
    """The same where no other is alike; None where there is no other."""
    if len(cosines) < 2:
        return None
    second = float(cosines.sort(descending=True).values[1])
    return (
        f"After {after}, no other place reaches a cosine of {ALIKE} with the chosen one: the largest is "
        f"{second:.2f}.".replace("-", "−")
    )


def outliers(patches: Float[Tensor, " patch"], count: int, layer: int) -> str | None:
    """Patches far longer than the median after a layer; None where no patch is an outlier."""
    if not count:
        return None
    times = float(patches.max() / patches.median().clamp(min=1e-12))
    are = "is an outlier" if count == 1 else "are outliers"
    return (
        f"After layer {layer}, {counted(count, 'patch', 'patches')} of {len(patches)} {are}, the longest "
        f"{times:.1f} times as long as the median."
    )
