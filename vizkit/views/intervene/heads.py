"""Heads: what every head does and what the answers lose without it, over many images."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from vizkit.analysis.attention.attention_map import attention_map, head_map, layers
from vizkit.analysis.attention.head_atlas import HeadAtlas, table
from vizkit.analysis.attention.head_importance import (
    EXAMPLES,
    HeadImportance,
    grid_of,
    matters_most,
    not_chance,
    rank_correlation,
)
from vizkit.analysis.attention.pruning import Pruning, band, still
from vizkit.analysis.remarks.interventions import of_behaviour, of_heads, of_pruning
from vizkit.datasets import samples
from vizkit.figure.attention.head_grid import head_grid
from vizkit.figure.overlay import overlay
from vizkit.figure.scales import SHARES
from vizkit.figure.sequences.repeated import Repeated, repeated_lines
from vizkit.heads import LIKENESS_IN_WORDS
from vizkit.image import RGB, unprepare
from vizkit.models import families, pixels_of
from vizkit.traces import NotApplicable
from vizkit.views.blocks import (
    Blocks,
    Chart,
    Columns,
    Download,
    Folded,
    Heading,
    Hint,
    Job,
    Later,
    Line,
    Link,
    Numbers,
    Picture,
    Said,
    Table,
    first_said,
)
from vizkit.views.controls import choice
from vizkit.views.intervene.heads_known import (
    BEHAVIOURS,
    IMAGES,
    IMPORTANCE,
    PRUNING,
    WITHOUT,
    data_for,
    first_kind,
    known_of,
    measured,
    measured_here,
    names_of,
    pruned,
    rows_of,
    shipped,
    values_of,
)
from vizkit.views.intervene.steer import set_for
from vizkit.views.intervene.switches import Switches
from vizkit.views.subject import OfModel, Subject
from vizkit.views.view import How, View
from vizkit.writing import csv_of

if TYPE_CHECKING:
    from torch import Tensor

SIDE_PX = 160
MIDDLE = (0.5, 0.5)
LARGEST = "the largest"
ORDERS = {"measured": "least important first", "estimate": "by the gradient's estimate", "random": "at random"}
ANSWERS = {"own": "its own answers", "right": "right answers"}
ENOUGH = 0.9


@dataclass(frozen=True)
class What:
    """What is shown of every head: its name in the list and in the address, and a line with its unit."""

    name: str
    line: str
    unit: str = "share"


WHATS = {
    "lost": What("what the answer loses", "log p that the answer loses without the head", "nats"),
    "flipped": What("answers flipped", "share of images whose answer becomes another"),
    "estimate": What("gradient's estimate", "the gradient's estimate |∂ log p / ∂ξ|", "nats"),
    "distance": What("how far it looks", "distance from a patch to what it attends to", "patches"),
    "entropy": What("how evenly it looks", "entropy of the weights, H / log N"),
    "own": What("own patch", "weight of a patch on itself"),
    "neighbours": What("neighbours", "weight of a patch on the 8 around it"),
    "row": What("same row", "weight of a patch on the others of its row"),
    "column": What("same column", "weight of a patch on the others of its column"),
    "border": What("border", "weight of a patch on the border of the image"),
    "colour": What("same colour", "weight of a patch on the quarter nearest in colour", "× chance"),
    "class": What("class token", "weight of a patch on the class token"),
    "registers": What("registers", "weight of a patch on the registers"),
}


LIKENESS_LOST = What("what the answer loses", f"fall of the {LIKENESS_IN_WORDS} without the head", "cosine")


def known(of: Sequence[Subject]) -> list[str]:
    """What can be shown of all these models."""
    names = [*WHATS]
    for each in of:
        atlas = shipped(each.loaded.name)
        names = [name for name in names if atlas is None or values_of(atlas, name, first_kind(atlas)) is not None]
        names = known_of(each.loaded, names)
    return names


def kinds(of: Sequence[Subject]) -> list[str]:
    atlases = [atlas for each in of if (atlas := shipped(each.loaded.name)) is not None]
    return [kind for kind in WITHOUT if all(kind in atlas.importance for atlas in atlases)]


def heads_of(of: Sequence[Subject]) -> list[str]:
    names = (name for each in of for name in names_of(each))
    return [LARGEST, *dict.fromkeys(f"{layer + 1}.{head + 1}" for layer, head in names)]


class Heads(View):
    """What each head looks at, and what the answers lose without it."""

    what: str | None = choice(
        "Of every head",
        known,
        words={name: each.name for name, each in WHATS.items()},
        key="heads_what",
        listed=True,
        runs=True,
    )
    without: str | None = choice(
        "In its place",
        kinds,
        "What a head gives that is taken away: its mean over other images, or nothing.",
        words=WITHOUT,
        key="heads_without",
        when=lambda view: view.what in (None, *IMPORTANCE),
        runs=True,
    )
    share: Literal["own", "right"] = choice(
        "Share of",
        tuple(ANSWERS),
        "What stays, when more and more heads go.",
        words=ANSWERS,
        key="heads_answers",
        more=True,
    )
    head: str = choice(
        "Head",
        heads_of,
        "The one whose images are shown, as layer.head.",
        default=LARGEST,
        key="head",
        inside=True,
        runs=True,
    )

    alone = True
    overlays = False
    how = How(
        "A cell is a head; click it for its images. How far it looks is the mean distance from a patch to the patches "
        "that it attends to, by their weights; the other numbers of where it looks are made of the same weights. What "
        "the answer loses: taken away, a head gives its mean over other images, or nothing; below zero the answer "
        "gets surer, and a model without classes loses likeness, the cosine of each image's embedding with its own. "
        "Loss in brackets may be chance. The estimate needs one backward pass for all heads instead of one for each.",
        r"d_h = \mathbb{E}_i \sum_j A^h_{ij} \lVert x_i - x_j \rVert, \quad "
        r"I_h = \mathbb{E}_x\left[\log p(x) - \log p(x; \xi_h = 0)\right], \quad "
        r"\hat I_h = \mathbb{E}_x \left| \frac{\partial \log p}{\partial \xi_h} \right|",
        "pairs of heads that do the same: either can go, not both. Where patches look says nothing of the class token, "
        "which alone counts in the last layer.",
        "Michel et al. 2019; Voita et al. 2019; Wang et al. 2022",
    )

    def title(self, of: Subject) -> str:
        return f"Heads: {self.shown(of).line}"

    def of_heads(self, of: Subject) -> str:
        return self.what or known([of])[0]

    def shown(self, of: Subject) -> What:
        what = self.of_heads(of)
        return WHATS[what] if of.loaded.classifies or what != "lost" else LIKENESS_LOST

    def kind(self, of: Subject) -> str:
        return self.without or kinds([of])[0]

    def show(self, of: Subject) -> Blocks:
        if not names_of(of):
            raise NotApplicable(f"{of.seen.no_attention}: there is no head.")
        if (atlas := shipped(of.loaded.name)) is not None:
            yield from self.drawn(of, atlas)
            return
        what = self.of_heads(of)
        kind = self.kind(of) if what in IMPORTANCE else BEHAVIOURS
        kept = rows_of(of, kind)
        often = "each once" if kind == BEHAVIOURS else "once for every head"
        data, images = data_for(of, kind)
        words = f"{images} {images_in(data)} go through {of.name}, {often}"
        job = Job(OfModel(("heads", kind)), words, partial(measured, kept))
        done = kept.done
        if done < images and of.find(job.key) is None:
            yield Line(f"{words}.")
        asked = f"Go on after {done} images" if done else f"Measure on {images} images"
        button = "" if kind == BEHAVIOURS else asked  # one pass for each image begins by itself
        yield Later(of, (job,), lambda _: self.drawn(of, measured_here(of, kind)) if kept.done else (), button)

    def drawn(self, of: Subject, atlas: HeadAtlas) -> Blocks:
        what, kind = self.of_heads(of), self.kind(of)
        values = values_of(atlas, what, kind)
        if values is None:
            raise NotApplicable(f"{of.name} has no {self.shown(of).name}.")
        importance = atlas.importance.get(kind) if what in IMPORTANCE else None
        shown, index = self.shown(of), self.chosen(atlas, values, importance)
        told = not_chance(importance.lost, importance.half) if importance and what == "lost" else ()
        chance = {name for name, sure in zip(atlas.names, told, strict=False) if not sure}
        figure = head_grid(
            grid_of(atlas.names, values),
            signed=what == "lost",
            share=shown.unit == "share",
            chosen=atlas.names[index],
            chance=chance,
            quantity=f"{shown.line}, {shown.unit}",
        )
        images = importance.images if importance else atlas.images
        grid = Chart(figure, f"{shown.line}, by layer and head; click a head", picks="head")
        most = images if shipped(of.loaded.name) else data_for(of, kind if importance else BEHAVIOURS)[1]
        so_far = f"{images}" if images >= most else f"the first {images} of {most}"
        brackets = " In brackets: may be chance." if chance else ""
        strange = (
            "" if set_for(of.loaded) == atlas.data else f" It is measured on {atlas.data}, which it did not learn."
        )
        few = Line(f"Mean of {so_far} {images_in(atlas.data)}.{brackets}")
        yield Said(f"{sentence(atlas, what, kind, values)}{strange}")
        yield Columns(
            ((grid, few, Hint("Click a head for its images.")), tuple(self.examples(of, atlas, index))), (3, 2)
        )
        yield from self.pruning(of, atlas, kind)
        columns = table(atlas)
        yield Folded(
            "All heads as a table", lambda: (Table(lines_of(columns), "All heads with all that was measured"),)
        )
        yield Numbers(lambda: {"heads": np.array(atlas.names) + 1, "values": np.nan_to_num(np.array(values))})
        yield Download("All heads (CSV)", lambda: csv_of(columns).encode())

    def chosen(self, atlas: HeadAtlas, values: Sequence[float], importance: HeadImportance | None) -> int:
        """The place in the atlas of the head that is chosen, else of the one that is said to matter most, or to have
        the largest number."""
        layer, _, head = self.head.partition(".")
        name = (int(layer) - 1, int(head) - 1) if head else None
        if name in atlas.names:
            return atlas.names.index(name)
        if importance is not None:
            return matters_most(importance.lost, importance.half)
        return max(range(len(values)), key=lambda i: -math.inf if math.isnan(values[i]) else values[i])

    def examples(self, of: Subject, atlas: HeadAtlas, index: int) -> Blocks:
        """The images where a head matters most, with where it looks: the class token, which gives the answer, or of
        what patches do a patch."""
        layer, head = atlas.names[index]
        yield Heading(f"Layer {layer + 1}, head {head + 1}")
        by_patch = self.of_heads(of) not in IMPORTANCE
        importance = atlas.importance.get(self.kind(of))
        if importance is not None and importance.examples:
            rows = importance.examples[index]
            key = OfModel(("where a head looks", atlas.data, rows, layer, head, by_patch))
            maps = of.kept(key, lambda: looks_at(of, tested(of, atlas.data, rows), layer, head, by_patch))
            which = "The test images whose answer loses the most without it"
        else:
            key = OfModel(("where a head looks", layer, head, by_patch))
            maps = of.kept(key, lambda: looks_at(of, at_hand(of), layer, head, by_patch))
            which = "Images that come with vizkit"
        for start in range(0, len(maps), 3):
            yield Columns(tuple((Picture(rgb, label, label),) for rgb, label in maps[start : start + 3]))
        asking = "the class token looks" if "cls" in of.special else "patches look on average"
        who = "the patch in the middle looks" if by_patch else asking
        yield Line(f"{which}: where {who} in this head.")
        yield Link("Switch it off in Switches", Switches(f"heads:{layer + 1}.{head + 1}=0"))

    def pruning(self, of: Subject, atlas: HeadAtlas, kind: str) -> Blocks:
        """What is left of the answers when more and more heads go."""
        result, importance = atlas.pruning.get(kind), atlas.importance.get(kind)
        if result is not None:
            yield from self.curves(result)
        elif importance is not None and of.loaded.classifies and shipped(of.loaded.name) is None:
            yield Heading("How many heads can go")
            key = OfModel(("heads", kind, PRUNING, importance.images))
            work = partial(pruned, of, importance, kind)
            words = f"{IMAGES} images go through with more and more heads taken away, in five orders"
            yield Later(of, (Job(key, words, work),), lambda found: self.curves(found[key]) if found else (), "Measure")

    def curves(self, result: Pruning) -> Blocks:
        share = self.share if getattr(result, self.share) else "own"
        lines = [Repeated(ORDERS[name], result.counts, getattr(result, share)[name]) for name in ORDERS]
        figure = repeated_lines(lines, "heads taken away", ANSWERS[share])
        yield Heading("How many heads can go")
        yield Chart(figure, f"Share of {ANSWERS[share]} against the number of heads taken away")
        can_go = {name: still(result.counts, band(result.own[name])[0], ENOUGH) for name in ORDERS}
        yield Said(of_pruning(result.heads, can_go, ENOUGH))
        yield Line(
            f"{result.images} images on which no order was measured; at random: three orders, thin, and their mean."
        )
        columns = {"heads": [float(count) for count in result.counts]}
        for name in ORDERS:
            columns |= {f"{name} {at + 1}": list(curve) for at, curve in enumerate(getattr(result, share)[name])}
        yield Download("Answers with fewer heads (CSV)", lambda: csv_of(columns).encode())


# ---- what is seen ----------------------------------------------------------------------------------------------------
def images_in(data: str) -> str:
    return "photographs that come with vizkit" if data == "photographs" else f"test images of {data}"


def sentence(atlas: HeadAtlas, what: str, kind: str, values: Sequence[float]) -> str:
    importance = atlas.importance.get(kind)
    if what in IMPORTANCE and importance is not None:
        lost = importance.lost, importance.half, importance.correlation, importance.of_likeness
        return of_heads(atlas.names, *lost)
    correlation = None
    if importance is not None:
        pairs = [pair for pair in zip(values, importance.lost, strict=True) if not math.isnan(pair[0])]
        correlation = rank_correlation(*map(list, zip(*pairs, strict=True)))
    shown = WHATS[what]
    unit = shown.unit if shown.unit != "share" else ""
    return first_said(of_behaviour(shown.name, atlas.names, values, correlation, unit))


def tested(of: Subject, data: str, rows: Sequence[int]) -> "Iterator[tuple[Tensor, str]]":
    """Test images as the model takes them, and what they show."""
    from vizkit.evaluation.inside.few_pictures import few_pictures

    pictures = few_pictures(of.loaded, data, IMAGES)
    for row in (row for row in rows if row < len(pictures)):
        yield pictures.pixels(range(row, row + 1)), pictures.images.labels[pictures.images.targets[row]]


def at_hand(of: Subject) -> "Iterator[tuple[Tensor, str]]":
    """Images that come with vizkit, of the kind that this model knows best, as it takes them, and their names."""
    names = [name for name in samples.names() if samples.kind_of(name) == set_for(of.loaded)]
    for name in names[:EXAMPLES]:
        yield pixels_of(of.loaded, samples.picture(name)), name


def looks_at(
    of: Subject, pictures: "Iterable[tuple[Tensor, str]]", layer: int, head: int, by_patch: bool
) -> list[tuple[RGB, str]]:
    """Images with the map of a head over each, and what they show. `by_patch`: where the patch in the middle looks."""
    found = []
    for pixels, label in pictures:
        attention = layers(families.trace(of.loaded, pixels))[layer]
        rgb = unprepare(pixels[0].numpy(), of.loaded.preprocessing)
        zoom = max(1, -(-SIDE_PX // min(rgb.shape[:2])))
        rgb = rgb.repeat(zoom, 0).repeat(zoom, 1)
        box = (0.0, 0.0, float(rgb.shape[1]), float(rgb.shape[0]))
        map_ = head_map(attention, head)
        if by_patch and map_ is not None:
            map_ = attention_map(attention, MIDDLE, head).places
        found.append((rgb if map_ is None else overlay(rgb, map_.numpy(), box, scale=SHARES), label))
    return found


def lines_of(columns: Mapping[str, Sequence[float]]) -> tuple[dict[str, float | None], ...]:
    rows = zip(*columns.values(), strict=True)
    return tuple(
        {name: None if math.isnan(value) else float(f"{value:.3g}") for name, value in zip(columns, row, strict=True)}
        for row in rows
    )
