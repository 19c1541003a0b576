"""Nobody waits for what another makes with the device in hand."""

import threading
import time
from types import SimpleNamespace

import pytest

from tests.explanations.working import eye
from tests.launching import ROOT, run_code
from vizkit.datasets.opening import open_set
from vizkit.device import Device, cached_property
from vizkit.explanations.kept import Kept
from vizkit.explanations.parts import alone
from vizkit.explanations.passes import Answers
from vizkit.ui.session import background

BATCH, PARTS = 4, 3


@pytest.fixture
def device(monkeypatch):
    """One of its own: a test that fails leaves it with a thread."""
    device = Device()
    monkeypatch.setattr("vizkit.ui.session.background.DEVICE", device)
    monkeypatch.setattr("vizkit.explanations.kept.DEVICE", device)
    return device


@pytest.fixture
def kept(monkeypatch, tmp_path):
    monkeypatch.setenv("VIZKIT_CACHE", str(tmp_path))
    loaded = eye()
    return Kept.of(loaded, open_set("digits", "test", images=PARTS * BATCH), BATCH, lambda: Answers(loaded), "answers")


def ended(task):
    end = time.monotonic() + 20
    while task.running and time.monotonic() < end:
        time.sleep(0.01)
    return task.state


@pytest.mark.parametrize("stopped", [False, True])
def test_two_tasks_of_the_same_rows_end_both(device, kept, stopped):
    """The second waits for the first without the device. Where the first is stopped, the second makes what it has
    left."""
    tasks = []

    def work(task):
        def tell(done, total, _):
            if task is tasks[0] and done and len(tasks) < 2:
                tasks.append(background.begin(work))
                with device.laid_down():
                    waits.wait(10)
                if stopped:
                    task.stopping.set()
            elif len(tasks) == 2 and task is tasks[1]:
                waits.set()
            task.report("", done, total)

        begun.wait(10)
        kept.fill(tell=tell)

    begun, waits = threading.Event(), threading.Event()
    tasks.append(background.begin(work))
    begun.set()
    assert ended(tasks[0]) == ("stopped" if stopped else "done")
    assert ended(tasks[1]) == "done"
    assert kept.done == BATCH * PARTS


def test_who_waits_for_rows_of_another_can_be_stopped(device, kept):
    kept.folder.parent.mkdir(parents=True)

    def work(task):
        def tell(done, total, _):
            task.report("", done, total)
            task.stopping.set()

        kept.fill(tell=tell)

    with alone(kept.folder):
        assert ended(background.begin(work)) == "stopped"
    assert kept.done == 0


def test_a_value_that_waits_keeps_no_other_instance_waiting():
    values = []

    class Slow:
        @cached_property
        def value(self):
            if self is slow:
                thread = threading.Thread(target=lambda: values.append(Slow().value), daemon=True)
                thread.start()
                thread.join(5)
            return 7

    slow = Slow()
    assert slow.value == 7
    assert values == [7]
    assert slow.__dict__["value"] == 7


TOGETHER = """
import sys
import threading
import vizkit.models
from vizkit.views import VIEWS, class_of

names = [name for name, entry in VIEWS.items() if entry.page == "data_set"]
sys.setswitchinterval(1e-5)
gate, wrong = threading.Barrier(len(names)), []

def get(name):
    gate.wait()
    try:
        class_of(name)
    except Exception as error:
        wrong.append(f"{name}: {error}")

threads = [threading.Thread(target=get, args=(name,)) for name in names]
for thread in threads: thread.start()
for thread in threads: thread.join(60)
assert not wrong, wrong
"""


def test_the_first_visitors_of_several_pages_get_whole_modules(tmp_path):
    (tmp_path / "vizkit").symlink_to(ROOT / "vizkit")
    done = run_code(TOGETHER, tmp_path)
    assert not done.returncode, done.stderr


def test_the_time_left_is_that_of_what_is_not_kept_from_before(monkeypatch, device):
    """100 of 200 were there; 25 more took 10 s: 75 are left, 30 s."""
    clock, said = iter((0.0, 0.0, 10.0)), []
    task = background.Task(device)
    monkeypatch.setattr(task, "report", lambda words, done, total: said.append(words))
    monkeypatch.setattr(background, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    first = {}
    for done, total in ((0, 1), (100, 200), (125, 200)):
        background._report(task, "Looking", 0, 2, first, done, total)
    assert said == ["Looking", "Looking", "Looking · about 30 s left"]
