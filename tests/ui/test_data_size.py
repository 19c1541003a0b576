"""Accuracy against training-set size: the plan, what its runs tell, the view, and the command that trains them."""

import json
import math
import os

import pytest
from streamlit.testing.v1 import AppTest

from tests.ui.conftest import opened, texts
from tests.ui.session.test_jobs import pretending, until
from tests.ui.test_train_page import epoch
from vizkit.__main__ import main
from vizkit.commands import data_size as command
from vizkit.figure.evaluation.data_size import Line, data_size, highest
from vizkit.figure.training.learning_curves import Curve, learning_curves
from vizkit.training.experiments.data_size import (
    IMAGES,
    MODELS,
    another,
    curves,
    folder_of,
    lead,
    name_of,
    needed,
    plan,
    seconds_of,
    sizes,
    studies,
)
from vizkit.training.recipe import Recipe, RecipeError, fields
from vizkit.training.runs.folder import RunFolder
from vizkit.ui.pages.evaluate import size, size_runs
from vizkit.ui.session import runner
from vizkit.ui.session import series as series_module
from vizkit.ui.session.series import Series

SHIPPED = [RunFolder(file.parent) for file in sorted(size_runs.SHIPPED.glob("*/recipe.json"))]
TEACHING = ("teacher", "distillation")
REACHED = {  # by hand: test accuracy on 60, 300, 1,200 and 6,000 images
    "CNN": (0.2, 0.5, 0.8, 0.95),
    "ViT": (0.21, 0.4, 0.6, 0.85),
    "DeiT": (0.19, 0.45, 0.7, 0.9),
    "Swin": (0.25, 0.35, 0.65, 0.94),
}


@pytest.fixture(autouse=True)
def runs_home(tmp_path, monkeypatch):
    monkeypatch.setenv("VIZKIT_RUNS", str(tmp_path / "runs"))
    monkeypatch.setattr(series_module, "LOOK_EVERY_S", 0.02)
    monkeypatch.setattr(runner, "LOOK_EVERY_S", 0.05)
    return tmp_path / "runs"


def trained(folder, families=MODELS, images=IMAGES, seed=0, plus=0.0, **changes):
    """Runs as they lie in a folder when they are done; the numbers are made by hand."""
    made = []
    for name, recipe in plan("elsewhere", seed).items():
        family = next(each for each in MODELS if name_of(each, recipe.images, seed) == name)
        if family in families and recipe.images in images:
            run = RunFolder(folder / name)
            run.create(recipe.but(changes))
            for number in range(1, recipe.epochs + 1):
                run.append(epoch(number, 0.1 * number))
            accuracy = REACHED[family][IMAGES.index(recipe.images)] + plus
            run.write("result.json", {"test_accuracy": accuracy, "test_loss": 1.0, "test_images": 2000})
            run.write("status.json", {"state": "done", "epoch": recipe.epochs, "epochs": recipe.epochs})
            run.write("versions.json", {"device": "CPU", "threads": 1})
            made.append(run)
    return made


# ---- the plan --------------------------------------------------------------------------------------------------------
def test_every_run_sees_as_many_pictures_and_every_family_learns_alike():
    found = plan("runs/data_size", 3)
    assert len(found) == 16
    assert {recipe.images * recipe.passes * recipe.epochs for recipe in found.values()} == {36_000}
    assert {recipe.seed for recipe in found.values()} == {3}
    per_family = {}
    for name, recipe in found.items():
        per_family.setdefault(name.split("-")[0], []).append(recipe)
    for recipes in per_family.values():
        assert tuple(recipe.images for recipe in recipes) == IMAGES
        differs = {each.name for recipe in recipes for each in fields(recipe)
                   if getattr(recipe, each.name) != getattr(recipes[0], each.name)}  # fmt: skip
        assert differs <= {"images", "passes", "teacher"}
    # Between the families: who learns and how its weights change, not what it is shown.
    same = {each.name for each in fields(Recipe())} - {
        "model",
        "model_args",
        "optimizer",
        "lr",
        "patch_drop",
        *TEACHING,
    }
    for name in same:
        assert len({str(getattr(recipe, name)) for recipe in list(found.values())[:4]}) == 1, name


def test_a_deit_learns_from_the_cnn_of_the_same_pictures_which_comes_first():
    found = plan("some/where", 2)
    names = list(found)
    for name, recipe in found.items():
        assert bool(recipe.teacher) == name.startswith("deit")
        if recipe.teacher:
            folder, _, teacher = recipe.teacher.rpartition("/")
            assert folder == "some/where"
            assert (found[teacher].model, found[teacher].images) == ("small_cnn", recipe.images)
            assert names.index(teacher) < names.index(name)
    assert not set(found) & set(plan("some/where", 3))


def test_other_sets_have_the_same_shares():
    assert sizes(6_000) == IMAGES
    assert sizes(1_257) == (12, 62, 251, 1_257)
    with pytest.raises(RecipeError, match="needs 100"):
        sizes(99)
    digits = plan("x", data="digits", images=1_257)
    assert {recipe.flip for recipe in digits.values()} == {0.0}
    assert {recipe.model for recipe in digits.values()} == {"digits_cnn", "digits_vit", "digits_deit", "digits_swin"}
    shown = [recipe.images * recipe.passes * recipe.epochs for recipe in digits.values()]
    assert min(shown) > 0.98 * max(shown)
    assert 0.95 < max(shown) / 36_000 < 1.05
    large = plan("x", data="photos/birds", images=90_000)
    assert {recipe.images for recipe in large.values()} == set(IMAGES)
    assert [folder_of(data) for data in ("insects", "digits", "photos/my birds.zip", "C:\\a\\b\\")] == [
        "data_size", "data_size-digits", "data_size-my_birds", "data_size-b"]  # fmt: skip


@pytest.mark.skipif(not SHIPPED, reason="no runs are shipped")
def test_the_shipped_runs_follow_the_plan():
    for run in SHIPPED:
        recipe = run.recipe
        wanted = plan("runs/data_size", recipe.seed)[run.name]
        assert recipe.but({"teacher": wanted.teacher}) == wanted
        assert recipe.teacher.rpartition("/")[2] == wanted.teacher.rpartition("/")[2]
        assert len(run.metrics()) == recipe.epochs
        assert run.read("result.json")["test_images"] == 2000
    (study,) = studies(SHIPPED)
    assert {(each.family, each.images) for each in study.outcomes} == {(f, i) for f in MODELS for i in IMAGES}


# ---- what the runs tell ----------------------------------------------------------------------------------------------
def test_outcomes_by_hand(tmp_path):
    runs = trained(tmp_path) + trained(tmp_path, ("CNN",), (300,), seed=1, plus=0.04)
    (study,) = studies(reversed(runs))
    assert [each.family for each in study.outcomes][::4] == list(MODELS)
    assert (study.sizes, study.seeds, study.shown) == (IMAGES, (0, 1), (36_000, 36_000))
    found = study.at("CNN", 300)
    assert found.tests == {0: 0.5, 1: 0.54}
    assert found.mean == pytest.approx(0.52)
    assert found.error == pytest.approx(math.sqrt(0.52 * 0.48 / 2000))
    few, many = lead(study, 60), lead(study, 6_000)
    assert (few.best.family, few.second.family) == ("Swin", "ViT")
    assert few.gain == pytest.approx(0.04)
    assert few.error == pytest.approx(math.sqrt((0.25 * 0.75 + 0.21 * 0.79) / 2000))
    assert few.significant
    assert (many.best.family, many.second.family) == ("CNN", "Swin")
    assert not many.significant  # .01 against two errors of .0072
    assert [needed(study, "ViT", level) for level in (0.2, 0.5, 0.8, 0.95)] == [60, 1_200, 6_000, None]
    assert [line.name for line in curves(study, 300, "val_accuracy")] == list(MODELS)
    assert curves(study, 300, "val_accuracy")[0].epochs == (1, 2, 3, 4, 5, 6)
    assert seconds_of(runs, "DeiT") == pytest.approx(18.0)
    assert lead(study, 7) is None


def test_runs_of_other_data_and_strangers_are_kept_apart(tmp_path):
    ours = trained(tmp_path / "a", ("CNN", "ViT"), (60,))
    harder = trained(tmp_path / "b", ("CNN",), (60,), data="insects:hard")
    strange = trained(tmp_path / "c", ("CNN",), (60,), model="resnet18", model_args={})
    broken = RunFolder(tmp_path / "d")
    broken.path.mkdir()
    (broken.path / "recipe.json").write_text("{")
    found = studies([broken, *harder, *strange, *ours])
    assert [study.data for study in found] == ["insects:hard", "insects"]
    assert [len(study.runs) for study in found] == [1, 2]
    unfinished = RunFolder(tmp_path / "e")
    unfinished.create(ours[0].recipe)
    assert studies([unfinished])[0].outcomes == ()
    assert seconds_of([unfinished], "CNN") is None
    assert not another(unfinished, ours[0].recipe)
    assert another(unfinished, harder[0].recipe)
    assert not another(RunFolder(tmp_path / "none"), ours[0].recipe)


def test_the_sentences_say_no_more_than_the_numbers(tmp_path):
    (study,) = studies(trained(tmp_path))
    few, many, gaps, hunger, limits = size.verdict(study)
    assert "**60 images** the **Swin** leads: 25.0% of the test pictures right, 4.0 points above the ViT" in few
    assert "**6,000 images** the CNN (95.0%) and the Swin (94.0%) do not differ significantly" in many
    assert "+1.0 points with 60, −10.0 points with 300, −20.0 points with 1,200, −10.0 points with 6,000" in gaps
    assert "reached from **1,200** images (80.0%), the **ViT** reached from **6,000**" in hunger
    assert "6,000 not to the end (60% and 60%)" in limits
    (alone,) = studies(trained(tmp_path / "alone", ("ViT",)))
    assert size.verdict(alone) == [f":material/compare_arrows: {size.limits(alone)}"]
    (low,) = studies(trained(tmp_path / "low", ("CNN", "DeiT", "ViT"), (300, 6_000), plus=-0.2) +
                     trained(tmp_path / "high", ("CNN",), (1_200,), plus=0.1))  # fmt: skip
    assert "from none of these numbers" in size.hunger(low)


def test_by_heart_is_told_from_unfinished(tmp_path):
    """Right on its own pictures and wrong on others, or not yet right on its own."""
    few, many = trained(tmp_path, ("ViT",), (60, 6_000))
    for run, learned, unseen in ((few, 0.99, 0.2), (many, 0.5, 0.66)):
        run.append({**epoch(7, unseen), "train_accuracy": learned})
    (study,) = studies([few, many])
    said = size.limits(study)
    assert "60 images by heart (99% of them right, 20% of unseen ones); 6,000 not to the end (50% and 66%)" in said
    few.append({**epoch(8, 0.98), "train_accuracy": 0.99})
    many.append({**epoch(8, 0.93), "train_accuracy": 0.95})
    assert size.limits(study) == ""


# ---- the chart -------------------------------------------------------------------------------------------------------
def test_the_chart_holds_means_errors_seeds_and_chance():
    lines = [Line("ViT", (60, 300), (0.2, 0.4), (0.01, 0.02), ((0.2,), (0.38, 0.42))),
             Line("CNN", (60, 300), (0.3, 0.41), (0.01, 0.02)), Line("Swin", (60,), (0.25,), (0.01,))]  # fmt: skip
    vit, seeds, cnn, swin, chance = data_size(lines, 1 / 12, (60, 300)).data
    assert [(each.name, each.x, each.y, each.error_y.array) for each in (vit, cnn, swin)] == [
        ("ViT", (60, 300), (0.2, 0.4), (0.01, 0.02)), ("CNN", (60, 300), (0.3, 0.41), (0.01, 0.02)),
        ("Swin", (60,), (0.25,), (0.01,))]  # fmt: skip
    assert (seeds.x, seeds.y) == ((300, 300), (0.38, 0.42))  # one seed alone is its own mean
    assert (chance.name, chance.y) == ("chance 8.3%", (1 / 12, 1 / 12))
    assert len({each.line.color for each in (vit, cnn, swin)}) == len({each.marker.symbol for each in (vit, cnn, swin)})
    assert highest(lines) == 0.43
    empty = data_size([], None, (60, 300))
    assert not empty.data
    assert empty.layout.yaxis.range == (0, 1.02)


def test_curves_side_by_side_have_one_scale():
    lines = [Curve("a", [1], [0.5], [0.4], [0.6]), Curve("b", [1], [0.6], [0.6], [0.6])]
    chart = learning_curves(lines, "accuracy", percent=True, whole=True)
    assert chart.layout.yaxis.range == (0, 1.02)
    assert learning_curves(lines, "accuracy", percent=True).layout.yaxis.range is None
    band, a, b = chart.data  # where all runs agree there is no band
    assert (band.x, band.y, band.fill) == ((1, 1), (0.6, 0.4), "toself")
    assert [(each.name, each.x, each.y) for each in (a, b)] == [("a", (1,), (0.5,)), ("b", (1,), (0.6,))]
    assert a.line.color != b.line.color
    assert a.marker.symbol != b.marker.symbol


# ---- the view --------------------------------------------------------------------------------------------------------
def view(model="bundled:insects_vit", **query) -> AppTest:
    return opened("evaluate", evaluate_view="Data size", models=model, **query)


@pytest.fixture
def acting(monkeypatch, tmp_path):
    """The page with quick scripts in place of training, three runs in place of sixteen, and nothing shipped."""
    jobs = pretending("finish")
    series = Series(jobs)
    monkeypatch.setattr(size_runs, "jobs", lambda: jobs)
    monkeypatch.setattr(size_runs, "series", lambda: series)
    monkeypatch.setattr(size_runs, "SHIPPED", tmp_path / "shipped")
    monkeypatch.setattr(size, "parameters_of", lambda recipe: 700_000)  # building them takes seconds
    monkeypatch.setattr(size_runs, "plan", lambda *given: dict(list(plan(*given).items())[:3]))
    return series


def test_without_runs_they_are_offered_and_trained(acting, runs_home, monkeypatch):
    monkeypatch.setattr(size, "parameters_of", size_runs.parameters_of)
    test = view()
    assert not test.exception
    assert "No run of this experiment" in test.info[0].value
    assert "3 runs are missing" in texts(test)
    assert test.code[0].value == f"python -m vizkit data-size -o {runs_home.as_posix()}/data_size"
    test.button(key="size_start").click().run()
    assert not test.exception
    assert test.button(key="size_stop")
    until(lambda: not acting.waiting)
    for family in ("cnn", "deit"):
        run = RunFolder(runs_home / "data_size" / f"{family}-60-seed0")
        run.append(epoch(1, 0.3))
        run.write("result.json", {"test_accuracy": 0.3, "test_loss": 1.0, "test_images": 2000})
    test.run()
    assert not test.exception
    assert test.selectbox(key="size_runs").value == "insects · 60 to 60 images · yours"
    assert len(test.main.get("plotly_chart")) == 3
    assert test.dataframe[0].value["Family"].tolist() == ["CNN", "DeiT"]
    assert "All runs of this seed are done" in texts(test)
    assert "0.1 M" not in texts(test)
    assert "CNN 0.7 M" in texts(test)


def test_stop_and_go_on_in_another_session(acting, runs_home):
    acting.jobs.command = pretending("long").command
    test = view()
    test.button(key="size_start").click().run()
    first = RunFolder(runs_home / "data_size" / "cnn-60-seed0")
    until(lambda: acting.jobs.state(first) == "running")
    other = view(size_seed="7")
    assert "cnn-60-seed0" in str([each.proto for each in other.get("progress")])
    other.button(key="size_stop").click().run()
    assert not other.exception
    until(lambda: acting.jobs.state(first) == "stopped")
    until(lambda: not acting.jobs.own(first))
    other.run()
    assert other.button(key="size_start").label == "Go on"
    acting.jobs.command = pretending("finish").command
    other.button(key="size_start").click().run()
    until(lambda: not acting.waiting)
    assert acting.jobs.state(first) == "done"


def test_a_command_line_at_work_is_seen(acting, runs_home):
    name, recipe = next(iter(plan((runs_home / "data_size").as_posix()).items()))
    run = RunFolder(runs_home / "data_size" / name)
    acting.jobs.command = pretending("long").command
    acting.jobs.start(run, recipe)  # not by the series, and another server's process is seen the same way
    until(lambda: acting.jobs.state(run) == "running")
    test = view()
    assert not test.exception
    assert f"{name} is" in texts(test)
    assert not [button for button in test.button if button.key == "size_start"]
    acting.jobs.stop(run)
    until(lambda: not acting.jobs.own(run))
    test.run()
    assert test.button(key="size_start").label == "Go on"


def test_what_is_in_the_way_is_said(acting, runs_home):
    RunFolder(runs_home / "data_size" / "vit-60-seed0").create(Recipe())
    test = view()
    test.button(key="size_start").click().run()
    assert not test.exception
    assert "holds another run" in texts(test)
    assert not acting.waiting
    acting.jobs.command = pretending("long").command
    digits = RunFolder(runs_home / "digits-none")
    acting.start([(digits, Recipe(data="digits"))])
    until(lambda: acting.jobs.state(digits) == "running")
    test.run()
    assert "experiment of the Distillation page is at work" in texts(test)
    acting.stop()
    until(lambda: not acting.jobs.own(digits))


def test_shipped_and_own_runs_of_another_seed_are_laid_together(acting, tmp_path, runs_home):
    trained(tmp_path / "shipped")
    trained(runs_home / "data_size", seed=1, plus=0.02)
    test = view("bundled:digits_cnn")
    assert not test.exception
    names = [f"insects · 60 to 6,000 images · {whose}" for whose in ("shipped", "yours", "shipped and yours")]
    assert test.selectbox(key="size_runs").options == names
    assert test.selectbox(key="size_runs").value == names[0]
    rows = test.dataframe[0].value
    assert rows["300 images"].tolist()[0] == "50.0 ± 1.1 %"
    assert "the **Swin** leads" in texts(test)
    assert "every run was shown 36,000 pictures in 6 epochs" in texts(test)
    assert "3 runs are missing. About 54 s, as long as the others took" in texts(test)  # six epochs of 3 s each
    test.selectbox(key="size_runs").set_value(names[2]).run()
    assert not test.exception
    assert test.dataframe[0].value["300 images"].tolist()[0] == "51.0 ± 1.1 % (50.0 … 52.0)"
    test.segmented_control(key="size_epochs").set_value("300 images").run()
    assert not test.exception


def test_other_sets_are_planned_or_refused(acting, tmp_path, monkeypatch):
    trained(tmp_path / "shipped")
    test = view("bundled:insects_swin")
    assert "The shipped ones took 54 s (CPU, 1 thread)" in texts(test)
    test.selectbox(key="size_data").set_value("digits").run()
    assert not test.exception
    assert "--data digits -o" in test.code[0].value
    assert "How long is known when the first of each family is done" in texts(test)
    test.selectbox(key="size_data").set_value("a folder on this machine").run()
    assert "Choose a folder" in texts(test)
    (tmp_path / "none" / "class").mkdir(parents=True)
    monkeypatch.setenv("VIZKIT_DATA_ROOTS", str(tmp_path))
    test.run()
    test.selectbox(key="size_folder").set_value(f"{tmp_path.name}/none").run()
    assert not test.exception
    assert "cannot be opened" in test.error[0].value


# ---- the command -----------------------------------------------------------------------------------------------------
def toy(folder, seed=0, data="insects", images=6_000):
    begin = Recipe(data="digits", images=24, epochs=1, batch=24, seed=seed, warmup_epochs=0.0)
    depth = {"depth": 1, "embed_dim": 24}
    return {
        name_of("CNN", 24, seed): begin.but({"model": "digits_cnn"}),
        name_of("DeiT", 24, seed): begin.but({"model": "digits_deit", "model_args": depth, "distillation": "hard",
                                              "teacher": f"{folder}/{name_of('CNN', 24, seed)}"}),
    }  # fmt: skip


def test_the_command_trains_what_is_missing_and_prints_the_table(tmp_path, monkeypatch, capsys):
    from vizkit.training import loop

    monkeypatch.setattr(command, "plan", toy)
    out, table = tmp_path / "out", tmp_path / "table.md"
    arguments = ["data-size", "-o", str(out), "--threads", "1", "--quiet", "--device", "cpu"]
    real, asked = loop.train, []

    def stopped_at_the_second(run, *given, **options):
        asked.append(run.name)
        if len(asked) == 2:
            run.say(state="stopped", message="Stopped.")
            return
        real(run, *given, **options)

    monkeypatch.setattr(loop, "train", stopped_at_the_second)
    assert main(arguments) == 130
    assert "the same command goes on" in capsys.readouterr().out
    result = (out / "cnn-24-seed0" / "result.json").read_text()
    assert main([*arguments, "--table", str(table)]) == 0
    assert asked == ["cnn-24-seed0", "deit-24-seed0", "deit-24-seed0"]  # what was done was left alone
    assert (out / "cnn-24-seed0" / "result.json").read_text() == result
    accuracy, images = json.loads(result)["test_accuracy"], json.loads(result)["test_images"]
    cell = f"{100 * accuracy:.1f} ± {100 * math.sqrt(accuracy * (1 - accuracy) / images):.1f} %"
    text = table.read_text()
    assert f"| CNN | {cell} |" in text
    assert "| ViT | – |" in text
    assert f"`python -m vizkit data-size -o {out.as_posix()} --table {table.as_posix()}`" in text
    assert main(arguments) == 0
    assert len(asked) == 3
    assert f"| CNN | {cell} |" in capsys.readouterr().out


def test_the_command_refuses_in_one_sentence(tmp_path, monkeypatch, capsys):
    def said(*arguments):
        assert main(["data-size", "-o", str(tmp_path), "--quiet", *arguments]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        return line

    assert "cannot be written" in said("--table", str(tmp_path))
    assert "no folder" in said("--data", str(tmp_path / "none")).lower()
    name, recipe = next(iter(plan(tmp_path.as_posix()).items()))
    run = RunFolder(tmp_path / name)
    run.create(recipe.but({"epochs": 2}))
    assert "holds another run" in said()
    run.write_text("recipe.json", recipe.to_json())
    run.say(state="running")
    assert "in training already" in said()
    run.write("status.json", {**run.status, "begun": 1.0})
    from vizkit.training import loop

    monkeypatch.setattr(loop, "train", lambda run, *_, **__: run.say(state="failed", message="The loss is no number."))
    assert "The loss is no number" in said()


def test_a_silent_or_dead_run_is_gone_on_with(tmp_path):
    name, recipe = next(iter(plan("x").items()))
    run = RunFolder(tmp_path / name)
    run.create(recipe)
    for pid in (2**22 + 1, os.getpid()):  # none, and one that began later
        run.write("status.json", {"state": "running", "pid": pid, "begun": 1.0})
        assert not command.finished(run, recipe)
    run.write("status.json", {"state": "running", "pid": os.getpid()})
    assert not command.finished(run, recipe)
    run.write("status.json", {"state": "done"})
    assert command.finished(run, recipe)
