"""The views of the page Detection that compare: with the truth, over many pictures, with a classifier, with papers."""

import io
import json
import re

import numpy as np
import pytest
from PIL import Image
from vizkit.ui.pages.detection import keeping, masks, queries

from tests.ui.conftest import fine, opened, sent_to, texts
from vizkit.evaluation.query_habits import Habits
from vizkit.report.item import from_json, to_json
from vizkit.report.making import made

pytestmark = pytest.mark.skipif(not queries.sources(), reason="no model that finds things")


def canvas_of(test) -> dict:
    (content,) = sent_to(test, "vizkit_detection")
    return content


def test_matching_draws_a_line_for_each_thing_and_runs_nothing_when_a_weight_moves(monkeypatch):
    test = opened("detection", detection_view="Matching", det_scene="2")
    fine(test)
    panels = canvas_of(test)["panels"]
    assert [panel["title"].split(":")[0] for panel in panels] == ["Optimal", "Greedy"]
    things = len(panels[0]["paths"])
    assert things == len(panels[1]["paths"]) > 0
    assert len(panels[0]["boxes"]) == 2 * things
    from vizkit.models.detection import seen

    monkeypatch.setattr(seen, "look", None)  # whoever asks the model fails
    test.slider(key="det_cost_overlap").set_value(0.0).run()
    fine(test)
    assert canvas_of(test)["panels"][0]["title"] != panels[0]["title"]


def test_a_scene_is_offered_in_which_the_cheapest_pair_first_costs_more():
    test = opened("detection", detection_view="Matching", det_scene="2")
    assert "Both choose the same pairs" in canvas_of(test)["says"]
    test.slider(key="det_cost_overlap").set_value(0.0).run()
    test.button(key="det_differ").click().run()
    fine(test)
    said = canvas_of(test)["says"]
    greedy, optimal = (float(number) for number in re.findall(r"\d+\.\d+", said))
    assert greedy > optimal + 0.1
    assert not [button for button in test.button if button.key == "det_differ"]


@pytest.mark.parametrize("view", ["Boxes", "Encoder", "Decoder", "Matching", "Masks", "Beside a classifier"])
@pytest.mark.parametrize("of", ["drawn scene", "picture of the sidebar"])
def test_what_is_drawn_on_the_picture_can_be_saved(view, of, monkeypatch):
    """As drawn on the page: the boxes, and that a record through JSON gives the same picture."""
    kept: list = []
    monkeypatch.setattr(keeping, "save", lambda key, items, inputs, more: kept.append((items[""], inputs)))
    test = opened("detection", detection_view=view, det_of=of, det_scene="2")
    fine(test)
    if view == "Matching" and of != "drawn scene":
        return  # of which nothing is known that could be matched
    ((item, inputs),) = kept
    if view != "Masks":  # which are no canvas
        panels = canvas_of(test)["panels"]
        assert [len(panel.frames) for panel in item.shows.panels] == [len(panel["boxes"]) for panel in panels]
        assert [bool(panel.cells) for panel in item.shows.panels] == [bool(panel["heat"]) for panel in panels]
    again = from_json(json.loads(json.dumps(to_json(item))))
    assert again == item
    png = made(item, inputs).png
    assert made(again, inputs).png == png
    assert Image.open(io.BytesIO(png)).size[0] > 400


def test_an_upload_has_no_truth_and_a_way_to_scenes_that_have():
    test = opened("detection", detection_view="Matching", det_of="picture of the sidebar")
    fine(test)
    assert "not known" in texts(test)
    assert "knows drawn water insects alone" in texts(test)
    test.button(key="det_draw").click().run()
    fine(test)
    assert canvas_of(test)["panels"]


def test_a_scene_of_nothing_is_no_error():
    for view in ("Matching", "Beside a classifier", "Masks"):
        fine(opened("detection", detection_view=view, det_scene="4"))


def test_a_classifier_is_asked_for_each_class_of_the_scene():
    test = opened("detection", detection_view="Beside a classifier", det_scene="2")
    fine(test)
    content = canvas_of(test)
    assert [bool(panel["heat"]) for panel in content["panels"]] == [False, True, True]
    assert "of the relevance for" in content["says"]


def test_masks_say_what_they_need(monkeypatch):
    from vizkit.models.detection import opening_masks

    monkeypatch.setattr(opening_masks, "has_masks", lambda source: False)
    test = opened("detection", detection_view="Masks")
    fine(test)
    assert "detr-masks" in texts(test)


def test_masks_are_drawn_and_measured(monkeypatch):
    from vizkit.ui.pages.detection.given import drawn

    from vizkit.models.detection.segmenting import Segments

    scene = drawn(2, 160)
    truth = Segments(scene.instances, scene.labels)
    monkeypatch.setattr(masks, "opened", lambda given: None)
    monkeypatch.setattr(masks, "masks_written", lambda source: 0)
    monkeypatch.setattr(masks, "segments", lambda *given: truth)
    test = opened("detection", detection_view="Masks", det_scene="2")
    fine(test)
    assert [metric.value for metric in test.metric] == ["1.00"]
    assert len(test.get("image") or test.get("imgs")) == 2


def test_queries_show_what_was_measured(monkeypatch):
    made = Habits(
        3,
        0.5,
        4,
        np.array([0, 0, 3]),
        np.array([1, 2, 2]),
        np.array([0.9, 0.6, 0.7]),
        np.array([[0.2, 0.2, 0.1, 0.1], [0.4, 0.2, 0.1, 0.2], [0.8, 0.9, 0.2, 0.2]]),
    )
    monkeypatch.setattr(queries, "shipped_habits", lambda source: made)
    test = opened("detection", detection_view="Queries", det_slot="0")
    fine(test)
    assert "size and class of its 2 boxes" in texts(test)
    monkeypatch.setattr(queries, "shipped_habits", lambda source: None)
    test = opened("detection", detection_view="Queries")
    fine(test)
    assert test.button(key="det_ask")


def test_the_published_table_is_shown():
    test = opened("detection", detection_view="Published")
    fine(test)
    assert len(test.dataframe[0].value) == 6
