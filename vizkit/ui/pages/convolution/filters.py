"""The view Filters: those of the first layer, and what a channel answers most strongly to over a set of pictures."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st

from vizkit.analysis.remarks import convolution
from vizkit.figure.convolution.patch_rows import patch_rows
from vizkit.figure.patches import filter_tiles
from vizkit.image import Picture
from vizkit.report.kinds import Filters
from vizkit.report.kinds.filters import MOST_FILTERS, ROWS
from vizkit.scoring import pictures, top_patches
from vizkit.ui import reading
from vizkit.ui.session import background, cached, model_names, saved
from vizkit.ui.session.remembered import remembered, shelf
from vizkit.ui.session.shown import Shown, keep_valid
from vizkit.ui.views import Page
from vizkit.ui.widgets.controls import more
from vizkit.ui.widgets.remark import remark
from vizkit.ui.widgets.save import save

if TYPE_CHECKING:
    from vizkit.datasets.image_set import ImageSet
    from vizkit.image import Preprocessing
    from vizkit.models import Loaded
    from vizkit.models.probes.convolution.receptive_field import Layer, Walk
    from vizkit.models.probes.convolution.top_patches import Answers

TASK = "top patches"
COUNTS = (24, 60, 120, 240)
DATA = ("insects", "digits", "this picture")


def view(page: Page) -> None:
    from vizkit.models.probes.convolution.first_layer import first_layer

    shown = page.focus
    walked = walk_of(shown.source, shown.loaded.preprocessing, shown.loaded)
    layers = [layer for layer in walked.layers if layer.kind == "convolution"]
    keep_valid("filters_layer", range(1, len(layers) + 1))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        number = int(st.slider("Convolution", 1, max(2, len(layers)), min(4, len(layers)), key="filters_layer",
                               bind="query-params", width=260, disabled=len(layers) < 2))  # fmt: skip
        channel = int(st.number_input("Channel", 1, 4096, 1, key="filters_channel", bind="query-params", width=120))
        with more():
            known = "digits" if model_names.knows(shown.source) == model_names.KNOWN["digits"] else "insects"
            data = st.segmented_control("Pictures", DATA, default=known, required=True, key="filters_data",
                                        bind="query-params")  # fmt: skip
            count = int(st.select_slider("How many", COUNTS, 60, key="filters_count", bind="query-params",
                                         disabled=data == DATA[2]))  # fmt: skip
    left, right = st.columns([2, 3], gap="large")
    with left:
        weight = first_layer(shown.loaded).weight[:MOST_FILTERS]
        st.markdown(f"**The filters of the first layer**, {weight.shape[2]} × {weight.shape[3]}")
        st.image(filter_tiles(weight.numpy(), across=8, tile=56), alt="Filters of the first layer", width=480)
    with right:
        number = min(number, len(layers))
        images = opened(shown, data, count) if data in DATA[:2] else None
        strongest(Request(shown, page.picture, number, layers[number - 1], images), channel - 1)
    reading.how(
        "A filter of the first layer answers to what it looks like. Later ones have no colours to show: the pictures "
        "say what they answer to, each cut to the pixels that the unit can see.",
        None, "what a channel means: it may answer to more than its strongest places show.",
        "Zeiler & Fergus 2014, fig. 2; Krizhevsky et al. 2012, fig. 3",
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Request:
    """What answers most strongly to which pictures: convolution `number` of the pass, from 1. `images`: None for the
    chosen picture alone."""

    shown: Shown
    picture: Picture
    number: int
    layer: "Layer"
    images: "ImageSet | None"

    @property
    def data(self) -> tuple[str, int]:
        """The name of the set, "" for the picture alone, and how many pictures."""
        return ("", 1) if self.images is None else (self.images.name, len(self.images))

    @property
    def key(self) -> tuple[Any, ...]:
        digest = self.picture.digest if self.images is None else self.images.digest
        source = self.shown.source
        return (TASK, source, cached.weights_of(source), self.shown.loaded.preprocessing, digest, self.layer.path)


def strongest(request: Request, channel: int) -> None:
    """The patches that a channel and those after it answer to most, once they have been looked for."""
    st.markdown(f"**What channels of** `{request.layer.path}` **answer to most**")
    answers = shelf().find(request.key)
    if answers is None and not background.at_work(TASK):
        if st.session_state.get("_filters_begun") == request.key:  # it was stopped, or failed
            st.button("Look again", icon=":material/play_arrow:", on_click=background.start,
                      args=(TASK, search(request)))  # fmt: skip
        else:
            st.session_state["_filters_begun"] = request.key
            background.start(TASK, search(request))
    background.show(TASK)
    if answers is not None:
        draw(request, answers, min(channel, len(answers.values) - 1))


def search(request: Request) -> Callable[[background.Task], None]:
    key, count = request.key, request.data[1]

    def work(task: background.Task) -> None:
        shelf().put(key, top_patches(
            request.shown.loaded, request.layer.path, request.picture.rgb, *request.data,
            lambda done: task.report(f"picture {done + 1} of {count}", done, count),
        ))  # fmt: skip
        task.results += 1

    return work


def draw(request: Request, answers: "Answers", channel: int) -> None:
    from vizkit.models.probes.convolution.top_patches import patches

    first = min(channel, max(0, len(answers.values) - ROWS))
    channels, field = range(first, min(first + ROWS, len(answers.values))), request.layer.seen
    names = f"channels {first + 1} to {channels[-1] + 1}"
    st.image(patch_rows(patches(answers, channels, field), tile=80), width="stretch",
             alt=f"The patches that {names} answer to most")  # fmt: skip
    images = request.images
    over = "places of this picture" if images is None else f"of {len(images)} pictures"
    st.caption(f"rows: {names} · {field.rows.size} × {field.columns.size} pixels, "
               f"what a unit can see · the strongest {over} at the left")  # fmt: skip
    if images is not None:
        remark(
            convolution.answered(channel, [images.labels[images.targets[index]] for index in answers.images[channel]])
        )
    shows = Filters(request.number, first, *request.data)
    save("filters", {"": saved.item_of(request.shown, shows)}, saved.inputs_of(request.shown, request.picture))


@remembered
def walk_of(source: str, preprocessing: "Preprocessing", _loaded: "Loaded") -> "Walk":
    from vizkit.models.probes.convolution.receptive_field import walk

    return walk(_loaded)


def opened(shown: Shown, data: str, count: int) -> "ImageSet":
    side = max(shown.loaded.preprocessing.size_hw)
    return shelf().get(("pictures", data, count, side), lambda: pictures(shown.loaded, data, count))
