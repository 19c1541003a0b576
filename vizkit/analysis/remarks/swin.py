"""What windows save, what crosses them after a shift, and what one of four merged neighbours contributes."""

from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.remarks.remark import begun, counted, percent
from vizkit.analysis.swin.shifted_windows import Layout, cut, layout
from vizkit.traces import PADDING, Attention

CROSSED = 0.02


def pairs_saved(windows: Layout, stage: int) -> str | None:
    """How many pairs of tokens windows leave out, padding counted as the layer computes it; None for one window."""
    tokens = windows.grid[0] * windows.grid[1]
    compared = windows.count * (windows.window[0] * windows.window[1]) ** 2
    saved = 1 - compared / tokens**2
    if windows.count == 1:
        return None
    words = f"Window attention saves {percent(saved)} of the pairs in stage {stage}"
    if saved < 0:
        words = f"With padding window attention takes {percent(-saved)} more pairs in stage {stage}"
    return f"{words}: {compared:,} instead of {tokens**2:,}."


def crossing(attention: Attention, windows: Layout) -> str | None:
    """The share of all weight, mean over heads and queries, between tokens that the block before, whose windows lie
    regularly, kept apart. None where it is little, as without a shift, or where only some rows were kept."""
    if attention.query_ids.shape != attention.key_ids.shape:
        return None
    regular = layout(windows.grid, windows.window)
    before = regular.windows.new_full((windows.grid[0] * windows.grid[1] + 1,), PADDING)
    for window, ids in enumerate(cut(regular.ids, regular.window)):
        before[ids[ids != PADDING]] = window
    ids = attention.query_ids
    real = ids != PADDING
    apart = (before[ids][:, :, None] != before[ids][:, None]) & real[:, None]
    share = float((attention.weights.float().mean(1) * apart).sum(-1)[real].mean())
    if share < CROSSED:
        return None
    return f"After the shift {percent(share)} of the weight of all tokens crosses the windows of the block before."


def merges(before: int, after: int, parts: Float[Tensor, " neighbour"], names: list[str]) -> str:
    """What a merging does to the numbers of a token, `before` and `after` it, and which of the four neighbours
    contributes most; `parts`: the lengths of their contributions."""
    words = f"Four tokens of {counted(before, 'number')} become one of {after}"
    total, at = float(parts.sum()), int(parts.argmax())
    if total <= 0:
        return f"{words}."
    share = float(parts[at]) / total
    most = f"neighbour {names[at]} contributes most: {percent(share)} of the four lengths together, of which an equal"
    return f"{words}; {most} share is 25 %."


def bias_moves(moved: Float[Tensor, " head"], block: int) -> str | None:
    """By how much the relative bias changes the heads of a block; None where it moves less than 5 % of every one."""
    most = int(moved.argmax())
    share = float(moved[most])
    if share < 0.05:
        return None
    heads = f"head {most + 1}" if len(moved) > 1 else "the one head"
    beside = f", the most of its {len(moved)} heads" if len(moved) > 1 else ""
    return (
        f"The relative bias moves {percent(share)} of the attention of {heads} of block {block} to other keys{beside}."
    )


def without_over(right: int, still: int, images: int, without: str) -> str:
    """On how many pictures whose class is known the answer is right, and still so `without` something."""
    of_images = f"{counted(images, 'image')} of known class"
    return f"{begun(without)} the answer is right for {still} instead of {right} of {of_images}."
