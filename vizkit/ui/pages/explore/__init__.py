"""Where does every layer and head attend? One image in one to four models, side by side, under one cursor."""

from collections.abc import Callable

import streamlit as st

from vizkit.datasets import samples
from vizkit.ui.session.chosen import OFFERED
from vizkit.views import ALIKE

VIEWS = ()


def welcome() -> None:
    """Where those begin who have never been here: on what the bare address shows, where there are other pages."""
    if st.session_state.get("shows") == ALIKE and OFFERED in st.session_state:
        from vizkit.lessons import shelf
        from vizkit.ui.shell import page_of

        first, lessons = next(iter(shelf.files())), page_of("lessons", "Lessons")
        with st.container(horizontal=True, gap="xxsmall"):
            st.page_link(lessons, label="New here? **First lesson**", query_params={"lesson": first})
            st.page_link(page_of("attention", "Attention"), label="**Self-attention** step by step")


def opening() -> None:
    """The bare address opens on the patches that are alike; links say what they show."""
    bare = {*st.query_params} <= {"at"} and st.session_state.get("image") == samples.names()[0]
    if bare and "shows" not in st.session_state:
        st.session_state["shows"] = ALIKE


def waiting() -> Callable[[], object] | None:
    from vizkit.ui.pages.explore import first

    return first.show() if first.applies() else None
