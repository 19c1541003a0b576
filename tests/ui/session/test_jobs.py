"""Runs as processes, with a quick script in place of training."""

import subprocess
import sys
import time

import pytest

from vizkit.training.recipe import Recipe, RecipeError
from vizkit.training.runs.folder import RunFolder
from vizkit.ui.session import runner as module
from vizkit.ui.session.jobs import JobError, Jobs
from vizkit.work_folder import alive

QUICK = Recipe(data="digits", model="digits_cnn", epochs=2)
SCRIPT = """
import pathlib, signal, sys, time
from vizkit.work_folder import WorkFolder
folder, how = WorkFolder(pathlib.Path(sys.argv[1])), sys.argv[2]
asked = []
signal.signal(signal.SIGTERM, lambda *_: asked.append(1))
def say(state, **more):
    folder.say(state=state, epoch=0, epochs=2, **more)
for step in range(3 if how == "finish" else 1000):
    say("running", step=step, steps=1000, loss=1.0, rate=0.1, images_per_s=9.0, seconds_left=1.0)
    time.sleep(0.02)
    if how == "refuse":
        print("Traceback", file=sys.stderr); sys.exit("vizkit: The data are not to be found.")
    if asked and how != "deaf":
        say("stopped", message="Stopped."); sys.exit()
say("done", message="Done.")
"""


def pretending(how, grace_s=5.0):
    return Jobs(lambda folder: [sys.executable, "-c", SCRIPT, str(folder), how, "vizkit"], grace_s)


@pytest.fixture(autouse=True)
def often(monkeypatch):
    monkeypatch.setattr(module, "LOOK_EVERY_S", 0.05)


def until(holds, seconds=300):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_run_starts_and_ends(tmp_path):
    jobs, run = pretending("finish"), RunFolder(tmp_path / "first")
    jobs.start(run, QUICK)
    assert jobs.state(run) in ("starting", "running", "done")
    assert run.recipe == QUICK
    until(lambda: jobs.state(run) == "done")
    until(lambda: not jobs.own(run))
    assert jobs.active(tmp_path) is None
    with pytest.raises(JobError, match="finished"):
        jobs.start(run)


def test_one_at_a_time_and_stopping(tmp_path):
    jobs, run, other = pretending("long"), RunFolder(tmp_path / "first"), RunFolder(tmp_path / "second")
    jobs.start(run, QUICK)
    until(lambda: jobs.state(run) == "running")
    with pytest.raises(JobError, match="first is in training"):
        jobs.start(other, QUICK)
    assert not other.path.exists()
    until(lambda: len(jobs.points(run)) > 1)
    assert jobs.points(run)[0].loss == 1.0
    jobs.stop(run)
    until(lambda: jobs.state(run) == "stopped")
    until(lambda: not jobs.own(run))
    jobs.start(run)  # a stopped one goes on
    until(lambda: jobs.state(run) == "running")
    jobs.stop(run)
    until(lambda: not jobs.own(run))


def test_what_does_not_stop_is_killed_and_called_stopped(tmp_path):
    jobs, run = pretending("deaf", grace_s=0.3), RunFolder(tmp_path / "first")
    jobs.start(run, QUICK)
    until(lambda: jobs.state(run) == "running")
    jobs.stop(run)
    assert jobs.state(run) == "stopping"
    until(lambda: jobs.state(run) == "stopped")


def test_a_run_that_died_is_noticed_with_its_last_sentence(tmp_path):
    jobs, run = pretending("refuse"), RunFolder(tmp_path / "first")
    jobs.start(run, QUICK)
    until(lambda: jobs.state(run) == "died")
    assert jobs.last_words(run) == "The data are not to be found."
    jobs.log_of(run).write_text("RuntimeError: [enforce fail at alloc_cpu.cpp:75]\n")
    assert jobs.last_words(run) == ""


def test_a_killed_run_can_be_resumed_by_another_server(tmp_path):
    jobs, run = pretending("long"), RunFolder(tmp_path / "first")
    jobs.start(run, QUICK)
    until(lambda: jobs.state(run) == "running")
    later = pretending("finish")  # a server that knows only the folder
    assert later.state(run) == "running"
    assert not later.own(run)
    with pytest.raises(JobError, match="in training"):
        later.start(RunFolder(tmp_path / "second"), QUICK)
    module.kill(jobs.jobs[run.path.resolve()].process)
    until(lambda: jobs.state(run) == "died")
    assert "killed" in jobs.last_words(run)
    assert later.state(run) == "died"
    later.start(run)
    until(lambda: later.state(run) == "done")


def test_a_taken_folder_is_refused(tmp_path):
    (tmp_path / "first").mkdir()
    (tmp_path / "first" / "letters.txt").write_text("mine")
    with pytest.raises(RecipeError, match="not empty"):
        pretending("finish").start(RunFolder(tmp_path / "first"), QUICK)


def test_another_process_of_that_number_is_no_run(tmp_path):
    jobs, run = pretending("long"), RunFolder(tmp_path / "first")
    run.create(QUICK)
    run.say(state="running")
    status = run.status
    assert alive(status)
    assert jobs.state(run) == "running"
    run.write("status.json", {**status, "begun": status["begun"] - 60})  # this number, given to an earlier process
    assert jobs.state(run) == "died"
    assert not run.at_work
    with subprocess.Popen([sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE) as process:
        assert not alive({**status, "pid": process.pid, "begun": status["begun"] - 60})
    for strange in (
        {},
        {"pid": status["pid"]},
        {**status, "pid": "x"},
        {**status, "pid": -1},
        {**status, "pid": 10**30},
    ):
        assert not alive(strange)


def test_a_damaged_recipe_is_refused_before_a_process_begins(tmp_path):
    jobs, run = pretending("finish"), RunFolder(tmp_path / "first")
    run.create(QUICK)
    (run.path / "recipe.json").write_bytes(b"\xff\xfe{")
    with pytest.raises(RecipeError, match="not valid JSON"):
        jobs.start(run)
    assert jobs.state(run) == "died"
    assert not jobs.log_of(run).exists()
