"""Shuffle: what happens if the order is lost? The same patches in another order, with and without positions."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Int, UInt8
from torch import Tensor

from vizkit.analysis.attention.patches import permutation, shuffle
from vizkit.analysis.remarks import positions
from vizkit.analysis.remarks.positions import Answers
from vizkit.analysis.remarks.remark import counted
from vizkit.datasets import samples
from vizkit.figure.class_bars import ClassBars
from vizkit.figure.palette import class_colours
from vizkit.figure.patches import beside
from vizkit.image import data_url
from vizkit.models import family_of, pixels_of
from vizkit.models.probes.positions import first_grid, logits_shuffled
from vizkit.traces import NotApplicable
from vizkit.views.blocks import (
    Answered,
    Bars,
    Block,
    Canvas,
    Columns,
    Heading,
    Job,
    Later,
    Line,
    Numbers,
    Picture,
    Said,
    Table,
    first_said,
)
from vizkit.views.controls import number, text
from vizkit.views.rules import RefusedError
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

KINDS = {True: "with its positions", False: "positions removed"}
SHOWN_CLASSES = 3
AT_ONCE = 10_000_000  # parameters; above, 48 passes take more than a few seconds and are made when wanted
LONGEST = 600  # characters of all swaps
PAIR = re.compile(r"([1-9]\d{0,5})-([1-9]\d{0,5})")
RGB = UInt8[np.ndarray, "_row _column 3"]
Order = Int[Tensor, " patch"]


@dataclass(frozen=True)
class Shuffle(View):
    """The same patches in another order, with and without positions: attention alone knows no order."""

    seed: int = number(
        "Order",
        0,
        999,
        1,
        "Each number is another random order of the patches; 0 leaves them as in the picture.",
        key="shuffle_seed",
        runs=True,
    )
    swaps: str = text(
        "Swaps",
        "",
        "Pairs of places that are exchanged, such as “12-57 3-4”, counted from 1 row by row.",
        key="shuffle_swaps",
        longest=LONGEST,
        runs=True,
        inside=True,
    )

    overlays: ClassVar = False
    how: ClassVar = How(
        "The same patches in another order: at random, or as you move them in the right picture. With its positions "
        "the model sees another image; without them a plain ViT cannot distinguish the two: its predictions stay "
        "exactly the same, right or wrong. Bars are the answers for the right picture, ticks those for the left one.",
        r"\mathrm{Attention}(\Pi X) = \Pi\,\mathrm{Attention}(X)",
        "how well a model trained without positions would do: this one was trained with them.",
        "Dosovitskiy et al. 2020, appendix D.4",
    )

    def title(self, of: Subject) -> str:
        return f"Patches {self.words()}"

    def words(self) -> str:
        swaps = len(PAIR.findall(self.swaps))
        parts = [f"shuffled, order {self.seed}"] if self.seed else []
        parts += [counted(swaps, "swap")] if swaps else []
        return ", ".join(parts) or "in order"

    def show(self, of: Subject) -> Iterator[Block]:
        grid = first_grid(of.loaded, of.loaded.preprocessing.size_hw)
        order = self.order(grid[0] * grid[1], of)
        yield self.pictures(of, grid, order)
        answers = {kind: answers_of(of, "own", [of.rgb], order, kind)[0] for kind in KINDS}
        loaded = of.loaded
        if loaded.head.probable:
            yield Said(self.remark(of, answers, order))
            yield Columns(tuple(bars(of, answers)))
            yield Answered(loaded)
        else:
            yield from values(of, answers)
        if loaded.head.exclusive and self.seed:
            yield over_samples(of, self.seed, len(order))
        yield Numbers(partial(numbers, answers, order))

    def order(self, count: int, of: Subject) -> Order:
        """Place i shows patch `order[i]`."""
        order = permutation(count, self.seed) if self.seed else torch.arange(count)
        for one, other in (map(int, pair) for pair in PAIR.findall(self.swaps)):
            if max(one, other) > count:
                raise NotApplicable(f"There is no place {max(one, other)}: {of.name} has {count} patches.")
            order[[one - 1, other - 1]] = order[[other - 1, one - 1]]
        return order

    def pictures(self, of: Subject, grid: tuple[int, int], order: Order) -> Canvas:
        """The model's input in order, and as it is now."""
        seen = of.seen_rgb
        moved = shuffle(torch.from_numpy(seen).permute(2, 0, 1), len(seen) // grid[0], order).permute(1, 2, 0)
        data = {
            "seen": data_url(seen),
            "rows": grid[0],
            "columns": grid[1],
            "ratio": seen.shape[0] / seen.shape[1],
            "order": order.tolist(),
            "swaps": self.swaps,
            "longest": LONGEST,
            "words": self.words(),
        }
        still = Picture(
            beside(seen, moved.numpy()), "The patches in order, and moved.", f"left in order, right {self.words()}"
        )
        return Canvas("vizkit_shuffle", data, still.alt, {"swaps": (pairs, "swaps")}, (still,))

    def remark(self, of: Subject, answers: Mapping[bool, Answers], order: Order) -> str:
        labels = [of.loaded.label(output) for output in range(len(answers[True].in_order))]
        moved = int((order != torch.arange(len(order))).sum())
        if not moved:
            return f"Nothing is moved, and the answer is “{labels[int(answers[True].in_order.argmax())]}”."
        others = ["windows and the merging of patches"] if family_of(of.loaded.model) == "swin" else []
        how = "Shuffled" if self.seed else f"With {counted(moved, 'patch', 'patches')} at other places"
        return positions.shuffled(answers[True], answers[False], labels, *others, moved=how).words


def pairs(told: object) -> str:
    """What the canvas may set the swaps to."""
    if not isinstance(told, str) or len(told) > LONGEST or not all(map(PAIR.fullmatch, told.split())):
        raise RefusedError
    return told


def answers_of(of: Subject, name: str, pictures: Sequence[RGB], order: Order, positioned: bool) -> list[Answers]:
    """What the model says of every picture in order, and with its patches moved. `name`: of the pictures, for what is
    kept."""
    in_order, moved = (
        of.kept(("shuffled", name, *each.tolist(), positioned), partial(logits_in, of, pictures, each, positioned))
        for each in (torch.arange(len(order)), order)
    )
    return [Answers(*logits) for logits in zip(in_order, moved, strict=True)]


def logits_in(of: Subject, pictures: Sequence[RGB], order: Order, positioned: bool) -> Tensor:
    """(picture, output)."""
    return logits_shuffled(of.loaded, torch.cat([pixels_of(of.loaded, rgb) for rgb in pictures]), order, positioned)


def over_samples(of: Subject, seed: int, count: int) -> Later:
    """On how many samples the first answer is another one after shuffling."""
    names, noun = samples_for(of.loaded.labels)

    def work(progress: Callable[[int, int], None]) -> list[list[Answers]]:
        pictures, both = [samples.picture(name) for name in names], []
        for done, kind in enumerate(KINDS):
            progress(done, len(KINDS))
            both.append(answers_of(of, "samples", pictures, permutation(count, seed), kind))
        return both

    def show(results: Mapping[Any, Any]) -> Iterator[Block]:
        for own, without in results.values():
            yield Said(first_said(positions.over_pictures(own, without, noun)))

    job = Job(("over samples", seed), f"Shuffling {len(names)} {noun}s", work)
    return Later(of, (job,), show, f"Also on {len(names)} {noun}s" if of.loaded.parameters > AT_ONCE else "")


def samples_for(labels: tuple[str, ...]) -> tuple[list[str], str]:
    """The samples that show a class of the model, or, where it knows none of them, the drawn insects; and what one of
    them is."""
    digits = [name for name in samples.names() if name.startswith("digit ") and name.removeprefix("digit ") in labels]
    insects = [name for name in samples.INSECTS if name in labels] or list(samples.INSECTS)
    return (digits, "digit") if digits else (insects, "drawn insect")


def bars(of: Subject, answers: Mapping[bool, Answers]) -> Iterator[tuple[Block, ...]]:
    """Every class that comes first somewhere, and the runner-up where that is one alone; one axis for all."""
    head, label = of.loaded.head, of.loaded.label
    firsts = [int(logits.argmax()) for kind in answers.values() for logits in (kind.in_order, kind.shuffled)]
    second = [output for output, _ in head.top(answers[True].in_order, 2)] if len(set(firsts)) == 1 else []
    classes = list(dict.fromkeys([*firsts, *second]))
    names, colours = [label(output) for output in classes], class_colours(classes, len(answers[True].in_order))
    for kind, name in KINDS.items():
        before, now = (
            head.values(logits)[classes].tolist() for logits in (answers[kind].in_order, answers[kind].shuffled)
        )
        drawn = ClassBars(names, now, colours, before, title="probability; ticks: in order")
        yield Heading(name.capitalize()), Bars(drawn, f"Probability of the first answers, {name}")


def values(of: Subject, answers: Mapping[bool, Answers]) -> Iterator[Block]:
    """What a model gives that has no classes."""
    head, label = of.loaded.head, of.loaded.label
    for kind, name in KINDS.items():
        orders = {"in order": answers[kind].in_order, "shuffled": answers[kind].shuffled}
        rows = tuple({"order": order, **dict(head.lines(each, label, SHOWN_CLASSES))} for order, each in orders.items())
        change = float((answers[kind].in_order - answers[kind].shuffled).abs().max())
        yield Table(rows, name.capitalize(), f"{name}: largest change of a {head.number} {change:.2g}")
    yield Line("A model without classes gives its own numbers.")


def numbers(answers: Mapping[bool, Answers], order: Order) -> dict[str, np.ndarray]:
    names = {True: "with_positions", False: "without_positions"}
    return {"order": order.numpy()} | {
        f"{names[kind]}_{which}": logits.numpy()
        for kind, each in answers.items()
        for which, logits in (("in_order", each.in_order), ("shuffled", each.shuffled))
    }
