"""The Relevance page as Streamlit runs it, and the work beside it that can be stopped."""

import csv
import inspect
import io
import re
import threading
import time
from functools import partial
from unittest import TestCase

import numpy as np
import pytest
import torch

import vizkit
from tests.ui.conftest import CNN, VIT, canvases, choose, opened, sent, sent_to, texts, until_done
from vizkit.analysis.attribution.generic_relevance import generic_relevance
from vizkit.analysis.attribution.grad_cam import at_layer, grad_cam
from vizkit.analysis.trust.deletion import Curves
from vizkit.analysis.trust.scores import Score
from vizkit.analysis.trust.table import Summary, table
from vizkit.analysis.trust.verdict import MARGIN
from vizkit.device import DEVICE, Device
from vizkit.traces import NotApplicable
from vizkit.ui.drawing import do
from vizkit.ui.session import background
from vizkit.ui.session.background import Task
from vizkit.ui.session.columns import attempt
from vizkit.ui.session.subjects import NamedSubject
from vizkit.ui.sidebar import inputs
from vizkit.views.blocks import Job
from vizkit.views.relevance.many import Many
from vizkit.views.relevance.maps import Maps
from vizkit.views.relevance.scores_table import as_csv, best_first, in_words, scores_table
from vizkit.views.subject import Subject

INSECTS_VIT = "bundled:insects_vit"
SHARE = torch.linspace(0, 1, 3)


@pytest.fixture(autouse=True)
def quick(few_steps):
    """What is asked of a race here does not depend on how finely it is run."""


def maps(test):
    """The large map, and the small ones of each model."""
    return [data for id, _, data in canvases(test) if "-relevance_tiles" in id]


def large(test):
    return maps(test)[0]["maps"][0]


def small(test, index=0):
    return maps(test)[1 + index]


def by_name(test, index=0):
    data = small(test, index)
    return dict(zip(names(data), data["maps"], strict=True))


def names(data, *, empty=False):
    return [re.sub(r" [+−]?\d\.\d\d$", "", tile["name"]) for tile in data["maps"] if bool(tile["rows"]) != empty]


# ---- maps ------------------------------------------------------------------------------------------------------------


def test_the_map_is_that_of_the_chosen_class():
    test = opened("relevance", models=INSECTS_VIT, image="mayfly nymph", class_a="backswimmer")
    assert "for backswimmer" in texts(test)
    assert "it predicts mayfly nymph" in texts(test)
    loaded = vizkit.load(INSECTS_VIT)
    rgb = inputs.sample("mayfly nymph").rgb
    expected = generic_relevance(vizkit.trace(loaded, rgb, target=loaded.labels.index("backswimmer")), "cls")
    tile = large(test)
    assert tile["name"] == "Generic relevance"
    assert (tile["high"], tile["scale"]["equal"]) == pytest.approx((float(expected.max()), float(expected.mean())))
    choose(test, class_a="what each model predicts")
    assert "it predicts" not in texts(test)


def test_a_map_at_another_layer_is_saved_as_the_page_shows_it():
    loaded, rgb = vizkit.load(CNN), inputs.sample("digit 3").rgb
    view = Maps(method="grad_cam", layer="stage 1 · 16 × 16 cells")
    found = Subject(lambda: loaded, rgb)
    expected = grad_cam(at_layer(vizkit.trace(loaded, rgb, target=3), "stage 1"))
    assert (view.numbers([found])["grad_cam"] == expected.numpy()).all()
    assert inspect.signature(Subject.explanation) == inspect.signature(NamedSubject.explanation)


def test_one_class_against_another_is_signed_and_classless_methods_say_so():
    test = opened("relevance", models=INSECTS_VIT, image="mayfly nymph", class_b="dragonfly nymph")
    assert "against dragonfly nymph" in texts(test)
    maps = by_name(test)
    assert set(maps) == {
        "Gradient rollout",
        "Generic relevance",
        "LeGrad",
        "Grad-CAM",
        "HiResCAM",
        "Input × gradient",
    }
    assert all(tile["scale"]["signed"] and tile["scale"]["low"] == -tile["scale"]["top"] < 0 for tile in maps.values())
    assert "Rollout knows no class" in texts(test)
    choose(test, class_b="mayfly nymph")
    assert "both classes are “mayfly nymph”" in test.info[0].value


@pytest.mark.rest
def test_too_many_weights_for_gradients_are_refused(monkeypatch):
    monkeypatch.setattr("vizkit.scoring.GRADIENT_BYTES", 1)
    test = opened("relevance", models=VIT, image="digit 3")
    assert "The gradients of all attention weights would take" in texts(test)
    assert "Rollout" in names(small(test))


@pytest.mark.rest
def test_the_most_faithful_stands_first():
    test = opened("relevance", models=INSECTS_VIT, image="mayfly nymph")
    until_done(test, "relevance_later3")
    gains = [float(re.findall(r"^[+−]?[\d.]+", tile["note"])[0].replace("−", "-")) for tile in small(test)["maps"]]
    assert len(gains) == 8
    assert gains == sorted(gains, reverse=True)
    assert gains[0] > 0.3
    even = sum(gain > gains[0] - MARGIN for gain in gains)  # which one picture does not tell apart
    assert even > 1
    assert re.search(r"know best which places the model needs: .* against a random order", texts(test))


@pytest.mark.rest
def test_slow_maps_are_computed_when_asked():
    test = opened("relevance", models=VIT, image="digit 3", slow_maps="Patch ablation")
    until_done(test, "relevance_later3")
    tile = by_name(test)["Patch ablation"]
    assert (tile["rows"], tile["scale"]["signed"]) == (8, True)


# ---- trust -----------------------------------------------------------------------------------------------------------
def raced(test, model):
    """The race has ended, and then the other scores have come."""
    return until_done(until_done(test, f"trust0_{model}_later2"), f"trust0_{model}_later2")


def race_of(test):
    """The canvas at the step that is shown."""
    return sent(test, "trust0")


def said(test):
    """All words of the stage."""
    (stage,) = sent_to(test, "vizkit_stage")
    return stage["book"]


@pytest.mark.rest
def test_trust_crowns_no_map_of_a_class_that_is_not_the_answer():
    test = opened("relevance", models=INSECTS_VIT, image="mayfly nymph", relevance_view="Trust", class_a="backswimmer")
    test = raced(test, INSECTS_VIT)
    assert "Not one of the 8 maps is ranked here: the class is not the model's answer" in said(test)
    assert list(test.dataframe[0].value["method"][:3]) == [
        "Attention of the class token",
        "Rollout",
        "Gradient rollout",
    ]
    assert [lane["title"] for lane in race_of(test)["lanes"]][:2] == ["Attention of the class token", "Rollout"]


def test_a_figure_in_words_has_its_difference_to_chance():
    def words(name, mean, images, chance):
        return in_words(Summary(mean, 0.25, images, chance), name)

    assert words("pointing", 1.0, 1, 0.2) == words("pointing_strict", 1.0, 1, 0.2) == "hit"
    assert words("pointing", 0.0, 1, 0.2) == "miss"
    assert words("pointing", 0.16, 1, None) == "0.16"  # of chance itself
    assert words("pointing", 0.5, 2, 0.2) == "0.50 ± 0.25 (+0.30)"
    assert words("deletion", 0.1, 1, 0.7) == "0.10 (−0.60)"
    assert words("infidelity", -0.001, 1, None) == "0.00"
    assert in_words(None, "deletion") == ""


@pytest.mark.rest
def test_many_images_keep_what_was_scored():
    """Whatever picture is shown: they depend on the model alone."""
    of = attempt(VIT, inputs.sample("digit 3"))
    assert not isinstance(of, tuple)
    of.uploads = {name: inputs.sample(name).rgb for name in ("digit 3", "digit 7")}
    many = Many(of, ("rollout", "grad_cam"), ("road",), "uploads", 24)
    assert many.said() == ""
    task = Task(Device())
    with task.lock:
        do(of, many.jobs, task)
    other = attempt(VIT, inputs.sample("digit 7"))
    assert not isinstance(other, tuple)
    other.uploads = of.uploads
    scores = [other.find(job.key) for job in Many(other, ("rollout", "grad_cam"), ("road",), "uploads", 24).jobs]
    assert [[one.method for one in each] for each in scores] == [["rollout", "grad_cam"]] * 2
    assert task.results == 2
    assert [bool(each[0].undecided) for each in scores] == [True, False]  # to it a blurred 3 is a 3 still
    assert "1 of 2 images are left out" in many.said()
    values = [scores[1][0].road.gap]
    written = {line["method"]: line for line in csv.DictReader(io.StringIO(as_csv(table(scores)).decode()))}
    assert float(written["rollout"]["road mean"]) == pytest.approx(float(np.mean(values)))
    assert written["rollout"]["road images"] == "1"
    assert (written["rollout"]["road chance"], written["chance"]["road chance"]) == ("0", "")
    assert float(written["rollout"]["road above_chance"]) == float(written["rollout"]["road mean"])


def test_a_table_of_many_pictures_has_intervals_and_marks_what_few_have():
    """Two pictures of which the deletion of one map is 0.4 and 0.5 better, its insertion not: 0.2 and 0.25, a mean of
    0.225 with a standard error of 0.025."""

    def scored(method, deletion):
        flat = Curves(SHARE, torch.full((3,), deletion), torch.full((3,), 0.5))
        return Score(method, curves=flat, chance=Curves(SHARE, torch.full((3,), 0.5), torch.full((3,), 0.5)))

    rows = best_first(table([[scored("legrad", 0.5), scored("rollout", first)] for first in (0.1, 0.0)]))
    assert [row.method for row in rows] == ["rollout", "legrad", "chance"]
    made = scores_table(rows, (), 2)
    assert made.rows[0]["better than chance ↑"] == "+0.22 ± 0.05"
    assert made.marks == {
        (0, "deletion ↓"): "best",
        (1, "deletion ↓"): "fails",
        (0, "insertion ↑"): "fails",
        (1, "insertion ↑"): "fails",
    }
    assert set(made.helps) >= {"better than chance ↑", "deletion ↓"}


# ---- work beside the page --------------------------------------------------------------------------------------------
def wait_for(task, seconds=300):
    end = time.monotonic() + seconds
    while task.running and time.monotonic() < end:
        time.sleep(0.005)
    return task.state


def endless(task):
    step = 0
    while True:
        step += 1
        task.report("counting", step, 10**9)


def test_stop_ends_the_work_between_two_passes():
    task = background.begin(endless)
    assert task.running
    task.stopping.set()
    assert wait_for(task) == "stopped"


def test_work_that_nobody_watches_stops(monkeypatch):
    monkeypatch.setattr(background, "LEASE_S", -1.0)
    assert wait_for(background.begin(endless)) == "stopped"


def test_others_get_the_device_between_two_passes_of_a_job_of_a_view(monkeypatch):
    monkeypatch.setattr(background, "LEASE_S", float("inf"))  # else it ends, and then has nothing in hand
    of = attempt(VIT, inputs.sample("digit 3"))
    assert not isinstance(of, tuple)
    locks, counted = DEVICE, threading.Event()
    work = Job("counted", "counting", partial(endless_passes, counted))
    task = background.begin(partial(do, of, [work]))
    assert counted.wait(300)
    got = locks.acquire(timeout=300)
    task.stopping.set()
    if got:
        locks.release()
    assert got
    assert wait_for(task) == "stopped"


def endless_passes(counted, tell):
    step = 0
    while True:
        step += 1
        counted.set()
        tell(step, 10**9)


def test_a_failure_is_a_sentence():
    def refuses(_):
        raise NotApplicable("There is nothing to see.")

    def breaks(_):
        raise ZeroDivisionError

    task = background.begin(refuses)
    assert wait_for(task) == "failed"
    assert task.message == "There is nothing to see."
    with TestCase().assertLogs() as logged:
        task = background.begin(breaks)
        assert wait_for(task) == "failed"
    assert "ZeroDivisionError" in task.message
    assert "background work" in logged.output[0]
