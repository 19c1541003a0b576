"""Statistics: every head measured, over this image or several."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import zip_longest
from typing import Any, Literal

import numpy as np
from torch import Tensor

from vizkit.analysis.attention.attention_map import layers
from vizkit.analysis.attention.statistics import Layer, by_layer, entropy_by_place, spread
from vizkit.analysis.remarks import attention
from vizkit.analysis.remarks.remark import percent
from vizkit.datasets import samples
from vizkit.figure.charts import dots_by_depth
from vizkit.image import RGB
from vizkit.models import Keep
from vizkit.models import trace as traced
from vizkit.models.probes.budget import weights_bytes
from vizkit.traces import NotApplicable, Trace
from vizkit.views.blocks import Block, Blocks, Chart, Columns, Hint, Job, Later, Line, Map, Numbers, Said, first_said
from vizkit.views.controls import choice, head, layer
from vizkit.views.explore import sentences
from vizkit.views.rows_of import entropy_for_browser, layer_for_browser
from vizkit.views.subject import FULL_TRACE_BYTES, Subject
from vizkit.views.view import How, View

HERE, SAMPLES = "this image", "the samples"
HIGH_PX, LEGEND_PX = 270, 40  # of a chart
Pick = Callable[[Layer], Tensor | None]
Counted = tuple[tuple[Layer, ...], tuple[Layer, ...]]
"""Mean and deviation over the images of every layer."""


def sets(of: Sequence[Subject]) -> list[str]:
    """What can be measured: this image, those that were brought, the samples."""
    brought = [f"your {len(each.uploads)} images" for each in of[:1] if len(each.uploads) > 1]
    return [HERE, *brought, SAMPLES]


class Statistics(View):
    """How far and how evenly every head attends, and to which tokens."""

    over: str = choice(
        "Over",
        sets,
        "Of several images the mean, with whiskers for the deviation; the samples are those of the image's own kind.",
        default=HERE,
        key="statistics_over",
        runs=True,
    )
    shows: Literal["attention", "entropy"] = choice(
        "Map",
        ("attention", "entropy"),
        "Of the marked head: what the patch under the cursor attends to, or how evenly every patch spreads its "
        "attention.",
        key="statistics_map",
    )
    layer: int | None = layer(
        "Layer", "Of the head that is marked, by default the most global one.", inside=True, key="layer"
    )
    head: int | None = head("Head", "The one that is marked, by default the most global one.", inside=True, key="head")

    how = How(
        "A dot is a head. Distance: from a patch to what it attends to, on average and in pixels; trained ViTs mix "
        "local and global heads in the first layers, the last are global, and a Swin stays inside its window. "
        "Entropy: 0 is attention to one token, 1 equal attention to all. Neither large nor small is better. A click on "
        "a dot marks its head, whose map is shown; in a map of entropy a bright patch attends to many places about "
        "evenly, a dark one to few.",
        r"\bar d_h = \tfrac1N \sum_i \sum_j w_{ij}\lVert p_i - p_j\rVert_2, \quad "
        r"H = -\tfrac1N\sum_i\sum_j A_{ij}\log A_{ij}",
        "what the model does with what it attends to.",
        "Dosovitskiy et al. 2020, fig. 7 right; weights to special tokens are taken out and rows renormalised; "
        "entropy: Shannon 1948; of attention: Zhai et al. 2023, § 3",
    )

    def title(self, of: Subject) -> str:
        return f"Every head by layer, over {self.over}"

    def leads(self, block: Block) -> bool:
        return getattr(block, "alt", "").startswith("Entropy" if self.shows == "entropy" else "Mean attention distance")

    def show(self, of: Subject) -> Blocks:
        if weights_bytes(of.loaded) > FULL_TRACE_BYTES:
            raise NotApplicable(
                f"All weights of {of.name} at this size would take more memory than is kept; choose a smaller input."
            )
        pictures = self.pictures(of)
        if len(pictures) == 1:
            beside = [spread([other.made(by_layer, other.seen)]) for other in of.beside]
            yield from self.charts(of, spread([of.made(by_layer, of.seen)]), beside, 1)
            return
        key = ("statistics over", *pictures)

        def work(progress: Callable[[int, int], None]) -> Counted:
            counted = []
            for done, (name, rgb) in enumerate(pictures.items()):
                progress(done, len(pictures))
                counted.append(of.kept(("statistics", name), partial(measured, of, rgb)))
            return spread(counted)

        def show(results: Mapping[Any, Any]) -> Blocks:
            beside = [found for other in of.beside if (found := other.find(key)) is not None]
            for found in results.values():
                yield from self.charts(of, found, beside, len(pictures))

        yield Later(of, (Job(key, f"{len(pictures)} images", work),), show)

    def pictures(self, of: Subject) -> dict[str, RGB]:
        if self.over == SAMPLES:
            kind = samples.kind_of(of.image)
            return {name: samples.picture(name) for name in samples.names() if samples.kind_of(name) == kind}
        return {of.image: of.rgb} if self.over == HERE else dict(of.uploads)

    def charts(self, of: Subject, counted: Counted, beside: Sequence[Counted], images: int) -> Blocks:
        """The head that was clicked, and one chart for each statistic, with the axes of all models side by side."""
        mean, _ = counted
        at, head = self.marked(of, mean)
        depth = max(len(each[0]) for each in (counted, *beside))
        drawn = []
        for name, pick, label, said in measures(of, mean):
            values, off = of_heads(counted, pick)
            figure = dots_by_depth(
                values,
                label,
                name,
                spread=off if images > 1 else None,
                top=1.12 * max(highest(each, pick) for each in (counted, *beside)) or 1.0,
                depth=depth,
                height=HIGH_PX + (0 if drawn else LEGEND_PX),
                marked=(at, head),
                legend=not drawn,
            )
            drawn.append((Chart(figure, f"{name} of every head by layer", picks=("layer", "head")), Said(said)))
        (reach, reached), (even, evenly), *rest = drawn
        yield reached
        yield Columns((tuple(self.map(of, at, head, float(mean[at - 1].sink[head - 1]))), (reach, even, evenly)))
        for pair in zip_longest(rest[::2], rest[1::2], fillvalue=()):
            yield Columns(pair)
        yield Line(f"{images} images, whiskers: standard deviation" if images > 1 else "1 image")
        yield Numbers(partial(numbers, mean))

    def marked(self, of: Subject, mean: Sequence[Layer]) -> tuple[int, int]:
        """The layer and the head whose map is shown, from 1."""
        at, head = farthest(mean, self.layer and min(self.layer, of.depth))
        return at, min(self.head, of.layers[at - 1].heads) if self.layer and self.head else head

    def map(self, of: Subject, at: int, head: int, sink: float) -> Blocks:
        """What the query attends to in one head, or how evenly every patch attends."""
        recorded = of.layers[at - 1]
        which = (
            "" if self.layer and self.head else ", the most global" + ("" if self.layer is None else " of its layer")
        )
        gives = f", which gives {percent(sink)} of its attention to one patch" if sink >= attention.SINK else ""
        yield Line(f"layer {at}, head {head}{which}{gives}")
        yield Hint("Click a dot to mark another head.")
        if self.shows == "entropy":
            entropies = of.made(entropies_of, of.seen)
            if (entropy := entropies[at - 1][head - 1]) is not None:
                yield Map(
                    entropy_for_browser(entropy, entropies),
                    of.asked,
                    f"Entropy of head {head} in layer {at} of",
                    "entropy of a patch's attention, as a share of the largest possible",
                    said=attention.evenness(entropy, at, head - 1),
                )
            return
        rows = layer_for_browser(recorded, head - 1, of.asked)
        if rows.key_grid is not None:
            otherwise, said_by = of.kept(("said", at, head, None), partial(sentences, of, recorded, at, head - 1))
            said = said_by.get(rows.query_id(of.asked), otherwise)
            yield Map(
                rows,
                of.asked,
                f"Attention of head {head} in layer {at} of",
                "share of attention",
                said=said,
                said_by=said_by,
            )


def entropies_of(trace: Trace) -> list[list[Tensor | None]]:
    """Of every head of every layer that of each patch, (row, column); None where patches have no place."""
    return [[entropy_by_place(each, head) for head in range(each.shape[1])] for each in layers(trace)]


def measures(of: Subject, mean: tuple[Layer, ...]) -> Iterator[tuple[str, Pick, str, str]]:
    """(name, which number of a layer, unit, what stands out) of all statistics that have a meaning here."""
    high, wide = of.loaded.preprocessing.size_hw
    far = first_said(attention.extremes(mean), attention.most_alike(of.seen))
    yield "Mean attention distance", lambda layer: layer.distance_px, f"pixels of the {wide} × {high} input", far
    yield "Entropy", lambda layer: layer.entropy, "entropy ÷ log N", first_said(attention.evenest(mean))
    given: list[tuple[str, Pick, str]] = [
        (f"[{name}]", partial(of_special, name), attention.called(name))
        for name in mean[0].special
        if all(name in layer.special for layer in mean)
    ]
    if any(float(layer.padding.max()) > 0 for layer in mean):
        given.append(("padding", lambda layer: layer.padding, "padding"))
    given.append(("itself", lambda layer: layer.itself, "the query itself"))
    for name, pick, to in given:
        shares = [share for layer in mean if (share := pick(layer)) is not None]
        yield f"Attention to {name}", pick, f"share given to {name}", first_said(attention.most_given(shares, to))


def measured(of: Subject, rgb: RGB) -> tuple[Layer, ...]:
    return by_layer(traced(of.loaded, rgb, keep=Keep()))


def farthest(mean: Sequence[Layer], layer: int | None = None) -> tuple[int, int]:
    """The layer and the head, both from 1, that attends farthest on average, of this layer where one is given: of heads
    that are no sinks, where there are such; the first of layers without places."""
    reach = {
        (at, head): (float(sink) < attention.SINK, float(px))
        for at, each in enumerate(mean, 1)
        for head, (px, sink) in enumerate(zip(each.distance_px.nan_to_num(0.0), each.sink, strict=True), 1)
        if layer in (None, at)
    }
    return max(reach, key=lambda each: reach[each])


def of_special(name: str, layer: Layer) -> Tensor | None:
    return layer.special.get(name)


def of_heads(counted: Counted, pick: Pick) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """(mean, deviation) of every layer that has the statistic."""
    mean, deviation = ([value.numpy() for layer in layers if (value := pick(layer)) is not None] for layers in counted)
    return mean, deviation


def highest(counted: Counted, pick: Pick) -> float:
    """The highest dot of a model, with its whisker; layers without the statistic and without places count as 0."""
    ends = (float(np.nan_to_num(value + off).max()) for value, off in zip(*of_heads(counted, pick), strict=True))
    return max(ends, default=0.0)


def numbers(mean: Sequence[Layer]) -> dict[str, np.ndarray]:
    return {
        f"layer{number}_{name}": getattr(layer, name).numpy()
        for number, layer in enumerate(mean, 1)
        for name in ("distance_px", "entropy", "effective", "padding", "itself", "sink")
    }
