"""Smallest set: a greedy search for the fewest patches or heads that keep or flip the answer."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
from jaxtyping import UInt8

from vizkit.analysis.attribution.smallest_set import Goal, Search
from vizkit.analysis.attribution.subject import Fill, cells_of
from vizkit.analysis.comparison.pixel_edits import box_of
from vizkit.analysis.remarks.interventions import of_smallest
from vizkit.analysis.remarks.remark import begun, joined
from vizkit.figure.charts import curves, heat_map
from vizkit.figure.palette import class_colours
from vizkit.figure.patch_cells import numbered_cells
from vizkit.image import RGB, data_url, seen
from vizkit.interventions import smallest
from vizkit.models import EditError
from vizkit.models.probes.interventions.patching import sides_of
from vizkit.traces import NotApplicable, not_applicable
from vizkit.views.blocks import Answered, Blocks, Chart, Columns, Heading, Job, Later, Line, Numbers, Picture, Said
from vizkit.views.controls import choice
from vizkit.views.intervene.changed import Among
from vizkit.views.subject import Subject
from vizkit.views.view import How

MOST = 60  # parts that are taken at the most
AT_ONCE = 10_000_000  # parameters; in larger models regions are taken, and heads when somebody asks for it
COARSE = 8  # rows of regions at most
GOALS = {"keep": "alone are enough for the answer", "flip": "change it when they are taken away"}
FILLS = {"mean": "the mean colour", "blur": "a blur"}
INSTEAD = {"mean": "a plain image of the mean colour", "blur": "a blurred image"}
COVER = 0.88


def kinds(of: Sequence[Subject]) -> list[str]:
    return ["patches", "heads"] if all(each.layers for each in of) else ["patches"]


class Smallest(Among):
    """The fewest patches or heads that keep the answer, or without which it falls."""

    parts: str = choice("The fewest", kinds, default="patches", key="smallest_of", runs=True)
    goal: Literal["keep", "flip"] = choice("that", tuple(GOALS), words=GOALS, key="smallest_goal", runs=True)
    fill: Literal["mean", "blur"] = choice(
        "In place of the others",
        tuple(FILLS),
        words=FILLS,
        key="smallest_fill",
        listed=True,
        when=lambda view: view.parts == "patches",
        runs=True,
    )

    alone = True
    overlays = False
    how = How(
        "Step by step the part is taken that helps the answer most (or harms it most), until the answer is there (or "
        "gone); the numbers are the order. Patches that are not there have one colour, or are blurred; heads that are "
        "not there add nothing. A likeness is gone below half way from that of none of the parts to that of all, and "
        "there where it is above that and above every other one.",
        r"S_{k+1} = S_k \cup \Big\{\arg\max_{i} \big(z_c - \max_{j \ne c} z_j\big)(S_k \cup \{i\})\Big\}",
        "that no smaller set exists: the search is greedy and takes nothing back. Nor is a grey image with a few "
        "patches one that the model was trained on.",
        "Carter et al. 2019; Goyal et al. 2019",
    )

    def title(self, of: Subject) -> str:
        return f"The fewest {self.taken(of)} that {GOALS[self.goal]}: {self.name(of)}"

    def grid(self, of: Subject) -> tuple[int, int]:
        """Of what is taken from the image: its patches, of a large model regions of some patches each."""
        cells = cells_of(of.seen)
        rows, columns = cells if of.loaded.parameters <= AT_ONCE else sides_of([cells], COARSE)[0]
        return cells if cells == (rows, columns) else (min(COARSE, rows), min(COARSE, columns))

    def taken(self, of: Subject) -> str:
        return "regions" if self.parts == "patches" and self.grid(of) != cells_of(of.seen) else self.parts

    def name(self, of: Subject) -> str:
        return of.loaded.label(of.loaded.head.target(of.seen.logits))

    def rivals(self, of: Subject, result: Search) -> list[tuple[int, float]]:
        """The class that is the answer without the parts, and what it has then; of a model without classes all other
        images, the nearest first."""
        own, head = of.loaded.head.target(of.seen.logits), of.loaded.head
        at = -1 if self.goal == "flip" or not head.probable else 0
        values = result.outputs[at] if result.outputs and (head.exclusive or not head.probable) else ()
        others = [each for each in enumerate(values) if each[0] != own]
        return sorted(others, key=lambda each: -each[1])[: 1 if head.probable else None]

    def show(self, of: Subject) -> Blocks:
        if not of.loaded.head.bounded:
            raise NotApplicable(f"{of.name} gives {of.loaded.head.gives}: there is no answer to keep or flip.")
        key = ("smallest set", self.parts, self.goal, self.fill if self.parts == "patches" else "")
        so_far: list[Search] = of.kept((*key, "so far"), list)  # what is there when it is stopped
        work = partial(searched, of, self.parts, self.grid(of), self.goal, self.fill, so_far)

        def show(found: Mapping[Hashable, Any]) -> Blocks:
            result = found.get(key) or next(iter(so_far[-1:]), None)
            yield from self.drawn(of, result) if result else (self.picture(of, None),)

        button = "Search" if of.loaded.parameters > AT_ONCE and self.parts == "heads" else ""
        yield Later(of, (Job(key, f"{begun(self.taken(of))} are taken one by one", work),), show, button)

    # ---- what is seen ------------------------------------------------------------------------------------------------
    def drawn(self, of: Subject, result: Search) -> Blocks:
        name, head, taken = self.name(of), of.loaded.head, self.taken(of)
        rivals, outputs = self.rivals(of, result), np.array(result.outputs).T
        values = {name: np.array(result.probability)} | {of.loaded.label(each): outputs[each] for each, _ in rivals}
        steps, low = np.arange(len(result.probability)), min(0.0, *(curve.min() for curve in values.values()))
        lines = {each: (steps, curve) for each, curve in values.items()}
        line = curves(lines, f"{taken} taken", head.quantity, mode="lines+markers")
        colours = class_colours([head.target(of.seen.logits), *(each for each, _ in rivals)], len(of.seen.logits))
        for at, colour in enumerate(colours):
            line.update_traces(line_color=colour, selector=at)
        line.update_xaxes(dtick=max(1, len(result.order) // 8), rangemode="nonnegative")
        line.update_yaxes(range=[low - 0.03, 1.03], tickformat=".0%" if head.probable else ".2f")
        what = f"probability of {joined([*values])}" if head.probable else name
        instead = INSTEAD[self.fill] if self.parts == "patches" else "a model without heads"
        curve = (Heading(begun(what)), Chart(line, f"{begun(what)} by the number of {taken}"))
        left = Heading(f"The {taken} in the order in which they were taken"), self.picture(of, result)
        other = next(((of.loaded.label(each), high) for each, high in rivals), ("", 0.0))
        had = float(head.values(of.seen.logits)[head.target(of.seen.logits)])
        yield Said(of_smallest(result, taken, name, head, instead, other, had))
        yield Answered(of.loaded)
        yield Columns((left, curve), (1, 1))
        if len(result.order) > 1:
            yield Line("Found greedily, one after another: a smaller set may exist.")
        grid = np.array(self.grid(of))
        order, probability = np.array(result.order, int), np.array(result.probability)
        yield Numbers(lambda: {"order": order, "probability": probability, "grid": grid})

    def picture(self, of: Subject, result: Search | None) -> Chart:
        """The image with its numbered patches, or the numbered heads."""
        order, words = result.order if result else (), f"The {self.taken(of)} in the order in which they were taken"
        if self.parts == "heads":
            return Chart(numbered_heads([layer.heads for layer in of.layers], order), words)
        grid, image = self.grid(of), seen(of.rgb, of.loaded.preprocessing)
        kept = result is not None and self.goal == "keep"
        figure = numbered_cells(data_url(image), (image.shape[0], image.shape[1]), grid, order, kept)
        return Chart(figure, words, still=(Picture(covered(image, grid, order, kept), words),))


def searched(
    of: Subject,
    parts: str,
    grid: tuple[int, int],
    goal: Goal,
    fill: Fill,
    so_far: list[Search],
    progress: Callable[[int, int], None],
) -> Search:
    so_far.clear()
    with not_applicable(EditError):
        if parts == "heads":
            return smallest.heads(of.loaded, of.rgb, goal, most=MOST, tell=so_far.append, tried=progress)[0]
        return smallest.patches(of.loaded, of.rgb, grid, goal, fill=fill, most=MOST, tell=so_far.append, tried=progress)


def covered(
    image: RGB, grid: tuple[int, int], order: Sequence[int], kept: bool
) -> UInt8[np.ndarray, "height2 width2 3"]:
    """On paper: the parts that were taken alone are seen, or they are covered."""
    zoom = max(1, -(-400 // image.shape[1]))
    large = image.repeat(zoom, 0).repeat(zoom, 1)
    there = np.zeros(large.shape[:2], bool)
    for cell in order:
        there[box_of(large.shape[:2], grid, cell)] = True
    away = ~there if kept else there
    large[away] = np.rint((1 - COVER) * large[away] + COVER * 132).astype(np.uint8)
    return large


def numbered_heads(counts: Sequence[int], order: Sequence[int]) -> "object":
    """Layer × head: when a head was taken, from 1; white where it was not."""
    places = [(layer, head) for layer, count in enumerate(counts) for head in range(count)]
    when = np.full((len(counts), max(counts)), np.nan)
    for number, part in enumerate(order, 1):
        when[places[part]] = number
    names, layer_names = ([str(at) for at in range(1, 1 + count)] for count in (max(counts), len(counts)))
    figure = heat_map(
        when,
        "head",
        "layer",
        x_names=names,
        y_names=layer_names,
        digits=0,
        square=False,
        quantity="taken as number",
        limit=float(max(1, len(order))),
    )
    figure.update_xaxes(type="category", showgrid=False)
    return figure.update_yaxes(type="category", showgrid=False)
