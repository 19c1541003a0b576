"""Over training: offered where the model is a run and the view has maps; the step is in the link and in the report."""

import json
import shutil

import pytest

from tests.ui.conftest import VIT, at_rest, click, opened, sent_to, texts
from vizkit.ui.session import jobs, models
from vizkit.ui.session.report import ENTRIES
from vizkit.views import bundled
from vizkit.views.train.after_step import FIELD
from vizkit.work_folder import steps_in

KEPT = steps_in(bundled.RECORDED_FOLDER)
SWITCH = f"_{FIELD}"


@pytest.fixture(autouse=True)
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("VIZKIT_RUNS", str(tmp_path / "runs"))
    shutil.copytree(bundled.RECORDED_FOLDER, tmp_path / "runs" / "mine")
    yield "run:mine"
    models._weights_seen.clear()
    jobs.jobs().jobs.clear()


def switches(test):
    return [each for each in test.toggle if each.key == SWITCH]


def book(test, at=0):
    stage = sent_to(test, "vizkit_stage")[at]
    return json.loads(stage["book"]) | {"value": stage["value"]}


@pytest.mark.product  # after a step in every view: tests/views/train/test_after_step.py
@pytest.mark.parametrize("page", ["rollout", "explore", "relevance"])
def test_a_run_plays_all_its_steps_in_any_view_with_maps(run, page):
    test = opened(page, models=run, image="digit 3")
    (switch,) = switches(test)
    assert not switch.value
    test = at_rest(switch.set_value(True).run())
    found = book(test)
    assert (found["field"]["name"], found["field"]["values"], found["value"]) == (FIELD, KEPT, KEPT[-1])
    assert None not in found["frames"]
    assert test.query_params[FIELD] == "990"
    (switch,) = switches(test)
    test = switch.set_value(False).run()
    assert FIELD not in test.query_params


def test_a_link_opens_its_step_and_the_report_has_it(run):
    test = at_rest(opened("rollout", models=run, image="digit 3", after_step="70"))
    assert book(test)["value"] == 64
    assert test.query_params[FIELD] == "64"
    next(each for each in test.button if "report" in each.label.lower()).click().run()
    item = test.session_state[ENTRIES][1].item
    assert (item.shows.after_step, item.source, item.model) == (64, "run:mine@64", "run:mine@64")
    assert f"{FIELD}=64" in item.link


def test_the_first_step_stands_beside_the_run_that_plays(run):
    test = at_rest(opened("rollout", models=run, image="digit 3", after_step="990"))
    click(test, "first_step")
    assert test.session_state["models"] == [run, "run:mine@1"]
    test = at_rest(test)
    assert [book(test, at)["field"]["name"] for at in (0, 1)] == [FIELD, FIELD]
    first, still = (book(test, at)["frames"] for at in (0, 1))
    assert len({json.dumps(frame) for frame in still}) == 1
    assert len({json.dumps(frame) for frame in first}) == len(KEPT)


def test_other_models_and_views_without_maps_are_not_offered_it(run):
    assert not switches(opened("rollout", models=VIT, image="digit 3", after_step="64"))
    test = opened("intervene", models=run, image="digit 3", intervene_view="Heads")
    assert not switches(test)
    nonsense = opened("rollout", models=run, image="digit 3", after_step="1e9")
    assert not switches(nonsense)[0].value
    assert "run:mine" in texts(nonsense)
