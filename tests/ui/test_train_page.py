"""The Train page through app.py, without a browser: the form, a run's view, the comparison, runs in the picker."""

import inspect
import io
import json
import os
import shlex
import shutil
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from tests.figure.plots import numbers
from tests.ui.conftest import CNN, at_rest, choose, click, opened, texts
from vizkit.datasets import samples
from vizkit.datasets.opening import open_set
from vizkit.training.detection.recipes import DETECTING
from vizkit.training.recipe import NAMED, Recipe, RecipeError, fields, harder
from vizkit.training.runs.command_line import command
from vizkit.training.runs.folder import RunFolder
from vizkit.training.sequences.recipes import TEXTS
from vizkit.training.suiting import suited
from vizkit.training.super_resolution.recipes import ENLARGING as ENLARGE
from vizkit.training.tuning import PROBE, TUNE, TUNING
from vizkit.ui.duration import duration
from vizkit.ui.pages.train import model, start
from vizkit.ui.pages.train.start import ENLARGING
from vizkit.ui.session import address, jobs, model_names, models
from vizkit.ui.session.model_names import trained
from vizkit.ui.session.remembered import Remembered
from vizkit.ui.widgets import run_samples, run_watch, time_estimate
from vizkit.ui.widgets.processes.evaluation import FOLDER
from vizkit.views import bundled
from vizkit.views.blocks import Said
from vizkit.views.train import learned
from vizkit.views.train.inside import Inside
from vizkit.views.train.landscape import LossLandscape
from vizkit.views.train.learned import Learned

PLAIN = np.arange(32 * 32 * 3, dtype=np.uint8).reshape(32, 32, 3)
DIGITS = Recipe(data="digits", model="digits_cnn", epochs=2, images=96, flip=0.0)


@pytest.fixture(autouse=True)
def runs_home(tmp_path, monkeypatch):
    monkeypatch.setenv("VIZKIT_RUNS", str(tmp_path / "runs"))
    yield tmp_path / "runs"
    models._weights_seen.clear()
    jobs.jobs().jobs.clear()


def epoch(number, right=0.5, **more):
    return {
        "epoch": number,
        "train_loss": 1 / number,
        "train_accuracy": right,
        "rate": 1e-3,
        "images_per_s": 50.0,
        "val_loss": 1.1 / number,
        "val_accuracy": right,
        "seconds": 3.0,
        **more,
    }


def finished(home, name="first", recipe=DIGITS, state="done", bundled="digits_cnn"):
    run = RunFolder(home / name)
    run.create(recipe)
    for file in ("config.json", "model.safetensors"):
        shutil.copy(model_names.BUNDLED / bundled / file, run.path / file)
    for number in (1, 2):
        run.append(epoch(number, number * 0.4))
    run.write(
        "samples.json",
        [
            {"index": 0, "label": 0, "predicted": 0, "probability": 0.93},
            {"index": 1, "label": 1, "predicted": 7, "probability": 0.4},
        ],
    )
    run.write("versions.json", {"device": "CPU"})
    run.write("result.json", {"test_accuracy": 0.75, "test_loss": 1.0, "test_images": 359})
    run.write("status.json", {"state": state, "epoch": 2, "epochs": 2, "message": "75.0% of 359 test images right."})
    run.write_text("card.md", "# The story\n")
    return run


def form(**query):
    return opened("train", **{"models": CNN, "image": "digit 3", "train_view": "Start", **query})


def address_of(test, name):
    """AppTest has what it was given itself as text, what the page has set as a list."""
    return "".join(test.query_params[name])


def test_the_form_shows_pictures_time_and_command():
    test = form()
    assert not test.error
    assert "12 classes" in texts(test)
    assert f"{NAMED['quick'][1].images:,} to learn from" in texts(test)
    assert len(test.main.get("image")) == 8
    assert "Time: roughly **" in texts(test)
    assert "the same network" in texts(test)
    assert not test.button(key="train_start").disabled
    assert test.number_input(key="field_flip").value == 0.5
    test = choose(test, train_data="digits")
    assert test.selectbox(key="field_model").value == "digits_vit"
    assert test.number_input(key="field_flip").value == 0.0
    assert "mirrored digit" in test.number_input(key="field_flip").help
    assert test.number_input(key="field_images").value is None
    assert test.number_input(key="field_image_size").placeholder == "model's own"
    test = choose(test, field_model="digits_cnn", field_images=96)
    assert "10 classes" in texts(test)
    assert "96 to learn from" in texts(test)
    assert "--data digits" in test.code[0].value
    assert "--images 96" in test.code[0].value
    assert "No image is mirrored" in texts(test)


def test_every_field_has_one_widget_with_its_help():
    test = form()
    choose(test, field_teacher="bundled:insects_cnn")
    kinds = ("selectbox", "number_input", "text_input", "toggle")
    keys = [w.key for kind in kinds for w in getattr(test, kind) if w.key and w.key.startswith("field_")]
    left_out = ("data", "train_blocks", *ENLARGING)
    assert sorted(keys) == sorted(f"field_{each.name}" for each in fields(Recipe) if each.name not in left_out)
    for name in ENLARGING:  # no model of the form could learn with them
        with pytest.raises(RecipeError, match="networks that enlarge"):
            Recipe().but({name: 0.1})
    assert all(w.help for kind in kinds for w in getattr(test.main, kind))
    assert test.selectbox(key="field_distillation").value == "hard"
    assert "--teacher bundled:insects_cnn --distillation hard" in test.code[0].value


def test_a_named_recipe_is_what_starts():
    test = form()
    for name, (_, recipe) in NAMED.items():
        choose(test, train_recipe=name)
        assert f"train --recipe {name} --data insects --model {recipe.model} -o runs/" in test.code[0].value


@pytest.mark.rest
def test_a_refused_value_says_so_and_loses_nothing():
    test = form()
    choose(test, field_epochs=7, field_lr=-1.0)
    assert "learning rate lies above 0" in test.error[0].value
    assert test.button(key="train_start").disabled
    choose(test, field_lr=2e-3, field_model_args="{")
    assert "JSON" in test.error[0].value
    test.switch_page("pages/patches.py").run()
    test.switch_page("pages/train.py").run()
    assert test.number_input(key="field_epochs").value == 7
    choose(test, field_model_args='{"depth": 3}')
    assert not test.error
    assert "--epochs 7" in test.code[0].value
    assert "--lr 0.002" in test.code[0].value
    assert "depth" in test.code[0].value


@pytest.mark.rest
def test_a_bad_folder_is_one_sentence_and_a_good_one_starts(tmp_path, monkeypatch):
    test = form()
    choose(test, train_data="a folder on this machine")
    assert test.button(key="train_start").disabled
    assert "Folders of this machine are off" in texts(test)
    assert not test.error
    for label in ("ant", "bee"):
        (tmp_path / "photos" / label).mkdir(parents=True)
        for number in range(12):
            pixels = np.random.default_rng(number).integers(0, 255, (40, 40, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(tmp_path / "photos" / label / f"{number}.png")
    monkeypatch.setenv("VIZKIT_DATA_ROOTS", str(tmp_path))
    test.run()
    started = []
    monkeypatch.setattr(jobs.Jobs, "start", lambda self, run, recipe=None: started.append((run.name, recipe)))
    choose(test, train_folder=f"{tmp_path.name}/photos", train_name="../up")
    assert not test.error
    assert "2 classes" in texts(test)
    assert "Data check** · 24 images opened" in texts(test)
    assert "images that occur in several splits" in texts(test)  # an ant and a bee from every seed
    assert "The run is called up. Names have letters, digits" in texts(test)
    assert not started
    click(test, "train_start")
    assert started[0][0] == "up"
    assert started[0][1].data == str(tmp_path / "photos")
    assert test.session_state["train_view"] == "Watch"


def test_an_uploaded_zip_is_kept_for_the_process(tmp_path, monkeypatch):
    monkeypatch.setenv("VIZKIT_CACHE", str(tmp_path / "cache"))
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as packed:
        for label in ("ant", "bee"):
            for number in range(12):
                picture = io.BytesIO()
                Image.new("RGB", (20, 20), (number, 0, 0)).save(picture, "PNG")
                packed.writestr(f"photos/{label}/{number}.png", picture.getvalue())
    test = form()
    choose(test, train_data="a zip file")
    test.file_uploader(key="train_zip").upload("my photos.zip", content.getvalue(), "application/zip").run()
    assert not test.error
    assert "2 classes" in texts(test)
    kept = next((tmp_path / "cache" / "uploads").glob("*/my_photos.zip"))
    assert kept.read_bytes() == content.getvalue()
    assert f"--data {kept}" in test.code[0].value  # as it lies here
    monkeypatch.setenv("VIZKIT_ALLOW_JOBS", "no")
    test.run()
    assert "--data my_photos.zip" in test.code[0].value
    assert str(kept.parent) not in test.code[0].value
    monkeypatch.setenv("VIZKIT_ALLOW_JOBS", "yes")
    test.file_uploader(key="train_zip").upload("broken.zip", b"PK", "application/zip").run()
    assert "damaged" in test.error[0].value


def test_a_second_start_is_a_sentence(runs_home):
    run = finished(runs_home, state="running")
    run.say(
        state="running", epoch=1, epochs=3, step=0, steps=2, loss=1.0, rate=1e-3, images_per_s=9.0, seconds_left=75.0
    )
    test = form(train_view="Start")
    assert "first** is in training" in texts(test)
    click(test, "train_start")
    assert "one run at a time" in test.warning[0].value
    assert "run:first" not in trained()
    click(test, "watch_it")
    assert "in training" in texts(test)
    assert "started elsewhere" in texts(test).lower()
    assert [m.value for m in test.metric][:2] == ["1 min", "9"]
    assert "epoch 2 of 3 · step 1 of 2" in test.get("progress")[0].proto.text


def test_the_picture_of_a_run_on_other_data_is_one_of_these(runs_home, monkeypatch):
    finished(runs_home, recipe=Recipe(data="/srv/mine"))
    of_digits = open_set("digits", "val")
    monkeypatch.setattr(run_samples, "open_set", lambda data, split, **more: of_digits)
    monkeypatch.setattr(address, "go_to", lambda page: None)
    test = form(train_view="Watch", image="mayfly nymph")
    click(test, "run_look")
    picture = test.session_state["_opened"][test.session_state["image"]]
    assert np.array_equal(picture.rgb, of_digits[0][0])


def test_a_folder_that_has_lost_classes_since_is_one_sentence(runs_home, tmp_path):
    for number in range(30):
        place = tmp_path / "mine" / f"{number % 3}"
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.roll(PLAIN, number)).save(place / f"{number}.png")
    finished(runs_home, recipe=DIGITS.but({"data": str(tmp_path / "mine")}))  # of ten classes; it answered "7"
    test = form(train_view="Watch")
    assert "has changed since the run" in texts(test)
    assert not test.main.get("image")


def test_a_fine_tuned_model_is_shown_beside_what_it_was_before(runs_home):
    result = {"test_accuracy": 0.75, "test_loss": 1.0, "test_images": 400}
    finished(runs_home, recipe=DIGITS).write("result.json", result)
    assert "Test before" not in [m.label for m in form(train_view="Watch").metric]  # it began at random
    begun = DIGITS.but({"model": "bundled:insects_vit"})
    finished(runs_home, "tuned", begun).write("result.json", {**result, "test_right_before": None})
    test = form(train_view="Watch", run="tuned")
    assert "Test before" not in [m.label for m in test.metric]
    assert "ViT · insects did not know these classes: with its new head it could only guess, one in 10 right." in texts(
        test
    )
    more = {**result, "test_right_before": 260, "test_right_both": 250}
    finished(runs_home, "more", DIGITS.but({"model": "bundled:digits_cnn"})).write("result.json", more)
    test = form(train_view="Watch", run="more")
    assert [m.value for m in test.metric if m.label == "Test before"] == ["65.0 %"]
    said = texts(test)
    assert (
        "CNN · digits, which more went on from, was right on 260 of 400 images. more is better than CNN · digits"
        in said
    )
    assert "+10.0 percentage points" in said
    assert "alone right on 50 and 10 of 400 images; exact McNemar p < 0.0001." in said


def test_no_line_of_a_run_runs_back_when_it_ends(runs_home, monkeypatch):
    run = finished(runs_home, state="running")  # of two epochs
    run.say(
        state="running", epoch=2, epochs=3, step=0, steps=2, loss=1.0, rate=1e-3, images_per_s=9.0, seconds_left=9.0
    )
    said = [jobs.Point(at, 1.0, 0.1) for at in (1.25, 1.5, 2.0, 2.5)]
    monkeypatch.setattr(jobs.Jobs, "points", lambda self, run: said)
    test = form(train_view="Watch")
    places = [line["x"] for chart in test.main.get("plotly_chart") for line in json.loads(chart.proto.spec)["data"]]
    assert numbers(places[-1])[-2:] == [2, 2.5]
    assert all(numbers(each) == sorted(numbers(each)) for each in places)


def test_a_finished_run_is_told_and_can_be_looked_into_and_deleted(runs_home, monkeypatch):
    finished(runs_home)
    turned = []  # AppTest does not follow a script to another page; the journey in Chromium does
    monkeypatch.setattr(address, "go_to", turned.append)
    test = form(train_view="Watch")
    assert not test.error
    assert not test.warning
    assert "done" in texts(test)
    assert "The story" in texts(test)
    assert [m.value for m in test.metric] == ["6 s", "50", "80.0 %", "75.0 %"]
    assert len(test.main.get("plotly_chart")) == 3
    captions = [image.proto.imgs[0].caption for image in test.main.get("image")]
    assert captions == ["✓ 0, 93 %", "✗ 7, 40 %, is 1"]
    click(test, "run_look")
    assert test.session_state["models"] == ["run:first", "bundled:digits_cnn"]
    assert turned == ["pages/explore.py"]
    assert test.session_state["image"] == "digit 3"
    test.switch_page("pages/explore.py").run()
    assert test.title[0].value == "Explore"
    assert not test.warning
    test.switch_page("pages/train.py").run()
    click(test, "run_delete")
    assert "type the name" in test.warning[0].value
    assert (runs_home / "first").exists()
    test.text_input(key="run_delete_name").set_value("first")
    click(test, "run_delete")
    assert not (runs_home / "first").exists()
    assert [place.name.partition(".")[0] for place in (runs_home / ".bin").iterdir()] == ["first"]
    assert "lies in the bin" in test.success[0].value
    assert test.selectbox(key="run").value == bundled.RECORDED  # no other is left


def test_a_link_names_a_run_and_its_model(runs_home):
    finished(runs_home)
    finished(runs_home, "second", state="stopped")
    test = form(train_view="Watch", run="first", models="run:second")
    assert not test.warning
    assert test.selectbox(key="run").value == "first"
    assert test.session_state["models"] == ["run:second"]
    gone = form(models="run:gone")
    gone.switch_page("pages/explore.py").run()
    assert "no finished run 'gone'" in gone.warning[0].value


def test_a_run_that_died_says_where_it_goes_on(runs_home):
    run = finished(runs_home, state="running")
    jobs.jobs().log_of(run).write_text("vizkit: The disk is full.\n")
    test = form(train_view="Watch")
    assert "ended unexpectedly; resume goes on after epoch 2. The disk is full." in test.warning[0].value
    assert test.button(key="run_resume")


def test_runs_are_compared(runs_home):
    finished(runs_home)
    finished(runs_home, "second", replace(DIGITS, lr=3e-3), state="stopped")
    (runs_home / "broken").mkdir()
    (runs_home / "broken" / "recipe.json").write_text("{")
    test = form(train_view="Runs")
    assert not test.error
    table = test.dataframe[0].value
    assert set(table["Run"]) >= {"first", "second"}
    assert "broken" not in set(table["Run"])  # its pictures are not known
    choose(test, runs_data="all")
    table = test.dataframe[0].value
    assert set(table["Run"]) >= {"first", "second", "broken"}
    choose(test, runs_data="digits")
    table = test.dataframe[0].value
    assert table[table["Run"] == "first"]["Best val"].item() == 0.8
    assert {"first", "second"} <= set(test.multiselect(key="runs").value)
    assert len(test.main.get("plotly_chart")) == 2
    choose(test, runs=["first", "second"])
    differ = test.dataframe[1].value
    assert list(differ.columns[2:]) == ["Test", "Learning rate"]
    assert list(differ["Learning rate"]) == ["0.003", "0.001"]
    charts = [json.loads(chart.proto.spec) for chart in test.main.get("plotly_chart")]
    assert [len(chart["data"]) for chart in charts] == [2, 2]
    assert charts[0]["layout"]["hovermode"] == "x unified"
    assert charts[0]["layout"]["height"] >= 320


def test_two_runs_that_differ_in_one_thing_are_compared_first(runs_home):
    test = form(train_view="Runs")
    assert "The runs differ in" not in texts(test), "which would all be reasons"
    assert list(test.dataframe[1].value.columns[2:]) == ["Test", "Model"]
    assert list(test.dataframe[0].value.columns[2:4]) == ["Test", "Minutes"], "not cut off on a phone"
    finished(runs_home, recipe=DIGITS.but({"data": "insects"}))
    test = form(train_view="Runs")
    assert test.selectbox(key="runs_data").value == "insects"
    assert "first" in test.multiselect(key="runs").value


def test_a_run_of_ones_own_is_played_when_it_has_ended(runs_home, monkeypatch):
    finished(runs_home)
    opened_pages = []
    monkeypatch.setattr(address, "go_to", opened_pages.append)
    test = form(train_view="Watch")
    assert test.slider(key="run_epoch").value == 2
    choose(test, run_epoch=1)
    assert "After 1 epoch 40 % of the validation images are right" in texts(test)
    assert [m.value for m in test.metric if m.label == "Test"] == ["–"], "its place is kept"
    assert "of the finished model** to images that it does not learn from; after epoch 1 no weights were kept" in texts(
        test
    )
    assert test.main.get("image")[0].proto.imgs[0].caption == "at the end ✓ 0, 93 %"
    assert test.button(key="run_delete")  # it is one's own still
    click(test, "run_evaluate")
    assert opened_pages == ["pages/evaluate.py"]
    assert test.session_state["models"] == ["run:first", CNN]


@pytest.mark.parametrize("begun", ["bundled:digits_faulty", "first"])
def test_a_run_on_a_mended_copy_is_evaluated_on_it_beside_the_model_that_it_went_on_from(runs_home, begun):
    copy = runs_home / "mended" / "digits-mended"
    for label, tone in (("0", 0), ("1", 255)):
        (copy / label).mkdir(parents=True)
        for index in range(6):
            Image.new("RGB", (16, 16), (tone, tone, 40 * index)).save(copy / label / f"{index}.png")
    finished(runs_home)
    model = str(runs_home / begun) if begun == "first" else begun
    run = finished(runs_home, "mended-run", replace(DIGITS, data=str(copy), model=model))
    run.write("samples.json", [])
    test = form(train_view="Watch", run="mended-run")
    click(test, "run_evaluate")
    assert test.session_state["models"][:2] == ["run:mended-run", "run:first" if begun == "first" else begun]
    assert test.selectbox(key="eval_data").value == FOLDER
    assert test.selectbox(key="eval_folder").value == "mended/digits-mended"
    assert "of **2 classes" in texts(test)


def test_teachers_know_the_classes_of_the_data(runs_home):
    finished(runs_home)
    test = form(train_task="Learn from a teacher")
    offered = test.selectbox(key="field_teacher").options
    assert "bundled:insects_deit" in offered
    assert not [name for name in offered if "digits" in name or name in ("run:first", "bundled:photographs_vit")]
    choose(test, train_data="digits")
    offered = test.selectbox(key="field_teacher").options
    assert "run:first" in offered
    assert not [name for name in offered if "insects" in name]


def test_five_choices_stand_open_and_the_rest_is_folded():
    folded = {"field_lr", "field_batch", "field_flip", "field_smoothing", "field_image_size"}
    for task in ("Tell images apart", "Fine-tune a model", "Learn from a teacher"):
        test = form(train_task=task)
        kinds = ("selectbox", "number_input", "toggle", "segmented_control")
        inside = {w.key for box in test.expander for kind in kinds for w in getattr(box, kind)}
        open_ = {w.key for kind in kinds for w in getattr(test.main, kind)} - inside
        open_ -= {"train_view", "train_task", "help_at_side"}
        assert len(open_) == 5, open_
        assert folded <= inside


def test_the_augmentation_is_shown_where_somebody_asks():
    test = form()
    before = len(test.main.get("image"))
    test.session_state["changed"] = True  # as a click on its line opens it
    test.run()
    assert len(test.main.get("image")) == 2 * before
    for name in ("flip", "turn_deg"):
        test.session_state[f"field_{name}"] = 0.0
    test.run()
    assert len(test.main.get("image")) == before, "no row that says nothing"
    assert "this recipe changes no image" in texts(test)
    assert not np.array_equal(*(start.augmented([PLAIN], Recipe(flip=p), 32, 1)[0] for p in (0.0, 1.0)))


@pytest.mark.parametrize("old, new", [("train/Compare", "Runs"), ("distillation/Augmentation", "Start")])
def test_an_old_address_opens_what_replaces_it(old, new):
    stem, title = old.split("/")
    test = opened(stem, **{f"{stem}_view": title, "ra_magnitude": "3"})
    assert test.session_state["train_view"] == new


@pytest.mark.parametrize("name", [*NAMED, *TUNING])
def test_the_command_of_a_named_recipe_says_what_differs_and_is_read_back(name):
    from vizkit.commands import train
    from vizkit.commands.options import application, with_options

    base = (NAMED | TUNING)[name][1]
    changes = [{}, {"data": "a b", "lr": 3e-5, "flip": 0.25}, {"train_blocks": -1, "pretrained": False}]
    for recipe in (base.but({**each, "model_args": {}, "randaugment": ""}) for each in changes):
        app = application("train", "")
        app.default(with_options(lambda *, output=None, recipe=None, **given: (recipe, given), train.changes()))
        words = shlex.split(command(recipe, "x", (name, base)).partition(" train ")[2].removesuffix(" -o x"))
        assert train.recipe_of(*app(words)) == recipe


def test_the_page_opens_on_a_run_and_plays_it():
    test = form(train_view="", run="bundled:insects_vit")
    metrics = run_watch.recorded()["bundled:insects_vit"].metrics()
    choose(test, run_epoch=3)
    assert address_of(test, "run") == "bundled:insects_vit"
    assert "After 3 epochs 86 % of the validation images are right and 64 % of those in training" in texts(test)
    assert [m.value for m in test.metric if m.label == "Test"] == ["–"]
    assert len(test.main.get("image")) == 12, "the page does not shrink"
    lines = json.loads(test.main.get("plotly_chart")[1].proto.spec)["data"]
    faint, seen = lines[0], lines[1]
    assert (len(numbers(faint["y"])), len(numbers(seen["y"]))) == (len(metrics), 3)
    unseen = faint["marker"]["opacity"], faint["marker"]["size"]
    assert (faint["mode"], unseen) == (seen["mode"], (0, seen["marker"]["size"])), "axes keep room for dots that come"
    click(test, "run_look")
    assert test.session_state["models"] == ["bundled:insects_vit", CNN]
    assert test.session_state["image"] == samples.INSECTS[0]  # it was a digit


@pytest.mark.parametrize(
    "task, recipe, said",
    [
        ("Find insects in scenes", "detr-small", "--model detr_small"),
        ("Rewrite dates", "dates_transformer", "--model seq2seq_transformer"),
        ("Enlarge pictures", "insects_ttsr", "--model ttsr_small"),  # in a link of an earlier version
        ("Learn from a teacher", "quick", "--teacher bundled:insects_cnn --distillation soft"),
    ],
)
def test_every_task_that_is_trained_can_be_started(task, recipe, said, monkeypatch):
    started = []
    monkeypatch.setattr(jobs.Jobs, "start", lambda self, run, recipe: started.append(recipe))
    test = form(train_task=task)
    assert not test.error
    assert test.selectbox(key="train_recipe").value == recipe
    assert said in test.code[0].value
    if task != "Learn from a teacher":
        assert model.OTHERS[(TEXTS | DETECTING | ENLARGE)[recipe][1].model][1] in texts(test)
        assert ("Images" in [each.label for each in test.number_input]) == (recipe != "dates_transformer")
    choose(test, field_epochs=2)
    click(test, "train_start")
    known = NAMED | TEXTS | DETECTING | ENLARGE
    expected = known[recipe][1].but({"epochs": 2})
    if task == "Learn from a teacher":
        expected = expected.but({"teacher": "bundled:insects_cnn", "distillation": "soft"})
    assert started == [expected]


def test_a_teacher_knows_the_pictures_that_are_chosen():
    test = form(train_task="Learn from a teacher")
    assert test.selectbox(key="field_teacher").value == "bundled:insects_cnn"
    choose(test, field_teacher="bundled:insects_deit")
    choose(test, train_data="digits")
    assert test.selectbox(key="field_teacher").value == "bundled:digits_cnn"
    choose(test, field_teacher="bundled:digits_swin")
    choose(test, train_data="torchvision:pets")
    assert test.selectbox(key="field_teacher").value is None
    assert "Choose a teacher that knows" in test.error[0].value
    assert test.button(key="train_start").disabled
    assert model.teacher_of("digits", "bundled:digits_swin") == "bundled:digits_swin"
    assert model.teacher_of("/a/folder", "resnet18") == "resnet18"  # whose classes nobody knows here


def test_the_model_of_the_other_pages_is_fine_tuned(runs_home, monkeypatch):
    started = []
    monkeypatch.setattr(jobs.Jobs, "start", lambda self, run, recipe: started.append((run.name, recipe)))
    test = form(train_task="Fine-tune a model", models="bundled:insects_deit")
    assert not test.error
    assert test.selectbox(key="field_model").value == "bundled:insects_deit"
    assert test.selectbox(key="train_data").value == "insects"  # its own
    assert "knows these 12 classes already" in texts(test)
    choose(test, train_data="digits")
    assert "new head, for its 12 classes become 10 others; everything before it begins as it is" in texts(test)
    assert test.number_input(key="field_lr").value == TUNING[TUNE][1].lr < NAMED["quick"][1].lr
    choose(test, train_part="the new head")
    assert test.number_input(key="field_lr").value == TUNING[PROBE][1].lr
    assert "stays as it is" in texts(test)
    choose(test, train_data="insects")
    assert "knows these 12 classes already" in texts(test)
    choose(test, train_data="digits", field_epochs=2)
    choose(test, train_recipe="linear-probe")  # another recipe keeps the model
    assert test.selectbox(key="field_model").value == "bundled:insects_deit"
    assert "--model bundled:insects_deit" in test.code[0].value
    click(test, "train_start")
    assert started == [
        ("insects_deit-digits", suited(TUNING[PROBE][1].but({"model": "bundled:insects_deit"}), "digits"))
    ]


def test_what_cannot_be_fine_tuned_is_said_before_the_start(runs_home, monkeypatch):
    finished(runs_home, "boxes", Recipe(model="detr_small", data="scenes"))
    refused = {
        "run:boxes": "finds things in images",
        "torchvision:resnet18": "choose timm's model of its kind",
        "small_vit": "begins at random",
        "../etc": "is no name of a model",
    }
    typed = [*refused, "resnet18"]  # AppTest types nothing into a picker
    monkeypatch.setattr(model, "trained_models", lambda: typed)
    test = form(train_task="Fine-tune a model", train_data="digits")
    for name, words in refused.items():
        choose(test, field_model=name)
        assert words in test.error[0].value
        assert test.button(key="train_start").disabled
    choose(test, field_model="resnet18")
    assert not test.error
    assert "new head, for these are 1" in texts(test)
    assert "--model resnet18 --pretrained" in test.code[0].value


def test_a_run_is_fine_tuned_from_where_it_is_watched(runs_home):
    finished(runs_home)
    test = form(train_view="Watch")
    click(test, "run_tune")
    assert test.selectbox(key="field_model").value == "run:first"
    assert test.selectbox(key="train_data").value == "digits", "its own"
    assert "knows these 10 classes already" in texts(test)
    assert f"--model {runs_home / 'first'}" in test.code[0].value


def test_another_task_fills_the_form_anew():
    test = form(train_task="Rewrite dates")
    choose(test, train_recipe="dates_gpt")
    assert test.number_input(key="field_epochs").value == 3
    choose(test, train_task="Tell images apart")
    assert test.selectbox(key="field_model").value == "small_vit"


def test_why_validation_may_be_better_is_true_of_the_recipe():
    assert harder(Recipe(flip=0.0)) == []
    assert harder(Recipe(flip=0.5, crop=0.5, patch_drop=0.5)) == [
        "are cropped",
        "are mirrored at times",
        "lose some of their patches",
    ]


def test_retrained_weights_replace_those_in_memory(runs_home, monkeypatch):
    run = finished(runs_home)
    weights = run.path / "model.safetensors"
    forgotten = []
    monkeypatch.setattr(models, "forget", forgotten.append)
    models.run_folder("run:first")
    models.run_folder("run:first")
    assert not forgotten
    os.utime(weights, ns=(1, 1))
    models.run_folder("run:first")
    assert forgotten == ["run:first"]


def test_everything_kept_by_a_models_name_is_forgotten_with_it():
    """`forget` finds what has the name among its arguments; nothing of a model may be kept in another way."""
    own = [each for each in vars(models).values() if getattr(each, "__module__", "") == models.__name__]
    made = [each for each in own if not inspect.isroutine(each) and not inspect.isclass(each) and callable(each)]
    kept = [each for each in made if "source" in inspect.signature(each).parameters]
    assert {models._own, models._whole} <= set(kept)
    assert all(isinstance(each, Remembered) for each in kept)


def test_our_models_are_those_of_the_engine():
    from vizkit.training.architectures import OURS

    assert list(model.OURS) == list(OURS)


def test_time_comes_from_measured_runs_only(runs_home):
    past = [finished(runs_home)]
    assert time_estimate.estimate(DIGITS.but({"model": "small_vit"}), 96, "CPU", past) is None
    assert time_estimate.estimate(DIGITS, 96, "H200", past) is None
    same = time_estimate.estimate(DIGITS.but({"epochs": 10}), 96, "CPU", past)
    assert same.seconds == 30
    assert same.whole
    rough = time_estimate.estimate(DIGITS.but({"patch_drop": 0.5}), 96, "CPU", past)
    assert (rough.rough, rough.seconds) == (True, 2 * 96 / 100)  # half of the patches, twice the images
    assert "at 100 images/s: there 50 with 100 % of each image's patches, here 50 %." in time_estimate.sentence(rough)
    tuned = time_estimate.estimate(DIGITS.but({"model": "bundled:first"}), 96, "H200", [], past)
    assert (tuned.rough, tuned.seconds) == (True, 2 * 96 / 50)
    assert "roughly **4 s**, if this machine is as quick as the one that trained" in time_estimate.sentence(tuned)
    other = time_estimate.estimate(DIGITS.but({"images": 500}), 500, "CPU", past)
    assert other.seconds == 2 * 500 / 50
    assert not other.whole
    assert "about **30 s**, at 50 images/s as in first" in time_estimate.sentence(same)


def test_the_form_says_in_how_many_steps_the_weights_change():
    assert start.steps_in_words(12, 5) == "12 steps an epoch, 60 in all."
    few = "1 step an epoch, 5 in all. That is few: take more epochs, or a smaller batch."
    assert start.steps_in_words(1, 5) == few
    assert start.steps_in_words(0, 5) == ""
    assert start.time_of(DIGITS.but({"images": 96, "batch": 96, "epochs": 5}), None).endswith(few)


@pytest.mark.parametrize(
    "seconds, words",
    [
        (0.2, "1 s"),
        (59.6, "1 min"),
        (90.0, "2 min"),
        (3599.0, "1 h"),
        (5400.0, "1 h 30 min"),
        (190_000.0, "2 days 5 h"),
    ],
)
def test_times_in_words(seconds, words):
    assert duration(seconds) == words


def test_watch_plays_what_a_run_learned_under_its_curves(runs_home):
    shown = form(train_view="Watch")
    assert shown.selectbox(key="run").value == bundled.RECORDED
    assert "What it learned" in texts(shown)
    assert shown.session_state["learned_step"] == 990
    assert [box.label for box in shown.expander].count("How to read this") == 1
    assert "Eight test images, which the run never learned from" in texts(shown)
    assert [box.label for box in shown.selectbox].count("Run") == 1, "it is chosen above"
    rules = [json.loads(chart.proto.spec)["layout"].get("shapes", []) for chart in shown.get("plotly_chart")]
    assert rules == [[]] * 3
    turned = form(train_view="Watch", run=bundled.RECORDED, learned_step="99")  # the third of thirty epochs ends
    rules = [json.loads(chart.proto.spec)["layout"]["shapes"] for chart in turned.get("plotly_chart")]
    assert [[each["x0"] for each in every] for every in rules] == [[3.0]] * 3
    assert "Answers" not in texts(turned), "those of the finished model would stand beside those of a step"
    assert choose(turned, run_epoch=1).session_state["learned_step"] == 32, "the last that was kept of epoch 1"
    assert "What it learned" not in texts(form(train_view="Watch", run="bundled:digits_mlp"))


@pytest.mark.parametrize("title", ["Learned", "Inside", "Landscape"])
def test_the_run_that_is_watched_is_that_of_the_other_views(runs_home, monkeypatch, title):
    shutil.copytree(bundled.RECORDED_FOLDER, runs_home / "mine")
    finished(runs_home, "without")
    for shown in (Learned, Inside, LossLandscape):
        monkeypatch.setattr(shown, "show", lambda self, of: [Said(f"Shown is {self.run}.")])
    assert "Shown is mine." in texts(form(train_view=title, run="mine"))
    test = form(train_view="Watch", learned_step="32")
    assert test.selectbox(key="run").value == "mine", "the other one, which is later, has nothing for the other views"
    test.session_state["train_view"] = title
    test.run()
    assert "Shown is mine." in texts(test)
    assert address_of(test, "run") == "mine"
    usual = bundled.RECORDED
    test.selectbox(key="run").set_value(usual).run()
    assert not test.exception
    assert f"Shown is {usual}." in texts(test)
    assert "learned_step" not in test.query_params, "a step of another run"
    test = form(train_view="Watch", run="without")
    test.session_state["train_view"] = title
    test.run()
    assert f"Shown is {usual}." in texts(test)
    named = usual.replace("small", "tiny")  # "small ViT" is the network of ViT · insects, another one
    assert f"without has no checkpoints to show here: this is {named}, another network" in texts(test)
    test.session_state["train_view"] = "Watch"
    test.run()
    assert test.selectbox(key="run").value == "without", "it is not forgotten"
    assert "The run of this link has no checkpoints" in texts(form(train_view=title, run="<b>"))


def test_a_run_at_work_shows_the_checkpoints_that_it_has_and_those_that_come(runs_home, monkeypatch):
    run, kept = runs_home / "mine", bundled.RECORDED_FOLDER
    shutil.copytree(kept, run, ignore=shutil.ignore_patterns("model.safetensors", "checkpoints"))
    folder = RunFolder(run)
    folder.say(
        state="running",
        epoch=0,
        epochs=10,
        step=32,
        steps=99,
        loss=1.0,
        rate=1e-3,
        images_per_s=9.0,
        seconds_left=957.0,
    )
    test = form(train_view="Watch", run="mine")
    assert "is shown here after its first epoch: in 1 min." in texts(test)
    asked, own = [], learned._asked
    monkeypatch.setattr(learned, "_asked", lambda *given: asked.append(given[1]) or own(*given))
    shutil.copytree(kept / "checkpoints", run / "checkpoints")
    (run / "checkpoints" / "990.safetensors").unlink()
    shutil.copy(kept / "model.safetensors", run)
    test = at_rest(test.run())
    assert (sorted(asked)[-1], len(asked), test.session_state["learned_step"]) == (825, 13, 825)
    assert "after step 825" in texts(test)
    shutil.copy(kept / "checkpoints" / "990.safetensors", run / "checkpoints")
    test = at_rest(test.run())
    assert asked[13:] == [990], "nothing is asked twice"
    assert "after step 990" in texts(test)
