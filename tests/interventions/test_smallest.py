"""Smallest sets of real models: what is said of a set holds when the model is run on it by hand."""

import numpy as np
import pytest
import torch

import vizkit
from vizkit.analysis.attribution.subject import Stopped
from vizkit.datasets import samples
from vizkit.image import prepare, seen
from vizkit.interventions.smallest import heads, patches
from vizkit.models import trace
from vizkit.models.sources.loaded import likened


@pytest.fixture(scope="module")
def digit():
    return samples.picture("digit 3")


@pytest.mark.parametrize("goal", ["keep", "flip"])
def test_the_patches_keep_or_flip_the_answer_when_painted_by_hand(digit, goal):
    loaded = vizkit.load("bundled:digits_vit")
    result = patches(loaded, digit, (4, 4), goal)
    assert result.reached
    assert len(result.probability) == len(result.order) + 1
    pixels = torch.from_numpy(prepare(digit, loaded.preprocessing)[0])
    there = np.full((4, 4), goal == "flip")
    there.ravel()[list(result.order)] = goal == "keep"
    mask = torch.from_numpy(there.repeat(pixels.shape[1] // 4, 0).repeat(pixels.shape[2] // 4, 1))
    by_hand = torch.where(mask, pixels, pixels.mean((1, 2), keepdim=True))
    with torch.no_grad():
        logits = loaded.model(by_hand[None])[0]
    target = int(trace(loaded, digit).logits.argmax())
    assert (int(logits.argmax()) == target) == (goal == "keep")
    assert float(logits.softmax(-1)[target]) == pytest.approx(result.probability[-1], abs=1e-5)


def test_the_heads_that_flip_the_answer_flip_it_as_edits_too(digit):
    loaded = vizkit.load("bundled:digits_vit")
    result, names = heads(loaded, digit, "flip")
    off = [f"heads:{names[part][0] + 1}.{names[part][1] + 1}=0" for part in result.order]
    plain, changed = trace(loaded, digit), trace(loaded, digit, edits=off)
    target = int(plain.logits.argmax())
    assert (int(changed.logits.argmax()) != target) == result.reached
    assert float(changed.logits.softmax(-1)[target]) == pytest.approx(result.probability[-1], abs=1e-5)


def test_a_likeness_is_there_when_no_other_image_is_nearer():
    """One bright cell of four is more than half of the way, and all that the other image has."""
    means = torch.nn.Sequential(torch.nn.AvgPool2d(4), torch.nn.Flatten())
    loaded = vizkit.wrap(means, size_hw=(8, 8), mean=(0.0,) * 3, std=(1.0,) * 3, head="embedding")
    image = np.zeros((8, 8, 3), np.uint8)
    image[:4, :4], image[4:, 4:] = 250, 120
    own = means(torch.from_numpy(image / 255).float().permute(2, 0, 1)[None])[0]
    other = torch.tensor([1.0, 0.5, 0.5, 0.5]).repeat(3)
    result = patches(likened(loaded, own, {"other": other}), image, (2, 2), "keep")
    half = (result.probability[0] + 1) / 2
    assert [(own > half, own > nearest) for own, nearest in result.outputs] == [
        (False,) * 2,
        (True, False),
        (True,) * 2,
    ]


def test_a_search_is_stopped_between_two_passes(digit):
    def tried(done, total):
        del done
        if total > 1:
            raise Stopped

    with pytest.raises(Stopped):
        patches(
            vizkit.load("bundled:digits_cnn"),
            seen(digit, vizkit.load("bundled:digits_cnn").preprocessing),
            (4, 4),
            "keep",
            tried=tried,
        )
