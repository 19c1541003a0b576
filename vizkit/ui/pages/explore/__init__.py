"""Where does every layer and head attend? One image in one to four models, side by side, under one cursor."""

from collections.abc import Callable

import streamlit as st

VIEWS = ()


def opening() -> None:
    """The bare address opens on the patches that are alike; links say what they show."""
    if "shows" not in st.session_state and {*st.query_params} <= {"at"}:
        from vizkit.views.explore import ALIKE

        st.session_state["shows"] = ALIKE


def waiting() -> Callable[[], object] | None:
    from vizkit.ui.pages.explore import first

    return first.show() if first.applies() else None
