"""The shift on paper against the masks and partitions that timm and torchvision really use."""

import math

import pytest
import torch
from timm.models import swin_transformer, swin_transformer_v2
from torch.testing import assert_close

from vizkit.analysis.swin import shifted_windows as paper
from vizkit.geometry import window_ids
from vizkit.traces import PADDING

BLOCKS = {
    "v1": (swin_transformer, swin_transformer.SwinTransformerBlock),
    "v2": (swin_transformer_v2, swin_transformer_v2.SwinTransformerV2Block),
}
# grid, window, shift: square and oblong, divided and padded, shifted along one axis only, and not at all
CASES = [
    ((14, 14), 7, 3),
    ((8, 8), 4, 2),
    ((16, 16), 8, 4),
    ((14, 28), 7, 3),
    ((24, 16), 8, 4),
    ((16, 24), 7, 3),
    ((18, 26), 8, 4),
    ((9, 7), 7, 3),
    ((7, 16), 7, 3),
    ((13, 22), 7, 3),
    ((15, 17), 8, 4),
    ((14, 14), 7, 0),
    ((18, 26), 8, 0),
    ((7, 7), 7, 3),
    ((5, 6), 7, 3),
]


class Untouched(torch.nn.Module):
    """In the place of attention, so that only the moving about is left."""

    def forward(self, windows, mask=None):
        return windows


@pytest.mark.parametrize("grid, window, shift", CASES)
@pytest.mark.parametrize("version", BLOCKS)
def test_mask_and_partition_are_those_of_timm(version, grid, window, shift, monkeypatch):
    module, kind = BLOCKS[version]
    cut, partition = [], module.window_partition
    monkeypatch.setattr(module, "window_partition", lambda x, size: cut.append((x, partition(x, size))) or cut[-1][1])
    block = kind(4, grid, num_heads=1, window_size=window, shift_size=shift).eval()
    found = paper.layout(grid, tuple(block.window_size), tuple(block.shift_size))
    regions = paper.cut(found.regions, found.window)
    if block.attn_mask is None:
        assert not any(found.shift)
        assert not found.regions.any()
    else:
        drawn, parts = cut[-1]
        assert torch.equal(found.regions, drawn[0, ..., 0].long())
        assert torch.equal(regions, parts.flatten(1).long())
        assert block.attn_mask.shape[0] == found.count
        for index, mask in enumerate(block.attn_mask):
            assert torch.equal(paper.allowed(found, index), mask == 0)
            assert set(mask.unique().tolist()) <= {0.0, -100.0}

    # The ids: what timm's own roll, padding and partition make of the numbers 1, 2, 3 …, 0 being padding.
    block.attn = Untouched()
    numbers = torch.arange(1.0, grid[0] * grid[1] + 1).view(1, *grid, 1).expand(-1, -1, -1, 4)
    cut.clear()
    assert torch.equal(block._attn(numbers), numbers)
    rolled, parts = cut[0]
    assert torch.equal(found.ids, rolled[0, ..., 0].long() - 1)
    assert torch.equal(paper.cut(found.ids, found.window), parts[..., 0].flatten(1).long() - 1)
    assert torch.equal(paper.cut(found.ids, found.window), window_ids(grid, found.window, found.shift))


@pytest.mark.parametrize("grid, window, shift", [c for c in CASES if c[1] <= min(c[0])])
def test_mask_is_that_of_torchvision(grid, window, shift):
    """Its mask is made inside the function, so the weights tell: alike contents, and a forbidden pair gets e⁻¹⁰⁰."""
    from torchvision.models.swin_transformer import shifted_window_attention

    torch.manual_seed(0)
    shift = tuple(shift if side > window else 0 for side in grid)
    found = paper.layout(grid, (window, window), shift, pad_first=True)
    x = torch.randn(1, *grid, 1).double()
    ids, area = paper.cut(found.ids, found.window), window * window
    values = torch.where(ids == PADDING, 0.0, x.flatten()[ids])
    expected = torch.zeros(grid[0] * grid[1]).double()
    for index in range(found.count):
        mixed, real = paper.evenly(paper.allowed(found, index)).double() @ values[index], ids[index] != PADDING
        expected[ids[index][real]] = mixed[real]
    qkv = torch.tensor([[0.0], [0.0], [1.0]]).double()  # no scores, the value is the token
    bias, one = torch.zeros(1, 1, area, area).double(), torch.ones(1, 1).double()
    out = shifted_window_attention(x, qkv, one, bias, [window, window], 1, list(shift))
    assert_close(out.flatten(), expected)


def test_the_teaching_grid_by_hand():
    """8 × 8 tokens, windows of 4 × 4, shifted by 2 (Liu et al. 2021, fig. 4)."""
    found = paper.layout((8, 8), (4, 4), (2, 2))
    assert found.windows[[0, 0, 7, 7], [3, 4, 3, 4]].tolist() == [0, 1, 2, 3]
    assert [int(paper.allowed(found, w).sum()) for w in range(4)] == [256, 128, 128, 64]
    assert paper.window_of(found, 0) == (3, 10)
    assert paper.window_of(found, 63) == (3, 5)
    corner = paper.evenly(paper.allowed(found, 3))
    assert corner[10].tolist() == pytest.approx([0] * 10 + [0.25, 0.25, 0, 0, 0.25, 0.25])
    pieces = paper.pieces(found)
    assert len(pieces.unique()) == 9
    assert sorted(pieces.unique(return_counts=True)[1].tolist()) == [4] * 4 + [8] * 4 + [16]
    assert (pieces[:2, :2] == pieces[0, 0]).all()
    assert pieces[0, 0] != pieces[0, 2]


def test_an_oblong_and_padded_grid_by_hand():
    """3 × 5 tokens in windows of 2 × 3, shifted by 1: rolled, then padded to 4 × 6."""
    found = paper.layout((3, 5), (2, 3), (1, 1))
    assert found.ids.tolist() == [[6, 7, 8, 9, 5, -1], [11, 12, 13, 14, 10, -1], [1, 2, 3, 4, 0, -1], [-1] * 6]
    assert found.windows.tolist() == [[0, 0, 0, 1, 1, 1]] * 2 + [[2, 2, 2, 3, 3, 3]] * 2
    assert found.count == 4
    assert found.regions.tolist() == [[0, 0, 0, 1, 1, 2]] * 2 + [[3, 3, 3, 4, 4, 5], [6, 6, 6, 7, 7, 8]]
    # (region, places, padding): the pieces of each window.
    assert [paper.members(found, window) for window in range(4)] == [
        [(0, 6, 0)],
        [(1, 4, 0), (2, 2, 2)],
        [(3, 3, 0), (6, 3, 3)],
        [(4, 2, 0), (5, 1, 1), (7, 2, 2), (8, 1, 1)],
    ]
    assert [paper.window_of(found, token) for token in (6, 13, 5, 4)] == [(0, 0), (0, 5), (1, 1), (3, 0)]
    assert paper.pieces(found).tolist() == [[31, 21, 21, 21, 31], [10, 0, 0, 0, 10], [10, 0, 0, 0, 10]]
    assert [paper.strangers(found, window) for window in range(4)] == [0, 8, 0, 2]


def test_without_a_shift_nothing_moves():
    found = paper.layout((3, 5), (2, 3))
    assert (found.shift, found.pad_first) == ((0, 0), False)
    assert found.ids.tolist() == [[0, 1, 2, 3, 4, -1], [5, 6, 7, 8, 9, -1], [10, 11, 12, 13, 14, -1], [-1] * 6]
    assert not found.regions.any()


def test_a_forbidden_pair_keeps_what_minus_one_hundred_leaves():
    found = paper.evenly(torch.tensor([[True, False], [True, True]]))
    assert found[0].tolist() == pytest.approx([1, math.exp(-100)], rel=0.1, abs=0)
    assert found[1].tolist() == [0.5, 0.5]


@pytest.mark.parametrize("pad_first", [False, True])
@pytest.mark.parametrize("grid, window, shift", CASES)
def test_pieces_are_connected_but_where_timm_pads_after_the_roll(grid, window, shift, pad_first):
    window = tuple(min(window, side) for side in grid)
    shift = tuple(shift if side > extent else 0 for side, extent in zip(grid, window, strict=True))
    found = paper.layout(grid, window, shift, pad_first=pad_first)
    padded = any(side % extent and by for side, extent, by in zip(grid, window, shift, strict=True))
    met = sum(paper.strangers(found, index) for index in range(found.count))
    assert bool(met) == (padded and not pad_first)
    if not met:
        for piece in paper.pieces(found).unique():
            rows, columns = (paper.pieces(found) == piece).nonzero().T
            assert (rows.max() - rows.min() + 1) * (columns.max() - columns.min() + 1) == len(rows)


def test_strangers_by_hand():
    """A row of 5 tokens in windows of 3, shifted by 1: rolled 1 2 3 | 4 0 –, and the mask cuts before the padding."""
    found = paper.layout((1, 5), (1, 3), (0, 1))
    assert found.ids.tolist() == [[1, 2, 3, 4, 0, PADDING]]
    assert (found.regions[0] % 3).tolist() == [0, 0, 0, 1, 1, 2]
    assert [paper.strangers(found, w) for w in (0, 1)] == [0, 2]  # 4 → 0 and 0 → 4
    tall = paper.layout((5, 8), (3, 8), (1, 0))  # rows 4 and 0 meet: further apart than 3, nearer than 8
    assert [paper.strangers(tall, w) for w in (0, 1)] == [0, 2 * 8 * 8]
    right = paper.layout((1, 5), (1, 3), (0, 1), pad_first=True)
    assert right.ids.tolist() == [[1, 2, 3, 4, PADDING, 0]]
    assert [paper.strangers(right, w) for w in (0, 1)] == [0, 0]


@pytest.mark.parametrize(
    "grid, window, shift",
    [
        ((0, 8), (4, 4), (2, 2)),
        ((8, 8), (4, 4), (4, 0)),
        ((8, 8), (0, 4), (0, 0)),
        ((8, 8), (4, 4), (0, 5)),
        ((8, 8), (4, 4), (-1, 0)),
    ],
)
def test_impossible_cuts_are_refused(grid, window, shift):
    with pytest.raises(ValueError, match="do not cut"):
        paper.layout(grid, window, shift)


def test_a_token_that_is_not_there():
    with pytest.raises(KeyError):
        paper.window_of(paper.layout((8, 8), (4, 4)), 64)
    with pytest.raises(KeyError):
        paper.window_of(paper.layout((5, 5), (4, 4)), PADDING)
