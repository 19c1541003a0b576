"""Runs that are trained one after another."""

import pytest

from tests.ui.session.test_jobs import pretending, until
from vizkit.training.recipe import Recipe
from vizkit.training.runs.folder import RunFolder
from vizkit.ui.session import runner
from vizkit.ui.session import series as series_module
from vizkit.ui.session.jobs import JobError
from vizkit.ui.session.series import Series

RECIPE = Recipe(data="digits", model="digits_vit", images=96, epochs=2)
RUNS = {"first": 1e-3, "second": 2e-3, "third": 3e-3}


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(series_module, "LOOK_EVERY_S", 0.02)
    monkeypatch.setattr(runner, "LOOK_EVERY_S", 0.05)


def wanted(home, seed=0):
    return [(RunFolder(home / f"{name}-{seed}"), RECIPE.but({"seed": seed, "lr": lr})) for name, lr in RUNS.items()]


def test_runs_follow_one_another(tmp_path):
    jobs = pretending("finish")
    series, todo = Series(jobs), wanted(tmp_path)
    series.start(todo)
    with pytest.raises(JobError, match="at work already"):
        series.start(todo)
    seen = set()

    def over():
        seen.add(tuple(jobs.state(run) if run.path.exists() else "" for run, _ in todo))
        return not series.waiting

    until(over)
    assert [jobs.state(run) for run, _ in todo] == ["done"] * 3
    assert [run.recipe for run, _ in todo] == [recipe for _, recipe in todo]
    assert any(states[0] != "done" and states[1:] == ("", "") for states in seen)  # the others waited
    with pytest.raises(JobError, match="are done"):
        series.start(todo)


def test_stopping_lets_go_of_the_others_and_a_new_start_goes_on(tmp_path):
    jobs = pretending("long")
    series, todo = Series(jobs), wanted(tmp_path)
    series.start(todo)
    until(lambda: jobs.state(todo[0][0]) == "running")
    series.stop()
    until(lambda: jobs.state(todo[0][0]) == "stopped")
    assert not series.waiting
    until(lambda: not series.thread.is_alive())
    assert not todo[1][0].path.exists()
    jobs.command = pretending("finish").command
    series.start(todo)
    until(lambda: not series.waiting)
    assert [jobs.state(run) for run, _ in todo] == ["done"] * 3


def test_a_run_that_fails_ends_the_series(tmp_path):
    jobs = pretending("refuse")
    series, todo = Series(jobs), wanted(tmp_path)
    series.start(todo)
    until(lambda: not series.waiting)
    assert jobs.state(todo[0][0]) == "died"
    assert not todo[1][0].path.exists()


def test_what_is_in_the_way_is_said(tmp_path):
    jobs = pretending("long")
    series, todo = Series(jobs), wanted(tmp_path)
    todo[1][0].create(RECIPE)
    with pytest.raises(JobError, match="another run called second-0"):
        series.start(todo)
    assert not series.waiting
    busy = RunFolder(tmp_path / "busy")
    jobs.start(busy, RECIPE)
    until(lambda: jobs.state(busy) == "running")
    with pytest.raises(JobError, match="busy is in training"):
        series.start(wanted(tmp_path, seed=1))
    assert not series.waiting
    jobs.stop(busy)
    until(lambda: not jobs.own(busy))
