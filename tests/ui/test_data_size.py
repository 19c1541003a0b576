"""Accuracy against training-set size: the plan, what its runs tell, the view, and the command that trains them."""

import json
import math
import os
from pathlib import Path

import pytest

from tests.figure.plots import numbers
from tests.ui.conftest import choose, click, opened, texts
from tests.ui.session.test_jobs import pretending, until
from tests.ui.test_train_page import epoch
from vizkit.__main__ import main
from vizkit.commands import data_size as command
from vizkit.figure.evaluation.data_size import TAUGHT, Line, data_size
from vizkit.figure.training.learning_curves import Curve, learning_curves
from vizkit.training.experiments.data_size import DATA, IMAGES, METHODS, PARTS, another, folder_of, name_of, plan
from vizkit.training.experiments.size_findings import TEACHERS, findings, teacher_finding, teacher_gains
from vizkit.training.experiments.size_results import method_of, seconds_of, studies
from vizkit.training.recipe import Recipe, RecipeError, fields
from vizkit.training.runs.folder import RunFolder
from vizkit.ui.session import runner
from vizkit.ui.session import series as series_module
from vizkit.ui.session.series import Series
from vizkit.ui.widgets.processes import data_size as size_runs
from vizkit.views.distillation import teacher_gain as size

SHIPPED = [RunFolder(file.parent) for file in sorted(size_runs.SHIPPED.glob("*/recipe.json"))]
TEACHING = ("teacher", "distillation")
SIZES = (100, 300, 1_000, 3_000, 12_000)
REACHED = {  # by hand: test accuracy on 100 to 12,000 images
    "CNN": (0.5, 0.9, 0.95, 0.96, 0.97),
    "MLP": (0.4, 0.7, 0.85, 0.9, 0.965),
    "ViT": (0.2, 0.6, 0.8, 0.88, 0.89),
    "DeiT hard, all": (0.2, 0.75, 0.82, 0.85, 0.8),
    "DeiT hard, same": (None, 0.61, 0.79, 0.86, None),
    "DeiT soft, all": (0.21, 0.7, 0.81, 0.87, 0.89),
    "DeiT soft, same": (None, 0.6, 0.77, 0.85, None),
    "DeiT alone": (0.2, 0.6, 0.8, 0.88, 0.89),
    "Swin": (0.3, 0.7, 0.86, 0.88, 0.96),
}


@pytest.fixture(autouse=True)
def runs_home(tmp_path, monkeypatch):
    monkeypatch.setenv("VIZKIT_RUNS", str(tmp_path / "runs"))
    monkeypatch.setattr(series_module, "LOOK_EVERY_S", 0.02)
    monkeypatch.setattr(runner, "LOOK_EVERY_S", 0.05)
    return tmp_path / "runs"


def trained(folder, methods=METHODS, images=SIZES, seed=0, plus=0.0, **changes):
    """Runs as they lie in a folder when they are done; the numbers are made by hand."""
    made = []
    for name, recipe in plan("elsewhere", seed).items():
        run = RunFolder(folder / name)
        if (method := method_of(run)) in methods and recipe.images in images:
            run.create(recipe.but(changes))
            for number in range(1, recipe.epochs + 1):
                run.append(epoch(number, 0.1 * number))
            accuracy = REACHED[method][SIZES.index(recipe.images)] + plus
            run.write("result.json", {"test_accuracy": accuracy, "test_loss": 1.0, "test_images": 2000})
            run.write("status.json", {"state": "done", "epoch": recipe.epochs, "epochs": recipe.epochs})
            run.write("versions.json", {"device": "CPU", "threads": 1})
            made.append(run)
    return made


# ---- the plan --------------------------------------------------------------------------------------------------------
def test_every_run_sees_as_many_pictures_and_every_method_learns_alike():
    planned = plan("runs/data_size", 3)
    assert len(planned) == sum(len(method.parts) for method in METHODS.values())
    assert {recipe.images * recipe.passes * recipe.epochs for recipe in planned.values()} == {36_000}
    assert {recipe.images for recipe in planned.values()} == set(SIZES) == {IMAGES // part for part in PARTS}
    assert {recipe.seed for recipe in planned.values()} == {3}
    per_method = {}
    for name, recipe in planned.items():
        per_method.setdefault(method_of(RunFolder(Path(name))), []).append(recipe)
    assert list(per_method) == list(METHODS)
    for recipes in per_method.values():
        differs = {
            entry.name
            for recipe in recipes
            for entry in fields(recipe)
            if getattr(recipe, entry.name) != getattr(recipes[0], entry.name)
        }
        assert differs <= {"images", "passes", "teacher"}
    # Between the methods: who learns and how its weights change, not what it is shown.
    own = {"model", "model_args", "optimizer", "lr", "patch_drop", *TEACHING}
    alike = [recipe for recipes in per_method.values() for recipe in recipes if recipe.images == 300]
    assert len(alike) == len(METHODS)
    for name in {entry.name for entry in fields(Recipe())} - own:
        assert len({str(getattr(recipe, name)) for recipe in alike}) == 1, name


def test_a_deit_learns_from_the_cnn_of_the_same_pictures_or_of_all_which_comes_first():
    planned = plan("some/where", 2)
    names = list(planned)
    for name, recipe in planned.items():
        assert bool(recipe.teacher) == name.startswith(("deit-hard", "deit-soft"))
        if recipe.teacher:
            folder, _, teacher = recipe.teacher.rpartition("/")
            assert folder == "some/where"
            assert planned[teacher].model == "small_cnn"
            assert planned[teacher].images == (IMAGES if "-all-" in name else recipe.images)
            assert recipe.distillation == name.split("-")[1]
            assert names.index(teacher) < names.index(name)
    assert not set(planned) & set(plan("some/where", 3))


def test_other_sets_have_the_same_shares():
    digits = plan("x", data="digits", images=1_257)
    assert {recipe.images for recipe in digits.values()} == {10, 31, 104, 314, 1_257}
    assert {recipe.flip for recipe in digits.values()} == {0.0}
    shown = [recipe.images * recipe.passes * recipe.epochs for recipe in digits.values()]
    assert min(shown) > 0.98 * max(shown)
    assert 0.95 < max(shown) / 36_000 < 1.05
    large = plan("x", data="photos/birds", images=90_000)
    assert {recipe.images for recipe in large.values()} == set(SIZES)
    with pytest.raises(RecipeError, match="needs 120"):
        plan("x", data="photos/birds", images=119)
    assert [folder_of(data) for data in (DATA, "digits", "photos/my birds.zip", "C:\\a\\b\\")] == [
        "data_size",
        "data_size-digits",
        "data_size-my_birds",
        "data_size-b",
    ]


@pytest.mark.rest
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
    parts = {(method, IMAGES // part) for method, about in METHODS.items() for part in about.parts}
    assert {(outcome.method, outcome.images) for outcome in study.outcomes} <= parts
    assert {(method, images) for method in ("CNN", "MLP", "ViT") for images in SIZES} <= {
        (outcome.method, outcome.images) for outcome in study.outcomes
    }


# ---- what the runs tell ----------------------------------------------------------------------------------------------
def test_outcomes_by_hand(tmp_path):
    runs = trained(tmp_path) + trained(tmp_path, ("CNN",), (300,), seed=1, plus=0.04)
    (study,) = studies(reversed(runs))
    assert list(dict.fromkeys(outcome.method for outcome in study.outcomes)) == list(METHODS)
    assert (study.sizes, study.seeds, study.shown) == (SIZES, (0, 1), (36_000, 36_000))
    cnn, vit = study.at("CNN", 300), study.at("ViT", 300)
    assert cnn.tests == {0: 0.9, 1: pytest.approx(0.94)}
    assert (cnn.estimate.mean, cnn.estimate.seeds) == (pytest.approx(0.92), 2)
    gain = cnn.above(vit)
    assert (gain.mean, gain.seeds) == (pytest.approx(0.3), 1)  # of the one seed that both have
    assert study.gains("DeiT hard, all").keys() == {*SIZES}
    assert study.gains("DeiT hard, all")[300].mean == pytest.approx(0.15)
    assert study.gains("nobody") == {}
    assert seconds_of(runs, "DeiT soft, all") == pytest.approx(9.0)
    assert study.at("CNN", 7) is None


def test_runs_of_other_data_and_strangers_are_kept_apart(tmp_path):
    ours = trained(tmp_path / "a", ("CNN", "ViT"), (100,))
    harder = trained(tmp_path / "b", ("CNN",), (100,), data="insects:hard")
    strange = trained(tmp_path / "c", ("CNN",), (100,), model="resnet18", model_args={})
    broken = RunFolder(tmp_path / "d")
    broken.path.mkdir()
    (broken.path / "recipe.json").write_text("{")
    groups = studies([broken, *harder, *strange, *ours])
    assert [study.data for study in groups] == ["insects:hard", DATA]
    assert [len(study.runs) for study in groups] == [1, 2]
    unfinished = RunFolder(tmp_path / ours[0].name)
    unfinished.create(ours[0].recipe)
    assert studies([unfinished])[0].outcomes == ()
    assert seconds_of([unfinished], "CNN") is None
    assert not another(unfinished, ours[0].recipe)
    assert another(unfinished, harder[0].recipe)
    assert not another(RunFolder(tmp_path / "none"), ours[0].recipe)


def test_what_is_said_of_the_runs(tmp_path):
    (study,) = studies(trained(tmp_path))
    few, many, *taught = findings(study)
    assert "With 100 images the CNN leads: 50 % of the test images right, 10.0 points (6.9 to 13.1)" in few
    assert "With 12,000 images the CNN (97 %) is not told apart from the MLP by one run of each" in many
    assert [each.partition(" with ")[0] for each in taught] == [
        "A hard teacher that saw all images adds 15.0 points (95 % interval 12.1 to 17.9)",
        "A soft teacher that saw all images adds 10.0 points (95 % interval 7.1 to 12.9)",
        "A soft teacher that saw the same images costs 3.0 points (95 % interval 0.5 to 5.5)",
    ]
    (alone,) = studies(trained(tmp_path / "alone", ("ViT",)))
    assert findings(alone) == []
    assert teacher_gains(alone) == {}


def test_what_a_teacher_adds_is_paired_with_the_vit(tmp_path):
    (study,) = studies(trained(tmp_path) + trained(tmp_path, seed=1, plus=0.1) + trained(tmp_path, seed=2, plus=-0.1))
    gains = teacher_gains(study)
    assert list(gains) == list(TEACHERS.values())
    gain = gains["hard teacher that saw all images"][300]
    assert (gain.mean, gain.seeds) == (pytest.approx(0.15), 3)
    assert gain.half == pytest.approx(1.96 * math.sqrt((0.75 * 0.25 + 0.6 * 0.4) / 2000), rel=1e-3)
    said = teacher_finding(TEACHERS["DeiT hard, all"], gains["hard teacher that saw all images"])
    assert said.startswith("A hard teacher that saw all images adds 15.0 points (95 % interval ")
    assert " and costs 3.0 points (95 % interval " in said
    assert "9.0 points" in said
    assert said.endswith("no difference is shown (after Holm for 5 comparisons, 3 runs of each).")


# ---- the chart -------------------------------------------------------------------------------------------------------
def test_the_chart_holds_means_bands_and_chance():
    lines = [
        Line("ViT", "ViT", (60, 300), (0.2, 0.4), (0.1, 0.3), (0.3, 0.5)),
        Line("DeiT soft", TAUGHT, (60,), (0.3,), (0.2,), (0.4,)),
    ]
    figure = data_size(lines, 1 / 12, (60, 300))
    band, vit, _, deit, chance, lead, _ = figure.data
    assert (band.x, band.y, band.fill) == ((60, 300, 300, 60), (0.3, 0.5, 0.3, 0.1), "toself")
    assert (vit.name, vit.x, vit.y, vit.marker.symbol) == ("ViT", (60, 300), (0.2, 0.4), "square")
    assert deit.marker.symbol == "triangle-down"
    assert vit.line.color != deit.line.color
    assert (chance.name, chance.y) == ("chance 8.3 %", (1 / 12, 1 / 12))
    named = {each.text: each.y for each in figure.layout.annotations}
    assert list(named) == ["■ ViT", "▼ DeiT soft", "chance 8.3 %"]
    assert named["■ ViT"] - named["▼ DeiT soft"] > 0.02  # beside one another they could not be read
    assert (lead.x[0], lead.y) == (300, (0.4, named["■ ViT"]))
    empty = data_size([], None, (60, 300))
    assert not empty.data
    assert empty.layout.yaxis.range == (0, 1.02)


def test_a_band_stands_where_runs_differ():
    lines = [Curve("a", [1], [0.5], [0.4], [0.6]), Curve("b", [1], [0.6], [0.6], [0.6])]
    band, a, b = learning_curves(lines, "accuracy", percent=True).data  # where all runs agree there is no band
    assert (band.x, band.y, band.fill) == ((1, 1), (0.6, 0.4), "toself")
    assert [(each.name, each.x, each.y) for each in (a, b)] == [("a", (1,), (0.5,)), ("b", (1,), (0.6,))]
    assert a.line.color != b.line.color
    assert a.marker.symbol != b.marker.symbol


# ---- the view --------------------------------------------------------------------------------------------------------
def view(model="bundled:insects_vit", **query):
    chosen = {"distillation_view": "Does it help?", "gain_shows": "every network", "size_seed": "0", **query}
    return opened("distillation", models=model, **chosen)


@pytest.fixture
def acting(monkeypatch, tmp_path):
    """The page with quick scripts in place of training, three runs in place of sixteen, and nothing shipped."""
    jobs = pretending("finish")
    series = Series(jobs)
    monkeypatch.setattr(size_runs, "jobs", lambda: jobs)
    monkeypatch.setattr(size_runs, "series", lambda: series)
    for module in (size_runs, size):
        monkeypatch.setattr(module, "SHIPPED", tmp_path / "shipped")
    monkeypatch.setattr(size_runs, "plan", lambda *given: dict(list(plan(*given).items())[:3]))
    return series


@pytest.mark.rest
def test_without_runs_they_are_offered_and_trained(acting, runs_home):
    test = view()
    assert "No run of this experiment" in texts(test)
    assert "3 runs to train" in texts(test)
    assert test.code[0].value == f"python -m vizkit data-size -o {runs_home.as_posix()}/data_size"
    click(test, "size_start")
    assert test.button(key="size_stop")
    until(lambda: not acting.waiting)
    for name in ("cnn-100-seed0", "cnn-300-seed0"):
        run = RunFolder(runs_home / "data_size" / name)
        run.append(epoch(1, 0.3))
        run.write("result.json", {"test_accuracy": 0.3, "test_loss": 1.0, "test_images": 2000})
    test.run()
    assert not [box for box in test.selectbox if box.key == "size_runs"]  # one study is no choice
    assert len(test.main.get("plotly_chart")) == 1
    assert test.dataframe[0].value["Method"].tolist() == ["CNN"]
    assert "All runs of this seed are done" in texts(test)
    assert "CNN 0.08 M" in texts(test)


def test_a_command_line_at_work_is_seen(acting, runs_home):
    name, recipe = next(iter(plan((runs_home / "data_size").as_posix()).items()))
    run = RunFolder(runs_home / "data_size" / name)
    acting.jobs.command = pretending("long").command
    acting.jobs.start(run, recipe)  # not by the series, and another server's process is seen the same way
    until(lambda: acting.jobs.state(run) == "running")
    test = view()
    assert f"{name} is" in texts(test)
    assert not [button for button in test.button if button.key == "size_start"]
    acting.jobs.stop(run)
    until(lambda: not acting.jobs.own(run))
    test.run()
    assert test.button(key="size_start").label == "Go on"


def test_what_is_in_the_way_is_said(acting, runs_home):
    RunFolder(runs_home / "data_size" / "cnn-300-seed0").create(Recipe())
    test = view()
    click(test, "size_start")
    assert "holds another run" in texts(test)
    assert not acting.waiting


@pytest.mark.rest
def test_shipped_and_own_runs_of_another_seed_are_laid_together(acting, tmp_path, runs_home):
    trained(tmp_path / "shipped")
    trained(runs_home / "data_size", seed=1, plus=0.02)
    test = view("bundled:digits_cnn")
    names = [f"insects:easy · 100 to 12,000 images · {whose}" for whose in ("shipped", "yours", "shipped and yours")]
    assert test.selectbox(key="size_runs").options == names
    assert test.selectbox(key="size_runs").value == names[0]
    assert test.dataframe[0].value["300 images"].tolist()[0] == "90.0 ± 1.3 % *"
    assert "With 100 images the CNN leads" in texts(test)
    assert "every run was shown 36,000 images" in texts(test)
    assert "3 runs to train. About 27 s, as long as the others took" in texts(test)  # three epochs of 3 s each
    choose(test, size_runs=names[2])
    assert test.dataframe[0].value["300 images"].tolist()[0] == "91.0 ± 5.1 %"


# ---- the command -----------------------------------------------------------------------------------------------------
def toy(folder, seed=0, data=DATA, images=IMAGES):
    begin = Recipe(data="digits", images=24, image_size=32, epochs=1, batch=24, seed=seed, warmup_epochs=0.0)
    cnn, small = name_of("CNN", 24, seed), {"depth": 1, "embed_dim": 24}
    taught = {"model": "digits_deit", "model_args": small, "distillation": "hard", "teacher": f"{folder}/{cnn}"}
    return {cnn: begin.but({"model": "small_cnn"}), name_of("DeiT hard, all", 24, seed): begin.but(taught)}


@pytest.mark.rest
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
    assert asked == ["cnn-24-seed0", *["deit-hard-all-24-seed0"] * 2]  # what was done was left alone
    assert (out / "cnn-24-seed0" / "result.json").read_text() == result
    accuracy, images = json.loads(result)["test_accuracy"], json.loads(result)["test_images"]
    cell = f"{100 * accuracy:.1f} ± {100 * 1.959964 * math.sqrt(accuracy * (1 - accuracy) / images):.1f} % *"
    text = table.read_text()
    assert f"| CNN | {cell} |" in text
    assert "| ViT | – |" in text
    assert "–: not trained" in text
    assert f"`python -m vizkit {' '.join([*arguments, '--table', str(table)])}`" in text
    assert main(arguments) == 0
    assert f"| CNN | {cell} |" in capsys.readouterr().out
    assert main([*arguments, "--no-training", "--seed", "5"]) == 0
    assert f"| CNN | {cell} |" in capsys.readouterr().out
    assert len(asked) == 3


def test_the_command_refuses_in_one_sentence(tmp_path, monkeypatch, capsys):
    def said(*arguments):
        assert main(["data-size", "-o", str(tmp_path), "--quiet", *arguments]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        return line

    assert "cannot be written" in said("--table", str(tmp_path))
    assert "holds no finished run" in said("--no-training")
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


# ---- a student, its teacher, and the student alone -------------------------------------------------------------------
def test_a_student_stands_between_its_teacher_and_itself_alone(acting, tmp_path):
    for seed, plus in ((0, 0.0), (1, 0.02), (2, -0.02)):
        trained(tmp_path / "shipped", seed=seed, plus=plus)
    test = view(gain_shows="student and teacher")
    assert "A hard teacher that saw all images adds 15.0 points (95 % interval" in texts(test)
    drawn = {line["name"]: line for line in lines_of(test)}
    assert numbers(drawn["DeiT with it"]["y"]) == pytest.approx(REACHED["DeiT hard, all"])
    assert numbers(drawn["DeiT alone"]["y"]) == pytest.approx(REACHED["DeiT alone"])
    assert numbers(drawn["its teacher"]["y"]) == pytest.approx([REACHED["CNN"][-1]] * 5)  # always that of all images
    choose(test, gain_teacher="soft teacher that saw the same images")
    drawn = {line["name"]: line for line in lines_of(test)}
    assert numbers(drawn["its teacher"]["y"]) == pytest.approx(REACHED["CNN"])
    assert numbers(drawn["DeiT with it"]["x"]) == [300, 1_000, 3_000]
    assert "no difference is shown" in texts(test)
    assert "On ImageNet the paper of DeiT reports +0.0 points for a soft one." in texts(test)
    choose(test, gain_shows="every network")
    drawn = {line["name"]: line["line"]["color"] for line in lines_of(test) if not line["name"].startswith("chance")}
    assert list(drawn) == ["CNN", "MLP", "ViT", "DeiT soft, same", "DeiT alone", "Swin"]
    assert len({*drawn.values()}) == len(drawn), "each in a colour of its own"


def lines_of(test):
    (chart,) = test.main.get("plotly_chart")
    return [line for line in json.loads(chart.proto.spec)["data"] if line.get("name") and "lines" in line["mode"]]


def test_a_study_without_this_teacher_says_so(acting, tmp_path):
    trained(tmp_path / "shipped", ("CNN", "ViT"))
    assert "have no DeiT with a hard teacher that saw all images" in texts(view(gain_shows="student and teacher"))


def test_the_paper_needs_no_runs(acting):
    test = view(gain_shows="the paper")
    assert "On ImageNet a hard teacher adds 1.6 points to DeiT-B, 81.8 to 83.4 %" in texts(test)
    assert "SGD for pre-training (7.3)" in texts(test)
    assert not [button for button in test.button if button.key == "size_start"]


def test_the_published_numbers():
    """DeiT, tables 3 and 8."""
    assert dict((name, values) for name, *values in size.PUBLISHED)["hard, both averaged"] == [74.5, 81.2, 83.4]
    assert size.USUAL == (81.8, 83.1)
    assert size.ABLATION["no RandAugment"] == (79.6, 80.4)
    assert size.ABLATION["neither Mixup nor CutMix"] == (75.8, 76.7)
    assert [*size.ABLATION] == sorted(size.ABLATION, key=lambda change: size.ABLATION[change][0])
