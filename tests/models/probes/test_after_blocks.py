"""What leaves every block: of a ViT what its trace holds, of a Swin block by block, through what leaves its stages."""

import itertools

import pytest
import torch
from torch.testing import assert_close

import vizkit
from tests.drawn import noisy_picture
from vizkit.analysis.attention.positions import depth_beside
from vizkit.models import pixels_of, trace
from vizkit.models.probes.interventions.stream import after_blocks
from vizkit.models.sources.loaded import described

IMAGE = noisy_picture(112, 112)


def blocks_of(loaded):
    made = trace(loaded, IMAGE)
    return made, *after_blocks(loaded, made, pixels_of(loaded, IMAGE))


def torchvisions():
    from torchvision.models.swin_transformer import SwinTransformer

    torch.manual_seed(0)
    model = SwinTransformer([4, 4], 8, depths=[4, 2], num_heads=[1, 2], window_size=[7, 7], num_classes=3)
    return described("small", model.eval().requires_grad_(False), (56, 56), source="test")


@pytest.mark.parametrize("name", ["bundled:insects_swin", "torchvision"])
def test_a_swin_of_four_and_two_blocks(name):
    loaded = torchvisions() if name == "torchvision" else vizkit.load(name)
    whole, noun, blocks = blocks_of(loaded)
    assert noun == "block"
    assert [each.tokens.grid for each in blocks] == [(14, 14)] * 4 + [(7, 7)] * 2
    if whole.features:  # torchvision's gives none
        for stage, last in zip(whole.features, (blocks[3], blocks[5]), strict=True):
            assert_close(stage.values, last.values)
    assert all(not torch.equal(a.values, b.values) for a, b in itertools.pairwise(blocks[:4]))


def test_a_vit_whose_trace_holds_no_blocks():
    from torchvision.models import VisionTransformer

    model = VisionTransformer(56, 14, 3, 2, 24, 48, num_classes=3).eval().requires_grad_(False)
    whole, noun, blocks = blocks_of(described("small", model, (56, 56), source="test"))
    assert (whole.features, noun) == ((), "block")
    assert [(each.tokens.grid, each.tokens.special, each.values.shape) for each in blocks] == [
        ((4, 4), ("cls",), (17, 24))
    ] * 3


def test_others_show_what_their_trace_holds():
    for name, noun, count in (("insects_vit", "block", 6), ("insects_cnn", "stage", 4), ("digits_mlp", "block", 0)):
        whole, said, blocks = blocks_of(vizkit.load(f"bundled:{name}"))
        assert blocks is whole.features
        assert (len(blocks), noun if blocks else "block") == (count, said)


def test_depths_beside_one_another():
    """Six blocks beside six are the same ones; of two stages the first ends at one half."""
    assert [depth_beside(block / 6, 6) for block in range(1, 7)] == [1, 2, 3, 4, 5, 6]
    assert [depth_beside(block / 6, 12) for block in range(1, 7)] == [2, 4, 6, 8, 10, 12]
    assert [depth_beside(block / 6, 2) for block in range(1, 7)] == [1, 1, 1, 1, 2, 2]
    assert depth_beside(2.0, 1) == 1  # a slider has two ends even where there is one block
    assert [depth_beside(block / 12, 4) for block in range(1, 13)] == [1, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4]
