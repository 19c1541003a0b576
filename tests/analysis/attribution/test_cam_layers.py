"""Class activation maps at a chosen layer: what is recorded there, against the model itself."""

import pytest
import torch
from torch.testing import assert_close

import vizkit
from tests.conftest import random_model
from vizkit.analysis.attribution.explaining import explain
from vizkit.analysis.attribution.grad_cam import at_layer, grad_cam, signed_hires_cam
from vizkit.models import pixels_of
from vizkit.scoring import Question
from vizkit.traces import NotApplicable


def by_hand(loaded, module, photo, target):
    """(values, gradient) of what a module is given, (token, channel), taken with a hook."""
    kept = []
    handle = module.register_forward_pre_hook(lambda _, given: kept.append(given[0]))
    pixels = pixels_of(loaded, photo).requires_grad_()
    logit = loaded.model(pixels)[0, target]
    handle.remove()
    (gradient,) = torch.autograd.grad(logit, kept)
    return kept[0].detach(), gradient


def test_a_vits_layer_is_what_its_attention_is_given(vit, photo):
    trace = vizkit.trace(vit, photo, target=3)
    assert [f.name for f in trace.layer_features] == [layer.name for layer in trace.attention]
    values, gradient = by_hand(vit, vit.model.blocks[2].attn, photo, 3)
    features = trace.layer_features[2]
    assert_close(features.values, values[0], atol=1e-5, rtol=1e-4)
    assert_close(features.gradient, gradient[0], atol=1e-5, rtol=1e-4)
    rows, columns = features.tokens.grid
    places, slope = values[0, 1:], gradient[0, 1:].mean(0)
    expected = (places @ slope).clamp(min=0).view(rows, columns)
    assert_close(grad_cam(at_layer(trace, "blocks.2.attn")), expected, atol=1e-6, rtol=1e-3)


def test_a_swins_windows_are_laid_where_they_were(small_swin, photo):
    """Padded and shifted: the block's own input, normalised, is what lies on the grid."""
    trace = vizkit.trace(small_swin, photo, target=3)
    block = small_swin.model.layers[0].blocks[1]
    kept = []
    handle = block.norm1.register_forward_hook(lambda _, __, out: kept.append(out))
    small_swin.model(pixels_of(small_swin, photo))
    handle.remove()
    features = next(f for f in trace.layer_features if f.name == "layers.0.blocks.1.attn")
    assert_close(features.values, kept[0][0].flatten(0, 1), atol=1e-5, rtol=1e-4)
    assert bool(features.gradient.any(1).all())


def test_a_cnns_layer_is_a_stage(cnn, photo):
    trace = vizkit.trace(cnn, photo, target=3)
    assert [f.name for f in trace.layer_features] == [f.name for f in trace.features]
    pixels = pixels_of(cnn, photo).requires_grad_()
    last, stages = cnn.model.forward_intermediates(pixels)
    gradients = torch.autograd.grad(cnn.model.forward_head(last)[0, 3], stages)
    for features, gradient in zip(trace.layer_features, gradients, strict=True):
        assert_close(features.gradient, gradient[0].flatten(1).T, atol=1e-6, rtol=1e-3)
    name = trace.layer_features[-2].name
    explanation = explain("grad_cam", at_layer(trace, name))
    assert tuple(explanation.heat.shape) == trace.layer_features[-2].tokens.grid
    rows, columns = trace.layer_features[-2].tokens.grid
    assert explanation.notes == (f"Made at {name}, on {rows} × {columns} cells.",)
    assert explain("grad_cam", trace).notes == ()


def test_a_layer_that_is_not_there_is_named(cnn, vit, photo):
    trace = vizkit.trace(cnn, photo, target=3)
    with pytest.raises(NotApplicable, match=r"no class activation maps at 'blocks\.1'; it has them at stage 1"):
        at_layer(trace, "blocks.1")
    with pytest.raises(NotApplicable, match="before its head alone"):
        at_layer(
            vizkit.trace(random_model("cait_xxs24_224", image_size=(64, 96), model_args={"depth": 2}), photo, target=3),
            "blocks.1",
        )
    assert at_layer(trace, "") is trace


def test_two_classes_at_a_layer_and_the_command_agree(vit, photo):
    first, second = (at_layer(vizkit.trace(vit, photo, target=label), "blocks.1.attn") for label in (3, 5))
    question = Question.of(vit, photo, 3, 5, "blocks.1.attn")
    assert_close(question.explain("hires_cam").heat, signed_hires_cam(first, second))
