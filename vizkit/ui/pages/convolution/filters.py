"""The view Filters: those of the first layer, and what a channel answers most strongly to over a set of pictures."""

from typing import TYPE_CHECKING, Any

import streamlit as st

from vizkit.analysis.remarks import convolution
from vizkit.figure.convolution.patch_rows import patch_rows
from vizkit.figure.patches import filter_tiles
from vizkit.scoring import pictures
from vizkit.ui import export, reading
from vizkit.ui.session import background, cached, model_names
from vizkit.ui.session.remembered import remembered, shelf
from vizkit.ui.session.shown import Shown, keep_valid
from vizkit.ui.views import Page
from vizkit.ui.widgets.controls import more
from vizkit.ui.widgets.remark import remark

if TYPE_CHECKING:
    from vizkit.datasets.image_set import ImageSet
    from vizkit.image import Preprocessing
    from vizkit.models import Loaded
    from vizkit.models.probes.convolution.receptive_field import Walk
    from vizkit.models.probes.convolution.top_patches import Answers

TASK = "top patches"
PATCHES, ROWS, MOST_FILTERS = 8, 6, 64
COUNTS = (24, 60, 120, 240)


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
            data = st.segmented_control("Pictures", ("insects", "digits"), default=known, required=True,
                                        key="filters_data", bind="query-params")  # fmt: skip
            count = int(st.select_slider("How many", COUNTS, 60, key="filters_count", bind="query-params"))
    left, right = st.columns([2, 3], gap="large")
    with left:
        weight = first_layer(shown.loaded).weight[:MOST_FILTERS]
        st.markdown(f"**The filters of the first layer**, {weight.shape[2]} × {weight.shape[3]}")
        st.image(filter_tiles(weight.numpy(), across=8, tile=56), alt="Filters of the first layer", width=480)
    with right:
        index = min(number, len(layers)) - 1
        wanted(shown, opened(shown, data or "insects", count), walked, index, channel - 1)
    reading.how(
        "A filter of the first layer answers to what it looks like. Later ones have no colours to show: the pictures "
        "say what they answer to, each cut to the pixels that the unit can see.",
        None, "what a channel means: it may answer to more than its strongest places show.",
        "Zeiler & Fergus 2014, fig. 2; Krizhevsky et al. 2012, fig. 3",
    )  # fmt: skip


def wanted(shown: Shown, images: "ImageSet", walked: "Walk", index: int, channel: int) -> None:
    """The patches that a channel and those after it answer to most, once they have been looked for."""
    path = [layer.path for layer in walked.layers if layer.kind == "convolution"][index]
    st.markdown(f"**What channels of** `{path}` **answer to most**")
    key = (TASK, shown.source, cached.weights_of(shown.source), shown.loaded.preprocessing, images.digest, path)
    answers = shelf().find(key)
    if answers is None and not background.at_work(TASK):
        work = search(shown, images, path, key)
        if st.session_state.get("_filters_begun") == key:  # it was stopped, or failed
            st.button("Look again", icon=":material/play_arrow:", on_click=background.start, args=(TASK, work))
        else:
            st.session_state["_filters_begun"] = key
            background.start(TASK, work)
    background.show(TASK)
    if answers is not None:
        draw(answers, images, walked, index, min(channel, len(answers.values) - 1))


def search(shown: Shown, images: "ImageSet", path: str, key: tuple) -> Any:  # noqa: ANN401
    from vizkit.models import pixels_of
    from vizkit.models.probes.convolution.layers_seen import seen
    from vizkit.models.probes.convolution.top_patches import strongest_places

    def work(task: background.Task) -> None:
        paths = [each.path for each in seen(shown.loaded, pixels_of(shown.loaded, images[0][0])).convolved]
        answers = strongest_places(
            shown.loaded, (picture for picture, _ in images), paths.index(path), keep=PATCHES,
            progress=lambda done: task.report(f"picture {done + 1} of {len(images)}", done, len(images)),
        )  # fmt: skip
        shelf().put(key, answers)
        task.results += 1

    return work


def draw(answers: "Answers", images: "ImageSet", walked: "Walk", index: int, channel: int) -> None:
    from vizkit.models.probes.convolution.top_patches import patch

    field = [layer for layer in walked.layers if layer.kind == "convolution"][index].seen
    first = min(channel, max(0, len(answers.values) - ROWS))
    channels = range(first, min(first + ROWS, len(answers.values)))
    rows = [[patch(answers, each, place, field.box((int(answers.rows[each, place]), int(answers.columns[each, place]))))
             for place in range(answers.values.shape[1])] for each in channels]  # fmt: skip
    names = f"channels {first + 1} to {channels[-1] + 1}"
    st.image(patch_rows(rows, tile=80), alt=f"The patches that {names} answer to most", width="stretch")
    st.caption(f"rows: {names} · {field.rows.size} × {field.columns.size} pixels, "
               f"what a unit can see · the strongest of {len(images)} pictures at the left")  # fmt: skip
    labels = [images.labels[images.targets[image]] for image in answers.images[channel]]
    remark(convolution.answered(channel, labels))
    st.download_button(
        "Numbers (NPZ)", lambda: export.npz_of(values=answers.values, images=answers.images, rows=answers.rows,
                                               columns=answers.columns),
        "top_patches.npz", "application/zip", key="filters_npz", icon=":material/download:", on_click="ignore",
    )  # fmt: skip


@remembered
def walk_of(source: str, preprocessing: "Preprocessing", _loaded: "Loaded") -> "Walk":
    from vizkit.models.probes.convolution.receptive_field import walk

    return walk(_loaded)


def opened(shown: Shown, data: str, count: int) -> "ImageSet":
    side = max(shown.loaded.preprocessing.size_hw)
    return shelf().get(("pictures", data, count, side), lambda: pictures(shown.loaded, data, count))
