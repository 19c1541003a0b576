"""What the Architecture page is made of: counted blocks, a network without reductions, and two kinds of picture."""

import numpy as np
import pytest
import timm
import torch
from torch.testing import assert_close

import vizkit
from tests.drawn import noise, seeded
from vizkit.figure.numbers import numbers, strongest
from vizkit.figure.token_colours import token_colours
from vizkit.models.probes.flow import flow, tokens_in
from vizkit.models.probes.unreduced import unreduced
from vizkit.traces import NotApplicable

IMAGE = (3, 224, 224)


@pytest.mark.parametrize(
    "shape, image, found",
    [
        ((197, 192), IMAGE, (197, "tokens")),
        ((64, 56, 56), IMAGE, (3136, "places")),  # channels first
        ((56, 56, 96), IMAGE, (3136, "places")),  # channels last
        ((32, 20, 15), (3, 320, 240), (300, "places")),
        ((20, 15, 32), (3, 320, 240), (300, "places")),
        ((196, 16, 24), IMAGE, None),  # words in patches
        ((56, 56, 56), IMAGE, None),  # either could be the channels
        ((1000,), IMAGE, None),
    ],
)
def test_tokens_of_a_shape(shape, image, found):
    assert tokens_in(shape, image) == found


# ---- without reductions ----------------------------------------------------------------------------------------------
def test_the_unreduced_model_is_the_plain_vit_of_the_same_weights():
    with seeded(3):
        loaded = vizkit.load("gradual_reduction_tiny", pretrained=False, image_size=(64, 64))
    pixels = noise(1, 3, 64, 64, seed=1)
    plain = unreduced(loaded)
    tokens = [step.tokens_in for step in flow(plain) if step.path.startswith("blocks.")]
    assert tokens == [65] * 12
    assert [step.tokens_in for step in flow(loaded) if step.path.startswith("blocks.")] == (
        [65] * 3 + [33] * 3 + [17] * 3 + [9] * 3
    )

    theirs = timm.create_model("vit_tiny_patch16_224", patch_size=8, img_size=64).eval()
    theirs.load_state_dict(loaded.model.state_dict())
    with torch.no_grad():
        assert_close(plain.model(pixels), theirs(pixels), atol=1e-5, rtol=1e-4)
    with pytest.raises(NotApplicable):
        unreduced(vizkit.load("bundled:digits_vit"))


# ---- pictures --------------------------------------------------------------------------------------------------------
def test_every_token_has_the_mean_colour_of_its_own_pixels():
    rgb = np.zeros((4, 8, 3), np.uint8)
    rgb[:2, :4], rgb[2:, 4:] = (200, 100, 0), (10, 20, 30)
    rgb[0, 0] = (0, 100, 0)  # one of eight pixels: 200 · 7 / 8 = 175
    drawn = token_colours(rgb, (2, 2), side_px=8)
    assert drawn.shape == rgb.shape
    assert drawn[0, 0].tolist() == [175, 100, 0]
    assert drawn[3, 7].tolist() == [10, 20, 30]
    assert drawn[0, 7].tolist() == drawn[3, 0].tolist() == [0, 0, 0]
    framed = token_colours(rgb, (2, 2), (1, 1), side_px=64)
    assert framed[16, 48].tolist() == [255, 255, 255]
    assert framed[5, 5].tolist() == [175, 100, 0]
    with pytest.raises(ValueError, match="does not divide"):
        token_colours(rgb, (3, 2))


def test_a_picture_of_numbers_keeps_the_largest_magnitudes():
    values = np.array([[1.0, -5.0, 0.5, 0.25], [2.0, 3.0, 0.0, -0.1]])
    assert strongest(values, (1, 2)).tolist() == [[-5.0, 0.5]]
    assert strongest(values, (2, 4)).tolist() == values.tolist()
    assert strongest(values, (2, 3)).tolist() == [[-5.0, 0.5], [3.0, -0.1]]
    drawn = numbers(np.array([[-1.0, 0.0, 1.0]]), most_px=(4, 12))
    assert drawn.shape == (4, 12, 3)
    blue, white, red = drawn[0, 0].astype(int), drawn[0, 5].astype(int), drawn[0, 11].astype(int)
    assert blue[2] > blue[0]
    assert red[0] > red[2]
    assert white.min() > 240
