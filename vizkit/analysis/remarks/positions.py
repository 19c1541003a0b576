"""What positions do: answers after the patches were shuffled, learned rows and columns, and the reach of a bias."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.attention.positions import ByDistance, cosine_grid
from vizkit.analysis.remarks.remark import Remark, of_all, percent

SAME = 1e-3  # of the largest logit: what rounding may change
A_CROSS = 0.1  # by which places of one row or column are more alike than others
HALF = 0.5  # of a cosine
MOST_TOLD = math.log(1000)  # of a difference in logits
NEARER = 0.5  # a bias, in logits: e^0.5 is 1.6 times the weight


@dataclass(frozen=True)
class Answers:
    """Logits of one picture, its patches in order and shuffled."""

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
    own: Answers, without: Answers, labels: Sequence[str], others: str = "more than positions tells"
) -> Remark:
    """One picture: `own` with the model's positions, `without` after they were removed. `labels`: of the outputs;
    `others`: what else "tells" the order."""
    before, after = labels[int(own.in_order.argmax())], labels[int(own.shuffled.argmax())]
    seen = f"the answer stays “{before}”" if own.kept else f"the answer changes from “{before}” to “{after}”"
    if without.change <= SAME:
        blind = "without positions the outputs are the same in both orders"
    elif without.kept:
        blind = "without positions the outputs change too, but not the first answer"
    else:
        blind = f"without positions the answer changes too, so {others} the order"
    numbers = {"change with positions": own.change, "change without positions": without.change}
    return Remark(f"Shuffled, {seen}; {blind}.", numbers)


def over_pictures(own: Sequence[Answers], without: Sequence[Answers]) -> Remark | None:
    """Several pictures, in the same order both times; None for less than two."""
    count = len(own)
    if count < 2:
        return None
    changed = [sum(not answers.kept for answers in kind) for kind in (own, without)]
    words = (
        f"With its positions the answer changes on {of_all(changed[0], count, 'picture')} when the patches are "
        f"shuffled, without positions on {of_all(changed[1], count, 'picture')}."
    )
    return Remark(words, {"changed with positions": changed[0], "changed without positions": changed[1]})


def learned(table: Float[Tensor, "row column channel"]) -> Remark | None:
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
    return Remark(
        f"Places of the {which} have similar positions: mean cosine {mean:.2f}, of all other pairs "
        f"{means['neither']:.2f}.".replace("-", "−"),
        means,
    )


def bias(by_offset: Float[Tensor, "head down right"]) -> Remark | None:
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
    words = (
        f"The bias favours neighbours of the query in {of_all(near, heads, 'head')}, most in head {most + 1}: by "
        f"itself {math.exp(float(gain[most])):.1f} times the weight of farther keys."
        if near
        else f"The bias favours keys away from the query in {of_all(far, heads, 'head')}."
    )
    return Remark(words, {"near": near, "far": far, "largest gain": float(gain[most])})


def saturated(values: Tensor) -> float:
    """The share of values within 5 % of either end of their range, 0 to 1: on an even scale these are two colours."""
    low, high = float(values.min()), float(values.max())
    if high <= low:
        return 0.0
    at = (values - low) / (high - low)
    return float(((at < 0.05) | (at > 0.95)).float().mean())


def saturation(by_offset: Float[Tensor, "head down right"]) -> Remark | None:
    """Of a bias that is 16·sigmoid(…), so between 0 and 16: how much stands at an end; None for less than half."""
    ends = {"near 16": float((by_offset > 15.2).float().mean()), "near 0": float((by_offset < 0.8).float().mean())}
    name, share = max(ends.items(), key=lambda item: item[1])
    if sum(ends.values()) < 0.5:
        return None
    return Remark(f"{percent(share)} of the entries are {name}, an end of the range of 16·sigmoid.", ends)


def range_of(by_offset: Float[Tensor, "head down right"]) -> Remark:
    """Where no head favours near or far keys: how much the bias can change a weight at all."""
    heads = by_offset.flatten(1)
    spread = float((heads.amax(1) - heads.amin(1)).max())
    times = f"at most {math.exp(spread):.1f}" if spread < MOST_TOLD else "over 1,000"
    words = f"By itself the bias makes one offset {times} times as heavy as another of its head."
    return Remark(words, {"spread": spread})


def rotations(by_offset: Float[Tensor, "head down right"]) -> Remark:
    """How much of a product of equal vectors is left one step away, and at the farthest offset; of the first head."""
    first = by_offset[0]
    down, right = first.shape[0] // 2, first.shape[1] // 2
    step, far = float(first[down, min(right + 1, 2 * right)]), float(first[-1, -1])
    near, away = (f"{value:.2f}".replace("-0.00", "0.00").replace("-", "−") for value in (step, far))
    words = f"Rotated by one step to the right, {near} of a product of equal vectors is left, at the farthest {away}."
    return Remark(words, {"one step": step, "farthest": far})


def fading(likeness: Float[Tensor, " position"], position: int) -> Remark | None:
    """How alike a row of the table, from 0, is to its neighbours, and from which distance on to none by more than a
    half; in words counted from 1. `likeness`: cosines with every row. None where some far row stays alike, or there are
    no two neighbours."""
    distance = (torch.arange(len(likeness)) - position).abs()
    near = likeness[distance == 1]
    alike = distance[likeness > HALF].max()
    if len(near) < 2 or int(alike) == int(distance.max()):
        return None
    numbers = {"neighbours": float(near.mean()), "from": int(alike) + 1}
    words = (
        f"Position {position + 1} has a cosine of {numbers['neighbours']:.2f} with its neighbours, and of less than a "
        f"half with all that lie {numbers['from']} positions away or farther."
    )
    return Remark(words, numbers)


def fading_by_distance(learned: ByDistance, waves: ByDistance | None) -> Remark | None:
    """How alike the learned vectors of neighbours are, and of the farthest places, beside sinusoids; None for one
    place."""
    near = learned.mean[learned.distance > 0]
    if not len(near):
        return None
    ends = [(each.mean[each.distance > 0][0], each.mean[-1]) for each in (learned, waves) if each is not None]
    parts = [f"{float(first):.2f} to {float(last):.2f}" for first, last in ends]
    beside = f"; of sinusoids, for which nothing was learned, from {parts[1]}" if waves is not None else ""
    words = f"From neighbours to the farthest places the cosine of learned positions falls from {parts[0]}{beside}."
    if float(ends[0][1]) >= float(ends[0][0]):
        words = (
            f"The cosine of learned positions does not fall with the distance: {parts[0].replace(' to ', ', then ')}."
        )
    return Remark(words.replace("-", "−"), {"neighbours": float(ends[0][0]), "farthest": float(ends[0][1])})


def of_two_dimensions(one: Float[Tensor, "row column channel"], two: Float[Tensor, "row column channel"]) -> Remark:
    """How alike a place is to the one beside it and the one below it: with one index for all places, and with a half of
    the channels for the row and one for the column."""
    means = {}
    for name, table in (("one", one), ("two", two)):
        unit = torch.nn.functional.normalize(table, dim=-1)
        means[f"{name}, beside"] = float((unit[:, 1:] * unit[:, :-1]).sum(-1).mean())
        means[f"{name}, below"] = float((unit[1:] * unit[:-1]).sum(-1).mean())
    return Remark(
        f"Counted in one row, a patch has a cosine of {means['one, beside']:.2f} with the one beside it and of "
        f"{means['one, below']:.2f} with the one below; with a half of the channels for the row and a half for the "
        f"column, of {means['two, beside']:.2f} and {means['two, below']:.2f}.".replace("-", "−"),
        means,
    )


def told_apart(near: Float[Tensor, "row column"], cell: tuple[int, int] | None, which: str) -> Remark | None:
    """How much nearer the neighbours of a cell are than the farthest place, in whatever unit `near` has; None without a
    cell or with no place that is far."""
    if cell is None or max(near.shape) < 3:
        return None
    row, column = torch.meshgrid(
        *(torch.arange(side) - at for side, at in zip(near.shape, cell, strict=True)), indexing="ij"
    )
    beside, far = row.abs() + column.abs() == 1, (row**2 + column**2).flatten().argmax()
    first, last = float(near[beside].mean()), float(near.flatten()[far])
    return Remark(
        f"With {which} positions the direct neighbours of the chosen patch have {first:.2g} on average, the farthest "
        f"place {last:.2g}.".replace("-", "−"),
        {"neighbours": first, "farthest": last},
    )
