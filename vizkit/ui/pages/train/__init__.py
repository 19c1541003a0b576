"""Train a model, watch it learn, compare runs."""

import streamlit as st

from vizkit.training.runs.folder import runs_root
from vizkit.ui.session.jobs import jobs
from vizkit.ui.views import View

VIEWS = (
    View("Start", "Choose data, model and recipe, and start a run.", "start", "", fragment=False, reads="nothing"),
    View(
        "Watch", "A run at work or at its end: curves, samples, weights.", "watch", "", fragment=False, reads="nothing"
    ),
    View("Compare", "The curves and results of several runs.", "compare", "", fragment=False, reads="nothing"),
)


def opening() -> None:
    """A link to a run, or a page opened anew while one is at work, begins with that run."""
    titles = [view.title for view in VIEWS]
    if st.session_state.get("train_view") not in titles and st.query_params.get("train_view") not in titles:
        watch = "run" in st.query_params or jobs().active(runs_root()) is not None
        st.session_state["train_view"] = "Watch" if watch else "Start"
