"""The image as a sequence: patches by hand, against a convolution, their cost, filters, similarities and norms."""

import copy
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

import vizkit
from tests.toys import trace_of
from vizkit.analysis.attention.patches import (
    cost,
    exchanged,
    fitting_sizes,
    grid_of,
    main_patterns,
    patchify,
    permutation,
    shuffle,
    unpatchify,
)
from vizkit.analysis.attention.token_norms import norms_of, token_norms
from vizkit.datasets import samples
from vizkit.models.probes.parts import patch_embedding
from vizkit.traces import Features, NotApplicable, Tokens


def test_patches_are_cut_row_by_row_and_flattened_channel_row_column():
    pixels = torch.arange(24).view(1, 4, 6)
    expected = [[0, 1, 6, 7], [2, 3, 8, 9], [4, 5, 10, 11], [12, 13, 18, 19], [14, 15, 20, 21], [16, 17, 22, 23]]
    assert patchify(pixels, 2).tolist() == expected
    two = torch.cat([pixels, pixels + 100])
    assert patchify(two, 2)[1].tolist() == [2, 3, 8, 9, 102, 103, 108, 109]


def test_pairs_are_exchanged_one_after_the_other():
    order = torch.tensor([4, 3, 2, 1, 0])
    assert exchanged(order, [(0, 1), (1, 4), (2, 9)]).tolist() == [3, 0, 2, 1, 4]  # there is no place 9
    assert order.tolist() == [4, 3, 2, 1, 0]


@pytest.mark.parametrize("name, size", [("test_vit", (48, 80)), ("swin_tiny_patch4_window7_224", (28, 44))])
def test_patches_times_weight_are_what_timm_embeds(name, size):
    torch.manual_seed(0)
    loaded = vizkit.load(name, pretrained=False, image_size=size)
    pixels = torch.randn(1, 3, *size)
    found = patch_embedding(loaded, pixels)
    assert found.bias is not None
    patch = found.weight.shape[-1]
    assert found.vectors.shape[:2] == (size[0] // patch, size[1] // patch)
    embedded = patchify(pixels[0], patch) @ found.weight.flatten(1).T + found.bias
    norm = loaded.model.patch_embed.norm  # Swin normalises after the convolution
    assert_close(norm(embedded).detach().view_as(found.vectors), found.vectors, rtol=1e-4, atol=1e-5)


def test_a_hybrid_embeds_a_feature_map_and_a_cnn_nothing(cnn):
    loaded = vizkit.load("vit_small_r26_s32_224", pretrained=False, image_size=(64, 96), model_args={"depth": 1})
    found = patch_embedding(loaded, torch.randn(1, 3, 64, 96))
    assert found.weight is None
    assert found.vectors.shape == (2, 3, 384)
    assert found.feature_map.shape[1:] == (2, 3)
    projected = loaded.model.patch_embed.proj(found.feature_map[None])[0].permute(1, 2, 0)
    assert_close(projected.detach(), found.vectors, rtol=1e-4, atol=1e-4)
    with pytest.raises(NotApplicable, match="grid of patches"):
        patch_embedding(cnn, torch.randn(1, 3, 160, 160))


@settings(deadline=None)
@given(st.integers(1, 3), st.integers(1, 4), st.integers(1, 4), st.integers(1, 5), st.integers(0, 99))
def test_cutting_and_shuffling_can_be_undone(channels, rows, columns, patch, seed):
    pixels = torch.arange(channels * rows * columns * patch * patch).view(channels, rows * patch, columns * patch)
    assert torch.equal(unpatchify(patchify(pixels, patch), (rows, columns), patch), pixels)
    order = permutation(rows * columns, seed)
    assert torch.equal(shuffle(shuffle(pixels, patch, order), patch, order.argsort()), pixels)
    assert torch.equal(patchify(shuffle(pixels, patch, order), patch), patchify(pixels, patch)[order])


def test_an_order_repeats_with_its_seed():
    assert torch.equal(permutation(97, 5), permutation(97, 5))
    assert not torch.equal(permutation(97, 5), permutation(97, 6))
    assert permutation(97, 5).sort().values.tolist() == list(range(97))


@pytest.mark.parametrize("size, patch, grid", [(224, 16, (14, 14)), (224, 8, (28, 28)), (224, 4, (56, 56))])
def test_golden_token_counts(size, patch, grid):
    found = cost((size, size), patch, 768)
    assert (found.grid, found.tokens) == (grid, grid[0] * grid[1])
    assert found.tokens in (196, 784, 3136)


def test_cost_by_hand():
    # 2 × 3 patches of 14 pixels, 5 channels: 4·6·25 = 600 for projections, 2·36·5 = 360 for the products; an
    # MLP 20 wide: 2·6·5·20 = 1,200.
    found = cost((28, 42), 14, 5)
    assert (found.attention, found.mlp, found.layer, found.pairs) == (960, 1200, 2160, 6 * 6)
    # Windows of 2×2 tokens: 2·4·6·5 = 240 for the products; a token compares itself with 4.
    windowed = cost((28, 42), 14, 5, window=2)
    assert (windowed.attention, windowed.pairs) == (840, 6 * 4)


def test_cost_is_what_a_counter_finds():
    from timm.layers import Attention
    from timm.models.swin_transformer import WindowAttention
    from torch.utils.flop_counter import FlopCounterMode

    tokens, dim, heads = 6 * 10, 22, 2

    def counted(module, x):
        module.fused_attn = False  # the counter does not know every fused kernel
        with FlopCounterMode(display=False) as counter:
            module(x)
        return counter.get_total_flops() / 2  # it counts multiplications and additions

    found = counted(Attention(dim, heads).eval(), torch.randn(1, tokens, dim))
    assert found == cost((6 * 7, 10 * 7), 7, dim).attention
    found = counted(WindowAttention(dim, heads, window_size=2).eval(), torch.randn(tokens // 4, 4, dim))
    assert found == cost((6 * 7, 10 * 7), 7, dim, window=2).attention


@settings(deadline=None)
@given(st.integers(1, 20), st.integers(1, 20), st.integers(1, 50))
def test_windows_grow_with_the_area_and_global_attention_with_its_square(rows, columns, dim):
    def products(factor, window):
        size = (rows * 8 * factor, columns * 8 * factor)
        found = cost(size, 8, dim, window)
        return found.attention - 4 * found.tokens * dim * dim

    assert products(2, None) == 16 * products(1, None)
    assert products(2, 7) == 4 * products(1, 7)


@settings(deadline=None)
@given(st.integers(1, 3000), st.integers(1, 64))
def test_fitting_sizes_are_the_nearest(size, patch):
    below, above = fitting_sizes(size, patch)
    assert below % patch == above % patch == 0
    assert 0 < above - size < patch or above == size or size < patch
    assert below == above if size % patch == 0 or size < patch else below == above - patch


def test_a_patch_that_does_not_divide_names_the_sizes_that_do():
    assert grid_of((48, 80), 16) == (3, 5)
    with pytest.raises(NotApplicable, match=r"height of 225 .* 224 or 240"):
        grid_of((225, 224), 16)
    with pytest.raises(NotApplicable, match=r"width of 7 .* works: 16"):
        grid_of((16, 7), 16)
    with pytest.raises(NotApplicable):
        patchify(torch.zeros(3, 5, 7), 2)
    with pytest.raises(NotApplicable):
        cost((32, 32), 0, 8)


def two_directions():
    """7 filters (2 channels, 3×5) around a mean along two orthogonal directions, with three times the spread in one."""
    torch.manual_seed(0)
    along = torch.linalg.qr(torch.randn(30, 2)).Q.T  # 2 numbers
    along = along * torch.where(along.gather(1, along.abs().argmax(1, keepdim=True)) < 0, -1, 1)
    amount = torch.tensor([-3.0, -2, -1, 0, 1, 2, 3]) * 3
    other = torch.tensor([1.0, 0, -1, 0, -1, 0, 1]) / 2**0.5 * 2.0  # at right angles to `amount`
    weight = torch.randn(30) + amount[:, None] * along[0] + other[:, None] * along[1]
    return weight.view(7, 2, 3, 5), along.view(2, 2, 3, 5)


def test_principal_filters_of_a_known_cloud():
    weight, along = two_directions()
    patterns = main_patterns(weight, 28)
    assert patterns.shape == (6, 2, 3, 5)  # seven filters span six directions around their mean
    assert_close(patterns[:2], along, rtol=1e-4, atol=1e-4)


def test_the_sign_of_a_component_does_not_depend_on_the_sign_of_the_filters():
    weight, _ = two_directions()
    assert_close(main_patterns(-weight, 2), main_patterns(weight, 2), rtol=1e-4, atol=1e-4)


def test_first_28_components_of_a_model(vit):
    patterns = main_patterns(vit.model.patch_embed.proj.weight.detach(), 28)
    assert patterns.shape == (28, 3, 16, 16)
    flat = patterns.flatten(1)
    assert_close(flat @ flat.T, torch.eye(28), rtol=1e-4, atol=1e-4)


# ---- token norms ---------------------------------------------------------------------------------------------------
def test_outliers_by_hand():
    # Patches 1 2 3 4 100: median 3; the logarithms deviate by ln 3 − ln 2 in the median: the threshold is 3 · 1.5⁵.
    # The class token of length 50 is no patch.
    values = torch.zeros(6, 3)
    values[:, 1] = torch.tensor([50.0, 1, 2, 3, 4, 100])
    found = norms_of(Features("f", values, Tokens("patches", ("cls",), (1, 5))))
    assert (found.lower, found.median, found.upper) == (2, 3, 4)
    assert found.threshold == pytest.approx(3 * 1.5**5)
    assert found.special == {"cls": 50}
    assert found.patches.tolist() == [1, 2, 3, 4, 100]
    assert found.norms.tolist() == [50, 1, 2, 3, 4, 100]
    assert found.outliers.tolist() == [False, False, False, False, False, True]


@pytest.mark.parametrize("longest, count, outliers", [(1.9, 1, 0), (2.1, 1, 1), (9.0, 4, 4), (9.0, 5, 0)])
def test_an_outlier_is_twice_as_long_as_the_median_and_one_of_few(longest, count, outliers):
    """Of 40 patches of nearly one length: a tenth is 4."""
    values = torch.zeros(40, 2)
    values[:, 0] = torch.linspace(0.99, 1.01, 40)
    values[:count, 0] = longest
    assert int(norms_of(Features("f", values, Tokens("patches", (), (5, 8)))).outliers.sum()) == outliers


def test_planted_outliers_of_a_model_are_found_where_they_lie_and_no_others():
    """As in Darcet et al. 2024: two patches are several times as long as all others, from a block on to the last."""
    loaded = vizkit.load("bundled:digits_vit")
    planted = copy.deepcopy(loaded.model)
    block, places = planted.blocks[2], torch.tensor([1 + 9, 1 + 54])

    def store(module, given, tokens):
        longer = tokens.clone()
        longer[:, places, 0] += 6 * tokens.norm(dim=-1).median()
        return longer

    block.register_forward_hook(store)
    rgb = samples.picture("digit 3")
    found = token_norms(vizkit.trace(replace(loaded, model=planted), rgb))
    assert not any(each.outliers.any() for each in found[:2])
    for each in found[2:]:
        assert each.outliers.nonzero().flatten().tolist() == places.tolist()
    assert not any(each.outliers.any() for each in token_norms(vizkit.trace(loaded, rgb)))


@pytest.mark.product
@pytest.mark.parametrize("name", ["china", "astronaut", "cat", "coffee", "rocket", "flower"])
def test_the_model_of_photographs_has_no_outliers(name):
    loaded = vizkit.load("bundled:photographs_vit")
    assert not any(each.outliers.any() for each in token_norms(vizkit.trace(loaded, samples.picture(name))))


def test_equal_lengths_have_no_outliers():
    torch.manual_seed(0)
    unit = F.normalize(torch.randn(35, 11), dim=1)
    assert not norms_of(Features("f", unit, Tokens("patches", (), (5, 7)))).outliers.any()


def test_norms_of_a_model(vit, photo):
    trace = vizkit.trace(vit, photo)
    found = token_norms(trace)
    assert len(found) == 6
    for one, features in zip(found, trace.features, strict=True):
        assert_close(one.norms, (features.values**2).sum(1).sqrt())
    with pytest.raises(NotApplicable):
        token_norms(trace_of())
