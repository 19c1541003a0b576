"""The view Boxes: what is found, where its query looked, and what speaks for its class."""

from typing import TYPE_CHECKING

import streamlit as st

from vizkit.analysis.remarks.detection import of_found, of_own
from vizkit.ui import export, reading
from vizkit.ui.pages.detection.canvas import Panel, boxes_of, canvas, truth_of
from vizkit.ui.pages.detection.choices import head, layer, threshold
from vizkit.ui.pages.detection.given import Given, choose
from vizkit.ui.pages.detection.keeping import keep
from vizkit.ui.pages.detection.results import judged, relevance, seen
from vizkit.ui.session.address import put
from vizkit.ui.views import Page
from vizkit.ui.widgets.remark import remark, sentence

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from vizkit.models.detection.seen import Seen, Sure

CHOSEN = "_det_query"


def view(page: Page) -> None:
    from vizkit.models.detection.seen import sure

    given = choose(page)
    made = seen(given)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        score = threshold()
        depth = layer("det_layer", len(made.cross))
        by = head("det_head", len(made.cross[0]))
        true = given.truth is not None and st.toggle("True boxes", True, key="det_truth", bind="query-params")
    said = sure(made.layers[-1], score)
    truth = truth_of(given) if true else []
    counts, wrong = judged(given, said)
    found = boxes_of(given, said, wrong)
    first = Panel(f"Found in {given.title}", "The picture with all boxes. Arrow keys choose one.", [*truth, *found])
    query = chosen_query(given, said)
    if query is None:
        canvas("detection", given, [first], says=sentence(of_found(counts, score)))
        keep("detection", given, "Nothing found", [first])
    else:
        looked = made.of_query(depth - 1, query, by)
        place = said.queries.tolist().index(query)
        speaks = relevance(given, query, int(said.labels[place]))
        own = [box for box in found if box.id == query]
        which = "head mean" if by is None else f"head {by + 1}"
        panels = [
            first,
            Panel(f"Cross-attention, layer {depth}, {which}", "Where the query looked.", own, looked),
            Panel("Relevance for its class", "What speaks for the class of this box.", own, speaks),
        ]
        canvas(
            "detection",
            given,
            panels,
            says=sentence(of_found(counts, score)),
            chosen=query,
            on_box=lambda box: pick(given, box),
        )
        say_own(given, said, place, looked)
        more = {"Boxes and weights (NPZ)": numbers_of(given, made, said, speaks)}
        keep("detection", given, "Boxes, and where one of them looks", panels, more)
    reading.how(
        "Click a box: beside it, where its query took from the image in the chosen decoder layer, and the cells that "
        "speak for its class through all layers. Dashed boxes are true. An insect is found by the surest box of its "
        "class that overlaps it by an IoU of 0.5 or more; every other box is too many.",
        r"\bar{A} = \mathbb{E}_h\big[(\nabla A \odot A)^+\big],\quad R_{qi} \leftarrow R_{qi} + \bar{R}_{qq}^\top "
        r"\bar{A}\, \bar{R}_{ii}",
        "what would change if a cell were hidden: relevance follows gradients at this very picture. A query or cell "
        "that gains nothing keeps its identity, where the authors' code divides 0 by 0 (NaN).",
        "Carion et al. 2020; Chefer et al. 2021, eqs. 5–10",
    )


def chosen_query(given: Given, said: "Sure") -> int | None:
    """The query of the chosen box: clicked, else from the link, else the surest. None where nothing is found."""
    queries = said.queries.tolist()
    if not queries:
        return None
    digest, query = st.session_state.get(CHOSEN, ("", -1))
    linked = st.query_params.get("det_query", "")
    if digest != given.digest:
        query = int(linked) if not digest and linked.isdecimal() and len(linked) < 6 else -1
        st.session_state[CHOSEN] = given.digest, query
    query = query if query in queries else queries[0]
    if query != queries[0] or linked:
        put("det_query", str(query))
    return query


def pick(given: Given, query: int) -> None:
    st.session_state[CHOSEN] = given.digest, query
    st.query_params["det_query"] = str(query)


def say_own(given: Given, said: "Sure", place: int, looked: "Tensor") -> None:
    """On a drawn scene: how much attention goes to the insect on which the box lies."""
    from vizkit.analysis.detection.boxes import best_overlap
    from vizkit.analysis.detection.instances import own_and_others

    if given.truth is None or given.things is None:
        return
    on = best_overlap(said.boxes_cxcywh[place], given.things.boxes_cxcywh)
    if on is not None:
        name = given.detector.labels[int(given.things.labels[on[0]])]
        remark(of_own(name, on[1], own_and_others(looked, given.truth.instances, on[0] + 1)))


def numbers_of(given: Given, made: "Seen", said: "Sure", speaks: "Tensor") -> "Callable[[], bytes]":
    """All boxes and weights as a file."""

    def numbers() -> bytes:
        import torch

        return export.npz_of(
            picture=given.rgb,
            queries=said.queries.numpy(),
            labels=said.labels.numpy(),
            scores=said.scores.numpy(),
            boxes_cxcywh=said.boxes_cxcywh.numpy(),
            cross=torch.stack(made.cross).numpy(),
            relevance=speaks.numpy(),
        )

    return numbers
