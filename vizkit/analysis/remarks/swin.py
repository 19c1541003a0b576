"""What windows save, what crosses them after a shift, and what one of four merged neighbours contributes."""

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.remarks.remark import begun, counted, joined, percent
from vizkit.analysis.swin.shifted_windows import Layout, across_lines
from vizkit.traces import Attention

ALIKE, CROSSED = 0.04, 0.02


def pairs_saved(windows: Layout, where: str) -> str | None:
    """How many pairs of tokens windows leave out `where`, "stage 1", padding counted as the layer computes it; None for
    one window."""
    tokens = windows.grid[0] * windows.grid[1]
    compared = windows.count * (windows.window[0] * windows.window[1]) ** 2
    saved = 1 - compared / tokens**2
    if windows.count == 1:
        return None
    words = f"Window attention saves {percent(saved)} of the pairs in {where}"
    if saved < 0:
        words = f"With padding window attention takes {percent(-saved)} more pairs in {where}"
    return f"{words}: {compared:,} instead of {tokens**2:,}."


def crossing(attention: Attention, windows: Layout, token: int) -> str | None:
    """The share of its weight that a token gives across the dashed lines, and the mean of all tokens. None where that
    is little, as without a shift, or where only some rows were kept."""
    shares = across_lines(attention, windows)
    if shares is None or (every := float(shares.mean())) < CROSSED:
        return None
    own = float(shares.flatten()[token])
    its = percent(own) if own else "none: its region touches no dashed line"
    return (
        f"{percent(every)} of the weight of all tokens crosses the dashed lines, where the windows of the block before "
        f"ended; of this token’s {its}."
    )


def merges(before: int, after: int, parts: Float[Tensor, " neighbour"], names: list[str]) -> str:
    """What a merging does to the numbers of a token, `before` and `after` it, and which of the four neighbours
    contributes most; `parts`: the lengths of their contributions."""
    words = f"Four tokens of {counted(before, 'number')} become one of {after}"
    total, at = float(parts.sum()), int(parts.argmax())
    if total <= 0:
        return f"{words}."
    least, most = (float(each) / total for each in (parts.min(), parts.max()))
    if most - least < ALIKE:
        return f"{words}, and all four contribute alike, {percent(least)} to {percent(most)}."
    return f"{words}. The {names[at]} one contributes most, {percent(most)}; an equal share is 25 %."


def bias_moves(moved: Float[Tensor, " head"], own: float, head: int, block: int) -> str:
    """By how much the relative bias changes a head of a block, counted from 1: for one token its `own`, and the mean
    over all tokens, of every head."""
    most = int(moved.argmax())
    words = f"In head {head} of block {block} the relative bias moves {percent(own)} of this token’s attention to other"
    words += f" keys, and {percent(float(moved[head - 1]))} as the mean of all tokens"
    return words + (f"; most in head {most + 1}, {percent(float(moved[most]))}." if most != head - 1 else ".")


def without_over(right: Sequence[str], still: Sequence[str], images: int, without: str) -> str:
    """For which of the images whose class is known the answer is right, and still so `without` something."""
    lost, won = ([name for name in some if name not in others] for some, others in ((right, still), (still, right)))
    of_images = f"{counted(images, 'image')} of known class"
    words = f"{begun(without)} the answer is right for {len(still)} instead of {len(right)} of {of_images}"
    words += f"; no longer for {joined(lost)}" if lost else ""
    return f"{words}{f'; now for {joined(won)}' if won else ''}."
