"""Map: all images of a set as points, those beside one another that the model holds for alike."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np

from vizkit.analysis.remarks.data_set import ceiling, counted_right, on_the_map
from vizkit.analysis.remarks.data_set import chosen as of_chosen
from vizkit.analysis.remarks.data_set import probed as of_probed
from vizkit.analysis.remarks.remark import percent
from vizkit.datasets.planted import MARK
from vizkit.evaluation.data_set.embedding import NEAREST, Embedding, embedding, nearest
from vizkit.evaluation.data_set.probing import Probed, probe
from vizkit.evaluation.data_set.record import Recorded
from vizkit.figure.evaluation.points import Colouring, by_kind, by_number, chosen_of, middles, packed, scatter
from vizkit.figure.palette import CLASSES, MARKS
from vizkit.traces import NotApplicable
from vizkit.views.blocks import (
    Block,
    Blocks,
    Canvas,
    Chart,
    Download,
    Folded,
    Heading,
    Line,
    Numbers,
    Said,
    ToReport,
    side_by_side,
)
from vizkit.views.controls import choice, number, text
from vizkit.views.data_set.recorded import (
    AT_ONCE,
    PLANTED,
    OfData,
    Progress,
    Step,
    answer_of,
    described,
    grid,
    read_so,
)
from vizkit.views.evaluate.measured import ends
from vizkit.views.rules import words
from vizkit.views.subject import Subject
from vizkit.views.view import How
from vizkit.writing import csv_rows

SPACES = {"features": "features", "maps": "where it looked"}
# One after another: t-SNE takes seconds.
LAID: dict[str, tuple[Literal["tsne", "pca"], ...]] = {"tsne": ("pca", "tsne"), "pca": ("pca",)}
LAYOUTS = {"tsne": "t-SNE", "pca": "PCA"}
COLOURS = {"error": "right or wrong", "label": "label", "answer": "answer", "confidence": "confidence"}
JUDGED = ("right", "wrong", "right, with the planted mark", "wrong, with the planted mark")
MARKED = "#f3a6e4", "#{:02x}{:02x}{:02x}".format(*MARK)
ISLAND = "planted mark"
WORST = 10
HEAD = "Is it worth training the head anew?"
LONGEST = 4000  # characters of what is chosen


def pages(of: Sequence[Subject], view: "Plane") -> int:
    found = view.made(of[0]) if of else None
    return max(1, -(-len(chosen_of(view.chosen, len(found) if found else 0)) // AT_ONCE))


class Plane(OfData):
    """Which images the model represents alike, and which of them it gets wrong."""

    colour: Literal["error", "label", "answer", "confidence"] = choice(
        "Colour",
        tuple(COLOURS),
        "Right or wrong: where no label is known to the model, the label instead.",
        words=COLOURS,
        key="data_colour",
        listed=True,
    )
    space: Literal["features", "maps"] = choice(
        "Near by",
        tuple(SPACES),
        "Features: what the last layer reads. Where it looked: the relevance maps.",
        words=SPACES,
        key="data_space",
    )
    layout: Literal["tsne", "pca"] = choice(
        "Layout",
        tuple(LAYOUTS),
        "t-SNE keeps neighbours together, and only them; PCA keeps large distances.",
        words=LAYOUTS,
        key="data_layout",
        more=True,
    )
    page: int = number(
        "Page of images", 1, pages, 1, follows=True, key="data_page", when=lambda view: bool(view.chosen)
    )
    chosen: str = text(
        "Chosen", "", "Images by their numbers from 1, such as 3 7 12-15.", longest=LONGEST, key="chosen", inside=True
    )

    how = How(
        "Each point is an image; near ones are alike to the model. Draw around some, or click one, and they stand "
        "beside the map with where the model looked. Trustworthiness is 1 where no neighbour on the map is a stranger "
        "in the space that it is made of, and about ½ of a map drawn at random. t-SNE draws clusters of noise too: "
        "only what also differs in the numbers below the map is to be believed.",
        r"p_{j|i} \propto e^{-\lVert x_i - x_j\rVert^2 / 2\sigma_i^2}, \quad q_{ij} \propto (1 + \lVert y_i - y_j"
        r"\rVert^2)^{-1}, \quad \min_y \mathrm{KL}(P \,\|\, Q)",
        "how far clusters lie from one another, or how large they are: in a t-SNE both mean nothing.",
        "van der Maaten & Hinton 2008; Poličar et al. 2024 (openTSNE); trustworthiness: Venna & Kaski 2001",
    )

    def leads(self, block: Block) -> bool:
        """Alone the map, or of chosen images these."""
        return isinstance(block, Canvas) and block.script == ("vizkit_evaluated" if self.chosen else "vizkit_points")

    def title(self, of: Subject) -> str:
        if self.staged and self.chosen:
            return f"{self.called(of)}: images chosen on the map"
        return f"{self.called(of)}: images near by {SPACES[self.near(of)]}, {LAYOUTS[self.layout]}"

    def show(self, of: Subject) -> Blocks:
        planes = [
            Step(("plane", self.near(of), how), "Laying the map", partial(self.placed, of, how), how != self.layout)
            for how in LAID[self.layout]
        ]

        def shown(found: Recorded, *made: Any) -> Blocks:
            laid, probed = made[: len(planes)], next(iter(made[len(planes) :]), None)
            yield from self.drawn(of, found, laid[-1] or laid[0], probed)
            if laid[0] and not laid[-1]:
                yield Line("Laid by principal components until t-SNE is done.")

        probing = () if self.run(of) else (Step(("probe",), "Probing its features", self.probed),)
        yield from self.later(of, shown, *planes, *probing)

    def near(self, of: Subject) -> Literal["features", "maps"]:
        """What was explained has no features."""
        return "maps" if self.run(of) else self.space

    def placed(self, of: Subject, layout: Literal["tsne", "pca"], found: Recorded, progress: Progress) -> Embedding:
        return embedding(found, self.near(of), layout)

    def probed(self, found: Recorded, progress: Progress) -> Probed | str:
        """Or why there is none."""
        try:
            return probe(found)
        except NotApplicable as sentence:
            return str(sentence)

    def drawn(
        self, of: Subject, found: Recorded, plane: Embedding | None, probed: Probed | str | None = None
    ) -> Blocks:
        if plane is None:
            return
        rows = chosen_of(self.chosen, len(found))
        known, right = int(found.known.sum()), int(found.right.sum())
        near = plane.purity, plane.chance, SPACES[self.near(of)]
        if self.near(of) == "maps":
            first: dict[str, Any] = {"marked": alike_by_mark(found, plane)}
        else:
            first = {"surest": sharing(found, surest(found)[:AT_ONCE])}
        said = on_the_map(found.model, right, known, *near, classifies=found.classifies, **first)
        yield Said(of_chosen(*mistakes(found, rows)) if rows else said)
        yield side_by_side(self.points(found, plane, rows), self.beside(of, found, rows), widths=(3, 2))
        trained = found.known & (found.splits == "train") & (self.data == PLANTED)
        planted = sum(fault.label is not None for fault in found.faults) if known else 0
        if counts := counted_right(right, known, planted, (int(found.right[trained].sum()), int(trained.sum()))):
            yield Line(counts)
        if probed is not None:  # by other labels where some were planted: not beside the sentence
            yield Folded(HEAD, lambda: [Line(told(found, probed))])
        yield from self.notes(found)
        yield Numbers(
            lambda: {"xy": np.nan_to_num(plane.xy), "label": found.target, "answer": found.answer, "chosen": rows}
        )
        yield Download("All images (CSV)", partial(table, found, plane))

    def points(self, found: Recorded, plane: Embedding, rows: Sequence[int]) -> Blocks:
        mark = middles(plane.xy, marked_in(found).astype(int), ("", ISLAND))
        coloured, groups = colouring(found, self.colour), middles(plane.xy, found.target, found.labels)
        groups = {name: at for name, at in mark.items() if name} | groups
        said = [described(found, row) for row in range(len(found))]
        yield Canvas(
            "vizkit_points",
            packed(plane.xy, found.thumbnails, coloured, found.keys, said, self.chosen, groups),
            f"{len(found):,} images, coloured by {COLOURS[self.colour]}",
            {"chosen": (words(LONGEST), "chosen")},
            still=(
                Chart(
                    scatter(plane.xy, coloured, LAYOUTS[self.layout], rows, groups),
                    f"{len(found):,} images as points",
                ),
            ),
        )
        same, before, chance = map(percent, (plane.purity, plane.purity_before, plane.chance))
        yield Line(
            f"Trustworthiness {plane.trustworthiness:.2f} of 1. Of the 10 nearest on the map {same} have the label; "
            f"in the space itself {before}, by chance {chance}."
        )

    def beside(self, of: Subject, found: Recorded, rows: Sequence[int]) -> Blocks:
        """The chosen images; without any the surest errors, or else the least sure answers."""
        what, first = "Least sure answers", np.argsort(found.probability, kind="stable")
        if not found.classifies:
            what, first = "Least like the others of their label", np.argsort(found.typical, kind="stable")
        if rows:
            at = AT_ONCE * (min(self.page, -(-len(rows) // AT_ONCE)) - 1)
            part = rows[at : at + AT_ONCE]
            what, first = f"Chosen: {at + 1} to {at + len(part)} of {len(rows)}", np.array(part)
        elif len(wrong := surest(found)):
            what, first = "Surest errors", wrong
        yield Heading(what)
        yield from grid(of, found, first.tolist(), f"{what}: images, and where the model looked")
        yield from read_so(found, first[:AT_ONCE].tolist())
        if not rows:
            worst = " ".join(str(row + 1) for row in first[:WORST].tolist())
            yield ToReport("The ten worst to the report", replace(self, chosen=worst))


def surest(found: Recorded) -> np.ndarray:
    """Rows whose answer is wrong, the surest first."""
    order = np.argsort(found.probability, kind="stable")[::-1]
    return order[(found.known & ~found.right)[order]]


def sharing(found: Recorded, rows: np.ndarray) -> tuple[int, str, int, int]:
    """Of errors (how many there are, their most frequent answer, how many have it, how many of those a mark)."""
    if not len(rows):
        return 0, "", 0, 0
    most = np.bincount(found.answer[rows]).argmax()
    same = rows[found.answer[rows] == most]
    return len(rows), answer_of(found, int(same[0])), len(same), sum(found.faults[row].marked for row in same)


def marked_in(found: Recorded) -> np.ndarray:
    return np.array([fault.marked for fault in found.faults])


def alike_by_mark(found: Recorded, plane: Embedding) -> tuple[int, float]:
    """How many images on the map have a planted mark, and of the nearest to one of them which share has it too."""
    placed = np.isfinite(plane.xy).all(1)
    marked = marked_in(found)[placed]
    near = nearest(plane.xy[placed], NEAREST)
    return int(marked.sum()), float(marked[near[marked]].mean()) if marked.any() else 0.0


def colouring(found: Recorded, what: str) -> Colouring:
    """A class has one colour as a label and as an answer; of very many the most frequent labels have one each. Where no
    answer is right or wrong, the labels."""
    if what == "error" and found.classifies and found.known.any():
        judged = np.where(found.known, ~found.right + 2 * marked_in(found), -1)
        return by_kind(judged, JUDGED, "", (*MARKS.values(), *MARKED))
    if what in ("answer", "confidence") and not found.classifies:
        raise NotApplicable(f"{found.model} gives features, not classes: colour the points by their labels.")
    if what == "confidence":
        return by_number(100 * found.probability, "confidence", "{:.0f} %")
    names = [*found.classes, *(label for label in found.labels if label not in found.classes)]
    place = {name: at for at, name in enumerate(names)}
    label = np.array([place[found.labels[target]] for target in found.target])
    label = np.where(found.known, found.truth, label)  # the colour of a class is that of its label
    if len(names) > len(CLASSES):
        counts = np.bincount(label, minlength=len(names))
        rank = np.argsort(-counts, kind="stable")
        names, back = [names[at] for at in rank], np.argsort(rank)
    else:
        back = np.arange(len(names))
    if what == "answer":
        return by_kind(back[found.answer], names, what)
    return by_kind(back[label], names, "label")


def told(found: Recorded, probed: Probed | str) -> str:
    """What frozen features tell of the labels, beside the model's own answers; of labels that are planted wrong, what
    they leave to be right."""
    if isinstance(probed, str):
        return probed
    own = ends(probed.model) if probed.model else None
    said = of_probed(probed.knn.value, probed.linear.value, own, probed.chance, len(probed.rows))
    planted = sum(found.faults[row].label is not None for row in probed.rows.tolist())
    return f"{said} {ceiling(planted, len(probed.rows))}" if planted else said


def mistakes(found: Recorded, rows: Sequence[int]) -> tuple[int, int, list[tuple[str, str]]]:
    wrong = [row for row in rows if found.known[row] and not found.right[row]]
    return len(wrong), len(rows), [(found.labels[found.target[row]], answer_of(found, row)) for row in wrong]


def table(found: Recorded, plane: Embedding) -> bytes:
    rows = (
        {
            "picture": found.keys[row],
            "label": found.labels[found.target[row]],
            "answer": answer_of(found, row),
            "probability": float(found.probability[row]) if found.classifies else None,
            "x": float(plane.xy[row, 0]),
            "y": float(plane.xy[row, 1]),
        }
        for row in range(len(found))
    )
    return csv_rows(rows).encode()
