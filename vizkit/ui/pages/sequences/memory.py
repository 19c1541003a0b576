"""The view Memory: what a recurrent network forgets on the way, and what attention keeps in reach."""

import streamlit as st

from vizkit.ui.pages.sequences import memory_gates, memory_gradient, memory_match, memory_times
from vizkit.ui.pages.sequences.brought import brought
from vizkit.ui.pages.sequences.typed import MODEL
from vizkit.ui.views import Page

PARTS = {
    "Right by length": memory_match.draw,
    "Gradient": memory_gradient.draw,
    "Gates": memory_gates.draw,
    "Time": memory_times.draw,
}


def view(page: Page) -> None:
    del page  # models of texts, not those of the sidebar
    names = list(PARTS)
    chosen = st.segmented_control("Show", names, default=names[0], required=True, key="memory", bind="query-params",
                                  label_visibility="collapsed")  # fmt: skip
    if of := brought().get(st.session_state.get(MODEL, "")):
        st.caption(f":material/info: {of.title} is not among them: these networks learned the same few letters to be "
                   "compared, and it has not.")  # fmt: skip
    PARTS[chosen or names[0]]()
