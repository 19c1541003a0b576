"""Importance of heads against edits of single pictures, and the estimate against small differences."""

from functools import cache

import numpy as np
import pytest
import torch
from torch.testing import assert_close

import vizkit
from vizkit.models import attention_places, pixels_of, trace
from vizkit.models.probes.importance.heads import head_importance, likeness_lost
from vizkit.models.probes.importance.means import head_means
from vizkit.models.recording.editing import Editing, Plan


@cache
def measured(name, side):
    loaded = vizkit.load(name)
    rng = np.random.default_rng(0)  # the same pictures in every test
    images = [rng.integers(0, 255, (side, side, 3), dtype=np.uint8) for _ in range(3)]
    pixels = torch.cat([pixels_of(loaded, image) for image in images])
    targets = torch.tensor([0, 1, 2])
    places = attention_places(loaded, pixels[:1])
    return (
        loaded,
        images,
        targets,
        places,
        pixels,
        head_importance(loaded, pixels, targets, places),
    )


def test_what_is_lost_is_what_a_single_edit_loses():
    for name, side in (("bundled:digits_vit", 28), ("bundled:digits_swin", 28)):
        loaded, images, targets, _, _, result = measured(name, side)
        for row, image in enumerate(images):
            plain = trace(loaded, image).logits.log_softmax(-1)[targets[row]]
            for column in (0, len(result.names) - 1):
                layer, head = result.names[column]
                edited = trace(loaded, image, edits=[f"heads:{layer + 1}.{head + 1}=0"]).logits.log_softmax(-1)
                assert_close(result.lost[row, column], plain - edited[targets[row]], atol=5e-4, rtol=0)


def test_the_estimate_is_the_slope_at_the_whole_head():
    loaded, _, targets, places, pixels, result = measured("bundled:digits_vit", 28)
    step = 1e-2
    for column in (0, 3, len(result.names) - 1):
        layer, head = result.names[column]
        ends = []
        for factor in (1 - step, 1 + step):
            scales = [torch.ones(3, place.heads) for place in places]
            scales[layer][:, head] = factor
            with torch.no_grad(), Editing(Plan((), places, tuple(scales))):
                ends.append(loaded.model(pixels).log_softmax(-1)[torch.arange(3), targets])
        slope = ((ends[1] - ends[0]) / (2 * step)).abs()
        assert_close(result.estimate[:, column], slope, atol=2e-3, rtol=2e-2)


@pytest.mark.parametrize("ablation", ["zero", "mean"])
def test_a_model_without_classes_loses_likeness(ablation):
    """Plain torch: what a head writes into the output projection is nothing, or its mean over two other images."""
    loaded, (layer, head) = (
        vizkit.load("test_vit", pretrained=False, model_args={"num_classes": 0}),
        (1, 1),
    )
    pixels, others = torch.randn(2, 5, 3, *loaded.preprocessing.size_hw).split([3, 2], 1)
    pixels, others = pixels[0], others[0]
    places = attention_places(loaded, pixels[:1])
    means = head_means(loaded, [others], places) if ablation == "mean" else ()
    result = likeness_lost(loaded, pixels, places, means=means)
    attention = loaded.model.blocks[layer].attn
    channels = slice(head * attention.head_dim, (head + 1) * attention.head_dim)
    heard = []
    with torch.no_grad():
        hears = attention.proj.register_forward_pre_hook(lambda _, given: heard.append(given[0]))
        loaded.model(others)
        hears.remove()
        instead = heard[0][..., channels].mean(0) if ablation == "mean" else 0

        def removed(_, given):
            changed = given[0].clone()
            changed[..., channels] = instead
            return changed

        own = loaded.model(pixels)
        attention.proj.register_forward_pre_hook(removed)
        without = loaded.model(pixels)
    cosine = (own * without).sum(-1) / own.norm(dim=-1) / without.norm(dim=-1)
    column = result.names.index((layer, head))
    assert float((1 - cosine).min()) > 1e-5, "the head does something"
    assert_close(result.lost[:, column], 1 - cosine, atol=1e-6, rtol=1e-3)
    assert bool(result.flipped.isnan().all())
    assert bool(result.estimate.isnan().all())
