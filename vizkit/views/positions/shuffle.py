"""Shuffle: what happens if the order is lost? The same patches in another order, with and without positions."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import UInt8

from vizkit.analysis.attention.patches import exchanged, patchify, permutation, shuffle
from vizkit.analysis.remarks import positions
from vizkit.analysis.remarks.positions import Answers
from vizkit.datasets import samples
from vizkit.figure.charts import bars
from vizkit.figure.class_bars import ClassBars
from vizkit.figure.palette import CLASSES
from vizkit.figure.patches import beside
from vizkit.image import data_url, prepare, unprepare
from vizkit.models import family_of, pixels_of
from vizkit.models.probes.positions import first_grid, logits_shuffled
from vizkit.views.blocks import (
    Answered,
    Bars,
    Block,
    Canvas,
    Chart,
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
from vizkit.views.rules import words
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

KINDS = {True: "with its positions", False: "positions removed"}
SHOWN_CLASSES = 3
AT_ONCE = 10_000_000  # parameters; above, 48 passes take more than a few seconds and are made when wanted
MOST_EXCHANGED = 400  # characters of the pairs that somebody has exchanged
RGB = UInt8[np.ndarray, "_row _column 3"]


@dataclass(frozen=True)
class Shuffle(View):
    """The same patches in another order, with and without positions: attention alone knows no order."""

    share: int = number(
        "Shuffled, %",
        0,
        100,
        100,
        "This share of the patches changes places; at 0 you exchange them yourself.",
        at=(0, 5, 10, 25, 50, 100),
        key="shuffle_share",
        runs=True,
    )
    seed: int = number(
        "Order", 1, 999, 1, "Each number is another order of the patches.", key="shuffle_seed", runs=True
    )
    swaps: str = text(
        "Exchanged",
        "",
        "Pairs of places that are exchanged afterwards, counted from 0 row by row: “0-17 5-9”.",
        longest=MOST_EXCHANGED,
        key="shuffle_swaps",
        runs=True,
        inside=True,
    )

    overlays: ClassVar = False
    how: ClassVar = How(
        "The same patches in another order. With its positions the model sees another image; without them a plain ViT "
        "cannot distinguish the two: its predictions stay exactly the same, right or wrong.",
        r"\mathrm{Attention}(\Pi X) = \Pi\,\mathrm{Attention}(X)",
        "how well a model trained without positions would do: this one was trained with them.",
        "Dosovitskiy et al. 2020, appendix D.4",
    )

    def title(self, of: Subject) -> str:
        by_hand = f", {len(self.pairs)} exchanged" if self.pairs else ""
        return f"Shuffled patches: {self.share} % in order {self.seed}{by_hand}"

    def show(self, of: Subject) -> Iterator[Block]:
        grid = first_grid(of.loaded, of.loaded.preprocessing.size_hw)
        before, order = self.order(grid[0] * grid[1], exchange=False), self.order(grid[0] * grid[1])
        answers = {kind: self.answers(of, [of.rgb], kind, "own", order)[0] for kind in KINDS}
        shuffled = Picture(shuffled_beside(of, order, grid), "Shuffled, and in order", "left shuffled, right in order")
        seen = of.seen_rgb
        patches = patchify(torch.from_numpy(seen).permute(2, 0, 1).float(), seen.shape[0] // grid[0])
        richest = (before == patches.std(1).argmax()).int().argmax()  # where the patch with the most in it stands
        data = {"seen": data_url(seen), "order": before.tolist(), "swaps": self.swaps, "at": int(richest)}
        yield Canvas(
            "vizkit_order",
            data | {"rows": grid[0], "columns": grid[1], "alone": False},
            f"The patches that {of.name} gets. Arrow keys choose a place, Enter a patch to exchange.",
            {"swaps": (words(MOST_EXCHANGED), "swaps")},
            (shuffled,),
        )
        loaded = of.loaded
        if loaded.head.probable:
            labels = [loaded.label(output) for output in range(len(of.seen.logits))]
            some = order.tolist() != list(range(len(order)))
            yield Said(
                first_said(positions.shuffled(answers[True], answers[False], labels, *others(of)))
                if some
                else f"In order the answer is “{labels[int(answers[True].in_order.argmax())]}”: exchange some patches."
            )
            yield Columns(tuple(probabilities(of, answers)))
            yield Line("Bars: as they stand here. Ticks: in order.")
            yield Answered(loaded)
        else:
            yield from values(of, answers)
        if loaded.head.exclusive and self.share:
            yield self.over_samples(of, grid)
        yield Numbers(partial(numbers, answers))

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Those that were exchanged by hand."""
        found = re.findall(r"(\d{1,5})-(\d{1,5})", self.swaps)
        return [(int(first), int(second)) for first, second in found]

    def order(self, count: int, *, exchange: bool = True) -> torch.Tensor:
        """Which patch stands at every place: some of them shuffled, then pairs exchanged."""
        shuffled = permutation(count, self.seed)[: round(count * self.share / 100)]
        order = torch.arange(count)
        order[shuffled.sort().values] = shuffled
        return exchanged(order, self.pairs) if exchange else order

    def answers(
        self, of: Subject, pictures: Sequence[RGB], positioned: bool, name: str, order: torch.Tensor
    ) -> list[Answers]:
        """What the model says of every picture in order and shuffled. `name`: of the pictures, for what is kept."""
        in_order, shuffled = (
            of.kept(
                ("shuffled", name, tuple(each.tolist()), positioned),
                partial(logits_in, of, pictures, each, positioned),
            )
            for each in (torch.arange(len(order)), order)
        )
        return [Answers(*logits) for logits in zip(in_order, shuffled, strict=True)]

    def over_samples(self, of: Subject, grid: tuple[int, int]) -> Later:
        """On how many samples the first answer is another one after shuffling, none exchanged by hand."""
        names, order = samples_for(of.loaded.labels), self.order(grid[0] * grid[1], exchange=False)

        def work(progress: Callable[[int, int], None]) -> tuple[list[Answers], list[Answers]]:
            pictures = [samples.picture(name) for name in names]
            both = []
            for done, kind in enumerate(KINDS):
                progress(done, len(KINDS))
                both.append(self.answers(of, pictures, kind, "samples", order))
            return both[0], both[1]

        def show(results: Mapping[Any, Any]) -> Iterator[Block]:
            for own, without in results.values():
                yield Said(first_said(positions.over_pictures(own, without)))
                changed = [float(sum(not each.kept for each in kind)) for kind in (own, without)]
                title = f"Another answer after shuffling, of {len(names)} samples"
                figure = bars(list(KINDS.values()), changed, "samples", title)
                figure.update_xaxes(range=[0, len(names)])
                yield Chart(figure, title)

        job = Job(("over samples", self.seed, self.share), f"Shuffling {len(names)} samples", work)
        return Later(of, (job,), show, f"Also on {len(names)} samples" if of.loaded.parameters > AT_ONCE else "")


def others(of: Subject) -> Iterator[str]:
    """What tells the order without positions, where that is known."""
    if family_of(of.loaded.model) == "swin":
        yield "which patches share a window and are merged tells"


def logits_in(of: Subject, pictures: Sequence[RGB], order: torch.Tensor, positioned: bool) -> torch.Tensor:
    """(picture, output) with the patches in this order."""
    return logits_shuffled(of.loaded, torch.cat([pixels_of(of.loaded, rgb) for rgb in pictures]), order, positioned)


def shuffled_beside(of: Subject, order: torch.Tensor, grid: tuple[int, int]) -> RGB:
    """The model's input shuffled, and in order beside it."""
    preprocessing = of.loaded.preprocessing
    pixels = prepare(of.rgb, preprocessing)[0]
    image = shuffle(torch.from_numpy(pixels), preprocessing.size_hw[0] // grid[0], order).numpy()
    return beside(unprepare(image, preprocessing), unprepare(pixels, preprocessing))


def samples_for(labels: tuple[str, ...]) -> list[str]:
    """The samples that show a class of the model, or, where it knows none of them, the drawn insects."""
    known = set(labels)
    return [name for name in samples.names() if name.removeprefix("digit ") in known] or list(samples.INSECTS)


def probabilities(of: Subject, answers: Mapping[bool, Answers]) -> Iterator[tuple[Block, ...]]:
    """Every class that comes first somewhere, and the runner-up where that is one alone; one axis for all."""
    head, label = of.loaded.head, of.loaded.label
    firsts = [int(logits.argmax()) for kind in answers.values() for logits in (kind.in_order, kind.shuffled)]
    second = [output for output, _ in head.top(answers[True].in_order, 2)] if len(set(firsts)) == 1 else []
    classes = list(dict.fromkeys([*firsts, *second]))
    for kind, name in KINDS.items():
        before, now = (
            head.values(logits)[classes].tolist() for logits in (answers[kind].in_order, answers[kind].shuffled)
        )
        bars = ClassBars(
            [label(output) for output in classes], now, CLASSES[: len(classes)], before, title="probability"
        )
        yield Heading(name.capitalize()), Bars(bars, f"Shuffled, {name}: probabilities; the tick: in order")


def values(of: Subject, answers: Mapping[bool, Answers]) -> Iterator[Block]:
    """What a model gives that has no classes."""
    head, label = of.loaded.head, of.loaded.label
    for kind, name in KINDS.items():
        rows = [
            dict(head.lines(logits, label, SHOWN_CLASSES))
            for logits in (answers[kind].in_order, answers[kind].shuffled)
        ]
        named = tuple({"order": order} | row for order, row in zip(("in order", "shuffled"), rows, strict=True))
        change = float((answers[kind].in_order - answers[kind].shuffled).abs().max())
        yield Table(named, name.capitalize(), f"{name}: largest change of a {head.number} {change:.2g}")
    yield Line("A model without classes gives its own numbers.")


def numbers(answers: Mapping[bool, Answers]) -> dict[str, np.ndarray]:
    names = {True: "with_positions", False: "without_positions"}
    return {
        f"{names[kind]}_{order}": logits.numpy()
        for kind, each in answers.items()
        for order, logits in (("in_order", each.in_order), ("shuffled", each.shuffled))
    }
