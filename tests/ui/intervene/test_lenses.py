"""The views Lenses and Direct attribution of the page Intervene."""

import json

import pytest

from tests.ui.conftest import SWIN, VIT, fine, opened, texts

DEIT = "bundled:insects_deit"


def drawn(test, key: str) -> dict:
    (figure,) = [each for each in test.get("plotly_chart") if each.proto.id.endswith(key)]
    return json.loads(figure.proto.spec)


@pytest.mark.parametrize(("model", "read"), [(VIT, "the class token"), (DEIT, "the class and the distillation token")])
def test_the_answer_is_read_off_every_layer(model: str, read: str):
    test = opened("intervene", intervene_view="Lenses", models=model, image="mayfly nymph", lens_layer="3")
    fine(test)
    assert f"Read off {read}, the answer" in texts(test)
    assert "After layer 3, " in texts(test)
    assert "after the last layer: logits exact" in texts(test)
    answer, rival = drawn(test, "lens_by_layer")["data"]
    assert answer["name"] != rival["name"]
    assert [trace["type"] for trace in drawn(test, "lens_patches")["data"]][:2] == ["image", "heatmap"]
    test.segmented_control(key="lens_map").set_value("the probability").run()
    fine(test)
    assert test.query_params["lens_map"] == "the probability"
    assert drawn(test, "lens_patches")["data"][1]["zmax"] == 1


def test_a_swin_whose_vectors_change_their_length_says_so():
    test = opened("intervene", intervene_view="Lenses", models=SWIN, image="digit 3")
    assert not test.exception
    assert any("Swin" in each.value for each in test.info)
    assert not test.get("plotly_chart")


@pytest.mark.parametrize(("name", "data"), [("Lenses", "insects"), ("Direct attribution", "digits")])
def test_with_a_cnn_alone_a_transformer_that_knows_the_same_is_shown(name: str, data: str):
    """Of a photograph nothing is known but what the chosen model knows."""
    test = opened("intervene", intervene_view=name, models=f"bundled:{data}_cnn", image="flower")
    assert not test.exception
    assert f"None of your models is a transformer that gives classes; shown: ViT · {data}." in texts(test)
    assert test.get("plotly_chart")
    test.button(key=f"add_bundled:{data}_vit").click().run()
    assert test.session_state["models"] == [f"bundled:{data}_cnn", f"bundled:{data}_vit"]
    assert "This view needs a transformer that gives classes: " in texts(test)


def test_the_sum_of_a_swin_begins_with_what_enters_its_last_stage():
    test = opened("intervene", intervene_view="Direct attribution", models=SWIN, image="digit 3")
    fine(test)
    *_, so_far = drawn(test, "direct_layers")["data"]
    assert so_far["x"][:2] == ["up to 2", "3"]
    assert "From which patches heads carry it" in texts(test)


def test_a_logit_is_drawn_as_a_sum():
    test = opened("intervene", intervene_view="Direct attribution", models=VIT, image="digit 3", class_b="5")
    fine(test)
    *_, so_far = drawn(test, "direct_layers")["data"]
    assert so_far["x"][0] == "embedding"
    assert "sum of all parts: the logit within" in texts(test)
    assert "against 5, " in texts(test)


def test_the_norms_of_every_token_by_layer():
    test = opened(
        "intervene", intervene_view="Lenses", models=VIT, image="digit 3", lens_layer="3", lens_map="its norm"
    )
    fine(test)
    names = [trace["name"] for trace in drawn(test, "norms_by_layer")["data"]]
    assert {"[cls]", "median of the patches", "longest patch"} <= set(names)
    *_, heat = drawn(test, "lens_norms")["data"]
    assert len(heat["z"]) >= 1
    assert "Norms after layer 3" in texts(test)
