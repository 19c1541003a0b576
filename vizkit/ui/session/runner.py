"""Work of minutes to hours, as processes of their own: `python -m vizkit …` in a folder that pages watch.

What the work does is read from its folder, so a reloaded page or a second visitor finds it again.
Only the handle of the process lives here, once per server. No lease: the work goes on while the server lives, watched
or not, because phones fall asleep; there is one at a time of each kind, and every visitor can see and stop it. When the
server ends, `--end-with` ends its processes, and a new start goes on where they were.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vizkit.ui.session import allowed
from vizkit.work_folder import FINAL, WorkFolder, alive

ACTIVE = ("starting", "preparing", "running", "testing", "stopping")
GRACE_S = 10.0  # a step or a batch is finished within it, on most machines
LOOK_EVERY_S = 0.5
PACKAGE_HOME = Path(__file__).parents[3]


class JobError(ValueError):
    """Work cannot be started; the message is one sentence for the user."""


@dataclass
class Job:
    folder: WorkFolder
    process: subprocess.Popen
    ended: threading.Event = field(default_factory=threading.Event)
    kill_at: float | None = None  # set once it is to stop
    points: list = field(default_factory=list)  # what a kind collects while it works


class Runner:
    """All processes of one kind that this server has started. A kind makes their commands, and says what follows."""

    stopped = "Stopped."
    """The last word of one that was killed because it did not stop by itself."""

    def __init__(self, grace_s: float = GRACE_S) -> None:
        self.grace_s, self.lock, self.jobs = grace_s, threading.Lock(), dict[Path, Job]()

    def log_of(self, folder: WorkFolder) -> Path:
        """Where its errors go."""
        return folder.path / "log"

    def collect(self, job: Job) -> None:
        """Called about twice a second while it works."""

    def launch(self, folder: WorkFolder, command: list[str], status: dict[str, Any]) -> None:
        """Start a command that works in a folder; `status` is what the folder says until the process does."""
        try:
            folder.write("status.json", {**status, "message": "Starting."})
            job = Job(folder, spawn(command, self.log_of(folder)))
        except OSError as error:
            raise JobError(f"{folder.name} cannot be started: {error.strerror or type(error).__name__}.") from error
        self.jobs[folder.path.resolve()] = job
        threading.Thread(target=self.follow, args=(job,), daemon=True, name=f"job {folder.name}").start()

    def stop(self, folder: WorkFolder) -> None:
        """Let it end after the present step; it is killed when it has not after a while."""
        job = self.job(folder)
        if allowed.jobs() and job and job.kill_at is None:
            job.kill_at = time.monotonic() + self.grace_s
            job.process.terminate()

    def follow(self, job: Job) -> None:
        """Until the process ends: collect, kill what does not stop; then say what it could not say itself."""
        while True:
            try:
                job.process.wait(LOOK_EVERY_S)
                break
            except subprocess.TimeoutExpired:
                self.collect(job)
            if job.kill_at is not None and time.monotonic() > job.kill_at:
                kill(job.process)
        try:
            if job.kill_at is not None and (status := job.folder.status).get("state") not in FINAL:
                job.folder.write("status.json", {**status, "state": "stopped", "message": self.stopped})
        finally:
            job.ended.set()

    def job(self, folder: WorkFolder) -> Job | None:
        """The job in a folder, while its process lives."""
        job = self.jobs.get(folder.path.resolve())
        return None if job is None or job.ended.is_set() else job

    def own(self, folder: WorkFolder) -> bool:
        """Whether this server holds the process and can stop it."""
        return self.job(folder) is not None

    def state(self, folder: WorkFolder) -> str:
        """One of ACTIVE or FINAL, "died" (it ended without saying so), or "" where nothing has begun."""
        job, state = self.job(folder), folder.status.get("state", "")
        if state in FINAL:
            return state
        if job is not None:
            return "stopping" if job.kill_at is not None else state or "starting"
        status = folder.status  # read again: it may have said its last word since
        state = status.get("state", "")
        if state in FINAL or (state in ACTIVE and alive(status)):
            return state
        return "died" if folder.path.is_dir() else ""

    def at_work(self, others: Iterable[WorkFolder] = ()) -> WorkFolder | None:
        """The folder that is at work: one of this server, or one of `others`, begun by a command line."""
        own = [job.folder for job in self.jobs.values() if not job.ended.is_set()]
        return next((folder for folder in (*own, *others) if self.state(folder) in ACTIVE), None)

    def last_words(self, folder: WorkFolder) -> str:
        """Why it died, as far as anybody knows: its last error if that is a sentence, the signal that killed it."""
        try:
            lines = self.log_of(folder).read_text(encoding="utf-8", errors="replace").split("\n")
        except OSError:
            lines = []
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        job = self.jobs.get(folder.path.resolve())
        if job and job.process.returncode == -signal.SIGKILL and not last.startswith("vizkit: "):
            return "The system killed it, as it does when memory runs out."
        return last.removeprefix("vizkit: ") if last.endswith(".") and 3 <= len(last.split()) <= 60 else ""


def vizkit_command(*words: str) -> list[str]:
    """The command `python -m vizkit`, for a process that ends with this one."""
    return [sys.executable, "-m", "vizkit", *words, "--quiet", "--end-with", str(os.getpid())]


def spawn(command: list[str], log: Path) -> subprocess.Popen:
    """In a session of its own, so that it can be killed with its children; its errors go to a file, which never fills
    up as a pipe does."""
    paths = [str(PACKAGE_HOME), *filter(None, [os.environ.get("PYTHONPATH")])]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    with log.open("wb") as errors:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors, env=env, start_new_session=True
        )


def kill(process: subprocess.Popen) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)  # its group: data loaders have processes too
    except (OSError, AttributeError):  # gone in the meantime; no groups on Windows
        process.kill()
