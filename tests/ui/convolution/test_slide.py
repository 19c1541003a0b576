"""The view Slide: what its canvas is sent, for kernels made by hand, edited ones, pools and a model's own."""

import base64

import numpy as np
import pytest
import torch

from tests.ui.conftest import CNN, SWIN, VIT, fine, opened, sent_to, texts
from vizkit.analysis.convolution.sliding import Steps, output
from vizkit.models import load
from vizkit.models.probes.first_layer import first_layer


def numbers(content: dict, name: str) -> torch.Tensor:
    return torch.from_numpy(np.frombuffer(base64.b64decode(content[name]), "<f4").copy())


def again(content: dict) -> torch.Tensor:
    """The output from what the canvas was sent, as the canvas computes it."""
    image, f = numbers(content, "input").view(*content["input_size"]), content["f"]
    steps = Steps(f, content["stride"], content["padding"], content["dilation"])
    kernel = numbers(content, "kernel").view(-1, f, f) if content["kernel"] else torch.zeros(1, f, f)
    return output(image, kernel, steps, content["kind"], content["bias"]).flatten()


@pytest.mark.parametrize("model", [VIT, SWIN, CNN])
def test_the_canvas_is_sent_what_gives_pytorchs_output(model: str):
    test = opened("convolution", models=model, image="mayfly nymph")
    fine(test)
    (content,) = sent_to(test, "vizkit_slide")
    assert content["output_size"] == [30, 30]
    torch.testing.assert_close(again(content), numbers(content, "expected"), rtol=0, atol=1e-3)
    test.slider(key="slide_stride").set_value(2)
    test.slider(key="slide_padding").set_value(1)
    test.slider(key="slide_dilation").set_value(3).run()
    (content,) = sent_to(test, "vizkit_slide")
    assert content["formula"].endswith("⌊(32 + 2·1 − 3·(3 − 1) − 1) / 2⌋ + 1 = 14")
    assert content["output_size"] == [14, 14]
    torch.testing.assert_close(again(content), numbers(content, "expected"), rtol=0, atol=1e-3)
    assert "The strongest response" in texts(test)


@pytest.mark.parametrize("model", [VIT, SWIN, CNN])
def test_the_first_layer_of_a_model_slides_with_its_own_weights(model: str):
    test = opened("convolution", models=model, image="digit 3")
    test.selectbox(key="slide_kernel").set_value(model).run()
    test.number_input(key="slide_filter").set_value(2).run()
    fine(test)
    (content,) = sent_to(test, "vizkit_slide")
    layer = first_layer(load(model))
    torch.testing.assert_close(numbers(content, "kernel"), layer.weight[1].flatten())
    assert content["bias"] == pytest.approx(float(layer.bias[1]))
    assert (content["editable"], content["display"]) == (False, "signed")
    torch.testing.assert_close(again(content), numbers(content, "expected"), rtol=0, atol=1e-5)


def test_a_first_layer_with_large_patches_is_refused_in_a_sentence():
    model = "random:vit_tiny_patch16_224"
    test = opened("convolution", models=model, image="digit 3")
    test.selectbox(key="slide_kernel").set_value(model).run()
    assert not test.exception
    assert "are 16 × 16 pixels; up to 7 × 7 can be followed here" in texts(test)


@pytest.mark.parametrize(("name", "kind"), [("max pooling", "max"), ("average pooling", "mean")])
def test_pools_slide_too(name: str, kind: str):
    test = opened("convolution", models=CNN, image="china", slide_kernel=name)
    fine(test)
    (content,) = sent_to(test, "vizkit_slide")
    assert (content["kind"], content["output_size"], content["display"]) == (kind, [16, 16], "grey")
    torch.testing.assert_close(again(content), numbers(content, "expected"), rtol=0, atol=1e-3)


def test_a_link_brings_an_edited_kernel_and_a_place():
    test = opened("convolution", models=CNN, image="china", slide_numbers="0,0,0,0,2,0,0,0,0", slide_at="3,28")
    fine(test)
    (content,) = sent_to(test, "vizkit_slide")
    assert numbers(content, "kernel").tolist() == [0, 0, 0, 0, 2, 0, 0, 0, 0]
    assert (content["edited"], content["at"]) == (True, [3, 28])
    test.selectbox(key="slide_kernel").set_value("blur").run()
    (content,) = sent_to(test, "vizkit_slide")
    assert not content["edited"]
    assert numbers(content, "kernel").tolist() == pytest.approx([1 / 9] * 9)
    assert "slide_numbers" not in test.query_params


@pytest.mark.parametrize("typed", ["1,2", "a,b", "1e9,0,0,0,0,0,0,0,0", "nan,0,0,0,0,0,0,0,0"])
def test_numbers_that_make_no_kernel_are_left_aside(typed: str):
    test = opened("convolution", models=CNN, image="china", slide_numbers=typed, slide_at="-1,x")
    fine(test)
    (content,) = sent_to(test, "vizkit_slide")
    assert (content["edited"], content["at"]) == (False, [10, 10])
