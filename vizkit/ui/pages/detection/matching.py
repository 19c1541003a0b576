"""The view Matching: which query stands for which thing while a DETR learns, and what that costs."""

from typing import TYPE_CHECKING

import streamlit as st

from vizkit.figure.detection.cost_matrix import cost_matrix
from vizkit.figure.palette import CLASSES
from vizkit.ui import reading
from vizkit.ui.pages.detection.canvas import Box, Panel, canvas
from vizkit.ui.pages.detection.given import DRAWN, Given, choose
from vizkit.ui.pages.detection.keeping import keep
from vizkit.ui.pages.detection.results import seen
from vizkit.ui.pages.detection.with_truth import truth_or_offer
from vizkit.ui.session.shown import keep_valid
from vizkit.ui.views import Page
from vizkit.ui.widgets.chart import chart

if TYPE_CHECKING:
    from vizkit.models.detection.assignments import Assigned, Chosen
    from vizkit.models.detection.matching import Things, Weights
    from vizkit.models.networks.detr import Answers

COSTS = {
    "label": ("Class", 1.0, 5.0, "Of 1 − p: how unsure a query is of the thing's class."),
    "distance": ("Box distance", 5.0, 10.0, "Of the difference of both boxes, summed over middle, width and height."),
    "overlap": ("Overlap", 2.0, 10.0, "Of 1 − GIoU, the generalised overlap of both boxes."),
}
"""Title, the paper's weight, the largest weight, help."""


DIFFERING = {"bundled:scenes_detr": (335, 2)}
"""A scene and a decoder layer in which the cheapest pair first costs clearly more (docs/detection.md)."""


def view(page: Page) -> None:
    from vizkit.models.detection.assignments import assigned, costs_of

    given = choose(page)
    things = truth_or_offer(given)
    if things is None:
        return
    if not len(things.labels):
        st.info("This scene holds no insect: every query is to say “no object”, and nothing is matched.")
        return
    layers = seen(given).layers
    answers, above = layers[layer_of(len(layers))], st.container()
    weights = weighed()
    made = assigned(costs_of(answers, things), weights)
    names = [given.detector.labels[label] for label in things.labels.tolist()]
    with above:
        picture(given, answers, things, made, names)
    figure = cost_matrix(made.total.numpy(), names, made.optimal.pairs, made.greedy.pairs)
    chart(figure, "det_costs", f"Cost of {made.total.shape[0]} queries for {', '.join(names)}")
    reading.how(
        "Each thing (whole frame) gets one query (dashed frame); a line joins their middles. Squares in the matrix are "
        "the assignment of least cost in all, circles take the cheapest pair first. The model does not run again when "
        "a weight moves.",
        r"\hat\sigma = \arg\min_\sigma \sum_i \lambda_c (1 - \hat p_{\sigma(i)}(c_i)) + \lambda_1 "
        r"\lVert b_i - \hat b_{\sigma(i)} \rVert_1 + \lambda_g (1 - \mathrm{GIoU}(b_i, \hat b_{\sigma(i)}))",
        "how the weights change what is learned: the model was trained with 1, 5 and 2.",
        "Carion et al. 2020, § 3.1",
    )


def layer_of(depth: int) -> int:
    """The decoder layer whose answers are matched, from 0: all are while it learns."""
    options = list(range(1, depth + 1))
    keep_valid("det_match_layer", options)
    chosen = st.segmented_control(
        "After decoder layer", options, default=depth, required=True, key="det_match_layer", bind="query-params"
    )
    return int(chosen or depth) - 1


def weighed() -> "Weights":
    from vizkit.models.detection.matching import Weights

    values = {}
    for column, (name, (title, usual, most, words)) in zip(st.columns(len(COSTS)), COSTS.items(), strict=True):
        values[name] = column.slider(
            title, 0.0, most, usual, 0.5, key=f"det_cost_{name}", bind="query-params", help=words
        )
    return Weights(**values)


def picture(given: Given, answers: "Answers", things: "Things", made: "Assigned", names: list[str]) -> None:
    panels = [
        panel(f"{title}: cost {chosen.cost:.3f}", chosen, answers, things, names)
        for title, chosen in (("Optimal", made.optimal), ("Greedy", made.greedy))
    ]
    canvas("det_matching", given, panels, says=compared(made))
    with st.container(horizontal=True):
        keep("det_matching", given, "Queries matched with things", panels)
        if given.key[0] in DIFFERING and set(made.optimal.pairs) == set(made.greedy.pairs):
            st.button(
                "A scene where they differ",
                icon=":material/call_split:",
                key="det_differ",
                on_click=show_differing,
                args=DIFFERING[given.key[0]],
            )


def show_differing(scene: int, layer: int) -> None:
    """With the paper's weights."""
    st.session_state.update({"det_of": DRAWN, "det_scene": scene, "det_match_layer": layer})
    st.session_state.update({f"det_cost_{name}": usual for name, (_, usual, *_) in COSTS.items()})


def panel(title: str, chosen: "Chosen", answers: "Answers", things: "Things", names: list[str]) -> Panel:
    from vizkit.analysis.detection.boxes import corners

    said, true = answers.boxes_cxcywh[0].tolist(), things.boxes_cxcywh.tolist()
    frames = corners(answers.boxes_cxcywh[0]).tolist()
    own = [
        Box(tuple(box), CLASSES[thing], f"{thing + 1} {names[thing]}")
        for thing, box in enumerate(corners(things.boxes_cxcywh).tolist())
    ]
    theirs = [Box(tuple(frames[query]), CLASSES[thing], f"query {query}", dashed=True) for query, thing in chosen.pairs]
    lines = [([said[query][:2], true[thing][:2]], CLASSES[thing]) for query, thing in chosen.pairs]
    words = "; ".join(f"query {query} for {names[thing]}" for query, thing in chosen.pairs)
    return Panel(title, f"{title}: {words}", [*own, *theirs], paths=lines)


def compared(made: "Assigned") -> str:
    if set(made.optimal.pairs) == set(made.greedy.pairs):
        return f"Both choose the same pairs, at a cost of {made.optimal.cost:.3f}."
    return f"The cheapest pair first costs {made.greedy.cost:.3f} in all, the best assignment {made.optimal.cost:.3f}."
