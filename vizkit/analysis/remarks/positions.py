"""What positions do: answers after the patches were shuffled, learned rows and columns, and the reach of a bias."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.attention.positions import ByDistance, cosine_grid
from vizkit.analysis.remarks.remark import counted, of_all, percent
from vizkit.percent import in_percent

SAME = 1e-3  # of the largest logit: what rounding may change
WHEN = "the patches are shuffled"
A_CROSS = 0.1  # by which places of one row or column are more alike than others
MOST_TOLD = math.log(1000)  # of a difference in logits
NEARER = 0.5  # a bias, in logits: e^0.5 is 1.6 times the weight


@dataclass(frozen=True)
class Answers:
    """Logits of one image, its patches in order and shuffled."""

    in_order: Float[Tensor, " output"]
    shuffled: Float[Tensor, " output"]

    @property
    def change(self) -> float:
        """The largest change of an output, as a share of the largest output in order, at least of 1."""
        return float((self.in_order - self.shuffled).abs().max() / self.in_order.abs().max().clamp(min=1.0))

    @property
    def kept(self) -> bool:
        """Whether the first answer is the same in both orders."""
        return int(self.in_order.argmax()) == int(self.shuffled.argmax())


def shuffled(
    own: Answers,
    without: Answers,
    named: Callable[[Float[Tensor, " output"]], str],
    truth: str = "",
    others: str = "other parts of the model",
    when: str = WHEN,
) -> str:
    """One image: `own` with the model's positions, `without` after they were removed. `named`: the first answer of
    these outputs, with its value; `truth`: the class of the image where it is known, for an answer that keeps;
    `others`: what else can tell the order; `when`: what was done to it."""
    before, after, blind, blind_too = (named(each) for kind in (own, without) for each in vars(kind).values())
    if without.change <= SAME:
        judged = f", {'right' if blind.startswith(f'“{truth}”') else 'wrong'} both times" if truth else ""
        first = (
            f"Without positions both orders give the same outputs, {blind}{judged}: the model cannot tell them apart"
        )
    elif without.kept:
        first = f"Without positions the outputs change too, but the answer stays {blind}, for {others} tell the order"
    else:
        first = f"Without positions the answer changes too, from {blind} to {blind_too}, for {others} tell the order"
    seen = f"stays {before}, then {after}," if own.kept else f"changes from {before} to {after}"
    return f"{first}. With its positions the answer {seen} when {when}."


def shuffled_value(
    name: str,
    own: tuple[str, str],
    without: tuple[str, str],
    others: str = "other parts of the model",
    when: str = WHEN,
) -> str:
    """One image of a model without classes: what its answer, called `name`, is in order and then, with its positions,
    and after they were removed."""
    first = (
        f"Without positions the {name} is {without[0]} in both orders: the model cannot tell them apart"
        if without[0] == without[1]
        else f"Without positions the {name} changes too, from {without[0]} to {without[1]}, for {others} tell the order"
    )
    return f"{first}. With its positions it goes from {own[0]} to {own[1]} when {when}."


def over_pictures(own: Sequence[Answers], without: Sequence[Answers], noun: str = "image") -> str | None:
    """Several images, in the same order both times; None for less than two."""
    count = len(own)
    if count < 2:
        return None
    changed = [sum(not answers.kept for answers in kind) for kind in (own, without)]
    return (
        f"With its positions the answer changes on {of_all(changed[0], count, noun)} when the patches are shuffled, "
        f"without positions on {of_all(changed[1], count, noun)}."
    )


def cross(table: Float[Tensor, "row column channel"]) -> str | None:
    """Whether places of one row or column have more similar vectors than others; None where they do not."""
    rows, columns, _ = table.shape
    if min(rows, columns) < 3:
        return None
    like = cosine_grid(table)
    row, column = torch.arange(rows), torch.arange(columns)
    same_row = (row[:, None, None, None] == row[None, None, :, None]).expand(rows, columns, rows, columns)
    same_column = (column[None, :, None, None] == column[None, None, None, :]).expand(rows, columns, rows, columns)
    means = {
        "same row": float(like[same_row & ~same_column].mean()),
        "same column": float(like[same_column & ~same_row].mean()),
        "neither": float(like[~same_row & ~same_column].mean()),
    }
    of_row, of_column = (means[name] - means["neither"] for name in ("same row", "same column"))
    cross = [name for name, by in (("row", of_row), ("column", of_column)) if by >= A_CROSS]
    if not cross:
        return None
    which = " or ".join(f"same {name}" for name in cross)
    mean = sum(means[f"same {name}"] for name in cross) / len(cross)
    return (
        f"Places of the {which} have similar positions: mean cosine {mean:.2f}, of all other pairs "
        f"{means['neither']:.2f}.".replace("-", "−")
    )


def bias(by_offset: Float[Tensor, "head down right"]) -> str | None:
    """How many heads of a layer favour near keys: their bias falls with the distance; None where none does.

    The difference is of the mean bias of the offsets up to one step and of all farther ones, in logits.
    """
    heads, down, right = by_offset.shape
    steps = torch.cartesian_prod(torch.arange(down) - down // 2, torch.arange(right) - right // 2).abs().amax(1)
    flat = by_offset.flatten(1)
    if not bool((steps > 1).any()):
        return None
    gain = flat[:, steps <= 1].mean(1) - flat[:, steps > 1].mean(1)
    near, far = int((gain >= NEARER).sum()), int((gain <= -NEARER).sum())
    if not near and not far:
        return None
    most = int(gain.argmax())
    return (
        f"The bias favours neighbours of the query in {of_all(near, heads, 'head')}, most in head {most + 1}: by "
        f"itself {math.exp(float(gain[most])):.1f} times the weight of farther keys."
        if near
        else f"The bias favours keys away from the query in {of_all(far, heads, 'head')}."
    )


def saturation(by_offset: Float[Tensor, "head down right"]) -> str | None:
    """Of a bias that is 16·sigmoid(…), so between 0 and 16: how much stands at an end; None for less than half."""
    ends = {"near 16": float((by_offset > 15.2).float().mean()), "near 0": float((by_offset < 0.8).float().mean())}
    name, share = max(ends.items(), key=lambda item: item[1])
    if sum(ends.values()) < 0.5:
        return None
    return f"{percent(share)} of the entries are {name}, an end of the range of 16·sigmoid."


def range_of(around: Float[Tensor, "head down right"], head: int) -> str:
    """How much the bias of a head, from 0, can change a weight at all, and where. `around`: by where the key lies, the
    query in the middle."""
    flat, (down, right) = around[head].flatten(), around.shape[1:]
    most, least = (
        at_offset(*divmod(int(end), right), (down // 2, right // 2)) for end in (flat.argmax(), flat.argmin())
    )
    spread = float(flat.max() - flat.min())
    if not spread:
        return f"In head {head + 1} the bias is the same at every offset."
    times = f"{math.exp(spread):.1f}" if spread < MOST_TOLD else "over 1,000"
    return f"In head {head + 1} the bias alone gives a key {most} {times} times the weight of one {least}."


def at_offset(row: int, column: int, middle: tuple[int, int]) -> str:
    """Where a cell lies, seen from the query in the middle."""
    down, right = row - middle[0], column - middle[1]
    parts = [f"{counted(abs(down), 'row')} {'below' if down > 0 else 'above'}"] if down else []
    parts += [f"{counted(abs(right), 'column')} {'right' if right > 0 else 'left'} of"] if right else []
    return f"{' and '.join(parts)} the query" if parts else "at the query's own place"


def fading(near: ByDistance, *, shares: bool = False) -> str | None:
    """How similar the positions of neighbours are, and of the farthest places, or, of `shares` of the weight, what a
    bias gives to both, the mean of the heads; None for one place."""
    if len(near.mean) < 2:
        return None
    one, other = float(near.mean[1]), float(near.mean[-1])
    if shares:
        favours = "" if one > other else ": it does not favour near ones"
        return (
            f"The bias by itself gives a neighbour {in_percent(one)} of the weight and the farthest place "
            f"{in_percent(other)}, in the mean of all queries and heads{favours}."
        )
    how = "falls" if other < one else "does not fall, but goes"
    return f"With the distance the mean cosine {how} from {one:z.2f} to {other:z.2f}.".replace("-", "−")


def told_apart(near: Float[Tensor, "row column"], cell: tuple[int, int], *, shares: bool = False) -> str | None:
    """How near the neighbours of a cell are, and the farthest place, or, of `shares` of the weight, which has most.
    None with no place that is far. `near`: cosines of positions, or those shares."""
    if min(near.shape) < 2 or max(near.shape) < 3:
        return None
    row, column = (torch.arange(side) - at for side, at in zip(near.shape, cell, strict=True))
    numbers = neighbours(near, cell)
    if shares:
        beside, below, most = (in_percent(value) for value in (*numbers.values(), near.max()))
        at_row, at_column = divmod(int(near.argmax()), near.shape[1])
        return (
            f"Row {at_row + 1}, column {at_column + 1} gets most, {most} of the weight; each neighbour in its row "
            f"{beside}, in its column {below}."
        )
    far = near.flatten()[(row[:, None] ** 2 + column**2).flatten().argmax()]
    beside, below, last = (f"{value:.2f}" for value in (*numbers.values(), far))
    words = (
        f"Neighbours in its row have a cosine of {beside} with it, in its column {below}, the farthest place {last}."
    )
    return words.replace("-0.00", "0.00").replace("-", "−")


def neighbours(near: Float[Tensor, "row column"], cell: tuple[int, int]) -> dict[str, float]:
    """The mean of those in the same row, and of those in the same column."""
    row, column = (torch.arange(side) - at for side, at in zip(near.shape, cell, strict=True))
    return {
        "row": float(near[row == 0][:, column.abs() == 1].mean()),
        "column": float(near[row.abs() == 1][:, column == 0].mean()),
    }
