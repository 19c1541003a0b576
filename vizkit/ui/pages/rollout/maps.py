"""The Rollout page: where the mass of one token's row comes from when layers are multiplied, model beside model."""

import streamlit as st

from vizkit.image import Picture
from vizkit.ui import reading
from vizkit.ui.pages.rollout.card import card
from vizkit.ui.pages.rollout.choice import Ready, choices
from vizkit.ui.session import explained
from vizkit.ui.session.shown import Shown
from vizkit.ui.views import Page


def ready(one: Shown, picture: Picture, into: list[Ready]) -> None:
    from vizkit.analysis.attribution.layer_product import stream

    trace = explained.whole_trace(one, picture)
    into.append(Ready(one, trace, stream(trace)))


def view(page: Page) -> None:
    st.caption(
        "Rollout knows no class: the picture is the same whatever the model answers. For one class, or one against "
        "another, open Relevance."
    )
    controls, able = st.container(), list[Ready]()
    columns = {}
    for column, one in page.columns():
        columns[one.source] = column
        with column:
            reading.guarded(ready, one, page.picture, able)
    if able:
        with controls:
            choice = choices(able)
        for index, each in enumerate(able):
            with columns[each.one.source]:
                reading.guarded(card, index, each, page.picture, choice)
    reading.how(
        "Bright places are those whose mass reaches the marked token when the attention of all layers is multiplied, "
        "half of each step staying where it is (the residual connection). Click a patch to ask for its row; step "
        "through the layers to see it gather.",
        r"\hat A_l = \lambda I + (1 - \lambda)\,\overline{A}_l, \quad R = \hat A_L \cdots \hat A_1, \quad "
        r"r \leftarrow r\,\hat A_l \ \text{ for one row}",
        "why the model answered as it did. Values, MLPs and normalisation are left out, every head counts alike, and "
        "no class is asked for; a model can look at a place and make nothing of it.",
        "Abnar & Zuidema 2020, eq. 1; discarding after github.com/jacobgil/vit-explain; windows and merging: Liu et "
        "al. 2021, § 3.2",
    )
