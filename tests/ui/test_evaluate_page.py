"""The view Results of the Evaluate page, through app.py without a browser; its process runs in this one."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from PIL import Image
from safetensors.torch import load_file, save_file

from tests.ui.conftest import at_rest, choose, click, forged, opened, sent_to, texts, triggered
from vizkit.__main__ import main
from vizkit.evaluation.job import JobFolder
from vizkit.training.runs.folder import RunFolder
from vizkit.ui.session import jobs, model_names, models, runner
from vizkit.ui.session.evaluations import Evaluations, Request, evaluations, request_for
from vizkit.ui.session.jobs import JobError
from vizkit.ui.widgets.processes import evaluation as data
from vizkit.views import bundled
from vizkit.views.evaluate.measured import OTHERS

SPAWN = runner.spawn
THREE = ["bundled:digits_vit", "bundled:digits_swin", "bundled:digits_cnn"]


class Ended(subprocess.Popen):
    """A process that has done its work."""

    def __init__(self):
        self.returncode = 0

    def wait(self, timeout=None):
        return 0

    def __del__(self):
        """There is no process to wait for."""


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("VIZKIT_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("VIZKIT_DATA_ROOTS", str(tmp_path))

    def here(command, log):
        given = [word for word in command[3:] if word != "--quiet"]
        at = given.index("--end-with")
        main([*given[:at], *given[at + 2 :], "--device", "cpu", "--quiet"])
        return Ended()

    monkeypatch.setattr(runner, "spawn", here)
    yield tmp_path
    for each in (data.opened, evaluations):
        each.clear()
    models._weights_seen.clear()
    jobs.jobs().jobs.clear()


def evaluating(models=("bundled:digits_cnn",), **query):
    given = {"models": list(models), "image": "digit 3", "eval_data": "digits", "eval_images": "60", **query}
    return opened("evaluate", **given)


def sound(test):
    assert not test.error, [each.value for each in test.error]
    return test


# ---- the page --------------------------------------------------------------------------------------------------------
def test_three_models_from_the_button_to_the_pictures_of_a_cell():
    test = sound(evaluating(THREE))
    assert "60 images" in texts(test)
    assert "python -m vizkit evaluate digits --model=bundled:digits_vit" in test.code[0].value
    test = sound(click(test, "eval_start"))
    assert test.selectbox(key="evaluated").options[0] == "yours: digits, 60 images"
    table = test.dataframe[0].value
    assert table["Model"].tolist() == ["ViT", "Swin", "CNN"]
    assert table["Parameters, M"].tolist() == [0.68, 0.53, 0.18]
    assert (table["Accuracy, %"] > 90).all()
    assert "right most often" in texts(test)
    assert len(test.get("plotly_chart")) == 3  # wrong answers, a matrix and calibration
    assert "60 of 60 images" in texts(test)
    browser = sent_to(test, "vizkit_evaluated")[0]
    assert len(browser["tiles"]) == 12
    assert [answer["model"] for answer in browser["tiles"][0]["answers"]] == [
        own := test.selectbox(key="eval_model").value,
        *(name for name in table["Model"] if name != own),
    ]
    assert len(json.dumps(browser)) < 300_000
    test.selectbox(key="eval_label").set_value("3")
    test = sound(choose(test, eval_answer="3"))
    tiles = sent_to(test, "vizkit_evaluated")[0]["tiles"]
    assert tiles
    first = [(tile["label"], tile["answers"][0]["answer"], tile["answers"][0]["right"]) for tile in tiles]
    assert set(first) == {("3", "3", True)}
    assert f"{len(tiles)} of 60 images" in texts(test)
    assert "eval_page" not in [each.key for each in test.slider]  # one page has no others
    next(each for each in test.button if each.label == "Show all").click()
    assert "60 of 60 images" in texts(sound(test.run()))
    assert "Show all" not in [each.label for each in test.button]
    test.selectbox(key="eval_label").set_value("3")
    choose(test, eval_answer=OTHERS)
    assert "No image passes" in texts(sound(test))
    assert {"eval_label", "eval_answer"} <= set(test.query_params)
    given = {name: test.query_params[name] for name in test.query_params if name[:4] == "eval"}
    again = sound(evaluating(THREE, **given))
    assert again.selectbox(key="eval_answer").value == OTHERS
    assert "No image passes" in texts(again)
    test.selectbox(key="eval_model").set_value("CNN")
    sound(test.run())


def test_it_opens_on_a_recorded_evaluation_of_the_models_that_know_the_chosen_ones_pictures():
    test = sound(opened("evaluate", models="bundled:digits_swin", image="digit 3"))
    assert test.selectbox(key="evaluated").value == "digits"
    assert "Swin and CNN are right most often, each on 358 of 359 images" in texts(test)
    assert test.selectbox(key="eval_model").value == "Swin"
    assert len(test.dataframe[0].value) == 7
    assert len(sent_to(test, "vizkit_evaluated")[0]["tiles"]) == 12
    assert "eval_start" not in [button.key for button in test.button]  # the form is one line
    both = sound(opened("evaluate", models=["bundled:digits_vit", "bundled:digits_gradual"], image="digit 3"))
    assert both.dataframe[0].value["Model"].tolist() == ["ViT", "Gradual"]
    assert "the paired test finds ViT better than Gradual" in texts(both)
    assert re.search(r"ViT alone is right on \d+ images, Gradual alone on \d+: p [=<] ", texts(both))


def run_in(home, name, **changed):
    """A finished run of digits, its weights a little off those of the bundled CNN."""
    folder = home / "runs" / name
    folder.mkdir(parents=True)
    recipe = json.loads((bundled.FOLDER / "digits_cnn" / "recipe.json").read_text()) | changed
    (folder / "recipe.json").write_text(json.dumps(recipe))
    shutil.copy(bundled.FOLDER / "digits_cnn" / "config.json", folder)
    weights = load_file(bundled.FOLDER / "digits_cnn" / "model.safetensors")
    nearly = {key: each * 1.001 if each.is_floating_point() else each for key, each in weights.items()}
    save_file(nearly, folder / "model.safetensors")
    RunFolder(folder).write("status.json", {"state": "done"})


def test_an_error_is_opened_elsewhere_with_the_model_that_made_it():
    """Not with the photographs' model, which gives no answer at all."""
    test = at_rest(opened("evaluate", models="bundled:photographs_vit", evaluated="drawn insects"))
    triggered(test, "vizkit_evaluated", "open", [0, "Relevance"])
    assert test.session_state["models"] == ["bundled:insects_cnn", "bundled:photographs_vit"]


def test_the_form_begins_with_the_data_of_a_run(home):
    for name in "01":
        (home / "mine" / name).mkdir(parents=True)
        for number in range(6):
            Image.new("RGB", (40, 40), (40 * number,) * 3).save(home / "mine" / name / f"{number}.png")
    run_in(home, "of a folder", data=str(home / "mine"))
    test = sound(opened("evaluate", models="run:of a folder"))
    assert test.selectbox(key="eval_data").value == data.FOLDER
    assert test.selectbox(key="eval_folder").value == f"{home.name}/mine"
    assert (test.selectbox(key="eval_split").value, test.number_input(key="eval_images").value) == ("test", 0)
    assert "eval_start" in [button.key for button in test.button]
    assert "of a folder learned other images than these" in texts(test)
    assert "right most often" not in texts(test)
    run_in(home, "of hard insects", data="insects:easy")
    test = sound(opened("evaluate", models="run:of hard insects"))
    assert test.selectbox(key="eval_data").value == "insects:easy"


@pytest.mark.rest
def test_models_that_are_done_are_shown_while_others_are_at_work():
    sound(evaluating(THREE[1:]).button(key="eval_start").click().run())
    (folder,) = (Path(os.environ["VIZKIT_CACHE"]) / "evaluations").iterdir()
    JobFolder(folder).say(state="running", model=1, models=2, name="digits_cnn", done=1, total=60)  # as it was before
    test = sound(evaluating(THREE[1:]))
    assert test.dataframe[0].value["Model"].tolist() == ["Swin"]
    assert "1 of 2 models so far" in texts(test)


@pytest.mark.rest
def test_what_was_evaluated_is_there_at_once():
    sound(evaluating(THREE[2:]).button(key="eval_start").click().run())
    again = sound(evaluating(THREE[2:]))
    assert again.dataframe[0].value["Model"].tolist() == ["CNN"]
    assert "eval_start" not in [button.key for button in again.button]
    for value in ([24, "Explore"], [-1, "Explore"], [0, "../x"], [float("nan"), "Explore"], [0.5], "x", [[0], {}]):
        sound(forged(again, "vizkit_evaluated", {"open": value}))
        assert "_opened" not in again.session_state
    assert "eval_start" in [button.key for button in evaluating(THREE[2:], eval_images="59").button]


@pytest.mark.rest
def test_a_folder_with_strange_names_and_models_that_cannot_take_part(home):
    path = home / "цифры ارقام & <b>"
    for name in ("0", "1", "жук سوسک"):
        (path / name).mkdir(parents=True)
        for number in range(2):
            Image.new("RGB", (40, 40), (90 * number,) * 3).save(path / name / f"p *{number}*.png")
    (path / "0" / "broken.png").write_bytes(b"nothing")
    test = evaluating(
        ["bundled:digits_cnn", "bundled:insects_cnn", "random:vit_tiny_patch16_224"], eval_data=data.FOLDER
    )
    choose(test, eval_folder=f"{home.name}/{path.name}")
    assert "random:vit_tiny_patch16_224 is untrained" in texts(test)
    test = sound(click(test, "eval_start"))
    said = texts(test)
    assert "insects_cnn knows no label" in said.replace("\\", "")
    assert "1 of 3 labels (жук سوسک)" in said
    assert "1 broken file left out" in said
    assert test.dataframe[0].value["Model"].tolist() == ["CNN"]


def test_refusals_are_sentences(home):
    (home / "empty" / "class").mkdir(parents=True)
    test = evaluating(eval_data=data.FOLDER)
    assert "Choose a folder" in texts(test)
    choose(test, eval_folder=f"{home.name}/empty")
    assert "There are no images in 'empty'" in test.error[0].value
    test = evaluating(["bundled:insects_cnn"])
    test = click(test, "eval_start")
    assert "knows no label of digits" in test.error[0].value


@pytest.mark.rest
def test_a_result_that_cannot_be_read_is_not_offered():
    sound(evaluating().button(key="eval_start").click().run())
    (folder,) = (Path(os.environ["VIZKIT_CACHE"]) / "evaluations").iterdir()
    (folder / "outcome.npz").write_bytes(b"torn")
    test = evaluating()
    assert "yours" not in str(test.selectbox(key="evaluated").options)


@pytest.mark.rest
def test_pictures_that_changed_since_are_not_shown(home):
    path = home / "set"
    for name in "01":
        (path / name).mkdir(parents=True)
        Image.new("RGB", (40, 40)).save(path / name / "a.png")

    def chosen():
        return evaluating(eval_data=data.FOLDER).selectbox(key="eval_folder").set_value(f"{home.name}/set").run()

    sound(chosen().button(key="eval_start").click().run())
    Image.new("RGB", (30, 30), "white").save(path / "0" / "b.png")
    data.opened.clear()
    test = sound(chosen())
    assert "eval_start" in [button.key for button in test.button]  # other pictures, another evaluation


# ---- processes -------------------------------------------------------------------------------------------------------
def sleeper(home, name="one", seconds=60, words=""):
    """An evaluation whose process only sleeps."""
    request = Request(name, "", 0, ("m",), "", "c")
    code = f"import sys, time; print({words!r}, file=sys.stderr, flush=True); time.sleep({seconds})"
    return request, Evaluations(lambda _: [sys.executable, "-c", code], grace_s=0.3)


@pytest.fixture
def real(monkeypatch):
    monkeypatch.setattr(runner, "spawn", SPAWN)


def until(holds):
    end = time.monotonic() + 300
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.usefixtures("real")
def test_one_at_a_time_and_stop_ends_it(home):
    request, work = sleeper(home)
    work.start(request)
    assert work.state(request.job) == "preparing"
    assert work.own(request.job)
    with pytest.raises(JobError, match="Another evaluation is at work"):
        work.start(Request("two", "", 0, ("m",), "", "c"))
    work.stop(request.job)
    until(lambda: work.state(request.job) == "stopped")
    assert work.at_work() is None


# ---- names -----------------------------------------------------------------------------------------------------------
def test_models_of_the_sidebar_as_the_command_takes_them(home, monkeypatch):
    run = RunFolder(home / "runs" / "mine")
    run.path.mkdir(parents=True)
    for file in ("config.json", "model.safetensors"):
        shutil.copy(model_names.BUNDLED / "digits_cnn" / file, run.path / file)
    (run.path / "recipe.json").write_text("{}")
    run.write("status.json", {"state": "done"})
    sources = ["bundled:digits_vit", "run:mine", "run:none", "owner/name", "deit_tiny_patch16_224", "/etc/x.pt", "docs"]
    request, refused = request_for("digits", "", 7, sources, "d")
    expected = ("bundled:digits_vit", str(run.path), "hf-hub:owner/name", "deit_tiny_patch16_224")
    assert request.models == expected
    assert len(refused) == 3
    assert "no name of a model" in refused[-1]  # "docs" is a folder here
    of_photographs, (why,) = request_for("digits", "", 7, ["bundled:photographs_vit"], "d")
    assert not of_photographs.models
    assert why.startswith("ViT · photographs gives features, not classes")
    before = request.job.path
    os.utime(run.path / "model.safetensors", (1, 1))  # other weights
    assert request_for("digits", "", 7, sources, "d")[0].job.path != before
    assert request_for("digits", "", 7, sources, "e")[0].job.path != before


def test_progress_in_words():
    status = {"state": "running", "model": 1, "models": 2, "name": "b", "done": 50, "total": 100, "images_per_s": 12.3}
    assert data.progress(status, "running") == (0.75, "b: 50 of 100 images · 12 images a second")
    assert data.progress({**status, "done": 100}, "running")[1].startswith("All is answered")
    assert data.progress({"message": "Opening."}, "preparing") == (0.0, "Opening.")
    assert data.progress(status, "stopping")[1].startswith("Stopping")


# ---- detectors -------------------------------------------------------------------------------------------------------
@pytest.mark.rest
def test_detectors_from_the_button_to_their_scenes():
    test = sound(opened("detection", detection_view="Many scenes", eval_scenes_data="scenes", eval_scenes_images="6"))
    assert "6 scenes" in texts(test)
    assert "vizkit evaluate scenes --model=bundled:scenes_detr --images=6" in test.code[0].value
    test = sound(click(test, "eval_scenes_start"))
    assert test.selectbox(key="evaluated_scenes").options == ["yours: scenes, 6 scenes", "drawn scenes"]
    assert "of 6 scenes" in texts(test)
    test = sound(test.selectbox(key="evaluated_scenes").select_index(1).run())
    assert "582 of 1,000 scenes" in texts(test)
    test = sound(test.selectbox(key="eval_mistake").select("missed").run())
    assert "have the mistake “missed”" in texts(test)


@pytest.mark.rest
def test_a_model_of_texts_is_measured_anew_by_a_click():
    test = sound(opened("sequences", sequences_view="Memory", memory_task="answer unseen texts", eval_sequence="RNN"))
    assert "RNN answers 21 of 2,000 texts wholly right" in texts(test)
    assert "Recorded" in texts(test)
    (button,) = [each for each in test.button if each.label == "Measure anew"]
    button.click().run()
    for _ in range(200):
        if "Measured here" in texts(test):
            break
        time.sleep(0.1)
        test.run()
    assert "Measured here" in texts(sound(test))
    assert "answers 21 of 2,000 texts wholly right" in texts(test)


@pytest.mark.rest
def test_a_detector_s_work_says_how_far_it_is_and_stops_when_told(tmp_path, monkeypatch):
    from vizkit.evaluation.scenes import judging

    job, told = JobFolder(tmp_path / "job"), []
    given = ["evaluate", "scenes", "--images", "60", "--model", "bundled:scenes_detr", "--folder", str(job.path)]
    inner = judging.found

    def stopped(answers):
        told.append(job.status)
        os.kill(os.getpid(), signal.SIGTERM)
        return inner(answers)

    monkeypatch.setattr(judging, "found", stopped)
    assert main([*given, "--device", "cpu"]) == 130
    assert told[0]["state"] == "preparing"
    assert (job.status["state"], job.status["message"]) == (
        "stopped",
        "Stopped; what was answered is kept, and the next start goes on from it.",
    )
    assert not job.done
