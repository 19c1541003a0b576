"""The Rollout page: which patches contribute to one token when layers are multiplied, models side by side."""

import streamlit as st

from vizkit.analysis.attribution.layer_product import stream
from vizkit.image import Picture
from vizkit.ui import reading
from vizkit.ui.pages.rollout.card import card
from vizkit.ui.pages.rollout.choice import Ready, choices
from vizkit.ui.session import explained
from vizkit.ui.session.shown import Shown
from vizkit.ui.views import Page


def _add_ready(shown: Shown, picture: Picture, into: list[Ready]) -> None:
    trace = explained.whole_trace(shown, picture)
    into.append(Ready(shown, trace, stream(trace)))


def view(page: Page) -> None:
    st.caption(
        "Rollout does not depend on a class: the map is the same whatever the model predicts. For one class, or one "
        "against another, open Relevance."
    )
    controls, able = st.container(), list[Ready]()
    columns = {}
    for column, shown in page.columns():
        columns[shown.source] = column
        with column:
            reading.guarded(_add_ready, shown, page.picture, able)
    if able:
        with controls:
            choice = choices(able)
        for index, ready in enumerate(able):
            with columns[ready.shown.source]:
                reading.guarded(card, index, ready, page.picture, choice)
    reading.how(
        "Bright places contribute most to the marked token when the attention of all layers is multiplied, with half "
        "of each step for the residual connection. Click a patch to choose its row; step through the layers to see it "
        "develop.",
        r"\hat A_l = \lambda I + (1 - \lambda)\,\overline{A}_l, \quad R = \hat A_L \cdots \hat A_1, \quad "
        r"r \leftarrow r\,\hat A_l \ \text{ for one row}",
        "why the model predicts a class. Values, MLPs and normalisation are left out, all heads have equal "
        "weight, and no class is chosen; a model can attend to a place without using it.",
        "Abnar & Zuidema 2020, eq. 1; discarding after github.com/jacobgil/vit-explain; windows and merging: Liu et "
        "al. 2021, § 3.2",
    )
