"""What becomes of an answer when something in the model is changed."""

from collections.abc import Sequence

from vizkit.analysis.remarks.remark import Remark, counted, percent

LITTLE = 0.02


def of_answers(names: Sequence[str], before: Sequence[float], after: Sequence[float], edits: int) -> Remark | None:
    """Probabilities of the same classes, before and after so many edits. None without an edit."""
    if not edits:
        return None
    first, now = (max(range(len(names)), key=each.__getitem__) for each in (before, after))
    numbers = {"before": before[first], "after": after[first], "edits": edits}
    with_ = f"With {counted(edits, 'change')} "
    fell = f"from {percent(before[first])} to {percent(after[first])}"
    if first != now:
        return Remark(
            f"{with_}the answer is {names[now]} ({percent(after[now])}) and no longer {names[first]}, "
            f"which goes {fell}.",
            numbers,
        )
    if abs(after[first] - before[first]) < LITTLE:
        return Remark(f"{with_}the answer hardly moves: {names[first]}, {fell}.", numbers)
    return Remark(f"{with_}the answer stays {names[first]}, {fell}.", numbers)


def of_heads(
    names: Sequence[tuple[int, int]], lost: Sequence[float], half: Sequence[float], correlation: float
) -> Remark:
    """Nats that the answer loses without each head, (layer, head) from 0, with halves of 95 % intervals, and the rank
    correlation of a gradient's estimate with them."""
    best = max(range(len(lost)), key=lost.__getitem__)
    idle = sum(abs(value) <= width for value, width in zip(lost, half, strict=True))
    layer, head = names[best]
    words = (
        f"Head {head + 1} of layer {layer + 1} matters most: without it the answer loses {lost[best]:.2f} ± "
        f"{half[best]:.2f} nats. {idle} of {len(lost)} heads cannot be told from no loss at all"
    )
    words += (
        f"; the gradient orders them alike to {correlation:.2f} (1 would be the same order)."
        if correlation == (correlation)
        else "."
    )
    return Remark(words, {"most": lost[best], "idle": idle, "correlation": correlation})
