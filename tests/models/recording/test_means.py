"""A head that gives its mean, against the same exchange made by hand in front of W_O."""

import numpy as np
import pytest
import torch
from torch.testing import assert_close

import vizkit
from tests.drawn import noisy_picture
from tests.models.recording.test_editing import DIM, HEADS, IMAGE, Fused, Torch, Written, wrapped
from vizkit.models import Edit, EditError, attention_places, pixels_of, trace
from vizkit.models.probes.importance.means import head_means, head_outputs
from vizkit.models.recording.editing import Editing, Plan

OTHERS = [noisy_picture(32, 32, seed=i) for i in (1, 2, 3)]
OWN = slice(DIM // HEADS, 2 * DIM // HEADS)  # head 2


def by_hand():
    """Logits when head 2 of layer 1 gives its mean over `OTHERS` at every token."""
    loaded, seen = wrapped(Fused), []
    projection = loaded.model.layers[0].proj
    hook = projection.register_forward_pre_hook(lambda _, given: seen.append(given[0].clone()))
    with torch.no_grad():
        loaded.model(torch.cat([pixels_of(loaded, other) for other in OTHERS]))
    hook.remove()
    mean = seen[0].mean(0)

    def exchange(_, given):
        changed = given[0].clone()
        changed[..., OWN] = mean[..., OWN]
        return changed

    projection.register_forward_pre_hook(exchange)
    with torch.no_grad():
        return loaded.model(pixels_of(loaded, IMAGE))[0]


@pytest.mark.parametrize("kind", [Fused, Written, Torch])
def test_a_head_gives_its_mean_over_the_reference(kind):
    loaded = wrapped(kind)
    plain = trace(loaded, IMAGE)
    changed = trace(loaded, IMAGE, edits=["heads:1.2=mean"], reference=OTHERS)
    assert_close(changed.logits, by_hand(), atol=1e-5, rtol=0)
    assert (changed.logits - plain.logits).abs().max() > 1e-3
    assert changed.check.refused is None


@pytest.mark.parametrize("kind", [Fused, Written, Torch])
def test_the_mean_over_the_same_image_changes_nothing(kind):
    loaded = wrapped(kind)
    same = trace(loaded, IMAGE, edits=["heads:all=mean"], reference=[IMAGE])
    assert_close(same.logits, trace(loaded, IMAGE).logits, atol=1e-6, rtol=0)


@pytest.mark.parametrize("kind", [Fused, Written, Torch])
def test_factors_of_single_images_lie_between_a_head_and_its_mean(kind):
    loaded = wrapped(kind)
    pixels = torch.cat([pixels_of(loaded, image) for image in (IMAGE, *OTHERS[:1])])
    places = attention_places(loaded, pixels[:1])
    means = head_means(loaded, [pixels], places)
    scales = torch.ones(2, HEADS)
    scales[1, 1] = 0.0
    with torch.no_grad(), Editing(Plan((), places, (scales, torch.ones(2, HEADS)), means)):
        logits = loaded.model(pixels)
    alone = trace(loaded, OTHERS[0], edits=["heads:1.2=mean"], reference=[IMAGE, OTHERS[0]])
    assert_close(logits[0], trace(loaded, IMAGE).logits, atol=1e-5, rtol=0)
    assert_close(logits[1], alone.logits, atol=1e-5, rtol=0)


def test_windows_keep_their_own_means_and_batches_add_up():
    loaded = vizkit.load("bundled:digits_swin")
    rng = np.random.default_rng(0)
    pixels = torch.cat([pixels_of(loaded, rng.integers(0, 255, (28, 28, 3), dtype=np.uint8)) for _ in range(3)])
    places = attention_places(loaded, pixels[:1])
    means = head_means(loaded, [pixels[:2], pixels[2:]], places)
    assert [mean.shape[:2] for mean in means] == [(place.groups, place.heads) for place in places]
    for mean, outputs in zip(means, head_outputs(loaded, pixels, places), strict=True):
        assert_close(mean, outputs.unflatten(0, (3, -1)).mean(0), atol=1e-5, rtol=0)


def test_without_a_reference_there_is_no_mean():
    with pytest.raises(EditError, match="reference images"):
        trace(wrapped(Fused), IMAGE, edits=["heads:1.2=mean"])
    loaded = wrapped(Fused)
    places = attention_places(loaded, pixels_of(loaded, IMAGE))
    plan = Plan((Edit("heads", 0, how="mean"),), places)
    with pytest.raises(EditError, match="reference images"), Editing(plan):
        loaded.model(pixels_of(loaded, IMAGE))


def test_weights_that_are_mixed_after_the_softmax_get_a_sentence():
    loaded = vizkit.load("cait_xxs24_224", pretrained=False, image_size=(32, 32), model_args={"depth": 1})
    with pytest.raises(EditError, match="after the softmax"):
        trace(loaded, IMAGE, edits=["heads:1.2=mean"], reference=OTHERS)
