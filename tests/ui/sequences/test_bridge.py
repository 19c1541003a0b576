"""The view From words to patches: both sides hold the models' own numbers, and what belongs to a block."""

import base64

import numpy as np
import pytest

from tests.ui import test_views
from tests.ui.conftest import VIT, fine, sent_to, texts

pytestmark = pytest.mark.usefixtures("random_models")


def drawn(**query: str):
    test = test_views.opened("sequences", "From words to patches", [VIT], **query)
    fine(test)
    (data,) = sent_to(test, "vizkit_strips")
    return test, data


def strips(data: dict, title: str, column: int) -> dict[str, np.ndarray]:
    step = next(step for step in data["steps"] if step["title"] == title)
    return {
        strip["name"]: np.frombuffer(base64.b64decode(strip["values"]), "<f4")
        for strip in step["strips"]
        if strip["column"] == column
    }


def test_what_changes_comes_first_then_what_stays():
    test, data = drawn()
    assert [(step["part"], step["title"]) for step in data["steps"]] == [
        *(("What changes", title) for title in ("Embedding", "Position", "Class token", "Norm")),
        *(("What stays", title) for title in ("Attention", "Residual", "FFN", "Block out")),
    ]
    assert [column["title"] for column in data["columns"]] == ["“november” in a sentence", "patch 37 of an image"]
    assert data["columns"][1]["patch"] == 36
    assert "the logits are the model’s own" in texts(test)
    labels = [button.label for button in test.button]
    assert "Patches: how an image is cut" in labels
    assert "Translate: the sentence’s model at work" in labels


def test_numbers_of_both_sides_belong_together():
    _, data = drawn(bridge_word="2", bridge_patch="1", bridge_layer="2")
    for column, (first, second) in enumerate((("x", "+ attention"), ("x", "+ attention"))):
        residual = strips(data, "Residual", column)
        np.testing.assert_allclose(residual[first] + residual[second], residual["= sum"], atol=1e-5)
    attention = [strips(data, "Attention", column) for column in (0, 1)]
    for side in attention:
        weights = next(values for name, values in side.items() if name.startswith("mean weights"))
        assert weights.sum() == pytest.approx(1, abs=1e-4)
    embedding = strips(data, "Embedding", 1)
    positions = strips(data, "Position", 1)
    np.testing.assert_allclose(embedding["W · patch + b"] + positions["position"], positions["x"], atol=1e-5)
    assert not strips(data, "Class token", 0)
    assert strips(data, "Class token", 1)
