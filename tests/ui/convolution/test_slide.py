"""The view Slide: what its canvas is sent, for kernels made by hand, edited ones, pools and a model's own."""

import base64

import numpy as np
import pytest
import torch

from tests.ui.conftest import CNN, SWIN, VIT, fine, opened, sent_to, texts
from vizkit.analysis.convolution.sliding import Steps, output
from vizkit.models import load
from vizkit.models.probes.convolution.first_layer import first_layer


def numbers(content: dict, name: str) -> torch.Tensor:
    return torch.from_numpy(np.frombuffer(base64.b64decode(content[name]), "<f4").copy())


def kernel_of(content: dict) -> torch.Tensor | None:
    sent = content["kernels"][str(content["steps"][0])]
    return None if sent is None else numbers({"kernel": sent}, "kernel")


def again(content: dict) -> torch.Tensor:
    """The output from what the canvas was sent, as the canvas computes it."""
    image, steps = numbers(content, "input").view(*content["input_size"]), Steps(*content["steps"])
    kernel = kernel_of(content)
    kernel = torch.zeros(1, steps.f, steps.f) if kernel is None else kernel.view(-1, steps.f, steps.f)
    return output(image, kernel, steps, content["kind"], content["bias"]).flatten()


@pytest.mark.parametrize("model", [VIT, SWIN, CNN])
def test_the_canvas_is_sent_what_gives_pytorchs_output(model: str):
    test = opened("convolution", models=model, image="mayfly nymph")
    fine(test)
    (content,) = sent_to(test, "vizkit_slide")
    assert (content["steps"], list(content["kernels"])) == ([3, 1, 0, 1], ["3", "5", "7"])
    assert len(again(content)) == 30 * 30
    torch.testing.assert_close(again(content), numbers(content, "expected"), rtol=0, atol=1e-3)
    test.session_state["_slide_steps"] = {"slide_size": 5, "slide_stride": 2, "slide_padding": 1, "slide_dilation": 3}
    test.run()
    (content,) = sent_to(test, "vizkit_slide")
    assert content["steps"] == [5, 2, 1, 3]
    assert len(again(content)) == 11 * 11
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
    torch.testing.assert_close(kernel_of(content), layer.weight[1].flatten())
    assert content["bias"] == pytest.approx(float(layer.bias[1]))
    assert (content["editable"], content["picture_again"]) == (False, None)
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
    assert (content["kind"], content["steps"], len(again(content))) == (kind, [2, 2, 0, 1], 16 * 16)
    torch.testing.assert_close(again(content), numbers(content, "expected"), rtol=0, atol=1e-3)


def test_a_link_brings_the_steps_and_holds_those_that_are_set():
    test = opened("convolution", models=CNN, image="china", slide_size="7", slide_padding="2", slide_stride="9")
    (content,) = sent_to(test, "vizkit_slide")
    assert content["steps"] == [7, 1, 2, 1]  # there is no stride of 9
    test.session_state["_slide_steps"] = {"slide_size": 3, "slide_stride": 4}
    test.run()
    assert "slide_size" not in test.query_params  # the usual one
    assert (test.query_params["slide_stride"], test.query_params["slide_padding"]) == ("4", "2")
    test.selectbox(key="slide_kernel").set_value("max pooling").run()
    (content,) = sent_to(test, "vizkit_slide")
    assert content["steps"] == [2, 2, 0, 1]


def test_a_link_brings_an_edited_kernel_and_a_place():
    test = opened("convolution", models=CNN, image="china", slide_numbers="0,0,0,0,2,0,0,0,0", slide_at="3,28")
    fine(test)
    (content,) = sent_to(test, "vizkit_slide")
    assert kernel_of(content).tolist() == [0, 0, 0, 0, 2, 0, 0, 0, 0]
    assert (content["edited"], content["at"]) == (True, [3, 28])
    test.selectbox(key="slide_kernel").set_value("blur").run()
    (content,) = sent_to(test, "vizkit_slide")
    assert not content["edited"]
    assert kernel_of(content).tolist() == pytest.approx([1 / 9] * 9)
    assert "slide_numbers" not in test.query_params


@pytest.mark.parametrize("typed", ["1,2", "a,b", "1e9,0,0,0,0,0,0,0,0", "nan,0,0,0,0,0,0,0,0"])
def test_numbers_that_make_no_kernel_are_left_aside(typed: str):
    test = opened("convolution", models=CNN, image="china", slide_numbers=typed, slide_at="-1,x")
    fine(test)
    (content,) = sent_to(test, "vizkit_slide")
    assert (content["edited"], content["at"]) == (False, [10, 10])
