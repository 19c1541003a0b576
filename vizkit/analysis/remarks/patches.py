"""The image as a sequence: how many tokens, what they cost, and what their vectors have in common."""

from collections.abc import Sequence
from math import isqrt

from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.attention.patches import Cost
from vizkit.analysis.remarks.remark import counted, joined, percent

ALIKE = 0.9  # cosine
MOSTLY = 0.5  # of a place, from which it belongs to an object


def sequence(grid: tuple[int, int], special: Sequence[str], dim: int, costs: tuple[Cost, Cost] | None) -> str:
    """How long the sequence is, how many pairs a head compares, their part of a layer's multiply–adds, 12·N·C² +
    2·M·N·C with its MLP, and what becomes of both with patches of half the side. `costs`: of one layer now and then."""
    count = grid[0] * grid[1]
    patches = counted(count, "patch", "patches")
    words = f"{joined([patches, *special])} are a sequence of {counted(count + len(special), 'token')}"
    words = words if special else f"The sequence has {counted(count, 'token')}, one for each patch"
    then = f"patches of half the side would be {counted(4 * count + len(special), 'token')}"
    if costs is None:
        return f"{words}; {then}."
    now, half = costs
    share = percent(now.compared / (6 * dim + now.compared))
    side = isqrt(now.compared)
    where = f"windows of {side} × {side}" if now.compared < now.tokens else "each head"
    words += f": {counted(now.pairs, 'pair')} in {where}, {share} of a layer's multiply–adds"
    return f"{words}; {then} and {half.pairs / now.pairs:.1f} times the pairs."


def beside_object(
    cosines: Float[Tensor, " place"],
    covered: Float[Tensor, " place"],
    chosen: int | None,
    after: str,
    who: str = "the chosen patch",
    what: str = "insect",
) -> str | None:
    """The mean similarity of what was chosen to the places on an object, and to those that it does not touch; None
    where there are none of either. `covered`: how much of every place the object covers; `chosen`: which place asks,
    None for a special token."""
    on, around = covered >= MOSTLY, covered == 0
    if chosen is not None:
        on[chosen], around[chosen] = False, False
    if not (on.any() and around.any()):
        return None
    near, far = float(cosines[on].mean()), float(cosines[around].mean())
    how = "more" if near > far else "no more"
    return (
        f"After {after}, {who} is {how} similar to the {what} than to what is around it: mean cosine {near:.2f} and "
        f"{far:.2f}.".replace("-", "−")
    )


def alike(
    cosines: Float[Tensor, " other"],
    after: str,
    who: str = "the chosen patch",
    nouns: str = "other patches",
    at_first: tuple[int, str] | None = None,
) -> str | None:
    """`cosines`: of what was chosen with all `nouns`; `after`: "block 4 of 12"; `at_first`: how many were similar after
    the first block, and its name. None of fewer than two."""
    if len(cosines) < 2:
        return None
    count = int((cosines >= ALIKE).sum())
    then = f"; after {at_first[1]}, {at_first[0]}" if at_first and (count or at_first[0]) else ""
    if not count:
        largest = f"the largest cosine is {float(cosines.max()):.2f}".replace("-", "−")
        return f"After {after}, none of {len(cosines):,} {nouns} is similar to {who}: {largest}{then}."
    are = "is" if count == 1 else "are"
    return (
        f"After {after}, {count:,} of {len(cosines):,} {nouns} {are} similar to {who} (cosine {ALIKE} or more){then}."
    )
