"""Training runs as processes of their own: start one, stop it, and say what became of any.

What a run does is read from its folder, so a reloaded page or a second visitor finds it again without being told. Only
the handle of the process lives here, once per server. No lease: a run goes on while the server lives, watched or not,
because training takes hours and phones fall asleep; there is one run at a time, and every visitor can see and stop it.
When the server ends, `--end-with` ends the run, which can be resumed.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import streamlit as st

from vizkit.training.recipe import Recipe
from vizkit.training.runs.folder import RunFolder, runs
from vizkit.ui.session import allowed
from vizkit.work_folder import FINAL, alive

ACTIVE = ("starting", "preparing", "running", "testing", "stopping")
GRACE_S = 10.0  # a step is finished within it, on most machines
LOOK_EVERY_S = 0.5
MOST_POINTS = 240
PACKAGE_HOME = Path(__file__).parents[3]


class JobError(ValueError):
    """A run cannot be started; the message is one sentence for the user."""


class Point(NamedTuple):
    """What a run said in the middle of an epoch. `epoch`: in epochs since the start, 2.5 in the middle of the third."""

    epoch: float
    loss: float
    rate: float


@dataclass
class Job:
    run: RunFolder
    process: subprocess.Popen
    ended: threading.Event = field(default_factory=threading.Event)
    kill_at: float | None = None  # set once somebody has asked it to stop
    points: list[Point] = field(default_factory=list)  # of the present epoch


def training_command(folder: Path) -> list[str]:
    """A new run is resumed too, from nothing: its folder and recipe are there before its process is."""
    train = [sys.executable, "-m", "vizkit", "train", "--quiet", "--end-with", str(os.getpid())]
    return [*train, "--resume", str(folder)]


class Jobs:
    """All runs that this server has started; at most one of them is at work."""

    def __init__(self, command: Callable[[Path], list[str]] = training_command, grace_s: float = GRACE_S) -> None:
        self.command, self.grace_s = command, grace_s
        self.lock, self.jobs = threading.Lock(), dict[Path, Job]()

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
            try:
                run.write("status.json", {**run.status, "state": "starting", "message": "Starting."})
                job = Job(run, spawn(self.command(run.path), log_of(run)))
            except OSError as error:
                raise JobError(f"{run.name} cannot be started: {error.strerror or type(error).__name__}.") from error
            self.jobs[run.path.resolve()] = job
            threading.Thread(target=self.follow, args=(job,), daemon=True, name=f"run {run.name}").start()

    def stop(self, run: RunFolder) -> None:
        """Ask it to end after the present step; it is killed when it has not after a while."""
        job = self.jobs.get(run.path.resolve())
        if allowed.jobs() and job and not job.ended.is_set() and job.kill_at is None:
            job.kill_at = time.monotonic() + self.grace_s
            job.process.terminate()

    def follow(self, job: Job) -> None:
        """Until the process ends: collect points, kill what does not stop; then say what it could not say itself."""
        while True:
            try:
                job.process.wait(LOOK_EVERY_S)
                break
            except subprocess.TimeoutExpired:
                collect(job)
            if job.kill_at is not None and time.monotonic() > job.kill_at:
                kill(job.process)
        try:
            if job.kill_at is not None and job.run.status.get("state") not in FINAL:
                message = "Stopped; resume goes on after the last finished epoch."
                job.run.write("status.json", {**job.run.status, "state": "stopped", "message": message})
        finally:
            job.ended.set()

    def own(self, run: RunFolder) -> bool:
        """Whether this server holds the process and can stop it."""
        job = self.jobs.get(run.path.resolve())
        return job is not None and not job.ended.is_set()

    def state(self, run: RunFolder) -> str:
        """One of ACTIVE or FINAL, or "died": it ended without saying so."""
        said, job = run.status.get("state", ""), self.jobs.get(run.path.resolve())
        if said in FINAL:
            return said
        if job is not None and not job.ended.is_set():
            return "stopping" if job.kill_at is not None else said or "starting"
        return said if said in ACTIVE and alive(run.status) else "died"

    def active(self, root: Path) -> RunFolder | None:
        """The run that is at work: one of this server, or one under `root` that a command line has started."""
        mine = (job.run for job in self.jobs.values() if not job.ended.is_set())
        return next((run for run in (*mine, *runs(root)) if self.state(run) in ACTIVE), None)

    def points(self, run: RunFolder) -> list[Point]:
        job = self.jobs.get(run.path.resolve())
        return list(job.points) if job and not job.ended.is_set() else []

    def last_words(self, run: RunFolder) -> str:
        """Why a run died, as far as anybody knows: the signal that killed it, its last error if that is a sentence."""
        job = self.jobs.get(run.path.resolve())
        if job and job.process.returncode == -signal.SIGKILL:
            return "The system killed it, as it does when the memory does not suffice."
        try:
            lines = log_of(run).read_text(encoding="utf-8", errors="replace").split("\n")
        except OSError:
            return ""
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return last.removeprefix("vizkit: ") if last.endswith(".") and 3 <= len(last.split()) <= 60 else ""


@st.cache_resource(show_spinner=False)
def jobs() -> Jobs:
    """The only one of this server: sessions come and go, and Streamlit may load this module anew."""
    return Jobs()


def spawn(command: list[str], log: Path) -> subprocess.Popen:
    """In a session of its own, so that it can be killed with its children; its errors go to a file, which never fills
    up as a pipe does."""
    paths = [str(PACKAGE_HOME), *filter(None, [os.environ.get("PYTHONPATH")])]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    with log.open("wb") as errors:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors, env=env,
                                start_new_session=True)  # fmt: skip


def kill(process: subprocess.Popen) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)  # its group: data loaders have processes too
    except (OSError, AttributeError):  # gone in the meantime; no groups on Windows
        process.kill()


def log_of(run: RunFolder) -> Path:
    """Beside the run: its folder has to be empty when it begins."""
    return run.path.with_name(f".{run.name}.log")


def collect(job: Job) -> None:
    """Keep what the run says between two epochs: in a long epoch nothing else moves."""
    said = job.run.status
    if not said.get("steps") or not {"epoch", "step", "loss", "rate"} <= set(said):
        return
    epoch = said["epoch"] + (said["step"] + 1) / said["steps"]
    if job.points and int(job.points[0].epoch) != said["epoch"]:
        job.points = []
    if not job.points or epoch > job.points[-1].epoch:
        job.points = [*job.points, Point(epoch, said["loss"], said["rate"])]
    if len(job.points) > MOST_POINTS:
        job.points = job.points[::2]
