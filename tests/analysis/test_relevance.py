"""Maps for one class against autograd written by hand, and against numbers worked out on paper."""

from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close

from tests.analysis.conftest import GRID, SIZE, SWIN, TARGET, image, made, traced
from tests.drawn import seeded
from tests.toys import attending, trace_of
from vizkit.analysis.attribution.generic_relevance import generic_relevance
from vizkit.analysis.attribution.grad_cam import cam_layer, grad_cam, hires_cam
from vizkit.analysis.attribution.gradient_rollout import gradient_rollout
from vizkit.analysis.attribution.legrad import legrad, legrad_by_layer
from vizkit.models import families
from vizkit.models.sources.loaded import described
from vizkit.traces import Features, NotApplicable, Tokens

METHODS = [gradient_rollout, generic_relevance, legrad, grad_cam, hires_cam]


def watched(model, pixels, *modules, target=TARGET):
    """(the target's logit, the outputs of the modules in the order of the calls), all in one graph."""
    seen = []
    handles = [m.register_forward_hook(lambda _, __, out: seen.append(out)) for m in modules]
    logit = model(pixels.clone().requires_grad_())[0, target]
    for handle in handles:
        handle.remove()
    return logit, seen


def weights_and_logit(model, pixels, extra=()):
    """Attention after softmax, seen where dropout would come: only a layer that is not fused calls it."""
    for block in model.blocks:
        block.attn.fused_attn = False
    try:
        logit, seen = watched(model, pixels, *(block.attn.attn_drop for block in model.blocks), *extra)
    finally:
        for block in model.blocks:
            block.attn.fused_attn = True
    return logit, [t for t in seen if t.dim() == 4], [t for t in seen if t.dim() == 3]


def close(found, expected, rtol=1e-4):
    """To a share of the largest value: small ones carry the rounding of large ones."""
    assert_close(found, expected.float(), rtol=0, atol=rtol * float(expected.abs().max()))


# By hand -------------------------------------------------------------------------------------------------------------

TOKENS = Tokens("patches", ("cls",), (1, 2))


def toy(*gradients, target=0):
    """Two layers, two heads, a class token and two patches; every gradient is that of both heads."""
    rows = ([[0.5, 0.3, 0.2], [0.2, 0.6, 0.2], [0.1, 0.1, 0.8]], [[0.2, 0.2, 0.6], [0.5, 0.4, 0.1], [0.0, 0.5, 0.5]])
    layers = []
    for weights, gradient in zip(rows, gradients, strict=True):
        both = torch.tensor([gradient, gradient])[None]
        one = torch.tensor([weights, weights])[None]
        layers.append(attending(one, TOKENS, gradient=both))
    return trace_of(*layers, target=target)


FIRST = [[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -5.0, 0.0]]  # Ā₁: patch 1 takes .2 · 1 from patch 2
LAST = [[0.0, 1.0, -1.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]  # Ā₂: the class token takes .2 · 1 from patch 1


def test_generic_relevance_by_hand():
    # R = (I + Ā₂)(I + Ā₁): the class row is e_cls + .2 e_1, then .2 e_1 becomes .2 e_1 + .2 · .2 e_2.
    assert_close(generic_relevance(toy(FIRST, LAST)), torch.tensor([[0.2, 0.04]]))
    assert_close(generic_relevance(toy(FIRST, LAST), start_layer=1), torch.tensor([[0.2, 0.0]]))


def test_legrad_by_hand():
    scores = ([9.0, 1.0, 3.0], [9.0, 2.0, 0.0])
    trace = toy(FIRST, LAST)
    pairs = zip(trace.attention, scores, strict=True)
    layers = tuple(replace(layer, score_gradient=torch.tensor([score])) for layer, score in pairs)
    assert_close(legrad(replace(trace, attention=layers), 1), torch.tensor([[2.0, 0.0]]))
    with pytest.raises(NotApplicable, match="alike"):
        legrad(replace(trace, attention=layers))  # 1.5 and 1.5


def cam_trace(values, gradient, target=0):
    features = Features("late", torch.tensor(values), TOKENS, torch.tensor(gradient))
    return replace(toy(FIRST, LAST), cam_features=(features,), target=target)


# Against autograd ----------------------------------------------------------------------------------------------------


def test_attention_methods_are_autograd_by_hand(small_vit):
    pixels = image(1)
    logit, weights, _ = weights_and_logit(small_vit.model, pixels)
    gradients = torch.autograd.grad(logit, weights)
    relevance = rolled = torch.eye(16, dtype=torch.float64)
    for a, g in zip(weights, gradients, strict=True):
        mixing = (a.detach().double() * g.double()).clamp(min=0)[0].mean(0)
        relevance = relevance + mixing @ relevance
        step = mixing / 2 + torch.eye(16) / 2
        rolled = step / step.sum(-1, keepdim=True) @ rolled
    trace = traced(small_vit, pixels)
    close(generic_relevance(trace), relevance[0, 1:].view(GRID))
    close(gradient_rollout(trace), (rolled[0, 1:] / rolled[0, 1:].sum()).view(GRID))
    close(generic_relevance(trace, "mean"), (relevance[1:, 1:] - torch.eye(15)).mean(0).view(GRID))


@pytest.mark.parametrize("options", [{}, {"class_token": False, "global_pool": "avg"}, {"reg_tokens": 2}])
def test_legrad_is_autograd_by_hand(options):
    loaded, pixels = made("test_vit", depth=3, **options), image(1)
    model = loaded.model
    _, weights, tokens = weights_and_logit(model, pixels, extra=model.blocks)
    maps = []
    for a, x in zip(weights, tokens, strict=True):
        score = model.forward_head(model.norm(x))[0, TARGET]
        (gradient,) = torch.autograd.grad(score, [a], retain_graph=True)
        maps.append(gradient.clamp(min=0)[0].mean((0, 1))[model.num_prefix_tokens :].view(GRID))
    trace = traced(loaded, pixels)
    for found, expected in zip(legrad_by_layer(trace), maps, strict=True):
        close(found, expected)
        assert float(expected.max()) > 0
    close(legrad(trace), torch.stack(maps).mean(0))
    close(legrad(trace, 2), maps[2])


@pytest.mark.parametrize("name", ["deit_tiny_distilled_patch16_224", "beit_base_patch16_224", "eva02_tiny_patch14_224"])
def test_other_streams_of_tokens_have_every_map(name):
    size = (42, 70) if "14" in name.split("patch")[1][:2] else SIZE
    loaded = made(name, depth=2, img_size=size, **({"embed_dim": 96, "num_heads": 3} if "beit" in name else {}))
    trace = traced(loaded, image(1, size))
    assert trace.check.passed
    for method in (gradient_rollout, generic_relevance, legrad):
        assert method(trace).shape == GRID
    assert [f.tokens for f in trace.cam_features] == [trace.attention[-1].query] * 2


def cams(values, gradient):
    """(row, column, channel) → both maps."""
    average = gradient.mean((0, 1))
    return (values * average).sum(-1).relu(), (values * gradient).sum(-1).relu()


def test_class_activation_where_the_head_takes_the_mean():
    """Then the gradient is the same at every place, and both maps are the class activation map of Zhou et al. 2016."""
    loaded, pixels = made("test_vit", depth=3, class_token=False, global_pool="avg", fc_norm=False), image(1)
    logit, (final,) = watched(loaded.model, pixels, loaded.model.norm)
    (gradient,) = torch.autograd.grad(logit, [final])
    expected = cams(*(t[0].detach().reshape(*GRID, -1) for t in (final, gradient)))
    trace = traced(loaded, pixels)
    assert cam_layer(trace).name == "before the head"
    close(grad_cam(trace), expected[0])
    close(hires_cam(trace), expected[0])


def test_relevance_through_swin(small_swin):
    trace = traced(small_swin, image(1, SWIN["img_size"]))
    for method in (gradient_rollout, generic_relevance):
        found = method(trace)
        assert found.shape == (10, 14)
        assert float(found.max()) > float(found.min()) >= 0
    product = None  # the dense form: matrices scattered, merging in between
    for layer in trace.attention:
        one = torch.zeros(len(layer.query) + 1, len(layer.key) + 1, dtype=torch.float64)
        mixing = layer.weights.double() if layer.gradient is None else (layer.weights * layer.gradient).double()
        place = (
            layer.query_ids[:, :, None].expand(mixing[:, 0].shape),
            layer.key_ids[:, None].expand(mixing[:, 0].shape),
        )
        one.index_put_(place, mixing.clamp(min=0).mean(1), accumulate=True)
        one = one[:-1, :-1] + (torch.eye(len(layer.query)) if layer.learned else 0)
        plain = torch.eye(len(layer.query), dtype=torch.float64) if layer.learned else one
        product = (one, plain) if product is None else (one @ product[0], plain @ product[1])
    close(generic_relevance(trace), (product[0] - product[1]).mean(0).view(10, 14))


# What must not happen ------------------------------------------------------------------------------------------------


def test_an_image_does_not_depend_on_the_one_before(small_vit, small_resnet):
    fresh = made("test_vit", depth=3)
    traced(small_vit, image(5))
    again, alone = traced(small_vit, image(6)), traced(fresh, image(6))
    for method in METHODS:
        assert_close(method(again), method(alone))
        assert not torch.equal(method(again), method(traced(small_vit, image(5))))


@pytest.mark.parametrize("method", METHODS)
def test_without_a_class_there_is_no_map(method, small_vit, small_resnet):
    for loaded, pixels in ((small_vit, image(1)), (small_resnet, image(1, (96, 160)))):
        with pytest.raises(NotApplicable, match=r"choose a target class first"):
            method(traced(loaded, pixels, None))


def test_legrad_needs_a_head_that_reads_every_layer():
    with pytest.raises(NotApplicable, match="does not allow"):
        legrad(traced(made("test_vit3", depth=2), image(1)))


ZERO = [[0.0] * 3] * 3


@pytest.mark.parametrize("query", ["cls", "mean"])
@pytest.mark.parametrize("method", [gradient_rollout, generic_relevance])
@pytest.mark.parametrize("gradient", [ZERO, [[-1.0] * 3] * 3, [[float("nan")] * 3] * 3])
def test_nothing_is_said_not_drawn(method, gradient, query):
    with pytest.raises(NotApplicable, match="gives nothing for this class here"):
        method(toy(gradient, gradient), query)


@pytest.mark.parametrize(
    "values, gradient, words",
    [
        ([[9.0, 9.0], [1.0, 2.0], [3.0, 1.0]], [[7.0, 7.0], [0.0, 0.0], [0.0, 0.0]], "no gradient"),
        ([[9.0, 9.0], [1.0, 2.0], [3.0, 1.0]], [[7.0, 7.0], [-1.0, -1.0], [-1.0, -1.0]], "speaks for it"),
        ([[9.0, 9.0], [1.0, 2.0], [1.0, 2.0]], [[7.0, 7.0], [1.0, 1.0], [1.0, 1.0]], "alike"),
        ([[9.0, 9.0], [1.0, 2.0], [1.0, 2.0]], [[7.0, 7.0], [1.0, 1.0], [1.0, float("nan")]], "not a number"),
    ],
)
@pytest.mark.parametrize("method", [grad_cam, hires_cam])
def test_an_empty_class_activation_map_is_said_not_drawn(method, values, gradient, words):
    with pytest.raises(NotApplicable, match=words):
        method(cam_trace(values, gradient))


def test_without_a_target_nothing_more_is_recorded(small_vit):
    trace = traced(small_vit, image(1), None)
    assert trace.cam_features == ()
    assert all(layer.gradient is None and layer.score_gradient is None for layer in trace.attention)
    with pytest.raises(Exception, match="gradient"):  # the shapes' own checks speak first in tests
        Features("f", torch.zeros(3, 2), TOKENS, torch.zeros(3, 1))
    with pytest.raises(Exception, match="score"):
        replace(trace.attention[0], score_gradient=torch.zeros(1, 2))


def test_torchvision_has_the_input_of_its_last_attention():
    import torchvision

    with seeded():
        model = torchvision.models.VisionTransformer(32, 8, 2, 3, 48, 96, num_classes=5).eval().requires_grad_(False)
        torch.nn.init.normal_(model.heads.head.weight)  # torchvision starts with zeros
    loaded = described("tv", model, (32, 32), source="test")
    logit, (entering,) = watched(model, image(1, (32, 32)), model.encoder.layers[-1].ln_1)
    (gradient,) = torch.autograd.grad(logit, [entering])
    expected = cams(*(t[0, 1:].detach().view(4, 4, -1) for t in (entering, gradient)))
    trace = families.trace(loaded, image(1, (32, 32)), target=TARGET)
    close(grad_cam(trace), expected[0])
    close(hires_cam(trace), expected[1])
    with pytest.raises(NotApplicable, match="does not allow"):
        legrad(trace)
