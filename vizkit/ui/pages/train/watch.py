"""The view Watch: a run at work or at its end."""

from functools import partial

import streamlit as st

from vizkit.training.runs.folder import RunFolder
from vizkit.ui import host
from vizkit.ui.views import Page
from vizkit.ui.widgets import run_watch
from vizkit.views import VIEWS
from vizkit.work_folder import steps_in


def view(page: Page) -> None:
    run_watch.view(partial(learned, page))  # of the page's models none: it shows runs


def learned(page: Page, name: str, run: RunFolder) -> None:
    """Of a run that has ended and kept checkpoints."""
    if run.has_model and run.learns_pictures and not run.at_work and steps_in(run.path):
        st.markdown("**What it learned**, checkpoint by checkpoint")
        host.draw(VIEWS["learned"], page, {"run": name})
