"""The Train page: start a run, watch it learn, compare it with others."""

import streamlit as st

from vizkit.training.runs.folder import RunFolder, runs_root
from vizkit.ui.pages.train import compare, start
from vizkit.ui.plain import plain
from vizkit.ui.session.jobs import ACTIVE, jobs
from vizkit.ui.widgets import run_watch

START, WATCH, COMPARE = "Start", "Watch", "Compare"
VIEWS = (START, WATCH, COMPARE)


def view() -> None:
    chosen = choose()
    if chosen != WATCH and "run" in st.query_params:
        del st.query_params["run"]
    if chosen == START:
        if run := jobs().active(runs_root()):
            at_work(run)
        start.view()
    elif chosen == WATCH:
        run_watch.view()
    else:
        compare.view()


def choose() -> str:
    """Which view is open. A link to a run, or a page opened anew while one is at work, begins with that run."""
    if st.session_state.get("train_view") not in VIEWS and st.query_params.get("train_view") not in VIEWS:
        watch = "run" in st.query_params or jobs().active(runs_root()) is not None
        st.session_state["train_view"] = WATCH if watch else START
    chosen = st.segmented_control(
        "View", VIEWS, required=True, key="train_view", bind="query-params", label_visibility="collapsed"
    )
    return chosen or START


@st.fragment(run_every=2.0)
def at_work(run: RunFolder) -> None:
    """A line about the run that has the machine, with the way to it. When it ends, the whole page once, for the
    pickers."""
    if jobs().state(run) not in ACTIVE:
        st.rerun()

    def watch() -> None:
        st.session_state.update({"train_view": WATCH, "run": run.name})

    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f":material/model_training: **{plain(run.name)}** is in training.")
        if st.button("Watch it", on_click=watch, key="watch_it"):
            st.rerun()  # the button alone would only draw this line again
