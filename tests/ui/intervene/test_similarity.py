"""The view Similarity: shipped pairs at once, others when they are asked for."""

import json

import pytest

from tests.ui.conftest import SWIN, VIT, fine, opened, texts


def drawn(test) -> list:
    (figure,) = [each for each in test.get("plotly_chart") if each.proto.id.endswith("similarity_map")]
    return json.loads(figure.proto.spec)["data"]


def test_a_bundled_model_with_itself_and_with_another_one():
    test = opened("intervene", models=VIT, image="digit 3", intervene_view="Similarity")
    fine(test)
    assert "layers next to each other agree" in texts(test)
    assert "256 test pictures of digits" in texts(test)
    (heat,) = drawn(test)
    assert heat["customdata"][0][5] == ["blocks.0", "blocks.5"]
    test.selectbox(key="similarity_with").set_value(SWIN).run()
    fine(test)
    assert "The most alike are layer" in texts(test)
    (heat,) = drawn(test)
    assert heat["customdata"][0][5] == ["blocks.0", "layers.1.blocks.3"]


@pytest.mark.parametrize("name", ["random:vit_tiny_patch16_224"])
def test_another_model_is_measured_when_it_is_asked_for(name: str):
    test = opened("intervene", models=name, intervene_view="Similarity")
    fine(test)
    assert test.button(key="similarity_measure").label == "Measure on 256 pictures"
