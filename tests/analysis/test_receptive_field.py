"""Receptive fields: counted by hand on a small grid, and against gradients of real, random Swins."""

import pytest
import timm
import torch
from torch import nn

from tests.toys import attending, trace_of
from vizkit.analysis.swin.receptive_field import holding, receptive_fields
from vizkit.analysis.swin.shifted_windows import cut, layout
from vizkit.geometry import merging, window_ids
from vizkit.models import families
from vizkit.models.probes.swin_stages import hierarchy
from vizkit.models.sources.loaded import described
from vizkit.traces import NotApplicable, Tokens


def regions_of(loaded, size_hw):
    return [
        cut(layout(stage.grid, block.window, block.shift, pad_first=stage.pad_first).regions, block.window)
        for stage in hierarchy(loaded, size_hw)
        for block in stage.blocks
    ]


# By hand --------------------------------------------------------------------------------------------------------------


def toy():
    """8 × 8 tokens, windows of 4, the second block shifted by 2."""
    tokens, attention, regions = Tokens("tokens", (), (8, 8), stride=4.0), [], []
    for name, shift in (("plain", 0), ("shifted", 2)):
        ids = window_ids(tokens.grid, (4, 4), (shift, shift))
        weights = torch.full((len(ids), 1, 16, 16), 1 / 16)
        attention.append(attending(weights, tokens, ids, name))
        regions.append(cut(layout(tokens.grid, (4, 4), (shift, shift)).regions, (4, 4)))
    return trace_of(*attention), regions


@pytest.mark.parametrize(
    "cell, after_two",
    [
        ((0, 0), (slice(0, 4), slice(0, 4))),  # the mask keeps it with the corner of its own window
        ((3, 3), (slice(0, 8), slice(0, 8))),  # in the middle of a shifted window, which touches all four
        ((3, 7), (slice(0, 8), slice(4, 8))),
        ((7, 3), (slice(4, 8), slice(0, 8))),
    ],
)
def test_two_blocks_by_hand(cell, after_two):
    trace, regions = toy()
    first, second = receptive_fields(trace, regions, ((cell[1] + 0.5) / 8, (cell[0] + 0.5) / 8))
    assert first.cell == second.cell == cell
    expected = torch.zeros(8, 8, dtype=torch.bool)
    row, column = cell[0] // 4 * 4, cell[1] // 4 * 4
    expected[row : row + 4, column : column + 4] = True
    assert torch.equal(first.places, expected)
    expected[after_two] = True
    assert torch.equal(second.places, expected)
    assert second.share == expected.float().mean()


@pytest.mark.parametrize("cell, share", [((3, 3), 1.0), ((0, 0), 0.25), ((3, 0), 0.5), ((0, 3), 0.5), ((6, 6), 0.25)])
def test_a_merged_token_is_reached_by_every_window_that_it_lies_across(cell, share):
    """14 × 14 tokens in windows of 7, merged to 7 × 7: the token in row 4, column 4 is made of rows and columns 7, 8,
    which lie in all four windows; that in row 4, column 1 lies in two, a corner in one."""
    fine, coarse = Tokens("fine", (), (14, 14), stride=8.0), Tokens("coarse", (), (7, 7), stride=16.0)
    attention, regions = [], []
    for tokens in (fine, coarse):
        ids = window_ids(tokens.grid, (7, 7), (0, 0))
        attention.append(attending(torch.full((len(ids), 1, 49, 49), 1 / 49), tokens, ids))
        regions.append(torch.zeros_like(ids))
    attention.insert(1, merging("merging", fine, coarse))
    first, last = receptive_fields(trace_of(*attention), regions, ((cell[1] + 0.5) / 7, (cell[0] + 0.5) / 7))
    assert last.cell == cell
    assert first.own.nonzero().tolist() == [[2 * cell[0] + r, 2 * cell[1] + c] for r in (0, 1) for c in (0, 1)]
    assert (first.share, last.share) == (share, 1.0)


def test_how_much_holds_a_share():
    places = torch.tensor([[4.0, 3.0], [2.0, 1.0]])
    assert holding(places, 0.4) == 0.25
    assert holding(places, 0.41) == 0.5
    assert holding(places, 0.9) == 0.75
    assert holding(places, 1.0) == 1.0
    assert holding(torch.ones(10, 10), 0.5) == 0.5


# Against gradients ----------------------------------------------------------------------------------------------------

SMALL = {"depths": (2, 2, 2), "embed_dim": 8, "num_heads": (1, 2, 2), "num_classes": 3}
SWINS = {
    "v1": ("swin_tiny_patch4_window7_224", (64, 64), SMALL | {"window_size": 4}),
    "v1 window 7": ("swin_tiny_patch4_window7_224", (112, 84), SMALL | {"window_size": 7}),
    "v1 oblong and padded": ("swin_tiny_patch4_window7_224", (60, 92), SMALL | {"window_size": 4}),
    "v2 oblong and padded": ("swinv2_tiny_window8_256", (60, 92), SMALL | {"window_size": 4}),
}


def small(name, size_hw, options):
    """In double precision, with masks of −∞: e⁻¹⁰⁰ would not be nothing."""
    torch.manual_seed(0)
    model = timm.create_model(name, pretrained=False, img_size=size_hw, **options).eval().double()
    for path, module in model.named_modules():
        if getattr(module, "attn_mask", None) is not None:
            module.attn_mask.masked_fill_(module.attn_mask < 0, float("-inf"))
        if isinstance(module, nn.LayerNorm) and "v2" in name:
            nn.init.ones_(module.weight)  # version 2 starts at zero, where no block changes anything
        if path.endswith("qkv"):
            nn.init.normal_(module.weight, std=0.3)
    return described(name, model.requires_grad_(False), size_hw, source="test")


def gradient(loaded, pixels, path, own):
    """How much every pixel moves some tokens (row, column) right after a block, summed over colours."""
    seen = []
    block = loaded.model.get_submodule(path.removesuffix(".attn"))
    handle = block.register_forward_hook(lambda _, given, out: seen.append(out))
    pixels = pixels.clone().requires_grad_()
    loaded.model(pixels)
    handle.remove()
    tokens = seen[0][0][own]
    return (
        torch.autograd.grad((tokens * torch.linspace(1, 2, tokens.numel()).view_as(tokens)).sum(), pixels)[0]
        .abs()
        .sum((0, 1))
    )


@pytest.mark.product
@pytest.mark.parametrize("which", SWINS)
def test_outside_the_field_every_gradient_is_exactly_zero_and_inside_none(which):
    name, size_hw, options = SWINS[which]
    loaded = small(name, size_hw, options)
    pixels = torch.randn(1, 3, *size_hw, dtype=torch.float64)
    trace = families.trace(loaded, pixels)
    regions = regions_of(loaded, size_hw)
    partial = 0
    for point in ((0.02, 0.03), (0.5, 0.4), (0.97, 0.6), (0.4, 0.98)):
        for field in receptive_fields(trace, regions, point):
            moves = gradient(loaded, pixels, field.name, field.own) != 0
            pixels_of_field = field.places.repeat_interleave(4, 0).repeat_interleave(4, 1)
            assert torch.equal(moves, pixels_of_field), (field.name, field.cell)
            partial += field.share < 1
    assert partial >= 8  # else the test would say little


def test_torchvision_pads_first():
    """Its mask is −100 in the code, so what it hides moves next to nothing instead of nothing."""
    from torchvision.models.swin_transformer import SwinTransformer

    torch.manual_seed(0)
    model = SwinTransformer([4, 4], 8, depths=[2, 2], num_heads=[1, 2], window_size=[4, 4], num_classes=3)
    loaded = described("small", model.double().eval().requires_grad_(False), (72, 104), source="test")
    pixels = torch.randn(1, 3, 72, 104, dtype=torch.float64)
    trace = families.trace(loaded, pixels)
    fields = receptive_fields(trace, regions_of(loaded, (72, 104)), (0.02, 0.97))
    assert trace.attention[0].query.grid == (18, 26)
    for field in fields:
        moves = gradient(loaded, pixels, field.name, field.own)
        expected = field.places.repeat_interleave(4, 0).repeat_interleave(4, 1)
        assert torch.equal(moves > 1e-25 * moves.max(), expected), field.name
    assert fields[1].share < 1


def test_without_the_shift_nothing_crosses_a_border_within_a_stage():
    """The check can fail: these regions and ids are those of the wrong model."""
    name, size_hw, options = SWINS["v1"]
    loaded = small(name, size_hw, options)
    trace = families.trace(loaded, torch.randn(1, 3, *size_hw, dtype=torch.float64))
    plain, shifted = receptive_fields(trace, regions_of(loaded, size_hw), (0.3, 0.3))[:2]
    assert plain.share == 1 / 16  # one window of 16
    assert shifted.share == 9 / 16  # the token is made of that window, whose rows and columns meet those on both sides
    whole = [torch.zeros_like(region) for region in regions_of(loaded, size_hw)]
    corner = receptive_fields(trace, whole, (0.01, 0.01))[1]
    assert corner.share == 9 / 16  # with no mask the corner would see round the edge
    assert receptive_fields(trace, regions_of(loaded, size_hw), (0.01, 0.01))[1].share == 4 / 16


def test_what_has_no_field_says_so(vit):
    pixels = torch.randn(1, 3, 160, 160)
    trace = families.trace(vit, pixels)
    regions = [torch.zeros_like(layer.key_ids) for layer in trace.attention]
    with pytest.raises(NotApplicable, match="place"):
        receptive_fields(trace, regions, (0.5, 0.5))
    with pytest.raises(ValueError, match="regions of 0"):
        receptive_fields(trace, [], (0.5, 0.5))
