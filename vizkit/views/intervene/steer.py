"""Steer: the direction of a class, or of another image, added after a block; answers and maps against its factor."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from vizkit.analysis.attention.attention_map import layers
from vizkit.analysis.remarks.interventions import of_steering
from vizkit.datasets import photographs
from vizkit.datasets.insects import LABELS
from vizkit.figure.charts import curves
from vizkit.figure.palette import class_colours
from vizkit.figure.scales import SHARES
from vizkit.heads import LIKENESS
from vizkit.models import Edit, Keep, pixels_of
from vizkit.models import trace as traced
from vizkit.models.probes.interventions.steering import steered
from vizkit.models.probes.interventions.stream import blocks_of
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Answered, Block, Chart, Columns, Heading, Job, Later, Line, Numbers, Part, Said
from vizkit.views.controls import choice, layer, number
from vizkit.views.intervene.changed import Among, asking, attended, compared
from vizkit.views.subject import OfModel, Subject
from vizkit.views.view import How

if TYPE_CHECKING:
    from torch import Tensor

    from vizkit.models import Loaded
    from vizkit.models.probes.interventions.stream_edits import Directions
    from vizkit.traces import Trace

IMAGES = 96
FACTORS = tuple(half / 2 for half in range(-4, 13))
LINES = 6
RUNNER_UP = "the runner-up"
BLOCK, LATE = 4, 5 / 6
UNLIKE = ("cat", "rocket")  # to the model of photographs the farthest from the other four, and from each other
NAMES = {"digits": tuple(map(str, range(10))), "insects": LABELS, "photographs": photographs.NAMES}


def set_for(loaded: "Loaded") -> str:
    """The set that comes with vizkit whose images say most to this model: photographs to one that knows neither digits
    nor drawn insects."""
    knows_digits = bool(loaded.labels) and all(label.isdecimal() for label in loaded.labels)
    if knows_digits or loaded.preprocessing.channels == 1:
        return "digits"
    return "insects" if {*LABELS} & {*loaded.labels} else "photographs"


def names_of(of: Subject) -> list[str]:
    """Directions that lead away from this very image; of photographs those first that have least in common with it."""
    names = [name for name in NAMES[set_for(of.loaded)] if name != of.image or name in of.loaded.labels]
    return sorted(names, key=lambda name: name not in UNLIKE)


def usual_block(of: Sequence[Subject]) -> int:
    """Where it is added unless somebody says: one image alone has a direction of its own only near the end."""
    count = depth(of)
    photographed = any(set_for(each.loaded) == "photographs" for each in of)
    return max(1, round(count * LATE)) if photographed else min(BLOCK, count)


def classes(of: Sequence[Subject]) -> list[str]:
    runner_up = [RUNNER_UP] if any(set_for(each.loaded) != "photographs" for each in of) else []
    return [*runner_up, *dict.fromkeys(name for each in of for name in names_of(each))]


def depth(of: Sequence[Subject]) -> int:
    return max((len(blocks_of(each.loaded)) for each in of), default=1)


class Steer(Among):
    """The direction of a class, or of another image, is added to what a block gives, more and more of it."""

    towards: str | None = choice(
        "Towards",
        classes,
        f"A class of the training images from which its direction is taken; {RUNNER_UP}: the class that the model "
        "finds second likeliest here. Of a model that knows photographs: another one of them.",
        key="steer_class",
        listed=True,
        runs=True,
    )
    block: int | None = layer(
        "After block", "Where it is added.", low=1, high=depth, usual=usual_block, key="steer_block", runs=True
    )
    factor: float = number(
        "λ",
        FACTORS[0],
        FACTORS[-1],
        2.0,
        "How much of it is added; below 0 it is taken away.",
        at=FACTORS,
        plays=True,
        key="steer_by",
    )

    alone: ClassVar = True
    how: ClassVar = How(
        f"The direction of a class after a block is the mean stream of its images less that of all others, from "
        f"{IMAGES} training images; that of a photograph its own stream less that of the five others. λ = 1 adds it as "
        "it is to every token of this image, λ < 0 takes it away. All λ are measured at once, so the slider runs no "
        "model.",
        r"x_l \leftarrow x_l + \lambda\,(\bar{x}_l^{\,c} - \bar{x}_l^{\,\text{others}})",
        "that the model uses this direction by itself: large λ lead to streams that it never met.",
        "Turner et al. 2023; Marks & Tegmark 2023",
    )

    def title(self, of: Subject) -> str:
        return f"Steered towards {self.name(of)} after block {self.after(of)}, λ = {self.factor:g}"

    def name(self, of: Subject) -> str:
        """The class; without a choice the likeliest of the set but for the answer itself, or a photograph that has
        little in common with this image."""
        names = names_of(of)
        if self.towards in names:
            return self.towards
        head, count = of.loaded.head, len(of.seen.logits)
        ranked = [of.loaded.label(at) for at, _ in head.top(of.seen.logits, 1 if head is LIKENESS else count)]
        return next((name for name in ranked[1:] if name in names), next(name for name in names if name != ranked[0]))

    def after(self, of: Subject) -> int:
        return min(self.block or usual_block([of]), depth([of]))

    def show(self, of: Subject) -> Iterator[Block]:
        data, name, block = set_for(of.loaded), self.name(of), self.after(of)
        first = OfModel(("directions", data))
        images = len(photographs.NAMES) if data == "photographs" else IMAGES
        whose = "images, from" if data == "photographs" else f"classes, from {images} images of"
        words = f"The directions of all {whose} {data}"
        directions = Job(first, words, partial(directions_of, of, data))
        key = (name, block)
        answers = Job(("steered", *key), f"Answers, towards {name}", partial(answered, of, first, name, block - 1))
        maps = Job(("steered maps", *key), f"Maps, towards {name}", partial(measured, of, first, name, block - 1))

        def show(found: Mapping[Hashable, Any]) -> Iterator[Block]:
            yield from self.drawn(of, found.get(answers.key), found.get(maps.key))

        yield Later(of, (directions, answers, maps), show)

    def drawn(self, of: Subject, logits: "Tensor | None", traces: "tuple[Trace, ...] | None") -> Iterator[Block]:
        """Of λ = 0 alone until the others are there."""
        loaded, block, name = of.loaded, self.after(of), self.name(of)
        every: Tensor = of.seen.logits.new_full((len(FACTORS), len(of.seen.logits)), np.nan)
        every[FACTORS.index(0.0)] = of.seen.logits
        every, likened = every if logits is None else logits, loaded.head is LIKENESS
        values = loaded.head.values(every)[:, : len(loaded.labels) if likened else loaded.outputs]
        labels = [loaded.label(at) for at in range(values.shape[1])]
        labels = [of.image or "this image", *labels[1:]] if likened else labels
        if logits is None:
            (label, value), *_ = loaded.head.top(of.seen.logits)
            now = f"{labels[label]}: {loaded.head.text(value)}"
            yield Line(f"As it is, {now}; the other λ are on their way.")
        else:
            yield Said(of_steering(labels, FACTORS, values, name, loaded.head))
            yield Numbers(
                lambda: {
                    "factors": np.array(FACTORS),
                    "likeness" if likened else "logits": (values if likened else every).numpy(),
                }
            )
        yield Answered(loaded)
        what = "likenesses" if likened else "answers"
        title = f"The {what} when the direction of {name} is added after block {block}"
        chart = Chart(by_factor(of, labels, values, self.factor), f"The {what} against λ, added after block {block}")
        yield Columns(((Heading(title), chart), (Part(partial(self.maps, of, traces)),)), (3, 2))

    def maps(self, of: Subject, traces: "tuple[Trace, ...] | None") -> Iterator[Block]:
        """The mean over heads of the last layer, before and after; before alone until the others are there."""
        if not of.layers:
            raise NotApplicable(f"{of.name} has no attention that could be drawn.")
        factors = (0.0, self.factor) if traces else (0.0,)
        pair = [traces[FACTORS.index(at)] if traces else of.seen for at in factors]
        query, who = asking(of)
        maps = [attended(each, query, len(layers(each))) for each in pair]
        names = [f"λ = {at:g}" for at in factors]
        yield from compared(f"Where {who} looks in the last layer", maps, names, SHARES)


def directions_of(of: Subject, data: str, progress: Callable[[int, int], None]) -> Any:
    from vizkit.evaluation.steering import directions_of

    return directions_of(of.loaded, data, IMAGES, tell=progress)


def of_class(of: Subject, first: Hashable, name: str, block: int) -> "tuple[Directions, int]":
    """The directions, and the number of the class among them."""
    directions, names = of.find(first)
    label = names.index(name)
    if (block, label) not in directions:
        raise NotApplicable(f"None of the {IMAGES} images shows {name}, so it has no direction.")
    return directions, label


def answered(of: Subject, first: Hashable, name: str, block: int, progress: Callable[[int, int], None]) -> "Tensor":
    """The logits with each of FACTORS."""
    directions, label = of_class(of, first, name, block)
    return steered(of.loaded, pixels_of(of.loaded, of.rgb), block, directions[block, label], FACTORS)


def measured(
    of: Subject, first: Hashable, name: str, block: int, progress: Callable[[int, int], None]
) -> "tuple[Trace, ...]":
    """The last layer's attention with each of FACTORS."""
    (directions, label), loaded = of_class(of, first, name, block), of.loaded
    last = len([layer for layer in of.seen.attention if layer.learned]) - 1
    traces = []
    for done, factor in enumerate(FACTORS):
        progress(done, len(FACTORS))
        edit = Edit("steer", block, value=factor, numbers=(label,))
        made = traced(loaded, of.rgb, keep=Keep((last,), heads="mean"), edits=[edit], directions=directions)
        traces.append(replace(made, features=()))
    return tuple(traces)


def by_factor(of: Subject, labels: Sequence[str], values: "Tensor", factor: float) -> Any:
    """The values of the strongest outputs."""
    low = float(values.nan_to_num(0.0).min())
    strongest = values.nan_to_num(0.0).amax(0).argsort(descending=True)[:LINES].tolist()
    lines = {
        f"{labels[label]}{' ' * at}": (np.array(FACTORS), values[:, label].numpy())
        for at, label in enumerate(strongest)
    }
    figure = curves(lines, "λ", of.loaded.head.quantity, mode="lines+markers", marked={float(factor): "dot"})
    for at, colour in enumerate(class_colours(strongest, values.shape[1])):
        figure.update_traces(line_color=colour, selector=at)
    figure.update_xaxes(range=[FACTORS[0] - 0.2, FACTORS[-1] + 0.2])
    if of.loaded.head.bounded:
        figure.update_yaxes(range=[min(0.0, low) - 0.03, 1.03], tickformat=".0%" if of.loaded.head.probable else None)
    return figure
