"""Shuffle: what happens if the order is lost? The same patches in another order, with and without positions."""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from math import prod
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from vizkit.analysis.attention.patches import exchanged, patchify, permutation, shuffle
from vizkit.analysis.remarks import positions
from vizkit.analysis.remarks.positions import Answers
from vizkit.analysis.remarks.remark import counted
from vizkit.datasets import photographs, samples
from vizkit.figure.class_bars import Axis, ClassBars
from vizkit.figure.palette import OTHERS, class_colours
from vizkit.figure.patches import beside
from vizkit.image import Pixels, data_url
from vizkit.models import family_of, pixels_of
from vizkit.models.probes.positions import first_grid, logits_shuffled
from vizkit.traces import NotApplicable
from vizkit.views.blocks import (
    Answered,
    Bars,
    Blocks,
    Canvas,
    Heading,
    Hint,
    Job,
    Later,
    Numbers,
    Picture,
    Said,
    Table,
    first_said,
    side_by_side,
)
from vizkit.views.compare.images import truth_of
from vizkit.views.controls import number, text
from vizkit.views.rules import words
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

KINDS = {True: "with its positions", False: "positions removed"}
AT_ONCE = 10_000_000  # parameters; above, 48 passes take more than a few seconds and are made when wanted
MOST_EXCHANGED = 400  # characters of the pairs that somebody has exchanged
PAIR = re.compile(r"\b([1-9]\d{0,4})-([1-9]\d{0,4})\b")
Order = Int[Tensor, " patch"]


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
        "Pairs of places that are exchanged afterwards, counted from 1 row by row: “1-18 6-10”.",
        longest=MOST_EXCHANGED,
        key="shuffle_swaps",
        runs=True,
        inside=True,
    )

    overlays = False
    how = How(
        "The same patches in another order. With its positions the model sees another image; without them a plain ViT "
        "cannot distinguish the two: its predictions stay exactly the same, right or wrong.",
        r"\mathrm{Attention}(\Pi X) = \Pi\,\mathrm{Attention}(X)",
        "how well a model trained without positions would do: this one was trained with them.",
        "Dosovitskiy et al. 2020, appendix D.4",
    )

    def title(self, of: Subject) -> str:
        by_hand = f", {len(self.pairs)} exchanged" if self.pairs else ""
        return f"Shuffled patches: {self.share} % in order {self.seed}{by_hand}"

    def show(self, of: Subject) -> Blocks:
        answers = self.both(of)
        if of.loaded.head.bounded:
            yield Said(self.remark(of, answers))
        yield Hint("Drag a patch onto another to exchange the two.")
        yield side_by_side([self.pictures(of), Answered(of.loaded)], self.answered(of, answers), widths=(3, 2))
        if of.loaded.head.exclusive and self.share:
            yield self.over_samples(of)
        yield Numbers(partial(numbers, answers, self.order(of)))

    def pictures(self, of: Subject) -> Canvas:
        """The model's input as it is now, and in order."""
        (rows, columns), before, seen = grid_of(of), self.order(of, exchange=False), of.seen_rgb
        pixels, patch = torch.from_numpy(seen).permute(2, 0, 1), seen.shape[0] // rows
        richest = (before == patchify(pixels.float(), patch).std(1).argmax()).int().argmax()  # where it stands now
        data = {
            "seen": data_url(seen),
            "order": before.tolist(),
            "swaps": self.swaps,
            "at": int(richest),
            "rows": rows,
            "columns": columns,
            "alone": self.staged,
        }
        moved = beside(shuffle(pixels, patch, self.order(of)).permute(1, 2, 0).numpy(), seen)
        return Canvas(
            "vizkit_order",
            data,
            f"The patches that {of.name} gets. Arrow keys choose a place, Enter a patch to exchange.",
            {"swaps": (words(MOST_EXCHANGED), "swaps")},
            (Picture(moved, "Shuffled, and in order", "left shuffled, right in order"),),
        )

    def answered(self, of: Subject, answers: Mapping[bool, Answers]) -> Blocks:
        """The answers with and without positions."""
        head = of.loaded.head
        axis, below = Axis(percent=head.probable), f"{head.quantity}; the tick: in order"
        shown = self.classes(of) if head.bounded else []
        for kind, name in KINDS.items():
            before, now = vars(answers[kind]).values()
            yield Heading(name.capitalize())
            if shown:
                was, values = (head.values(logits)[shown].tolist() for logits in (before, now))
                names, tints = [of.loaded.label(output) for output in shown], self.tints(of, shown)
                if kind and of.loaded.own is not None:
                    other, alike = most_alike(of)
                    names, tints = [*names, f"of another photograph, {other}, in order"], [*tints, OTHERS]
                    was, values = [*was, alike], [*values, alike]
                bars = ClassBars(names, values, tints, was, axis, title="" if kind else below)
                yield Bars(bars, f"Shuffled, {name}: {below}")
            else:
                rows = (dict(head.lines(each, of.loaded.label, 3)) for each in (before, now))
                named = ({"order": order} | row for order, row in zip(("in order", "shuffled"), rows, strict=True))
                change = float((before - now).abs().max())
                yield Table(tuple(named), name, f"{name}: largest change of a {head.number} {change:.2g}")

    def remark(self, of: Subject, answers: Mapping[bool, Answers]) -> str:
        """What the order is worth with positions and without."""
        order, head = self.order(of), of.loaded.head
        moved = int((order != torch.arange(len(order))).sum())

        def named(logits: Tensor) -> str:
            label, value = head.lines(logits, of.loaded.label, 1)[0]
            return f"“{label}” ({value})"

        if not moved:
            answer = f": the answer is {named(answers[True].in_order)}" if head.probable else ""
            return f"All patches are in order{answer}."
        swin = family_of(of.loaded.model) == "swin"
        how = {"others": "windows and the merging of patches"} if swin else {}
        if not self.share:
            how["when"] = f"{counted(moved, 'patch', 'patches')} stand at other places"
        if not head.probable:
            own, without = (
                [head.text(float(head.values(logits)[0])) for logits in vars(answers[kind]).values()] for kind in KINDS
            )
            said = positions.shuffled_value(of.loaded.label(0), (own[0], own[1]), (without[0], without[1]), **how)
            if of.loaded.own is None:
                return said
            other, alike = most_alike(of)
            return f"{said} The most similar of the other photographs, {other}, has {head.text(alike)}."
        truth = truth_of(of.image)
        known = truth if truth in of.loaded.labels else ""
        return positions.shuffled(answers[True], answers[False], named, known, **how)

    def classes(self, of: Subject) -> list[int]:
        """Every class that comes first somewhere, and the runner-up where that is one alone."""
        answers = self.both(of)
        head = of.loaded.head
        firsts = {head.target(logits): 0 for kind in answers.values() for logits in vars(kind).values()}
        second = head.top(answers[True].in_order, 2) if len(firsts) == 1 else []
        return [*(firsts | dict(second))]

    def tints(self, of: Subject, shown: list[int]) -> list[str]:
        """The colours of these classes, also on the cards of models beside it that know the same."""
        every: dict[int, None] = {}
        for each in sorted((of, *of.beside), key=lambda each: each.name):
            with suppress(NotApplicable):
                every |= dict.fromkeys(self.classes(each) if each.loaded.labels == of.loaded.labels else [])
        colours = dict(zip(every, class_colours([*every], len(of.seen.logits)), strict=True))
        return [colours[output] for output in shown]

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Those that were exchanged by hand, counted from 0."""
        return [(int(first) - 1, int(second) - 1) for first, second in PAIR.findall(self.swaps)]

    def order(self, of: Subject, *, exchange: bool = True) -> Order:
        """Which patch stands at every place: some of them shuffled, then pairs exchanged."""
        count = prod(grid_of(of))
        shuffled = permutation(count, self.seed)[: round(count * self.share / 100)]
        order = torch.arange(count)
        order[shuffled.sort().values] = shuffled
        return exchanged(order, self.pairs) if exchange else order

    def both(self, of: Subject) -> dict[bool, Answers]:
        """The answers to the image, with and without positions."""
        return {kind: answers_of(of, [of.rgb], kind, "own", self.order(of))[0] for kind in KINDS}

    def over_samples(self, of: Subject) -> Later:
        """On how many samples the first answer is another one after shuffling, none exchanged by hand."""
        names, order = samples_for(of.loaded.labels), self.order(of, exchange=False)
        noun = "digit" if names[0].startswith("digit") else "drawn insect"

        def work(progress: Callable[[int, int], None]) -> list[list[Answers]]:
            pictures, both = [samples.picture(name) for name in names], []
            for done, kind in enumerate(KINDS):
                progress(done, len(KINDS))
                both.append(answers_of(of, pictures, kind, "samples", order))
            return both

        def show(results: Mapping[Any, Any]) -> Blocks:
            for own, without in results.values():
                yield Said(first_said(positions.over_pictures(own, without, noun)))

        job = Job(("over samples", self.seed, self.share), f"Shuffling {len(names)} {noun}s", work)
        return Later(of, (job,), show, f"Also on {len(names)} {noun}s" if of.loaded.parameters > AT_ONCE else "")


def grid_of(of: Subject) -> tuple[int, int]:
    return first_grid(of.loaded, of.loaded.preprocessing.size_hw)


def most_alike(of: Subject) -> tuple[str, float]:
    """Of a model without classes the other photograph whose embedding is most like that of this image, and how like:
    what a likeness means is seen beside it."""

    def likenesses() -> dict[str, float]:
        others = {name: of.pictured(name).embedding for name in photographs.NAMES if name != of.image}
        return {name: float(torch.cosine_similarity(of.embedding, each, dim=0)) for name, each in others.items()}

    found = of.kept("likeness of other photographs", likenesses)
    return max(found.items(), key=lambda each: each[1])


def answers_of(of: Subject, pictures: Sequence[Pixels], positioned: bool, name: str, order: Order) -> list[Answers]:
    """What the model says of every image in order and shuffled. `name`: of the images, for what is kept."""

    def logits(order: Order) -> Tensor:
        return logits_shuffled(of.loaded, torch.cat([pixels_of(of.loaded, rgb) for rgb in pictures]), order, positioned)

    both = (
        of.kept(("shuffled", name, tuple(each.tolist()), positioned), partial(logits, each))
        for each in (torch.arange(len(order)), order)
    )
    return [Answers(*each) for each in zip(*both, strict=True)]


def samples_for(labels: tuple[str, ...]) -> list[str]:
    """The samples that show a class of the model, or, where it knows none of them, the drawn insects."""
    return [name for name in samples.names() if name.removeprefix("digit ") in {*labels}] or list(samples.INSECTS)


def numbers(answers: Mapping[bool, Answers], order: Order) -> dict[str, Tensor]:
    """Logits, and which patch stands at every place, counted from 0."""
    return {"order": order} | {
        f"{'with' if kind else 'without'}_positions_{which}": logits
        for kind in KINDS
        for which, logits in vars(answers[kind]).items()
    }
