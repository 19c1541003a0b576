"""The view Watch: a run at work or at its end."""

from functools import partial
from typing import Any

import streamlit as st

from vizkit.training.runs.folder import RunFolder
from vizkit.ui import host
from vizkit.ui.duration import duration
from vizkit.ui.session.address import stay
from vizkit.ui.views import Page
from vizkit.ui.widgets import run_watch
from vizkit.views import VIEWS, class_of
from vizkit.views.view import How
from vizkit.work_folder import steps_in

EVERY_S = 2.0


def view(page: Page) -> None:
    run_watch.view(partial(learned, page))  # of the page's models none: it shows runs


def learned(page: Page, name: str, run: RunFolder) -> How | None:
    """Of a run that has kept checkpoints, also while it is at work: then with those that come. How it is read."""
    if not run.learns_pictures:
        return None
    if run.at_work:
        _follow(run, steps_in(run.path) if run.has_model else [])
    if not run.has_model or not steps_in(run.path):
        return None
    st.markdown("**What it learned**, checkpoint by checkpoint")
    host.draw(VIEWS["learned"], page, {"run": name})
    return class_of("learned").how


def _follow(run: RunFolder, known: list[int]) -> None:
    """The page is drawn again when the run has kept more; until there is anything, when that will be."""

    @st.fragment(run_every=EVERY_S)
    def follow() -> None:
        stay("train_view", "Watch")
        if run.has_model and steps_in(run.path) != known:
            st.rerun()
        if not known and (words := until_first(run.status)):
            st.caption(words)

    follow()


def until_first(status: dict[str, Any]) -> str:
    """When the first epoch will have ended, from the speed so far; "" where nobody knows yet."""
    done, steps, epochs, left = (status.get(name) for name in ("step", "steps", "epochs", "seconds_left"))
    if not (steps and epochs and left) or done is None or status.get("epoch"):
        return ""
    seconds = left * (steps - done - 1) / max(1, steps * epochs - done - 1)
    return f"What it answers to test images, and why, is shown here after its first epoch: in {duration(seconds)}."
