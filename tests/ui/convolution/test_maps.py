"""The views Feature maps and Filters: what the canvas is sent, where a number comes from, what channels answer to."""

from collections.abc import Callable

import pytest
import streamlit as st

from tests.ui.conftest import CNN, VIT, fine, opened, sent_to, texts
from vizkit.analysis.remarks.convolution import answered, made_of
from vizkit.ui.session import background, cached


def values(test) -> dict[str, str]:
    return {each.label: each.value for each in test.metric}


@pytest.mark.parametrize("model", [CNN, "bundled:digits_lenet", "random:resnet18", "random:convnext_atto"])
def test_a_layer_with_its_fields_and_the_origin_of_a_number(model: str):
    test = opened("convolution", models=model, image="digit 3", convolution_view="Feature maps", maps_layer="2")
    fine(test)
    (content,) = sent_to(test, "vizkit_feature_maps")
    rows, columns = content["grid"]
    assert content["strengths"] == sorted(content["strengths"], reverse=True)
    assert len(content["channels"]) == len(set(content["channels"])) <= 32
    assert content["rows"][1] > 1  # the field of a unit: start, size, jump
    assert content["unit"][1] < rows
    assert content["unit"][2] < columns
    assert "The shares sum to the model’s own number" in texts(test)
    assert ":red" not in texts(test)


def test_after_norm_and_activation_and_the_unit_of_a_link():
    test = opened("convolution", models=CNN, image="digit 3", convolution_view="Feature maps", maps_layer="1")
    fine(test)
    before = values(test)
    assert set(before) == {"after the convolution", "after the norm", "after the activation"}
    assert sent_to(test, "vizkit_feature_maps")[0]["signed"]
    test.segmented_control(key="maps_after").set_value("activation").run()
    (content,) = sent_to(test, "vizkit_feature_maps")
    assert not content["signed"]
    assert content["low"] == 0
    channel = content["channels"][1]
    again = opened("convolution", models=CNN, image="digit 3", convolution_view="Feature maps", maps_layer="1",
                   maps_after="activation", maps_unit=f"{channel},3,4")  # fmt: skip
    assert sent_to(again, "vizkit_feature_maps")[0]["unit"] == [1, 3, 4]
    assert f"Channel {channel + 1}, row 4, column 5" in texts(again)


@pytest.mark.parametrize(("image", "data"), [("digit 3", "digits"), ("mayfly nymph", "insects")])
def test_instead_of_a_transformer_the_cnn_is_shown_that_knows_the_picture(image: str, data: str):
    test = opened("convolution", models=VIT, image=image, convolution_view="Feature maps")
    assert not test.exception
    assert f"None of your models is a CNN; shown: CNN · {data}." in texts(test)
    assert sent_to(test, "vizkit_feature_maps")


def test_the_sentence_counts_the_channels_that_make_half():
    remark = made_of([4, 5, 6, 7], [1.0, -3.0, 2.0, 0.0], 0.5)
    assert remark.words == ("Channel 6 of the layer before adds most to this number, −3.00; 1 channel of 4 makes half "
                            "of all that is added or taken away.")  # fmt: skip


def test_filters_look_through_pictures_once(monkeypatch: pytest.MonkeyPatch):
    def at_once(name: str, work: Callable[[background.Task], None]) -> None:
        task = background.Task(cached.device_lock())
        background.run(task, work)
        st.session_state[f"_task_{name}"] = task

    monkeypatch.setattr(background, "start", at_once)
    query = {"convolution_view": "Filters", "filters_data": "digits", "filters_count": "24", "filters_layer": "3"}
    test = opened("convolution", models=CNN, image="digit 3", **query)
    assert not test.exception
    test.run()  # the page runs again when the work is done
    fine(test)
    assert "the strongest of 24 pictures at the left" in texts(test)
    assert "that channel 1 answers most strongly" in texts(test)
    test.number_input(key="filters_channel").set_value(4096).run()
    fine(test)
    assert "that channel 32 answers most strongly" in texts(test)


def test_the_sentence_says_which_class_a_channel_stands_for():
    assert answered(4, ["cat"] * 5 + ["dog"] * 3).words == (
        "5 of the 8 pictures that channel 5 answers most strongly show the class cat."
    )
    assert "of 4 classes: it stands for no single class" in answered(0, ["a", "b", "c", "d"] * 2).words
