"""Controls that several pages have: what few change, how a map is drawn, and the way to another view."""

from typing import Any

import streamlit as st

from vizkit.figure.palette import OPACITIES
from vizkit.ui.session.address import go_to
from vizkit.views import Entry


def go_on(words: str, entry: Entry, key: str) -> None:
    """A button that opens another view."""

    def chosen() -> None:
        st.session_state[f"{entry.page}_view"] = entry.title

    if st.button(words, key=key, icon=":material/arrow_forward:", on_click=chosen):
        go_to(f"pages/{entry.page}.py")


def more() -> Any:
    """Where the settings are that few change: one line above a picture is enough."""
    return st.popover("More", icon=":material/tune:", key="more")


def choose_drawing() -> str:
    """A key of OPACITIES, the same on all pages."""
    options = list(OPACITIES)
    return (
        st.segmented_control("Draw", options, default=options[0], required=True, key="draw", bind="query-params")
        or options[0]
    )
