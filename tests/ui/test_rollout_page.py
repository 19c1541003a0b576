"""The Rollout page as Streamlit runs it: what reaches the browser is what the analysis computes."""

import base64
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

import vizkit
from tests.ui.conftest import CNN, SWIN, VIT, choose, opened, sent, sent_to, texts, until_done
from vizkit.analysis.attribution.rollout import rollout_by_layer, rollout_masses, rollout_matrix
from vizkit.ui.sidebar import inputs

DEIT = "bundled:insects_deit"


def row_in(data, row=0):
    """The shares of all tokens of one row, as the card decodes them."""
    weights = np.frombuffer(base64.b64decode(data["weights"]), "<u2").reshape(-1, data["keys"])
    return weights[row] * data["step"]


def traced(source, image):
    return vizkit.trace(vizkit.load(source), inputs.sample(image).rgb)


def test_the_class_row_of_several_models_stands_side_by_side():
    test = opened("rollout", models=[VIT, SWIN, CNN], image="digit 3")
    assert not test.warning
    for index, (source, key) in enumerate(((VIT, "rollout0"), (SWIN, "rollout1"))):
        found, data = rollout_masses(traced(source, "digit 3")), sent(test, key)
        expected = np.concatenate([[found.special[name] for name in data["key_special"]], found.grid.flatten()])
        assert_allclose(row_in(data), expected, atol=1e-4 * expected.max(), err_msg=str(index))
        assert dict(data["classes"])["on the image"] == pytest.approx(float(found.grid.sum()))
        assert sum(share for _, share in data["classes"]) == pytest.approx(1, abs=1e-5)
    assert not test.info
    assert "This view needs a transformer: " in texts(test)
    assert "the mean of all places, which the head reads" in texts(test)
    assert "a merged token's share is divided equally" in texts(test)


def test_a_click_asks_for_that_patch():
    test = opened("rollout", models=VIT, image="digit 3", rollout_query="patch", at="0.9000,0.1000")
    data = sent(test, "rollout0")
    rows, columns = data["query_grid"]
    cell = int(0.1 * rows), int(0.9 * columns)
    assert f"what reaches the patch at row {cell[0] + 1}, column {cell[1] + 1}" in texts(test)
    expected = rollout_masses(traced(VIT, "digit 3"), cell).grid.flatten().numpy()
    assert_allclose(row_in(data)[len(data["key_special"]) :], expected, atol=1e-4 * expected.max())
    asked = np.frombuffer(base64.b64decode(data["query_ids"]), "<i4")
    assert asked.tolist() == [len(data["query_special"]) + cell[0] * columns + cell[1]]


def test_settings_reach_the_numbers_and_run_no_model(monkeypatch):
    trace = traced(VIT, "digit 3")
    test = opened("rollout", models=VIT, image="digit 3")

    def ran(*_, **__):
        raise AssertionError("a model ran because a control moved")

    monkeypatch.setattr("vizkit.models.trace", ran)
    monkeypatch.setattr("vizkit.analysis.trust.deletion.erased", ran)
    test.slider(key="rollout_discard").set_value(0.5)
    test.slider(key="rollout_residual").set_value(0.25)
    test.slider(key="rollout_start").set_value(2)
    test.slider(key="rollout_depth").set_value(4)
    choose(test, rollout_fusion="max")
    assert not test.warning
    assert "layers 2 to 4 of 6" in texts(test)
    grown = rollout_by_layer(trace, "cls", "max", 0.5, 1, 0.25)
    shown = row_in(sent(test, "rollout0"))[1:]
    assert_allclose(shown, grown[2].grid.flatten(), atol=1e-4 * shown.max())
    growth = sent_to(test, "vizkit_tiles")[0]
    assert [tile["name"] for tile in growth["maps"]] == [f"layer {number}" for number in range(2, 7)]
    assert growth["chosen"] == 2
    assert [tile["high"] for tile in growth["maps"]] == pytest.approx([float(one.grid.max()) for one in grown])
    (asking,) = (button for button in test.button if button.label.startswith("Blur its brightest 10 %"))
    monkeypatch.undo()
    until_done(asking.click().run(), asking.key.removeprefix("start_"))
    assert "for 3, blurring the brightest 9 % " in texts(test)


@pytest.mark.rest
def test_the_map_that_opens_is_checked_by_the_answer_without_its_brightest_places():
    test = opened("rollout", models="bundled:photographs_vit", image="cat")
    until_done(test, "rollout0_bundled:photographs_vit_later6")
    words = r"lowers the likeness of the embedding to that of the unchanged image from 1\.000 to 0\.\d{3}, a"
    said = re.search(f"In the product of all layers, blurring the brightest 10 % {words}", texts(test))
    assert said


def test_a_distilled_model_has_its_rows_beside_each_other():
    test = opened("rollout", models=[DEIT, VIT], image="mayfly nymph", rollout_query="distillation")
    rows = sent_to(test, "vizkit_tiles")[1]
    assert [tile["name"] for tile in rows["maps"]] == [
        "class",
        "distillation",
        "class + distillation",
        "mean of places",
    ]
    assert rows["chosen"] == 1
    assert "what reaches the distillation token" in texts(test)
    assert [info.value for info in test.info] == ["This model has no dist token; choose another query."]


def test_the_full_matrix_only_when_asked():
    test = opened("rollout", models=VIT, image="digit 3", rollout_query="patch")
    assert sent(test, "rollout0")["queries"] == 1
    assert not test.main.get("imgs")
    choose(test, rollout_full=True)
    data = sent(test, "rollout0")
    expected = rollout_matrix(traced(VIT, "digit 3"))
    assert data["queries"] == len(expected)  # hovering shows any row now
    assert_allclose(row_in(data, 7), expected[7], atol=1e-4 * float(expected.max()))
    assert f"{len(expected)} queries down" in texts(test)


def test_many_tokens_keep_the_mean_of_heads_only(monkeypatch):
    monkeypatch.setattr("vizkit.views.subject.FULL_TRACE_BYTES", 1)
    test = opened("rollout", models=VIT, image="digit 5")
    expected = rollout_masses(traced(VIT, "digit 5")).grid.flatten().numpy()
    assert_allclose(row_in(sent(test, "rollout0"))[1:], expected, atol=1e-4 * expected.max())
    choose(test, rollout_fusion="max")
    assert [info.value for info in test.info] == [
        "Only the mean over heads was recorded, so there is no maximum or minimum of them."
    ]
