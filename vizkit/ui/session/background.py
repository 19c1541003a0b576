"""Work that takes seconds to minutes beside the page: a thread with progress, which Stop ends between two passes.

The model runs in this process, so the work shares the device lock, but hands it over after every pass: other pages wait
for one batch at most. Nobody's work runs on for nobody: when no page has looked at it for a while, it stops by itself.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import streamlit as st

from vizkit.device import DEVICE, Device
from vizkit.ui.duration import duration
from vizkit.ui.plain import plain

LOOK_EVERY_S = 0.7
LEASE_S = 60.0
WORTH_SAYING_S = 5.0


@dataclass
class Task:
    """`state`: "running", "done", "stopped" or "failed"; `message` says why it failed, in a sentence. `lock`: the
    device's, held while it works. `results`: how many have come in so far."""

    lock: Device
    state: str = "running"
    message: str = ""
    doing: str = ""
    share: float = 0.0
    results: int = 0
    seen: float = field(default_factory=time.monotonic)
    stopping: threading.Event = field(default_factory=threading.Event)

    @property
    def running(self) -> bool:
        return self.state == "running"

    def report(self, doing: str, done: int, total: int) -> None:
        """Called by the work between two passes; raises `Stopped` when the user wants no more."""
        from vizkit.analysis.attribution.subject import Stopped

        self.doing, self.share = doing, min(1.0, done / max(1, total))
        if self.stopping.is_set() or time.monotonic() > self.seen + LEASE_S:
            raise Stopped
        with self.lock.laid_down():
            time.sleep(0.001)  # a lock that is taken again at once would starve the others


def begin(work: Callable[[Task], None]) -> Task:
    """Start `work(task)` in a thread of its own."""
    task = Task(DEVICE)
    threading.Thread(target=run, args=(task, work), daemon=True, name="vizkit work").start()
    return task


def run(task: Task, work: Callable[[Task], None]) -> None:
    from vizkit.analysis.attribution.subject import Stopped
    from vizkit.traces import NotApplicable, TraceError

    try:
        with task.lock:
            work(task)
        task.state = "done"
    except Stopped:
        task.state = "stopped"
    except (NotApplicable, TraceError) as sentence:
        task.state, task.message = "failed", str(sentence)
    except Exception as error:
        logging.getLogger("vizkit").exception("background work")
        task.state, task.message = "failed", f"This could not be computed ({type(error).__name__}): try another image."


def _task(name: str) -> Task | None:
    return st.session_state.get(f"_task_{name}")


def came(name: str) -> int:
    """How many results of the session's task `name` are there."""
    task = _task(name)
    return task.results if task else 0


def show(name: str, drawn: int, *, bar: bool = True) -> None:
    """The progress of the session's task `name` with its Stop button; the page runs again with each result behind the
    first `drawn`. Last of what takes long to draw: where its clock ticks within the same run, Streamlit leaves what an
    earlier run drew below."""
    task = _task(name)
    if task is None:
        return
    if task.state == "failed":
        st.warning(plain(task.message), icon=":material/error:")
    elif task.state == "stopped":
        st.caption(":material/pause_circle: Stopped; what was computed is kept.")
    if task.results > drawn:  # while they were drawn
        st.rerun()
    if not task.running:
        return

    @st.fragment(run_every=LOOK_EVERY_S)
    def watch() -> None:
        task.seen = time.monotonic()
        if not task.running or task.results > drawn:
            st.rerun()
        if not bar:
            return
        with st.container(horizontal=True, vertical_alignment="center"):
            stopping = task.stopping.is_set()
            words = "Stopping after this pass …" if stopping else plain(task.doing) or "Waiting for the device …"
            st.progress(task.share, words, width="stretch")
            key, stop_now = f"stop_{name}", task.stopping.set
            st.button("Stop", key=key, icon=":material/stop:", on_click=stop_now, disabled=stopping)

    watch()


def start(name: str, work: Callable[[Task], None]) -> None:
    """Begin a task as the session's `name`; an earlier one of this name is stopped."""
    stop(name)
    st.session_state[f"_task_{name}"] = begin(work)


def stop(name: str) -> None:
    if task := _task(name):
        task.stopping.set()


def at_work(name: str) -> bool:
    task = _task(name)
    return task is not None and task.running


def do(of: Any, jobs: Sequence[Any], task: Task) -> None:
    """In the task's thread, which holds the device once: between two passes others have it."""
    for index, job in enumerate(jobs):
        progress = partial(_report, task, job.words, index, len(jobs), {})
        progress(0, 1)
        of.keep(job.key, job.work(progress))
        task.results += 1


def _report(task: Task, words: str, index: int, count: int, first: dict, done: int, total: int) -> None:
    """`first`: when of so many how many were done first: what is kept from before took no time."""
    now = time.monotonic()
    begun, before = first.setdefault(total, (now, done))
    left = (now - begun) * (total - done) / max(1, done - before)
    words += f" · about {duration(left)} left" if left > WORTH_SAYING_S else ""
    task.report(words, index * total + done, count * total)
