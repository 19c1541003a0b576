"""The view Receptive field: LeNet-5 beside the bundled transformers, and what its sentence and table say."""

import json

from vizkit.ui.pages.convolution import fields_of

from tests.ui.conftest import fine, opened, texts


def test_lenet_beside_the_transformers(monkeypatch):
    monkeypatch.setattr(fields_of, "SAMPLES", 1)
    query = {"models": ["bundled:digits_lenet"], "image": "digit 3", "convolution_view": "Receptive field"}
    test = opened("convolution", **query, field_stage="C3")
    fine(test)
    assert "A unit in the middle of C3 can see 14 × 14 pixels" in texts(test)
    assert "r = 6 + 1·(5 − 1)·2 = 14 pixels" in texts(test)
    assert test.dataframe[0].value["field_px"].tolist() == ["5", "6", "14", "16", "32"]
    drawn = json.loads(test.get("plotly_chart")[0].proto.spec)["data"]
    names = {line["name"]: line["y"] for line in drawn}
    assert {name.partition(":")[0] for name in names} == {"LeNet-5 · digits", "ViT · digits", "Swin · digits"}
    assert names["LeNet-5 · digits: can see"] == [px / 32 for px in (0.5, 2.5, 3, 7, 8, 16)]
    assert set(names["ViT · digits: can see"]) == {0.5}
    assert names["Swin · digits: can see"] == sorted(names["Swin · digits: can see"])
    test.segmented_control(key="field_stage").set_value("S4").run()
    assert "16 × 16 pixels" in texts(test)


def test_models_of_other_inputs_stand_on_one_axis_as_shares_of_their_side(monkeypatch):
    """A CNN of 32 pixels beside a ViT of 112, which sees all of its input: half of a side to either edge."""
    monkeypatch.setattr(fields_of, "SAMPLES", 1)
    models = ["bundled:digits_lenet", "bundled:insects_vit"]
    test = opened("convolution", models=models, image="digit 3", convolution_view="Receptive field")
    fine(test)
    drawn = json.loads(test.get("plotly_chart")[0].proto.spec)["data"]
    lines = {line["name"]: line["y"] for line in drawn}
    assert lines["LeNet-5 · digits: can see"][-1] == 0.5
    assert set(lines["ViT · insects: can see"]) == {0.5}
    assert max(lines["ViT · insects: mean attention distance"]) < 0.71  # half of a diagonal
