"""Does a teacher help: which runs are compared, with which numbers, and the experiment that trains three of them."""

import math
import time
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from tests.ui.conftest import opened, texts
from tests.ui.session.test_jobs import pretending, until
from tests.ui.test_train_page import epoch
from vizkit.figure.training.learning_curves import learning_curves
from vizkit.training.experiments.groups import (
    DIGITS,
    NO_TEACHER,
    TEACHING,
    curves,
    experiments,
    outcomes,
    plan,
    student_of,
    taught_by,
)
from vizkit.training.recipe import Recipe, fields
from vizkit.training.runs.folder import RunFolder
from vizkit.ui.session import runner
from vizkit.ui.session import series as series_module
from vizkit.ui.session.jobs import JobError
from vizkit.ui.session.series import Series
from vizkit.ui.widgets import digits_experiment
from vizkit.views.distillation import runs as distillation_runs

STUDENT = Recipe(data="digits", model="digits_vit", images=96, epochs=2)
SOFT = {"teacher": "bundled:digits_cnn", "distillation": "soft", "temperature": 2.0, "teacher_share": 0.7}
HARD = {"teacher": "bundled:digits_cnn", "distillation": "hard"}


@pytest.fixture(autouse=True)
def runs_home(tmp_path, monkeypatch):
    monkeypatch.setenv("VIZKIT_RUNS", str(tmp_path / "runs"))
    monkeypatch.setattr(series_module, "LOOK_EVERY_S", 0.02)
    monkeypatch.setattr(runner, "LOOK_EVERY_S", 0.05)
    return tmp_path / "runs"


def trained(home, name, changes, accuracy=None, epochs=2):
    run = RunFolder(home / name)
    run.create(STUDENT.but(changes))
    for number in range(1, epochs + 1):
        run.append(epoch(number, 0.3 * number))
    if accuracy is not None:
        run.write("result.json", {"test_accuracy": accuracy, "test_loss": 1.0, "test_images": 400})
        run.write("status.json", {"state": "done"})
    return run


# ---- which runs ------------------------------------------------------------------------------------------------------
def test_runs_that_differ_in_the_teacher_only_are_one_experiment(tmp_path):
    alone, soft, hard = (trained(tmp_path, *each) for each in (("c", {}), ("a", SOFT), ("b", HARD)))
    other = trained(tmp_path, "other", {"lr": 0.5})
    found = experiments([hard, other, soft, alone])
    assert len(found) == 1
    assert found[0].runs == (alone, soft, hard)
    assert found[0].student == STUDENT
    assert distillation_runs.called(found[0].student) == "ViT on digits · 96 images · 2 epochs"
    assert [line.name for line in curves(found[0], "val_loss")] == [NO_TEACHER, "soft, T = 2, λ = 0.7", "hard, λ = 0.5"]
    assert experiments([alone, other]) == []  # nothing to compare with
    assert [each.runs for each in experiments([alone, other], unfinished=STUDENT)] == [(alone,)]
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "recipe.json").write_text("{")
    assert experiments([RunFolder(tmp_path / "broken"), RunFolder(tmp_path / "none")]) == []


def test_two_temperatures_are_an_experiment_too_and_seeds_are_laid_together(tmp_path):
    warm, hot = trained(tmp_path, "warm", SOFT), trained(tmp_path, "hot", {**SOFT, "temperature": 9.0})
    again = trained(tmp_path, "again", {**SOFT, "seed": 4})
    (found,) = experiments([again, hot, warm])
    assert found.runs == (warm, again, hot)
    assert found.student.seed == 0
    again.append(epoch(3, 0.9))
    warm.append(epoch(3, 0.5))
    soft, hotter = curves(found, "val_accuracy")
    assert (soft.name, hotter.name) == ("soft, T = 2, λ = 0.7", "soft, T = 9, λ = 0.7")
    assert (soft.epochs, hotter.epochs) == ((1, 2, 3), (1, 2))
    assert (soft.mean[2], soft.low[2], soft.high[2]) == pytest.approx((0.7, 0.5, 0.9))
    assert hotter.low == hotter.high == hotter.mean
    band, line = learning_curves([soft], "accuracy").data
    assert band.y == (*soft.high, *reversed(soft.low))
    assert (line.x, line.y) == (soft.epochs, soft.mean)


def test_a_run_without_an_epoch_has_no_curve_and_twins_are_told_apart(tmp_path):
    alone = trained(tmp_path, "alone", {}, epochs=0)
    one, two = trained(tmp_path, "one", HARD), trained(tmp_path, "two", {**HARD, "teacher": "/some/runs/digits_swin"})
    (found,) = experiments([one, two, alone])
    assert [line.name for line in curves(found, "val_loss")] == ["hard, λ = 0.5", "hard, λ = 0.5, digits_swin"]
    assert [line.teacher for line in outcomes(found)] == ["", "bundled:digits_cnn", "/some/runs/digits_swin"]


# ---- their numbers ---------------------------------------------------------------------------------------------------
def test_outcomes_by_hand(tmp_path):
    runs = [
        trained(tmp_path, "alone", {}, 0.8),
        trained(tmp_path, "soft", SOFT, 0.9),
        trained(tmp_path, "again", {**SOFT, "seed": 1}, 0.86),
        trained(tmp_path, "hard", HARD),
        trained(tmp_path, "alone1", {"seed": 1}, 0.88),
    ]
    alone, soft, hard = outcomes(experiments(runs)[0])
    assert (alone.taught, alone.runs, alone.tests, alone.gain) == (NO_TEACHER, 2, {0: 0.8, 1: 0.88}, None)
    assert (soft.runs, soft.tests, soft.images) == (2, {0: 0.9, 1: 0.86}, 400)
    assert soft.test == pytest.approx(0.88)
    assert soft.gain == pytest.approx(0.04)
    assert soft.gain_error == pytest.approx(math.sqrt(0.88 * 0.12 / 400 + 0.84 * 0.16 / 400))
    assert (soft.above, soft.pairs) == (1, 2)
    assert soft.best_val == pytest.approx(0.6)
    assert (hard.test, hard.gain) == (None, None)
    assert "With 2 seeds no teaching is told apart" in distillation_runs.verdict([alone, soft, hard])
    assert distillation_runs.verdict([alone, hard]) == ""
    sure = replace(soft, gain=0.2, gain_error=0.05)
    assert distillation_runs.verdict([alone, sure]) == (
        "With 2 seeds “soft, T = 2, λ = 0.7” is 20.0 points above no teacher, 4.0 standard errors of 400 test pictures "
        "and better with 1 of 2 seeds."
    )


@pytest.mark.parametrize(
    ("accuracy", "words"),
    [
        (0.6, "20.0 points below no teacher, ± 3.2 by the choice of 400 test pictures: a single seed does not say"),
        (0.9, "10.0 points above no teacher, ± 2.5 by the choice of 400 test pictures: a single seed does not say"),
    ],
)
def test_a_single_seed_claims_nothing(tmp_path, accuracy, words):
    runs = [trained(tmp_path, "alone", {}, 0.8), trained(tmp_path, "soft", SOFT, accuracy)]
    assert words in distillation_runs.verdict(outcomes(experiments(runs)[0]))


def test_the_plan_differs_in_the_teacher_only():
    found = plan()
    assert [recipe.distillation for recipe in found.values()] == ["none", "soft", "hard"]
    assert [student_of(recipe) for recipe in found.values()] == [student_of(DIGITS)] * 3
    alone, *taught = found.values()
    for recipe in taught:
        assert {each.name for each in fields(recipe) if getattr(recipe, each.name) != getattr(alone, each.name)} <= {
            *TEACHING
        }
    assert {recipe.seed for recipe in plan(7).values()} == {7}
    assert not set(plan(7)) & set(found)
    assert len({taught_by(recipe) for recipe in found.values()}) == 3
    assert (DIGITS.data, DIGITS.flip) == ("digits", 0.0)


# ---- the experiment --------------------------------------------------------------------------------------------------
def wanted(home, seed=0):
    return [(RunFolder(home / name), recipe) for name, recipe in plan(seed).items()]


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


def test_a_run_that_fails_ends_the_experiment(tmp_path):
    jobs = pretending("refuse")
    series, todo = Series(jobs), wanted(tmp_path)
    series.start(todo)
    until(lambda: not series.waiting)
    assert jobs.state(todo[0][0]) == "died"
    assert not todo[1][0].path.exists()


def test_what_is_in_the_way_is_said(tmp_path):
    jobs = pretending("long")
    series, todo = Series(jobs), wanted(tmp_path)
    todo[1][0].create(STUDENT)
    with pytest.raises(JobError, match="another run called digits-soft"):
        series.start(todo)
    assert not series.waiting
    busy = RunFolder(tmp_path / "busy")
    jobs.start(busy, STUDENT)
    until(lambda: jobs.state(busy) == "running")
    with pytest.raises(JobError, match="busy is in training"):
        series.start(wanted(tmp_path, seed=1))
    assert not series.waiting
    jobs.stop(busy)
    until(lambda: not jobs.own(busy))


# ---- the view --------------------------------------------------------------------------------------------------------
def view(model="bundled:insects_vit", **query) -> AppTest:
    return opened("distillation", distillation_view="Does it help?", models=model, image="digit 3", **query)


@pytest.fixture
def acting(monkeypatch, tmp_path):
    """The page with quick scripts in place of training, and nothing shipped."""
    jobs = pretending("finish")
    series = Series(jobs)
    monkeypatch.setattr(digits_experiment, "jobs", lambda: jobs)
    monkeypatch.setattr(digits_experiment, "series", lambda: series)
    monkeypatch.setattr(distillation_runs, "SHIPPED", tmp_path / "shipped")
    return series


def test_without_runs_the_experiment_is_offered_and_trained(acting, runs_home):
    test = view()
    assert not test.exception
    assert "No runs yet" in texts(test)
    test.button(key="experiment_start").click().run()
    assert not test.exception
    assert "digits-soft" in str([each.proto for each in test.get("progress")])
    until(lambda: not acting.waiting)
    time.sleep(0.05)
    for run, accuracy in zip(sorted(runs_home.glob("digits-*")), (0.9, 0.7, 0.8), strict=True):  # hard, none, soft
        RunFolder(run).append(epoch(1, accuracy))
        RunFolder(run).write("result.json", {"test_accuracy": accuracy, "test_loss": 1.0, "test_images": 359})
    test.run()
    assert not test.exception
    assert test.session_state["experiment"].startswith("yours: ViT on digits")
    assert "“hard, λ = 0.5” is 20.0 points above no teacher" in texts(test)
    assert "All three runs of this seed are done" in texts(test)
    test.number_input(key="experiment_seed").set_value(3).run()
    assert test.button(key="experiment_start").label == "Start the experiment"


def test_a_new_session_finds_the_experiment_at_work_and_can_stop_it(acting, runs_home):
    acting.jobs.command = pretending("long").command
    acting.start(wanted(runs_home, seed=5))
    first = RunFolder(runs_home / "digits-none-seed5")
    until(lambda: acting.jobs.state(first) == "running")
    test = view()
    assert not test.exception
    assert "digits-none-seed5" in str([each.proto for each in test.get("progress")])
    test.button(key="experiment_stop").click().run()
    until(lambda: acting.jobs.state(first) == "stopped")
    test.number_input(key="experiment_seed").set_value(5).run()
    assert test.button(key="experiment_start").label == "Go on"


def test_shipped_runs_come_first(tmp_path, runs_home, monkeypatch):
    monkeypatch.setattr(distillation_runs, "SHIPPED", tmp_path / "shipped")
    for name, changes, accuracy in (("a", {}, 0.8), ("b", SOFT, 0.81)):
        trained(tmp_path / "shipped" / "distillation", name, {**changes, "epochs": 3}, accuracy)
        trained(runs_home, name, changes, accuracy)
    assert distillation_runs.titles([]) == [
        "ViT on digits · 96 images · 3 epochs",
        "yours: ViT on digits · 96 images · 2 epochs",
    ]
