"""Filters: those of the first layer, and what a channel answers to most strongly over a set of pictures."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from vizkit.analysis.remarks import convolution
from vizkit.figure.convolution.patch_rows import patch_rows
from vizkit.figure.patches import filter_tiles
from vizkit.models.probes.convolution.first_layer import first_layer
from vizkit.models.probes.convolution.receptive_field import Layer
from vizkit.models.probes.convolution.top_patches import Answers, patches
from vizkit.scoring import pictures, top_patches
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Blocks, Columns, Heading, Job, Later, Line, Numbers, Picture, Said
from vizkit.views.controls import choice, layer, number
from vizkit.views.convolution.known import data_of
from vizkit.views.convolution.passes import pass_of, walk_of
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

if TYPE_CHECKING:
    from vizkit.datasets.image_set import ImageSet

MOST_FILTERS, ROWS = 64, 6
DATA = ("what it knows", "insects", "digits", "this picture")


def layers_of(of: Subject) -> list[Layer]:
    walked = walk_of(of)
    return [each for each in walked.layers if each.kind == "convolution"] if walked else []


def most_layers(of: Sequence[Subject]) -> int:
    return max((len(layers_of(each)) for each in of), default=0)


def most_channels(of: Sequence[Subject]) -> int:
    return max((each.shape[0] for one in of for each in pass_of(one).convolved), default=1)


class Filters(View):
    """The first layer's filters, and the patches that a channel answers to most."""

    layer: int | None = layer(
        "Convolution", "In the order of the pass.", default=4, high=most_layers, key="filters_layer", runs=True
    )
    channel: int = number(
        "Channel",
        1,
        most_channels,
        1,
        "The first of those shown; beyond the last, the last.",
        key="filters_channel",
        runs=True,
    )
    data: Literal["what it knows", "insects", "digits", "this picture"] = choice(
        "Pictures", DATA, "Where answers are looked for.", more=True, key="filters_data", runs=True
    )
    count: int = number(
        "How many",
        24,
        240,
        60,
        "Pictures of the test split.",
        more=True,
        key="filters_count",
        runs=True,
        step=12,
        when=lambda view: view.data != "this picture",
    )

    alone = True
    overlays = False
    how = How(
        "A filter of the first layer answers to what it looks like. Later ones have no colours to show: the pictures "
        "say what they answer to, each cut to the pixels that the unit can see.",
        "",
        "what a channel means: it may answer to more than its strongest places show.",
        "Zeiler & Fergus 2014, fig. 2; Krizhevsky et al. 2012, fig. 3",
    )

    def title(self, of: Subject) -> str:
        return f"Filters, and what channels of convolution {self.layer or most_layers([of])} answer to most"

    def show(self, of: Subject) -> Blocks:
        layers = layers_of(of)
        if not layers:
            raise NotApplicable(f"{of.name} has no convolutions whose units see a part of the picture.")
        weight = first_layer(of.loaded).weight[:MOST_FILTERS].numpy()
        chosen = layers[min(self.layer or len(layers), len(layers)) - 1]
        data = data_of(of.loaded) if self.data == "what it knows" else self.data.replace("this picture", "")
        looked = data, self.count if data else 1
        size = f"{weight.shape[2]} × {weight.shape[3]}"
        tiles = Picture(filter_tiles(weight, across=8, tile=56), "Filters of the first layer")
        job = Job(
            ("top patches", chosen.path, *looked), "Looking through the pictures", partial(search, of, chosen, looked)
        )
        found = Later(of, (job,), partial(self.found, of, chosen, looked, weight))
        yield Columns(
            (
                (Heading(f"The filters of the first layer, {size}"), tiles),
                (Heading(f"What channels of {chosen.path} answer to most"), found),
            ),
            (2, 3),
        )

    def found(
        self, of: Subject, chosen: Layer, looked: tuple[str, int], weight: np.ndarray, results: Mapping[Any, Answers]
    ) -> Blocks:
        for answers in results.values():
            channel = min(self.channel, len(answers.values)) - 1
            first = min(channel, max(0, len(answers.values) - ROWS))
            rows = range(first, min(first + ROWS, len(answers.values)))
            names = f"channels {first + 1} to {rows[-1] + 1}"
            over = "places of this picture"
            if looked[0]:
                images: ImageSet = of.kept(("pictures", *looked), lambda: pictures(of.loaded, *looked))
                labels = [images.labels[images.targets[index]] for index in answers.images[channel]]
                yield Said(convolution.answered(channel, labels))
                over = f"of {len(images)} pictures of {looked[0]}"
            drawn = patch_rows(patches(answers, rows, chosen.seen), tile=80)
            yield Picture(drawn, f"The patches that {names} answer to most")
            seen = f"{chosen.seen.rows.size} × {chosen.seen.columns.size} pixels, what a unit can see"
            yield Line(f"rows: {names} · {seen} · the strongest {over} at the left")
            yield Numbers(partial(as_arrays, weight, answers))


def search(of: Subject, chosen: Layer, looked: tuple[str, int], progress: Callable[[int, int], None]) -> Answers:
    return top_patches(of.loaded, chosen.path, of.rgb, *looked, lambda done: progress(done, looked[1]))


def as_arrays(weight: np.ndarray, answers: Answers) -> dict[str, np.ndarray]:
    """Of a channel with fewer peaks the rest is 0."""
    values = np.where(np.isfinite(answers.values), answers.values, 0)
    places = {"images": answers.images, "rows": answers.rows, "columns": answers.columns}
    return {"filters": weight, "values": values, **places}
