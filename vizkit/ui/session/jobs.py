"""Training runs as processes: which command trains in a run folder, and what a run says in the middle of an epoch."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import streamlit as st

from vizkit.training.recipe import Recipe
from vizkit.training.runs.folder import RunFolder, runs
from vizkit.ui.session import allowed
from vizkit.ui.session.runner import ACTIVE, GRACE_S, Job, JobError, Runner, vizkit_command
from vizkit.work_folder import WorkFolder

__all__ = ["ACTIVE", "JobError", "Jobs", "Point", "jobs"]

MOST_POINTS = 240


class Point(NamedTuple):
    """What a run said in the middle of an epoch. `epoch`: in epochs since the start, 2.5 in the middle of the third."""

    epoch: float
    loss: float
    rate: float


def _training_command(folder: Path) -> list[str]:
    """A new run is resumed too, from nothing: its folder and recipe are there before its process is."""
    return vizkit_command("train", "--resume", str(folder))


class Jobs(Runner):
    """All runs that this server has started; at most one run is at work on this machine."""

    stopped = "Stopped; resume goes on after the last finished epoch."

    def __init__(self, command: Callable[[Path], list[str]] = _training_command, grace_s: float = GRACE_S) -> None:
        super().__init__(grace_s)
        self.command = command

    def log_of(self, folder: WorkFolder) -> Path:
        """Beside the run: its folder has to be empty when it begins."""
        return folder.path.with_name(f".{folder.name}.log")

    def start(self, run: RunFolder, recipe: Recipe | None = None) -> None:
        """Begin a new run of `recipe`, or go on with one. JobError while another one is at work, or RecipeError."""
        if not allowed.jobs():
            raise JobError(allowed.NO_JOBS)
        with self.lock:
            other = self.active(run.path.parent)
            if other is not None:
                raise JobError(f"{other.name} is in training: one run at a time; stop it first, or wait for its end.")
            if recipe is not None:
                run.create(recipe)
            elif run.status.get("state") == "done":
                raise JobError(f"{run.name} is finished; start a new run from its weights to go on.")
            _ = run.recipe  # RecipeError before a process is started for nothing
            self.launch(run, self.command(run.path), {**run.status, "state": "starting"})

    def active(self, root: Path) -> RunFolder | None:
        """The run that is at work: one of this server, or one under `root` that a command line has started."""
        folder = self.at_work(runs(root))
        return None if folder is None else RunFolder(folder.path)

    def points(self, run: RunFolder) -> list[Point]:
        job = self.job(run)
        return list(job.points) if job else []

    def collect(self, job: Job) -> None:
        """Keep what the run says between two epochs: in a long epoch nothing else moves."""
        status = job.folder.status
        if not status.get("steps") or not {"epoch", "step", "loss", "rate"} <= set(status):
            return
        epoch = status["epoch"] + (status["step"] + 1) / status["steps"]
        if job.points and int(job.points[0].epoch) != status["epoch"]:
            job.points = []
        if not job.points or epoch > job.points[-1].epoch:
            job.points = [*job.points, Point(epoch, status["loss"], status["rate"])]
        if len(job.points) > MOST_POINTS:
            job.points = job.points[::2]


@st.cache_resource(show_spinner=False)
def jobs() -> Jobs:
    """The only one of this server: sessions come and go, and Streamlit may load this module anew."""
    return Jobs()
