"""The view Switches: what its canvas is sent, what it tells, and what goes into the link."""

import numpy as np
import pytest
import torch

from tests.ui.conftest import CNN, SWIN, VIT, fine, opened, sent_to, texts
from vizkit.analysis.comparison.pixel_edits import PixelEdit
from vizkit.figure.canvas.rows import Rows
from vizkit.models.recording.edits import ALL, Edit
from vizkit.ui.pages.intervene.before_after import one_scale
from vizkit.ui.pages.intervene.chosen_edits import Hidden, edits_from, hidden_of, paint, painted


def content_of(test) -> dict:
    (content,) = sent_to(test, "vizkit_switches")
    return content


@pytest.mark.parametrize(
    ("model", "tool", "grid"), [(VIT, "Hide", [8, 8]), (SWIN, "Erase", [16, 16]), (CNN, "Erase", [16, 16])]
)
def test_nothing_is_changed_at_first(model: str, tool: str, grid: list[int]):
    test = opened("intervene", models=model, image="mayfly nymph")
    fine(test)
    content = content_of(test)
    assert (content["hidden"], content["off"], content["changed"]) == ([], [], False)
    assert (content["tool"], content["grid"]) == (tool, grid)
    assert all(before == after for _, before, after, *_ in content["answers"])
    assert "edits" not in test.query_params


def test_a_link_with_edits_shows_them_and_what_follows():
    edits = "blind:all=3,4;heads:1.2=0;heads:2=0;temperature:3=2"
    test = opened("intervene", models=VIT, image="digit 3", edits=edits)
    fine(test)
    content = content_of(test)
    assert content["hidden"] == [2, 3]  # the class token stands before the patches
    heads = content["heads"]
    assert content["off"] == ["0.1", *(f"1.{head}" for head in range(heads[1]))]
    assert content["changed"]
    assert any(before != after for _, before, after, *_ in content["answers"])
    assert "With 4 changes the answer" in texts(test)
    assert "Changed: blind:all=3,4, heads:1.2=0, heads:2=0, temperature:3=2." in texts(test)
    test.button(key="edits_reset").click().run()
    fine(test)
    assert content_of(test)["changed"] is False
    assert "edits" not in test.query_params
    test.button(key="edits_undo").click().run()
    assert test.query_params["edits"] == edits


@pytest.mark.parametrize("edits", ["heads:99=0", "nonsense", "heads:1.99=0;;", "<script>", "blind:all=" + "9," * 5000])
def test_edits_of_another_model_or_of_nobody_are_left_out(edits: str):
    test = opened("intervene", models=VIT, image="digit 3", edits=edits)
    fine(test)
    assert content_of(test)["changed"] is False


def test_the_image_of_a_cnn_is_changed_and_its_relevance_compared():
    test = opened("intervene", models=CNN, image="digit 3", edits="pixels:4x4:erase=5,6;pixels:4x4:swap=0-9;heads:1=0")
    fine(test)
    content = content_of(test)
    assert content["changed"]
    assert content["heads"] == []
    assert test.query_params["edits"] == "pixels:4x4:erase=5,6;pixels:4x4:swap=0-9"
    assert "Changed: pixels:4x4:erase=5,6, pixels:4x4:swap=0-9." in texts(test)
    assert len(sent_to(test, "vizkit_tiles")[0]["maps"]) == 3


@pytest.mark.parametrize("kind", ["Rollout", "Relevance of the answer"])
def test_maps_before_and_after_and_their_difference(kind: str):
    test = opened("intervene", models=VIT, image="digit 3", edits="pixels:8x8:grey=27,28", before_after=kind)
    fine(test)
    *_, difference = sent_to(test, "vizkit_tiles")[0]["maps"]
    assert difference["signed"]
    assert difference["low"] < 0 < difference["high"]


@pytest.mark.parametrize("kind", ["Attention of a layer", "Rollout"])
def test_maps_before_and_after_have_one_scale(kind: str):
    test = opened("intervene", models=VIT, image="digit 3", edits="uniform:1", before_after=kind)
    fine(test)
    before, after = sent_to(test, "vizkit_look")
    assert before["top"] == after["top"] > 0


def test_the_scale_is_that_of_what_is_shown():
    whole = Rows(np.array([[0.1, 0.9], [0.2, 0.1]]), (1, 2))  # of which the second row is shown
    both = one_scale([(whole, torch.tensor([[0.2, 0.1]])), (whole, torch.tensor([[0.1, 0.3]]))])
    assert [rows.top for rows in both] == pytest.approx([0.3, 0.3])


def test_a_pasted_picture_that_is_not_here_is_said():
    test = opened("intervene", models=VIT, image="digit 3", edits="pixels:8x8:paste=holiday.png@27")
    assert not test.exception
    assert any("holiday.png is not here" in each.value for each in test.info)


def test_all_models_answer_to_the_same_changes():
    edits = "pixels:8x8:erase=27,28;heads:2.1=0;blind:all=9"
    test = opened("intervene", models=[VIT, SWIN, CNN], image="digit 3", edits=edits)
    fine(test)
    assert "The same changes in every model" in texts(test)
    assert "Not in this model: heads:2.1=0, blind:all=9" in texts(test)
    assert len(test.get("html")) >= 3


def test_strokes_of_one_brush_are_one_change():
    grid = (4, 4)
    first = paint((), "erase", grid, "", (1, 2))
    assert first == (PixelEdit("erase", grid, (1, 2)),)
    assert painted(first, "erase", grid, "") == (1, 2)
    assert painted(first, "grey", grid, "") == ()
    longer = paint(first, "erase", grid, "", (1, 2, 5))
    assert longer == (PixelEdit("erase", grid, (1, 2, 5)),)
    assert paint(longer, "erase", grid, "", ()) == ()
    swapped = paint(longer, "swap", grid, "", (3, 9))
    assert paint(swapped, "swap", grid, "", (9, 3))[1:] == (
        PixelEdit("swap", grid, (3, 9)),
        PixelEdit("swap", grid, (9, 3)),
    )


def test_a_layer_is_made_hotter():
    test = opened("intervene", models=VIT, image="digit 3")
    (slider,) = [each for each in test.select_slider if each.label == "Its temperature T"]
    slider.set_value(3.0).run()
    fine(test)
    assert test.query_params["edits"] == "temperature:1=3"


def test_switches_and_edits_are_the_same_by_hand():
    heads = [2, 3]
    hidden = Hidden((0, 5), ((0, 1), (1, 0), (1, 1), (1, 2)), (Edit("uniform", 0, 0),))
    edits = (Edit("blind", ALL, tokens=(1, 6)), Edit("heads", 0, 1), Edit("heads", 1), Edit("uniform", 0, 0))
    assert edits_from(hidden, heads, 1) == edits
    assert hidden_of(edits, heads, 1) == hidden


@pytest.mark.parametrize("edits", ["drop:3,4", "positions:zero", "positions:shift=1,0"])
def test_changes_that_have_no_switch_are_followed_too(edits: str):
    test = opened("intervene", models=VIT, image="digit 3", edits=edits)
    fine(test)
    assert content_of(test)["changed"]
    assert f"Changed: {edits}." in texts(test)


@pytest.mark.parametrize("edits", ["heads:1.1=mean", "patch:stream.2=3", "steer:2=1*5", "frozen:1"])
def test_changes_that_need_other_images_are_refused_in_a_sentence(edits: str):
    test = opened("intervene", models=VIT, image="digit 3", edits=edits)
    assert not test.exception
    assert len(test.info) == 1
