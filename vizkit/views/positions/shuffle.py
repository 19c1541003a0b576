"""Shuffle: what happens if the order is lost? The same patches in another order, with and without positions."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import UInt8

from vizkit.analysis.attention.patches import grid_of, permutation, shuffle
from vizkit.analysis.remarks import positions
from vizkit.analysis.remarks.positions import Answers
from vizkit.datasets import samples
from vizkit.figure.charts import bars, paired_bars
from vizkit.figure.patches import beside
from vizkit.image import prepare, unprepare
from vizkit.models import family_of, pixels_of
from vizkit.models.probes.positions import first_grid, logits_shuffled
from vizkit.views.blocks import (
    Answered,
    Block,
    Chart,
    Columns,
    Job,
    Later,
    Line,
    Numbers,
    Picture,
    Said,
    Table,
    first_said,
)
from vizkit.views.controls import number
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

KINDS = {True: "with its positions", False: "positions removed"}
SHOWN_CLASSES = 3
AT_ONCE = 10_000_000  # parameters; above, 48 passes take more than a few seconds and are made when wanted
RGB = UInt8[np.ndarray, "_row _column 3"]


@dataclass(frozen=True)
class Shuffle(View):
    """The same patches in another order, with and without positions: attention alone knows no order."""

    seed: int = number(
        "Order", 1, 999, 1, "Each number is another order of the patches.", key="shuffle_seed", runs=True
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
        return f"Shuffled patches, order {self.seed}"

    def show(self, of: Subject) -> Iterator[Block]:
        yield Picture(self.both(of), "The patches in order, and shuffled", "left in order, right shuffled")
        answers = {kind: self.answers(of, [of.rgb], kind, "own")[0] for kind in KINDS}
        loaded = of.loaded
        if loaded.head.probable:
            labels = [loaded.label(output) for output in range(len(of.seen.logits))]
            yield Said(first_said(positions.shuffled(answers[True], answers[False], labels, *others(of))))
            yield Answered(loaded)
            yield Columns(tuple((chart,) for chart in charts(of, answers)))
        else:
            yield from values(of, answers)
        if loaded.head.exclusive:
            yield self.over_samples(of)
        yield Numbers(partial(numbers, answers))

    def both(self, of: Subject) -> RGB:
        """The model's input in order, and shuffled beside it."""
        preprocessing = of.loaded.preprocessing
        rows, columns = first_grid(of.loaded, preprocessing.size_hw)
        patch = preprocessing.size_hw[0] // rows
        grid_of(preprocessing.size_hw, patch)
        pixels = prepare(of.rgb, preprocessing)[0]
        image = shuffle(torch.from_numpy(pixels), patch, permutation(rows * columns, self.seed)).numpy()
        return beside(unprepare(pixels, preprocessing), unprepare(image, preprocessing))

    def answers(self, of: Subject, pictures: Sequence[RGB], positioned: bool, name: str) -> list[Answers]:
        """What the model says of every picture in order and shuffled. `name`: of the pictures, for what is kept."""
        in_order, shuffled = (
            of.kept(("shuffled", name, seed, positioned), partial(logits_in, of, pictures, seed, positioned))
            for seed in (None, self.seed)
        )
        return [Answers(*logits) for logits in zip(in_order, shuffled, strict=True)]

    def over_samples(self, of: Subject) -> Later:
        """On how many samples the first answer is another one after shuffling."""
        names = samples_for(of.loaded.labels)

        def work(progress: Callable[[int, int], None]) -> tuple[list[Answers], list[Answers]]:
            pictures = [samples.picture(name) for name in names]
            both = []
            for done, kind in enumerate(KINDS):
                progress(done, len(KINDS))
                both.append(self.answers(of, pictures, kind, "samples"))
            return both[0], both[1]

        def show(results: Mapping[Any, Any]) -> Iterator[Block]:
            for own, without in results.values():
                yield Said(first_said(positions.over_pictures(own, without)))
                changed = [float(sum(not each.kept for each in kind)) for kind in (own, without)]
                title = f"Another answer after shuffling, of {len(names)} samples"
                figure = bars(list(KINDS.values()), changed, "samples", title)
                figure.update_xaxes(range=[0, len(names)])
                yield Chart(figure, title)

        job = Job(("over samples", self.seed), f"Shuffling {len(names)} samples", work)
        return Later(of, (job,), show, f"Also on {len(names)} samples" if of.loaded.parameters > AT_ONCE else "")


def others(of: Subject) -> Iterator[str]:
    """What tells the order without positions, where that is known."""
    if family_of(of.loaded.model) == "swin":
        yield "which patches share a window and are merged tells"


def logits_in(of: Subject, pictures: Sequence[RGB], seed: int | None, positioned: bool) -> torch.Tensor:
    """(picture, output) after the patches were shuffled; `seed=None` leaves them in order."""
    pixels = torch.cat([pixels_of(of.loaded, rgb) for rgb in pictures])
    rows, columns = first_grid(of.loaded, of.loaded.preprocessing.size_hw)
    order = torch.arange(rows * columns) if seed is None else permutation(rows * columns, seed)
    return logits_shuffled(of.loaded, pixels, order, positioned)


def samples_for(labels: tuple[str, ...]) -> list[str]:
    """The samples that show a class of the model, or, where it knows none of them, the drawn insects."""
    known = set(labels)
    return [name for name in samples.names() if name.removeprefix("digit ") in known] or list(samples.INSECTS)


def charts(of: Subject, answers: Mapping[bool, Answers]) -> Iterator[Chart]:
    """Every class that comes first somewhere, and the runner-up where that is one alone; one axis for all."""
    head, label = of.loaded.head, of.loaded.label
    firsts = [int(logits.argmax()) for kind in answers.values() for logits in (kind.in_order, kind.shuffled)]
    second = [output for output, _ in head.top(answers[True].in_order, 2)] if len(set(firsts)) == 1 else []
    classes = list(dict.fromkeys([*firsts, *second]))
    for kind, name in KINDS.items():
        orders = {"in order": answers[kind].in_order, "shuffled": answers[kind].shuffled}
        shares = {order: head.values(logits)[classes].tolist() for order, logits in orders.items()}
        figure = paired_bars([label(output) for output in classes], shares, "probability", name.capitalize())
        figure.update_xaxes(range=[0, 1.04], tickvals=[0, 0.25, 0.5, 0.75, 1])
        yield Chart(figure, f"Probability of the first answers, {name}")


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
