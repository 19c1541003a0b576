"""Where tokens are: by hand on small grids, and against timm's own partition functions."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from timm.models.maxxvit import grid_partition
from timm.models.swin_transformer import window_partition

from vizkit.geometry import (
    all_ids,
    along,
    cell_of,
    id_at,
    id_of,
    into_box,
    merging,
    name_of,
    on_grid,
    out_of_box,
    pixel_box,
    steps_px,
    window_ids,
)
from vizkit.traces import PADDING, Tokens, TraceError, dense

SPECIALS = {0: (), 1: ("cls",), 2: ("cls", "dist"), 5: ("cls", "reg1", "reg2", "reg3", "reg4")}


@pytest.fixture(params=SPECIALS)
def tokens(request):
    """3 rows, 5 columns, two slots without a place behind them; cells are 4 pixels apart."""
    return Tokens("patches", SPECIALS[request.param], (3, 5), free=2, stride=4.0)


def test_cells_by_hand(tokens):
    first = len(tokens.special)
    assert cell_of(tokens, first) == (0, 0)
    assert cell_of(tokens, first + 4) == (0, 4)
    assert cell_of(tokens, first + 5) == (1, 0)
    assert cell_of(tokens, first + 14) == (2, 4)


def test_only_cells_have_a_place(tokens):
    first = len(tokens.special)
    for token in (*range(first), PADDING, first + 15, first + 16):
        assert cell_of(tokens, token) is None
        assert pixel_box(tokens, token, (12, 20)) is None
    assert cell_of(Tokens("free", free=4), 0) is None


def test_id_of_is_the_inverse_of_cell_of(tokens):
    cells = [(row, column) for row in range(3) for column in range(5)]
    assert [id_of(tokens, cell) for cell in cells] == [*range(len(tokens.special), len(tokens.special) + 15)]
    assert [cell_of(tokens, id_of(tokens, cell)) for cell in cells] == cells


@pytest.mark.parametrize("cell", [(3, 0), (0, 5), (-1, 0), (0, -1)])
def test_id_of_refuses_cells_off_the_grid(tokens, cell):
    with pytest.raises(ValueError, match="not on the 3 × 5 grid of patches"):
        id_of(tokens, cell)


def test_id_of_refuses_tokens_without_a_grid():
    with pytest.raises(ValueError, match="0 × 0"):
        id_of(Tokens("free", free=4), (0, 0))


def test_pixel_box_by_hand(tokens):
    first = len(tokens.special)
    assert pixel_box(tokens, first, (12, 20)) == (0, 0, 4, 4)
    assert pixel_box(tokens, first + 5 + 3, (12, 20)) == (12, 4, 16, 8)
    assert pixel_box(tokens, first + 14, (12, 20)) == (16, 8, 20, 12)
    assert pixel_box(tokens, first + 5 + 3, (30, 20)) == (12, 10, 16, 20)  # oblong cells


def test_boxes_tile_the_picture(tokens):
    seen = torch.zeros(12, 20)
    for token in range(len(tokens)):
        box = pixel_box(tokens, token, (12, 20))
        if box:
            x0, y0, x1, y1 = map(int, box)
            seen[y0:y1, x0:x1] += 1
    assert (seen == 1).all()


def test_fractions_of_a_box_and_of_its_picture():
    box, size_hw = (20.0, 10.0, 60.0, 50.0), (60, 80)
    assert out_of_box((0.5, 0.25), box, size_hw) == pytest.approx((0.5, 20 / 60))
    assert into_box((0.5, 20 / 60), box, size_hw) == pytest.approx((0.5, 0.25))


def test_points_go_through_a_shape_from_end_to_end():
    """A line from the lower left to the upper right of a grid of 4 × 4, and a place off it covered by half."""
    covered = torch.eye(4).flip(0)
    covered[0, 0] = 0.5
    by_hand = [(0.125, 0.875), (0.375, 0.625), (0.625, 0.375), (0.875, 0.125)]
    assert along(covered, 4) in (by_hand, by_hand[::-1])
    assert along(covered, 2) in ([(0.25, 0.75), (0.75, 0.25)], [(0.75, 0.25), (0.25, 0.75)])
    assert along(covered, 5) == []


def test_names(tokens):
    first = len(tokens.special)
    assert name_of(tokens, first) == "row 1, column 1"
    assert name_of(tokens, first + 5 + 3) == "row 2, column 4"
    assert name_of(tokens, first + 15) == f"token {first + 16}"
    if first:
        assert name_of(tokens, 0) == "[cls]"


@given(row=st.integers(0, 2), column=st.integers(0, 4), x=st.floats(0.01, 0.99), y=st.floats(0.01, 0.99))
def test_id_at_finds_the_cell_under_a_point(row, column, x, y):
    tokens = Tokens("patches", ("cls",), (3, 5))
    assert id_at(tokens, ((column + x) / 5, (row + y) / 3)) == id_of(tokens, (row, column))


def test_id_at_the_edges():
    tokens = Tokens("patches", ("cls",), (3, 5))
    assert id_at(tokens, (1.0, 1.0)) == 15
    assert id_at(tokens, (-0.5, 2.0)) == 11
    assert id_at(Tokens("free", free=4), (0.5, 0.5)) is None


def test_distances_where_a_token_stands_for_a_rectangle():
    """Three rows of two cells, 4 pixels wide and 12 high."""
    tokens = Tokens("patches", ("cls",), (3, 2), stride=4.0, aspect=3.0)
    assert steps_px(tokens).tolist() == [12, 4]


def test_all_ids_is_one_group_in_order():
    assert all_ids(4).tolist() == [[0, 1, 2, 3]]


def test_window_ids_of_the_teaching_example():
    """8 × 8 tokens, windows of 4 × 4, shifted by 2 (Liu et al. 2021, fig. 2 and 4)."""
    plain = window_ids((8, 8), (4, 4))
    assert plain[0].tolist() == [0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27]
    assert plain[1, 0] == 4
    assert plain[2, 0] == 32
    shifted = window_ids((8, 8), (4, 4), (2, 2))
    assert shifted[0, :4].tolist() == [18, 19, 20, 21]  # starts at row 2, column 2
    assert shifted[0, -1] == 45
    # The last window joins the four corners of the picture.
    assert shifted[3].tolist() == [54, 55, 48, 49, 62, 63, 56, 57, 6, 7, 0, 1, 14, 15, 8, 9]


def test_windows_and_shifts_that_differ_down_and_right():
    """4 × 6 tokens in windows of 2 × 3, which begin at row 1, column 2."""
    assert window_ids((4, 6), (2, 3), (1, 2)).tolist() == [
        [8, 9, 10, 14, 15, 16],
        [11, 6, 7, 17, 12, 13],
        [20, 21, 22, 2, 3, 4],
        [23, 18, 19, 5, 0, 1],
    ]


def test_window_ids_padded_by_hand():
    """3 × 5 tokens in windows of 2: padded to 4 × 6 at the bottom and on the right."""
    assert window_ids((3, 5), (2, 2)).tolist() == [
        [0, 1, 5, 6],
        [2, 3, 7, 8],
        [4, PADDING, 9, PADDING],
        [10, 11, PADDING, PADDING],
        [12, 13, PADDING, PADDING],
        [14, PADDING, PADDING, PADDING],
    ]


def test_padding_before_or_after_the_roll():
    after, before = window_ids((3, 3), (2, 2), (1, 1)), window_ids((3, 3), (2, 2), (1, 1), pad_first=True)
    assert after.tolist() == [[4, 5, 7, 8], [3, PADDING, 6, PADDING], [1, 2, PADDING, PADDING], [0, -1, -1, -1]]
    # The padding lies at row 3 and column 3 and is rolled into the middle.
    assert before.tolist() == [[4, 5, 7, 8], [PADDING, 3, PADDING, 6], [PADDING, PADDING, 1, 2], [-1, -1, -1, 0]]


@pytest.mark.parametrize("grid", [(56, 56), (64, 32), (14, 28), (37, 25), (7, 7), (9, 16)])
@pytest.mark.parametrize("window", [7, 8])
@pytest.mark.parametrize("shifted", [False, True])
def test_window_ids_are_timms_partition_of_an_index_image(grid, window, shifted):
    rows, columns = grid
    shift = window // 2 if shifted else 0
    index = torch.arange(rows * columns).view(1, rows, columns, 1).roll((-shift, -shift), (1, 2))
    index = F.pad(index, (0, 0, 0, -columns % window, 0, -rows % window), value=PADDING)
    expected = window_partition(index, (window, window)).flatten(1)
    assert torch.equal(window_ids(grid, (window, window), (shift, shift)), expected)


@pytest.mark.parametrize("grid", [(8, 8), (14, 28), (21, 7)])
@pytest.mark.parametrize("cells", [(7, 7), (2, 4), (1, 1)])
def test_dilated_is_maxvits_grid_partition(grid, cells):
    if grid[0] % cells[0] or grid[1] % cells[1]:
        with pytest.raises(AssertionError, match="must be divisible"):
            grid_partition(torch.zeros(1, *grid, 1), list(cells))
        return
    index = torch.arange(grid[0] * grid[1]).view(1, *grid, 1)
    expected = grid_partition(index, list(cells)).flatten(1)
    assert torch.equal(window_ids(grid, cells, dilated=True), expected)


@settings(deadline=None)
@given(
    grid=st.tuples(st.integers(1, 23), st.integers(1, 23)),
    window=st.tuples(st.integers(1, 9), st.integers(1, 9)),
    shift=st.tuples(st.integers(0, 4), st.integers(0, 4)),
    pad_first=st.booleans(),
    dilated=st.booleans(),
)
def test_every_token_stands_in_one_window(grid, window, shift, pad_first, dilated):
    ids = window_ids(grid, window, shift, pad_first=pad_first, dilated=dilated)
    real = ids[ids != PADDING]
    assert real.sort().values.tolist() == [*range(grid[0] * grid[1])]
    assert ids.shape == (-(-grid[0] // window[0]) * -(-grid[1] // window[1]), window[0] * window[1])


def test_merging_by_hand():
    small, large = Tokens("after", grid=(2, 3), stride=8.0), Tokens("before", grid=(4, 6), stride=4.0)
    merge = merging("merging 1", large, small)
    assert not merge.learned
    assert merge.weights.shape == (6, 1, 1, 4)
    rows = dense(merge)[0]
    assert rows.shape == (6, 24)
    assert rows[4].nonzero().flatten().tolist() == [14, 15, 20, 21]  # cell (1, 1) is rows 2–3, columns 2–3
    assert set(rows.unique().tolist()) == {0.0, 0.25}
    assert torch.equal(rows.sum(-1), torch.ones(6))
    assert torch.equal(rows.sum(0), torch.full((24,), 0.25))


def test_merging_of_an_odd_grid_gives_the_edge_to_padding():
    merge = merging("merging 1", Tokens("before", grid=(3, 5)), Tokens("after", grid=(2, 3)))
    assert dense(merge)[0].sum(-1).tolist() == [1.0, 1.0, 0.5, 0.5, 0.5, 0.25]


def test_merging_of_strips():
    merge = merging("merging 1", Tokens("before", grid=(3, 4)), Tokens("after", grid=(3, 2)), window=(1, 2))
    assert merge.weights.shape == (6, 1, 1, 2)
    assert dense(merge)[0, 3].tolist() == [0] * 6 + [0.5, 0.5] + [0] * 4


def test_tokens_without_places_are_not_merged():
    with pytest.raises(TraceError, match="there is no query"):
        merging("merging 1", Tokens("before", free=4), Tokens("after", free=1))


def test_numbers_by_id_lie_where_their_tokens_do():
    tokens = Tokens("patches", ("cls",), (2, 3), free=1)
    ids = torch.tensor([0, 1, 4, 6, 7, PADDING])  # the class token, three cells, a slot without a place, padding
    found = on_grid(torch.tensor([9, 1, 4, 6, 8, 8], dtype=torch.float16), ids, tokens)
    assert found.dtype == torch.float32
    assert found.nan_to_num(-1).tolist() == [[1, -1, -1], [4, -1, 6]]
    assert on_grid(torch.ones(1), torch.tensor([0]), Tokens("free", free=4)).shape == (0, 0)
