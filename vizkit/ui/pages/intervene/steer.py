"""The view Steer: the direction of a class added after a block; the answers against its factor, the map before and
after."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from vizkit.analysis.attention.attention_map import layers
from vizkit.analysis.remarks.interventions import of_steering
from vizkit.datasets.insects import LABELS
from vizkit.figure.charts import curves
from vizkit.figure.palette import class_colours
from vizkit.models import pixels_of
from vizkit.ui import reading
from vizkit.ui.export import npz_of
from vizkit.ui.pages.intervene.before_after import of_layer, one_scale
from vizkit.ui.session import background, cached, saved
from vizkit.ui.session.remembered import shelf
from vizkit.ui.session.shown import Shown, keep_valid
from vizkit.ui.views import Page
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.query_map import show_map
from vizkit.ui.widgets.remark import remark
from vizkit.ui.widgets.save import save

if TYPE_CHECKING:
    from torch import Tensor

    from vizkit.models import Loaded
    from vizkit.models.probes.interventions.stream_edits import Directions
    from vizkit.traces import Trace

TASK = "steer"
IMAGES = 96
FACTORS = tuple(half / 2 for half in range(-4, 13))
LINES = 6


@dataclass(frozen=True)
class Steered:
    """With each of FACTORS: the logits, and the last layer's attention."""

    logits: "Tensor"
    traces: "tuple[Trace, ...]"


def view(page: Page) -> None:
    shown = page.focus
    data = set_for(shown.loaded)
    towards = chosen(shown, data)
    key = (TASK, shown.source, cached.weights_of(shown.source), shown.loaded.preprocessing, data)
    measured: tuple[Directions, tuple[str, ...]] | None = shelf().find(key)
    if measured is None and not background.at_work(TASK):
        if st.session_state.get("_steer_begun") == key:  # it was stopped, or failed
            st.button("Measure again", icon=":material/play_arrow:", on_click=background.start,
                      args=(TASK, work(shown, data, key)))  # fmt: skip
        else:
            st.session_state["_steer_begun"] = key
            background.start(TASK, work(shown, data, key))
    background.show(TASK)
    if measured is not None:
        draw(page, shown, measured, towards)
    reading.how(
        f"The direction of a class after a block is the mean stream of its pictures less that of all others, from "
        f"{IMAGES} training pictures. λ = 1 adds it as it is to every token of this picture, λ < 0 takes it away. All "
        "λ are measured at once, so the slider runs no model.",
        r"x_l \leftarrow x_l + \lambda\,(\bar{x}_l^{\,c} - \bar{x}_l^{\,\text{others}})",
        "that the model uses this direction by itself: large λ lead to streams that it never met.",
        "Turner et al. 2023; Marks & Tegmark 2023",
    )


def set_for(loaded: "Loaded") -> str:
    """The set that comes with vizkit whose pictures say more to this model."""
    knows_digits = bool(loaded.labels) and all(label.isdecimal() for label in loaded.labels)
    return "digits" if knows_digits or loaded.preprocessing.channels == 1 else "insects"


def work(shown: Shown, data: str, key: tuple) -> Callable[[background.Task], None]:
    from vizkit.evaluation.steering import directions_of

    def at_work(task: background.Task) -> None:
        def tell(done: int, count: int) -> None:
            task.report(f"Pictures of {data}: {done} of {count}", done, count)

        shelf().put(key, directions_of(shown.loaded, data, IMAGES, tell=tell))
        task.results += 1

    return at_work


@dataclass(frozen=True)
class Towards:
    """A class of a set, the block behind which its direction is added, from 1, and the factor."""

    data: str
    name: str
    block: int
    factor: float


def chosen(shown: Shown, data: str) -> Towards:
    from vizkit.models.probes.interventions.stream import blocks_of

    names, depth = [*LABELS] if data == "insects" else [str(digit) for digit in range(10)], len(blocks_of(shown.loaded))
    keep_valid("steer_class", names)
    keep_valid("steer_block", range(1, depth + 1))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.selectbox(f"Towards a class of {data}", names, key="steer_class", bind="query-params", width=220)
        block = int(st.slider("After block", 1, max(depth, 2), max(1, depth // 2), key="steer_block",
                              bind="query-params", width=220))  # fmt: skip
        factor = st.select_slider("λ", FACTORS, value=1.0, key="steer_by", bind="query-params", width=280)
    return Towards(data, str(name), min(block, depth), float(factor))


def draw(page: Page, shown: Shown, measured: "tuple[Directions, tuple[str, ...]]", towards: Towards) -> None:
    directions, names = measured
    data, block, factor = towards.data, towards.block, towards.factor
    label = names.index(towards.name)

    def make() -> Steered:
        with cached.device_lock():
            return measure(shown, page, directions, block - 1, label)

    result = cached.made(shown.source, page.picture, shown.loaded, (TASK, data, label, block), make)
    head, loaded = shown.loaded.head, shown.loaded
    values = head.values(result.logits)
    figure = by_factor(shown, values, factor)
    chart(figure, "steer_curves", f"The answers against λ, added after block {block}")
    remark(of_steering([loaded.label(i) for i in range(values.shape[1])], FACTORS, values, towards.name))
    item = saved.charts_of("Steered", (f"{shown.name}; towards {towards.name}, after block {block}",), figure)
    save("steer", {"": item}, saved.NOTHING, {"All λ (NPZ)": partial(
        npz_of, factors=np.array(FACTORS), logits=result.logits.numpy())})  # fmt: skip
    maps(page, shown, result, factor)


def measure(shown: Shown, page: Page, directions: "Directions", block: int, label: int) -> Steered:
    from vizkit.models import Edit, Keep, trace
    from vizkit.models.probes.interventions.steering import steered

    loaded, rgb = shown.loaded, page.picture.rgb
    logits = steered(loaded, pixels_of(loaded, rgb), block, directions[block, label], FACTORS)
    last = len([layer for layer in shown.trace.attention if layer.learned]) - 1
    traces = []
    for factor in FACTORS:
        edit = Edit("steer", block, value=factor, numbers=(label,))
        made = trace(loaded, rgb, keep=Keep((last,), heads="mean"), edits=[edit], directions=directions)
        traces.append(replace(made, features=()))
    return Steered(logits, tuple(traces))


def by_factor(shown: Shown, values: "Tensor", factor: float) -> Any:  # noqa: ANN401
    """The probabilities of the strongest classes."""
    strongest = values.amax(0).argsort(descending=True)[:LINES].tolist()
    lines = {f"{shown.loaded.label(label)}{' ' * at}": (np.array(FACTORS), values[:, label].numpy())
             for at, label in enumerate(strongest)}  # fmt: skip
    figure = curves(lines, "λ", "probability", mode="lines+markers", marked={float(factor): "dot"})
    for at, colour in enumerate(class_colours(strongest, values.shape[1])):
        figure.update_traces(line_color=colour, selector=at)
    return figure.update_yaxes(range=[-0.03, 1.03], tickformat=".0%")


def maps(page: Page, shown: Shown, result: Steered, factor: float) -> None:
    """The mean over heads of the last layer, before and after, under the one cursor."""
    pair = [result.traces[FACTORS.index(at)] for at in (0.0, factor)]
    both = one_scale([of_layer(trace, shown.query, len(layers(trace))) for trace in pair])
    for column, trace, rows, words in zip(st.columns(2), pair, both, ("Before", f"λ = {factor:g}"), strict=True):
        with column:
            st.markdown(f"**{words}**")
            show_map(f"steer_{words[0]}", rows, replace(shown, trace=trace), page.picture, "over image",
                     f"Attention of the last layer, {words}, in")  # fmt: skip
