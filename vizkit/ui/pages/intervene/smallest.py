"""The view Smallest set: a greedy search for the fewest patches or heads that keep or flip the answer."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from vizkit.analysis.attention.attention_map import layers
from vizkit.analysis.attribution.smallest_set import Goal, Search
from vizkit.analysis.attribution.subject import Fill, cells_of
from vizkit.analysis.remarks.interventions import of_smallest
from vizkit.figure.charts import curves, heat_map
from vizkit.figure.patch_cells import numbered_cells
from vizkit.image import data_url, seen
from vizkit.interventions.smallest import heads, patches
from vizkit.models import EditError
from vizkit.traces import NotApplicable
from vizkit.ui import reading
from vizkit.ui.export import npz_of
from vizkit.ui.session import background, saved
from vizkit.ui.session.explained import key_of
from vizkit.ui.session.remembered import shelf
from vizkit.ui.session.shown import Shown, keep_valid
from vizkit.ui.views import Page
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.remark import remark
from vizkit.ui.widgets.save import save

TASK = "smallest"
MOST = 60  # parts that are taken at the most
GOALS: dict[str, Goal] = {"keep the answer": "keep", "flip the answer": "flip"}
FILLS: dict[str, Fill] = {"the mean colour": "mean", "a blur": "blur"}


@dataclass(frozen=True)
class Choice:
    parts: str
    goal: Goal
    fill: Fill


def view(page: Page) -> None:
    shown = page.focus
    choice = choices(bool(layers(shown.trace)))
    key = ("smallest set", *key_of(shown, page.picture), choice)
    run(page, shown, choice, key)
    result: Search | None = shelf().find(key)
    grid = cells_of(shown.trace)
    name = shown.loaded.label(int(shown.trace.logits.argmax()))
    left, right = st.columns(2)
    with left:
        figure = drawn(page, shown, choice, grid, result)
        chart(figure, "smallest_picture", f"The {choice.parts} in the order in which they were taken")
    if result is not None:
        line = curves({name: (np.arange(len(result.probability)), np.array(result.probability))},
                      f"{choice.parts} taken", "probability of the answer", mode="lines+markers")  # fmt: skip
        line.update_xaxes(dtick=max(1, len(result.order) // 8), rangemode="nonnegative")
        line.update_yaxes(range=[-0.03, 1.03], tickformat=".0%")
        with right:
            chart(line, "smallest_curve", f"Probability of {name} by the number of {choice.parts}")
        remark(of_smallest(result, choice.parts, name))
        keep(shown, choice, grid, result, name, line)
    reading.how(
        "Step by step the part is taken that helps the answer most (or harms it most), until the answer is there (or "
        "gone); the numbers are the order. Patches that are not there have one colour, or are blurred; heads that are "
        "not there add nothing.",
        r"S_{k+1} = S_k \cup \Big\{\arg\max_{i} \big(z_c - \max_{j \ne c} z_j\big)(S_k \cup \{i\})\Big\}",
        "that no smaller set exists: the search is greedy and takes nothing back. Nor is a grey picture with a few "
        "patches one that the model was trained on.",
        "Carter et al. 2019; Goyal et al. 2019",
    )


def choices(attends: bool) -> Choice:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kinds = ["patches", "heads"] if attends else ["patches"]
        keep_valid("smallest_of", kinds)
        parts = st.segmented_control("Fewest", kinds, default="patches", required=True, key="smallest_of",
                                     bind="query-params") or "patches"  # fmt: skip
        goal = st.segmented_control("that", list(GOALS), default="keep the answer", required=True, key="smallest_goal",
                                    bind="query-params") or "keep the answer"  # fmt: skip
        fill = "the mean colour"
        if parts == "patches":
            fill = st.selectbox("Elsewhere", list(FILLS), key="smallest_fill", bind="query-params", width=180) or fill
    return Choice(parts, GOALS[goal], FILLS[fill])


def run(page: Page, shown: Shown, choice: Choice, key: tuple) -> None:
    """The button, and the progress with Stop; what there is after every part is kept."""
    store, loaded, rgb, grid = shelf(), shown.loaded, page.picture.rgb, cells_of(shown.trace)

    def work(task: background.Task) -> None:
        def tell(so_far: Search) -> None:
            store.put(key, so_far)
            task.results += 1

        def tried(done: int, total: int) -> None:
            task.report(f"{choice.parts.capitalize()}: {task.results} taken, the next is searched", done, total)

        hear: dict[str, Any] = {"most": MOST, "tell": tell, "tried": tried}
        try:
            if choice.parts == "heads":
                store.put(key, heads(loaded, rgb, choice.goal, **hear)[0])
            else:
                store.put(key, patches(loaded, rgb, grid, choice.goal, fill=choice.fill, **hear))
        except EditError as sentence:
            raise NotApplicable(str(sentence)) from None

    if not background.at_work(TASK):
        st.button("Search", key="smallest_start", icon=":material/play_arrow:", on_click=background.start,
                  args=(TASK, work), type="primary", help="Greedy: one part after another.")  # fmt: skip
    background.show(TASK)


def drawn(page: Page, shown: Shown, choice: Choice, grid: tuple[int, int], result: Search | None) -> Any:  # noqa: ANN401
    """The picture with its numbered patches, or the numbered heads."""
    if choice.parts == "heads":
        learned = layers(shown.trace)
        return numbered_heads([layer.heads for layer in learned], result.order if result else ())
    image = seen(page.picture.rgb, shown.loaded.preprocessing)
    order, kept = ((), False) if result is None else (result.order, choice.goal == "keep")
    return numbered_cells(data_url(image), (image.shape[0], image.shape[1]), grid, order, kept)


def numbered_heads(counts: list[int], order: tuple[int, ...]) -> Any:  # noqa: ANN401
    """Layer × head: when a head was taken, from 1; white where it was not."""
    places = [(layer, head) for layer, count in enumerate(counts) for head in range(count)]
    when = np.full((len(counts), max(counts)), np.nan)
    for number, part in enumerate(order, 1):
        when[places[part]] = number
    names = [str(number) for number in range(1, 1 + max(counts))]
    layer_names = [str(number) for number in range(1, 1 + len(counts))]
    figure = heat_map(when, "head", "layer", x_names=names, y_names=layer_names, digits=0, square=False)
    figure.update_xaxes(type="category")
    return figure.update_yaxes(type="category")


def keep(shown: Shown, choice: Choice, grid: tuple[int, int], result: Search, name: str, line: object) -> None:
    words = f"{shown.name}; {name}; {choice.goal}, {choice.parts}; greedy"
    if choice.parts == "patches":
        when = np.zeros(grid[0] * grid[1])
        when[list(result.order)] = np.arange(1, 1 + len(result.order))
        figure = heat_map(when.reshape(grid), "column of patches", "row", "Order, 0 being never taken")
    else:
        figure = numbered_heads([layer.heads for layer in layers(shown.trace)], result.order)
    numbers = partial(npz_of, order=np.array(result.order, int), probability=np.array(result.probability),
                      grid=np.array(grid))  # fmt: skip
    item = saved.charts_of("Smallest set", (words,), line, figure)
    save("smallest", {"": item}, saved.NOTHING, {"Order and probability (NPZ)": numbers})
