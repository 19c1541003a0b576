"""Several runs one after another, as processes of `jobs`: the experiment of the Distillation page.

The list of what is still to come lives here, once per server, so that the experiment goes on when its page is reloaded
or left. When the server ends, so does the run at work; a new start goes on with what is not done.
"""

import threading
import time

import streamlit as st

from vizkit.training.recipe import Recipe
from vizkit.training.runs.folder import RunFolder
from vizkit.ui.session import allowed
from vizkit.ui.session.jobs import ACTIVE, JobError, Jobs, jobs

LOOK_EVERY_S = 0.3
LEAVING_S = 3.0


class Series:
    """Runs that wait for one another; at most one series at a time."""

    def __init__(self, jobs: Jobs) -> None:
        self.jobs, self.lock = jobs, threading.Lock()
        self.waiting = list[tuple[RunFolder, Recipe]]()  # the first is at work, or about to be
        self.thread: threading.Thread | None = None

    def start(self, experiment: list[tuple[RunFolder, Recipe]]) -> None:
        """Train what is not done yet. JobError while something else is at work, or where a folder is in the way."""
        with self.lock:
            if self.waiting:
                raise JobError("The experiment is at work already.")
            todo = [(run, recipe) for run, recipe in experiment if not self.finished(run, recipe)]
            if not todo:
                raise JobError("All runs of this experiment are done; choose another seed.")
            self.begin(*todo[0])
            self.waiting = todo
            self.thread = threading.Thread(target=self.follow, daemon=True, name="experiment")
            self.thread.start()

    def stop(self) -> None:
        """Stop the run at work and let go of the others."""
        if not allowed.jobs():
            return
        with self.lock:
            at_work = self.waiting[:1]
            self.waiting = []
        for run, _ in at_work:
            self.jobs.stop(run)

    def finished(self, run: RunFolder, recipe: Recipe) -> bool:
        if not (run.path / "recipe.json").is_file():
            return False
        if run.recipe != recipe:
            raise JobError(f"There is another run called {run.name}; delete it under Train first.")
        return self.jobs.state(run) == "done"

    def begin(self, run: RunFolder, recipe: Recipe) -> None:
        end = time.monotonic() + LEAVING_S
        while self.jobs.own(run) and self.jobs.state(run) not in ACTIVE and time.monotonic() < end:
            time.sleep(0.05)  # it has said that it stopped, and is about to leave
        there = (run.path / "recipe.json").is_file()
        self.jobs.start(run, None if there else recipe)

    def follow(self) -> None:
        while True:
            with self.lock:
                if not self.waiting:
                    return
                run, _ = self.waiting[0]
                if self.jobs.state(run) not in ACTIVE:
                    # One that was stopped elsewhere, or failed, ends it: the next would be compared with that one.
                    self.waiting = self.waiting[1:] if self.jobs.state(run) == "done" else []
                    self.next()
            time.sleep(LOOK_EVERY_S)

    def next(self) -> None:
        """Begin the first of those that wait. Somebody else may have begun a run in the meantime: then this ends."""
        if self.waiting:
            try:
                self.begin(*self.waiting[0])
            except ValueError:  # JobError, RecipeError
                self.waiting = []


@st.cache_resource(show_spinner=False)
def series() -> Series:
    """The only one of this server."""
    return Series(jobs())
