"""Blocks, tokens and costs against the formulas and against published numbers."""

from itertools import pairwise

import pytest
import timm
import torch

import vizkit
import vizkit.models.networks  # registers ours
from vizkit.models.probes.flow import flow, tokens
from vizkit.models.sources.loaded import described


def flow_of(name, size_hw=(224, 224), device="meta", **options):
    """On the meta device: everything but the numbers, in no time."""
    with torch.device(device):
        model = timm.create_model(name, **options).eval()
    return flow(described(name, model, size_hw, source="test"))


def blocks(steps):
    return [step for step in steps if "block" in step.path.lower()]


def block_cost(tokens, width):
    """Q, K, V and W_O: 4·N·D²; the MLP: 8·N·D²; Q Kᵀ and weights · V: 2·N²·D."""
    return 12 * tokens * width**2 + 2 * tokens**2 * width


@pytest.mark.product
@pytest.mark.parametrize(
    "name, size, giga",
    [
        ("deit_small_patch16_224", 224, 4.6),
        ("vit_base_patch16_384", 384, 55.4),
        ("vit_large_patch16_384", 384, 190.7),
        ("swin_tiny_patch4_window7_224", 224, 4.5),
        ("resnet50", 224, 4.1),
        ("vit_parts_base", 224, 17.5),
    ],
)
def test_costs_are_the_published_ones(name, size, giga):
    """Liu et al. 2021, table 1; ResNet-50: He et al. 2016 count 3.8, with the stride in the 3×3 convolution 4.1."""
    steps = flow_of(name, (size, size))
    assert sum(step.multiply_adds for step in steps) / 1e9 == pytest.approx(giga, rel=0.05)


def test_every_step_of_a_vit():
    steps = flow_of("vit_tiny_patch16_224", depth=2)
    assert [step.path for step in steps] == ["patch_embed", "blocks.0", "blocks.1", "norm", "head"]
    embed, block, _, _, head = steps
    assert (embed.shapes_in, embed.shapes_out) == (((3, 224, 224),), ((196, 192),))
    assert embed.multiply_adds == 196 * 768 * 192
    assert (block.tokens_in, block.tokens_out, block.kind, block.calls) == (197, 197, "Block", 1)
    assert block.multiply_adds == block_cost(197, 192)
    assert block.attention_multiply_adds == 2 * 197**2 * 192
    assert block.parameters == 12 * 192**2 + 13 * 192
    assert (head.multiply_adds, head.shapes_out) == (192 * 1000, ((1000,),))


def test_gradual_reduction_costs_less_and_less():
    steps = blocks(flow_of("gradual_reduction_small"))
    tokens = [785] * 3 + [393] * 3 + [197] * 3 + [99] * 3
    assert [step.tokens_in for step in steps] == tokens
    assert [step.multiply_adds for step in steps] == [block_cost(n, 384) for n in tokens]
    attention = [step.attention_multiply_adds for step in steps[::3]]
    for before, after in pairwise(attention):
        assert before / after == pytest.approx(4, rel=0.02)
    plain = blocks(flow_of("vit_small_patch8_224"))
    assert sum(s.parameters for s in steps) == sum(s.parameters for s in plain)
    assert sum(s.multiply_adds for s in steps) < 0.46 * sum(s.multiply_adds for s in plain)


def test_dual_scale_runs_its_first_blocks_twice():
    steps = blocks(flow_of("dual_scale_tiny"))
    assert [step.calls for step in steps] == [2] * 8 + [1] * 4
    assert {step.tokens_in for step in steps} == {784}
    assert steps[0].multiply_adds == 2 * block_cost(784, 192)
    assert steps[11].multiply_adds == block_cost(784, 192)
    # Merging: Q and K of a second stream, and its scores.
    assert steps[8].multiply_adds == block_cost(784, 192) + 2 * 784 * 192**2 + 784**2 * 192
    assert steps[8].shapes_in[:2] == ((784, 192), (784, 192))


def test_swin_counts_the_places_of_its_maps():
    steps = [step for step in flow_of("swin_tiny_patch4_window7_224") if ".blocks." in step.path]
    assert [step.tokens_in for step in steps[::2]] == [3136, 784, 196, 196, 196, 49]


def test_words_in_patches_and_square_tensors_are_not_taken_for_maps():
    """TNT's words are (patch, word, channel); a map of as many channels as rows says nothing of its order."""
    image = (3, 224, 112)
    assert tokens(((196, 16, 24),), image, channels_last=False) is None
    assert tokens(((56, 56, 56),), (3, 224, 224), channels_last=False) is None
    assert tokens(((56, 28, 28),), image, channels_last=True) == 56 * 28
    assert tokens(((64, 56, 28),), image, channels_last=False) == 56 * 28
    assert tokens((image,), image, channels_last=True) == 224 * 112


def test_a_real_pass_counts_the_same_and_leaves_the_model_alone():
    loaded = vizkit.load("bundled:digits_vit")
    steps = flow(loaded)
    assert [step.multiply_adds for step in blocks(steps)] == [block_cost(65, 96)] * 6
    assert not any(part._forward_hooks for part in loaded.model.modules())
