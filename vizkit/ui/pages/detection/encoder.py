"""The view Encoder: where a place of the image looks, before any query asks."""

from typing import TYPE_CHECKING

import streamlit as st

from vizkit.analysis.remarks.detection import of_place
from vizkit.geometry import id_at
from vizkit.traces import Tokens
from vizkit.ui import reading
from vizkit.ui.pages.detection.canvas import Panel, canvas, truth_of
from vizkit.ui.pages.detection.choices import head, layer
from vizkit.ui.pages.detection.given import choose
from vizkit.ui.pages.detection.keeping import keep
from vizkit.ui.pages.detection.results import seen
from vizkit.ui.views import Page
from vizkit.ui.widgets.remark import sentence

if TYPE_CHECKING:
    from vizkit.models.detection.seen import Seen


def view(page: Page) -> None:
    from vizkit.analysis.detection.instances import instance_at, own_and_others

    given = choose(page)
    made = seen(given)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        depth = layer("det_encoder_layer", len(made.encoder))
        by = head("det_encoder_head", len(made.encoder[0]))
    at = page.cursor if "at" in st.session_state or "at" in st.query_params else on_something(made)
    cell = id_at(Tokens("cells", grid=made.grid), at)
    assert cell is not None
    looked = made.of_cell(depth - 1, cell, by)
    says = "No insect lies here: click one to see whether attention keeps to it."
    if given.truth is None:
        says = "Click any place."
    elif thing := instance_at(given.truth.instances, at):
        name = given.detector.labels[int(given.truth.labels[thing - 1])]
        says = sentence(of_place(name, own_and_others(looked, given.truth.instances, thing)))
    which = "head mean" if by is None else f"head {by + 1}"
    title = f"Self-attention, layer {depth}, {which}"
    panels = [
        Panel(given.title.capitalize(), "The picture. Arrow keys move the place.", at=at),
        Panel(title, "Where this place looks.", truth_of(given), looked, at=at),
    ]
    canvas("detection_encoder", given, panels, says=says, grid=made.grid, on_point=point)
    keep("detection_encoder", given, f"Self-attention of the encoder, place {cell + 1}", panels)
    reading.how(
        "Click a place: the map is the weights with which it gathers from all places. Where the bright cells keep "
        "to the insect that was clicked, the encoder has told it from the others.",
        r"A = \mathrm{softmax}\Big(\frac{(X + P)W_Q\,((X + P)W_K)^\top}{\sqrt{d_k}}\Big)",
        "what is gathered: a bright cell gives its value, which may say little.",
        "Carion et al. 2020, § 4.2 and fig. 3",
    )


def on_something(made: "Seen") -> tuple[float, float]:
    """Before anybody has clicked: the middle of the surest box."""
    from vizkit.models.detection.seen import sure

    x, y = sure(made.layers[-1], 0.0).boxes_cxcywh[0, :2].tolist()
    return x, y


def point(at: tuple[float, float]) -> None:
    st.session_state["at"] = at
