"""What the Architecture page is made of: counted blocks, a ViT rebuilt from our parts, and two kinds of picture."""

import numpy as np
import pytest
import timm
import torch
from safetensors.torch import save_file
from timm.models._hub import save_config_for_hf

import vizkit
from vizkit.figure.numbers import numbers, strongest
from vizkit.figure.token_colours import token_colours
from vizkit.models.networks.vit_from_parts import ViT
from vizkit.models.probes.flow import flow, tokens_in
from vizkit.models.probes.from_parts import inside
from vizkit.models.probes.unreduced import unreduced
from vizkit.traces import NotApplicable

IMAGE = (3, 224, 224)


@pytest.mark.parametrize(
    ("shape", "image", "found"),
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


# ---- from parts ------------------------------------------------------------------------------------------------------
def test_a_vit_of_timm_rebuilt_from_our_parts_gives_its_logits(digits):
    pixels = torch.randn(1, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    found = inside(digits, pixels)
    assert isinstance(found.model, ViT)
    assert found.logit_error < 1e-4
    torch.testing.assert_close(found.logits, digits.model(pixels)[0], atol=1e-4, rtol=1e-4)
    passed, depth = found.passed, len(found.model.blocks)
    assert torch.equal(found.embedded, passed["blocks.0"].given)
    patches = passed["patch_embed"].made + found.model.pos_embed[0, 1:]  # pyright: ignore
    torch.testing.assert_close(found.embedded[1:], patches)
    for i in range(depth - 1):
        assert torch.equal(passed[f"blocks.{i}"].made, passed[f"blocks.{i + 1}"].given)
    block = passed["blocks.1"]
    stream = block.given + passed["blocks.1.attn"].made  # the residual stream, by hand
    torch.testing.assert_close(block.made, stream + passed["blocks.1.mlp"].made)
    assert not any(part._forward_hooks for part in digits.model.modules())


def test_a_vit_whose_weights_are_of_another_size_than_its_input(tmp_path):
    """timm's `dynamic_img_size` stretches the positions in the pass itself."""
    timm_model = timm.create_model("test_vit", num_classes=3, img_size=48)
    save_file(timm_model.state_dict(), tmp_path / "model.safetensors", {"format": "pt"})
    save_config_for_hf(timm_model, str(tmp_path / "config.json"), {})
    loaded = vizkit.load(tmp_path, device="cpu")
    assert loaded.model.patch_embed.img_size == (48, 48)
    assert loaded.preprocessing.size_hw == (160, 160)
    pixels = torch.randn(1, 3, 160, 160, generator=torch.Generator().manual_seed(0))
    rebuilt = inside(loaded, pixels)
    assert len(rebuilt.embedded) == 1 + 10 * 10
    torch.testing.assert_close(rebuilt.logits, loaded.model(pixels)[0], atol=1e-4, rtol=1e-4)


def test_other_models_are_refused_in_a_sentence(cnn, swin):
    for loaded in (cnn, swin, vizkit.load("bundled:insects_deit", device="cpu")):
        with pytest.raises(NotApplicable, match="other parts"):
            inside(loaded, torch.zeros(1, 3, *loaded.preprocessing.size_hw))


# ---- without reductions ----------------------------------------------------------------------------------------------
def test_the_unreduced_model_is_the_plain_vit_of_the_same_weights():
    with torch.random.fork_rng():
        torch.manual_seed(3)
        loaded = vizkit.load("gradual_reduction_tiny", pretrained=False, device="cpu", image_size=(64, 64))
    pixels = torch.randn(1, 3, 64, 64, generator=torch.Generator().manual_seed(1))
    plain = unreduced(loaded)
    tokens = [step.tokens_in for step in flow(plain) if step.path.startswith("blocks.")]
    assert tokens == [65] * 12
    assert [step.tokens_in for step in flow(loaded) if step.path.startswith("blocks.")] == (
        [65] * 3 + [33] * 3 + [17] * 3 + [9] * 3
    )
    import timm

    theirs = timm.create_model("vit_tiny_patch16_224", patch_size=8, img_size=64).eval()
    theirs.load_state_dict(loaded.model.state_dict())
    with torch.no_grad():
        torch.testing.assert_close(plain.model(pixels), theirs(pixels), atol=1e-5, rtol=1e-4)
    with pytest.raises(NotApplicable):
        unreduced(vizkit.load("bundled:digits_vit", device="cpu"))


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


def test_our_own_vit_is_looked_at_as_it_is():
    with torch.random.fork_rng():
        torch.manual_seed(5)
        loaded = vizkit.load("vit_parts_tiny", pretrained=False, device="cpu", image_size=(32, 32))
    found = inside(loaded, torch.randn(1, 3, 32, 32, generator=torch.Generator().manual_seed(0)))
    assert found.model is loaded.model
    assert found.logit_error == 0
    assert found.passed["blocks.11"].made.shape == (5, 192)
    assert not any(part._forward_hooks for part in loaded.model.modules())
