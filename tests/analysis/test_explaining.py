"""One call for every map: each is the very analysis, differences of two classes are exact where they are said to be."""

from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close

from tests.analysis.conftest import SWIN, TARGET, image, made, traced
from vizkit.analysis.attribution import input_attribution
from vizkit.analysis.attribution.explaining import METHODS, applicable, explain, why_not
from vizkit.analysis.attribution.generic_relevance import generic_relevance
from vizkit.analysis.attribution.grad_cam import cam_layer, grad_cam, hires_cam
from vizkit.analysis.attribution.gradient_rollout import gradient_rollout
from vizkit.analysis.attribution.legrad import legrad
from vizkit.analysis.attribution.rollout import rollout
from vizkit.analysis.attribution.subject import Subject, cells_of
from vizkit.models.probes.model_functions import batch_within, logits_of_batch
from vizkit.traces import NotApplicable

RIVAL = 1
WIDE = (96, 160)


def subject(loaded, pixels, against=None):
    return Subject(logits_of_batch(loaded), pixels, TARGET, against)


def test_maps_from_a_trace_are_the_analyses(small_vit):
    trace = traced(small_vit, image(1))
    row = trace.attention[-1].weights[0, :, 0, 1:].mean(0).view(3, 5)
    for name, expected in {
        "attention": row,
        "rollout": rollout(trace),
        "gradient_rollout": gradient_rollout(trace),
        "generic_relevance": generic_relevance(trace),
        "legrad": legrad(trace),
        "grad_cam": grad_cam(trace),
        "hires_cam": hires_cam(trace),
    }.items():
        found = explain(name, trace)
        assert_close(found.heat, expected)
        assert (found.method, found.signed, found.against) == (name, False, None)
        assert found.target == (None if METHODS[name].needs == "trace" else TARGET)
        assert (found.cells, found.image_size) == ((3, 5), (48, 80))


def test_maps_from_the_model_are_the_analyses(small_resnet, monkeypatch):
    monkeypatch.setattr(input_attribution, "MOST_STEPS", 64)
    pixels = image(1)
    asked, trace = subject(small_resnet, pixels), traced(small_resnet, pixels, None)
    cells = cells_of(trace)
    for name, expected in {
        "smooth_grad": input_attribution.smooth_grad(asked),
        "occlusion": input_attribution.occlusion(asked, cells, fill="blur"),
        "patch_ablation": input_attribution.patch_ablation(asked, cells, "blur"),
    }.items():
        found = explain(name, trace, subject=asked, fill="blur")
        assert_close(found.heat, expected)
        assert (found.target, found.signed) == (TARGET, METHODS[name].signed)
    found = explain("integrated_gradients", trace, subject=asked)
    assert found.notes[0].startswith("The sum misses")
    assert found.heat.shape == (48, 80)


def test_the_head_of_deit_reads_two_tokens():
    trace = traced(made("deit_tiny_distilled_patch16_224", depth=2, img_size=(48, 80)), image(1))
    last = trace.attention[-1].weights[0, :, :2, 2:].mean((0, 1)).view(3, 5)
    assert_close(explain("attention", trace).heat, last)
    assert_close(explain("rollout", trace).heat, rollout(trace, "cls+dist"))
    assert_close(explain("rollout", trace, query="dist").heat, rollout(trace, "dist"))
    assert not torch.allclose(rollout(trace, "dist"), rollout(trace, "cls+dist"))


def test_attention_of_a_place(small_vit):
    trace = traced(small_vit, image(1))
    row = trace.attention[-1].weights[0, :, 1 + 7, 1:].mean(0).view(3, 5)
    assert_close(explain("attention", trace, query=(1, 2)).heat, row)
    assert_close(explain("attention", trace, query=8).heat, row)
    mean = trace.attention[-1].weights[0, :, 1:, 1:].mean((0, 1)).view(3, 5)
    assert_close(explain("attention", trace, query="mean").heat, mean)


def test_what_applies():
    loaded = {
        "vit": (made("test_vit", depth=2), image(1)),
        "mean": (made("test_vit", depth=2, class_token=False, global_pool="avg"), image(1)),
        "cnn": (made("test_resnet"), image(1, WIDE)),
        "swin": (made("swin_tiny_patch4_window7_224", **SWIN), image(1, SWIN["img_size"])),
    }
    traces = {name: traced(*one) for name, one in loaded.items()}
    everything = list(METHODS)
    assert applicable(traces["vit"]) == everything
    assert set(why_not(traces["mean"])) == {"attention"}
    assert set(why_not(traces["swin"])) == {"attention", "legrad"}
    of_attention = {"attention", "rollout", "gradient_rollout", "generic_relevance", "legrad"}
    assert set(why_not(traces["cnn"])) == of_attention
    for name, trace in traces.items():
        for method, reason in why_not(trace).items():  # what is foretold is what happens
            with pytest.raises(NotApplicable) as caught:
                explain(method, trace, subject=subject(*loaded[name]))
            assert str(caught.value) == reason
        for method in applicable(trace, model=False):
            assert METHODS[method].needs != "model"
            explain(method, trace)
    without = replace(traces["vit"], target=None)
    assert set(applicable(without, model=False)) == {"attention", "rollout"}
    assert "choose a target class first" in why_not(without)["legrad"]


# One class against another --------------------------------------------------------------------------------------------


def two_traces(loaded, pixels):
    return traced(loaded, pixels, TARGET), traced(loaded, pixels, RIVAL)


@pytest.mark.parametrize("name", ["gradient_rollout", "generic_relevance", "legrad"])
def test_difference_of_two_maps(small_vit, name):
    one, two = two_traces(small_vit, image(1))
    found = explain(name, one, against=two)
    assert_close(found.heat, explain(name, one).heat - explain(name, two).heat)
    assert (found.signed, found.target, found.against) == (True, TARGET, RIVAL)
    assert_close(found.heat, -explain(name, two, against=one).heat)


@pytest.mark.parametrize("name", ["grad_cam", "hires_cam"])
def test_class_activation_of_a_difference_is_that_of_the_gradient(small_vit, small_resnet, name):
    for loaded, pixels in ((small_vit, image(1)), (small_resnet, image(1, WIDE))):
        one, two = two_traces(loaded, pixels)
        late, other = cam_layer(one), cam_layer(two)
        first = len(late.tokens.special)
        values, gradient = late.values[first:], (late.gradient - other.gradient)[first:]
        weights = gradient.mean(0) if name == "grad_cam" else gradient
        found = explain(name, one, against=two)
        assert_close(found.heat, (values * weights).sum(-1).view(late.tokens.grid))
        assert found.signed


def test_class_activation_under_a_mean_adds_up_to_the_difference_of_logits(small_resnet):
    """Zhou et al. 2016: the map's sum is the logit less the bias."""
    pixels = image(1, WIDE)
    one, two = two_traces(small_resnet, pixels)
    bias = small_resnet.model.fc.bias
    expected = one.logits[TARGET] - one.logits[RIVAL] - (bias[TARGET] - bias[RIVAL])
    assert_close(explain("grad_cam", one, against=two).heat.sum(), expected, rtol=1e-4, atol=1e-4)


DIRECTLY = ["input_times_gradient", "integrated_gradients", "gradient_shap", "occlusion", "patch_ablation"]


@pytest.mark.parametrize("name", DIRECTLY)
def test_input_methods_explain_the_difference_itself(small_swin, name):
    pixels = image(1, SWIN["img_size"])
    trace = traced(small_swin, pixels)
    logits = logits_of_batch(small_swin)
    one, two = (explain(name, trace, subject=Subject(logits, pixels, target)).heat for target in (TARGET, RIVAL))
    found = explain(name, trace, subject=Subject(logits, pixels, TARGET, RIVAL))
    assert_close(found.heat, one - two, rtol=0, atol=2e-2 * float((one - two).abs().max()))
    assert (found.signed, found.against) == (True, RIVAL)


def test_a_difference_that_has_no_meaning(small_vit):
    one, two = two_traces(small_vit, image(1))
    for name in ("attention", "rollout"):
        with pytest.raises(NotApplicable, match="knows no class"):
            explain(name, one, against=two)
    with pytest.raises(NotApplicable, match="its own gradient"):
        explain("legrad", one, against=traced(small_vit, image(1), None))
    with pytest.raises(NotApplicable, match="same value at every place"):
        explain("legrad", one, against=one)
    smooth = explain("smooth_grad", one, subject=subject(small_vit, image(1), RIVAL))
    assert (smooth.signed, float(smooth.heat.min()) >= 0) == (False, True)


# Nothing to draw ------------------------------------------------------------------------------------------------------


@pytest.mark.product("name")
@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if method.needs == "model"])
@pytest.mark.parametrize("factor, words", [(0.0, "same value at every place"), (float("nan"), "not numbers")])
def test_a_model_that_does_not_look_has_no_map(small_vit, name, factor, words):
    blind = Subject(lambda pixels: (pixels * factor).mean((2, 3)), image(1), 0)
    with pytest.raises(NotApplicable, match=words):
        explain(name, traced(small_vit, image(1)), subject=blind)


def test_without_the_model_some_have_no_map(small_vit):
    with pytest.raises(NotApplicable, match="runs the model again"):
        explain("occlusion", traced(small_vit, image(1)))
    with pytest.raises(KeyError):
        explain("crystal_ball", traced(small_vit, image(1)))


def test_progress_is_told(small_vit):
    trace, asked, seen = traced(small_vit, image(1)), subject(small_vit, image(1)), []
    explain("patch_ablation", trace, subject=asked, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (16, 16)


# The model as a function ----------------------------------------------------------------------------------------------


def test_logits_of_a_batch(small_vit, small_resnet):
    for loaded, size in ((small_vit, (48, 80)), (small_resnet, WIDE)):
        pixels = torch.cat([image(1, size), image(2, size)]).requires_grad_()
        logits = logits_of_batch(loaded)(pixels)
        assert logits.shape == (2, 5)
        assert_close(logits[1], traced(loaded, image(2, size)).logits, rtol=0, atol=1e-4)
        (gradient,) = torch.autograd.grad(logits[0].sum(), pixels)
        assert float(gradient[0].abs().max()) > 0
        assert not gradient[1].any()
    assert 1 <= batch_within(small_vit) <= 32


def test_cells_are_the_models_patches(small_vit, small_swin, small_resnet):
    assert cells_of(traced(small_vit, image(1))) == (3, 5)
    assert cells_of(traced(small_swin, image(1, SWIN["img_size"]))) == (10, 14)
    assert cells_of(traced(small_resnet, image(1, WIDE))) == (12, 20)
    bare = replace(traced(small_resnet, image(1, WIDE)), features=())
    assert cells_of(bare) == (16, 26)  # squares of 6 pixels
