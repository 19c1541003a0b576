"""The view Queries: what each object query tends to answer, over many pictures."""

import json
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from vizkit.figure.detection.query_habits import habits as habits_figure
from vizkit.figure.detection.query_habits import sizes
from vizkit.ui import reading
from vizkit.ui.pages.detection.detectors import detector, source_of, sources
from vizkit.ui.plain import plain
from vizkit.ui.session import background
from vizkit.ui.session.remembered import remembered, shelf
from vizkit.ui.session.shown import keep_valid
from vizkit.ui.views import NothingShownError, Page
from vizkit.ui.widgets.chart import chart

if TYPE_CHECKING:
    from vizkit.evaluation.query_habits import Habits
    from vizkit.models.detection.opening import Detector

TASK, SCENES, LEAST = "queries", 100, 0.5


def view(page: Page) -> None:
    del page
    source, model = chosen_model()
    measured = habits_of(source, model)
    if measured is None:
        return
    options = list(range(measured.all_queries))
    keep_valid("det_slot", options)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        query = int(st.selectbox("Query", options, key="det_slot", bind="query-params", width=110) or 0)
    counts = [int((measured.queries == each).sum()) for each in options]
    left, right = st.columns([3, 2], gap="medium")
    with left:
        st.markdown("**Where their boxes lie**")
        parts = [measured.of(each).boxes_cxcywh for each in options]
        alt = "Middles of the boxes of each query; boxes by query: " + ", ".join(map(str, counts))
        chart(
            habits_figure([each[:, :2] for each in parts], [each[:, 2:].prod(1) for each in parts], query),
            "det_habits",
            alt,
        )
    with right:
        own = measured.of(query)
        st.markdown(f"**Query {query}: size and class of its {len(own.queries)} boxes**")
        if len(own.queries):
            chart(
                sizes(own.boxes_cxcywh, own.labels, model.labels),
                "det_sizes",
                f"Width and height of {len(own.queries)} boxes of query {query}",
            )
        else:
            st.caption("This query said nothing that was sure enough.")
    st.caption(said(measured))
    reading.how(
        f"Everything that was said with a score from {measured.threshold:g} on over {measured.pictures} drawn scenes "
        "of the test split. A dot is the middle of a box, large for a large box; above each square stand the number of "
        "the query and how many boxes it said.",
        None,
        "a query that looks for one kind: in DETR they differ by place and size, not by class.",
        "Carion et al. 2020, figure 7",
    )


def chosen_model() -> "tuple[str, Detector]":
    from vizkit.models.sources.hub import ModelError

    known = sources()
    if not known:
        st.info("There is no model that finds things yet: train one with the recipe detr-small.")
        raise NothingShownError
    keep_valid("det_model", known)
    name = str(st.selectbox("Model", list(known), key="det_model", bind="query-params", width=230))
    try:
        return known[name], detector(source_of(known[name]), known[name])
    except ModelError as error:
        st.warning(plain(error), icon=":material/warning:")
        raise NothingShownError from None


def habits_of(source: str, model: "Detector") -> "Habits | None":
    """What came with the model; else what was measured in this process, and the button for it."""
    shipped = shipped_habits(source)
    if shipped is not None:
        return shipped
    key = ("query habits", source_of(source))
    store = shelf()

    def work(task: background.Task) -> None:
        from vizkit.datasets.scenes.opening import open_boxes
        from vizkit.evaluation.query_habits import habits

        scenes = open_boxes("scenes", "test", count=SCENES)
        made = habits(model, scenes, LEAST, lambda done: task.report("Asking all queries of scenes", done, SCENES))
        store.put(key, made)
        task.results += 1

    known: Habits | None = store.find(key)
    if known is None and not background.at_work(TASK):
        st.button(
            f"Ask all queries of {SCENES} scenes",
            key="det_ask",
            icon=":material/play_arrow:",
            on_click=background.start,
            args=(TASK, work),
        )
    background.show(TASK)
    return known


@remembered
def shipped_habits(source: str) -> "Habits | None":
    from vizkit.evaluation.query_habits import habits_from
    from vizkit.models.detection.opening import detector_folder

    file = detector_folder(source)[0] / "queries.json"
    if not source.startswith("bundled:") or not file.is_file():
        return None
    return habits_from(json.loads(file.read_text(encoding="utf-8")))


def said(measured: "Habits") -> str:
    share = measured.apart()
    if np.isnan(share):
        return "Nothing was said that was sure enough."
    return (
        f"The boxes of one query lie {100 * share:.0f} % as far from their middle as all boxes do: 100 % if "
        "queries had no places of their own."
    )
