"""The page Detection: what its canvas is sent, and what it does with what it is told."""

import pytest

from tests.ui.conftest import fine, opened, sent_to, texts


def content_of(test) -> dict:
    (content,) = sent_to(test, "vizkit_detection")
    return content


@pytest.mark.parametrize("view", ["Boxes", "Encoder", "Decoder"])
def test_a_view_of_a_drawn_scene(view):
    test = opened("detection", detection_view=view)
    fine(test)
    assert content_of(test)["says"]


def test_every_query_is_shown_when_any_score_will_do_and_one_is_chosen_by_link():
    test = opened("detection", det_scene="1", det_score="0.05", det_query="0", det_head="2", det_layer="1")
    fine(test)
    content = content_of(test)
    found, crossed, relevant = content["panels"]
    shown = [box["id"] for box in found["boxes"] if not box["dashed"]]
    assert content["chosen"] in shown
    assert sum(box["dashed"] for box in found["boxes"]) == 5
    assert "layer 1, head 2" in crossed["title"]
    assert [box["id"] for box in relevant["boxes"]] == [content["chosen"]]


def test_doubles_and_boxes_of_another_class_are_not_counted_as_found():
    """Scene 1 holds five insects and the model says five boxes, of which two are no insect's."""
    content = content_of(opened("detection", det_scene="1"))
    assert content["says"] == ("3 of 5 insects found, 2 boxes too many, 1 of them said again (score 0.50 or more).")
    notes = [box["text"].partition(" · ")[2] for box in content["panels"][0]["boxes"] if not box["dashed"]]
    assert sorted(notes) == ["", "", "", "again", "too many"]


def test_the_first_scene_shows_what_the_views_are_about():
    """All are found and none twice; without self-attention some are."""
    says = content_of(opened("detection", detection_view="Decoder"))["says"]
    assert says == (
        "After layer 3: 4 of 4 insects found, no box too many; where each query looks at itself alone: 4 of 4 insects "
        "found, 5 boxes too many, all said again."
    )


def test_nothing_found_is_a_sentence():
    test = opened("detection", det_scene="4", det_score="0.95")
    fine(test)
    content = content_of(test)
    assert content["says"] == "No insect to find, no box too many (score 0.95 or more)."
    assert len(content["panels"]) == 1


def test_the_place_of_the_link_asks_in_the_encoder():
    test = opened("detection", detection_view="Encoder", at="0.7000,0.6000", det_encoder_head="3")
    fine(test)
    first, looked = content_of(test)["panels"]
    assert list(first["at"]) == [0.7, 0.6]
    assert "head 3" in looked["title"]
    assert list(looked["heat"]["grid"]) == [10, 10]


def test_layers_with_and_without_self_attention_stand_side_by_side():
    test = opened("detection", detection_view="Decoder", det_step="2", det_score="0.05")
    fine(test)
    together, alone = content_of(test)["panels"]
    assert all(len(path["points"]) == 2 for panel in (together, alone) for path in panel["paths"])
    assert "After layer 2" in content_of(test)["says"]


def test_a_picture_of_the_sidebar_has_no_truth():
    test = opened("detection", image="china")
    assert "insects found" in content_of(test)["says"]
    test.segmented_control(key="det_of").set_value("picture of the sidebar").run()
    fine(test)
    assert test.query_params["det_of"] == "picture of the sidebar"
    assert "True boxes" not in [each.label for each in test.toggle]
    assert "insects found" not in content_of(test)["says"]


def test_no_model_is_said(monkeypatch):
    monkeypatch.setattr("vizkit.models.detection.opening.bundled_detectors", list)
    test = opened("detection")
    fine(test)
    assert "There is no model that finds things yet" in " ".join(each.value for each in test.info)
    assert "insights" not in texts(test)
