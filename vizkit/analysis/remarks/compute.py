"""Where a model's multiply–adds are, and what is saved."""

from collections.abc import Mapping

from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.remarks.remark import begun, counted, percent

SAVED = 0.02


def by_part(attention: int, mlp: int, total: int, what: str) -> str | None:
    """`what`: of what these are counts ("parameters"). None where neither is half."""
    name, count = max((("attention", attention), ("MLPs", mlp)), key=lambda pair: pair[1])
    if not total or count / total < 0.5:
        return None
    return f"{begun(percent(count / total))} of the {what} are in {name}."


def saved(own: int, other: int, what: str, instead: str, who: str = "This model") -> str | None:
    """`who` takes `own` against `other` of `what` ("multiply–adds") of something else (`instead`); None for alike."""
    if not other or abs(1 - own / other) < SAVED:
        return None
    share = 1 - own / other
    words = f"saves {percent(share)}" if share > 0 else f"takes {percent(-share)} more"
    return f"{who} {words} of the {what} of {instead}." if share > 0 else f"{who} {words} {what} than {instead}."


def lost(first: tuple[int, float], last: tuple[int, float], part: tuple[str, float, float] | None = None) -> str:
    """How many tokens, and the share of a picture's contrast that they keep. `part`: a thing in the picture, and how
    much of a token it fills at most, of the first ones and of the last."""
    (tokens, kept), (fewer, left) = first, last
    here, then = begun(percent(kept)), percent(left)
    words = f"{here} of the picture's contrast is left in {counted(tokens, 'token')}, {then} in the last {fewer:,}"
    if part is not None:
        name, most, now = part
        words += (
            f"; what tells the class ({name}) fills {percent(most)} of a token where it is most, then {percent(now)}"
        )
    return f"{words}."


def most_and_least(counts: Mapping[str, int], what: str) -> str | None:
    """Of several models the one that takes most of `what` against the one that takes least; None for alike."""
    if len(counts) < 2 or not min(counts.values()):
        return None
    most, least = max(counts, key=lambda name: counts[name]), min(counts, key=lambda name: counts[name])
    times = counts[most] / counts[least]
    if times < 1.1:
        return None
    return f"{most} takes {times:.1f} times the {what} of {least}."


def worth(costs: Mapping[str, int], shares: Mapping[str, float], what: str) -> str | None:
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
