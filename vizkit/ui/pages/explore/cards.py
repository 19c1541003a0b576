"""The cards of the Explore page: what one image does in one to four models, side by side, under one cursor."""

import streamlit as st

from vizkit.ui import export, reading
from vizkit.ui.session.shown import Shown, focus_of
from vizkit.ui.views import Page
from vizkit.ui.widgets import canvases
from vizkit.ui.widgets.attention_card import Choice, card, choices

GUIDE = "_first_steps"  # how often they have been called for


def view(page: Page) -> None:
    controls = st.container(horizontal=True, vertical_alignment="bottom")
    columns = page.columns()
    if not columns:
        return
    with controls:
        choice = choices([shown for _, shown in columns])
        st.button("First steps", key="first_steps", icon=":material/lightbulb:", type="tertiary", on_click=_again)
    for index, (column, shown) in enumerate(columns):
        with column:
            card(index, shown, page.picture, choice, st.session_state.get(GUIDE, 0) if index == 0 else None)
    mosaic([shown for _, shown in columns], choice)
    reading.attention()


def _again() -> None:
    st.session_state[GUIDE] = st.session_state.get(GUIDE, 0) + 1


def mosaic(shown: list[Shown], choice: Choice) -> None:
    able = [model for model in shown if model.heads]
    if not able:
        return
    st.subheader("All layers and heads")
    focus = focus_of(able)
    canvases.mosaic(
        f"mosaic_{focus.source}",
        focus.trace,
        focus.query,
        min(choice.layer, focus.depth) - 1,
        choice.head,
        choice.shared,
    )
    export.save_mosaic(focus.trace.model, focus.again, focus.query, choice.shared)
