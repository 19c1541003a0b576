"""The run that has the machine, on the views of the Train page that are not about it."""

import streamlit as st

from vizkit.training.runs.folder import RunFolder
from vizkit.ui.plain import plain
from vizkit.ui.session.jobs import ACTIVE, jobs
from vizkit.ui.widgets.run_choice import RUN

WATCH = "Watch"


def forget_run() -> None:
    """The address names a run only while it is watched."""
    if "run" in st.query_params:
        del st.query_params["run"]


@st.fragment(run_every=2.0)
def at_work(run: RunFolder) -> None:
    """A line about the run that has the machine, with the way to it. When it ends, the whole page once, for the
    pickers."""
    if jobs().state(run) not in ACTIVE:
        st.rerun()

    def watch() -> None:
        st.session_state.update({"train_view": WATCH, RUN: run.name})

    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f":material/model_training: **{plain(run.name)}** is in training.")
        if st.button("Watch it", on_click=watch, key="watch_it"):
            st.rerun()  # the button alone would only draw this line again
