"""The pictures of the anatomy pages, as numbers."""

import numpy as np
from numpy.testing import assert_array_equal

from vizkit.figure.attention.matrix import matrix
from vizkit.figure.charts import bars, curves, dots_by_depth, framed, heat_map
from vizkit.figure.palette import SIGNED, colours
from vizkit.figure.patches import MARK, colour_strips, filter_tiles, pulled_apart, strip
from vizkit.figure.saved.panel import panel_of
from vizkit.figure.tiles import GAP, tiles
from vizkit.views.swin.bias import ranks


def test_patches_are_pulled_apart_in_reading_order():
    seen = np.zeros((4, 6, 3), np.uint8)
    for index in range(6):
        r, c = divmod(index, 3)
        seen[2 * r : 2 * r + 2, 2 * c : 2 * c + 2] = 40 * (index + 1)
    drawn = pulled_apart(seen, (2, 3), side_px=60, numbers=False)
    cell, gap = 20, 2
    assert drawn.shape == (2 * cell + gap, 3 * cell + gap, 3)
    middles = [drawn[gap + r * cell + 9, gap + c * cell + 9, 0] for r in range(2) for c in range(3)]
    assert middles == [40, 80, 120, 160, 200, 240]
    assert (drawn[0] == 255).all()  # paper between them
    framed = pulled_apart(seen, (2, 3), 4, side_px=60, numbers=False)
    assert tuple(framed[gap + cell - 1, gap + cell + 9]) == MARK
    assert not (pulled_apart(seen, (2, 3), side_px=600) == pulled_apart(seen, (2, 3), side_px=600, numbers=False)).all()


def test_a_strip_is_red_above_and_blue_below_zero():
    row = strip(np.array([-2.0, 0.0, 2.0]), height=5, width=30)
    assert row.shape == (5, 30, 3)
    low, zero, high = colours(SIGNED)[[0, 128, 255]]
    assert_array_equal([row[0, 0], row[2, 15], row[4, 29]], [low, zero, high])
    assert (strip(np.zeros(4)) == zero).all()


def test_filters_are_stretched_around_grey():
    components = np.zeros((2, 3, 2, 2))
    components[0, :, 0, 0], components[1, 0] = 3.0, -0.1
    drawn = filter_tiles(components, across=2, tile=8)
    assert drawn.shape == (8, 20, 3)
    assert tuple(drawn[0, 0]) == (255, 255, 255)
    assert tuple(drawn[7, 7]) == (128, 128, 128)
    assert tuple(drawn[0, 12]) == (0, 128, 128)  # the second filter takes from red


def test_tiles_stand_where_their_place_is():
    grid = np.zeros((2, 3, 2, 3))
    for r in range(2):
        for c in range(3):
            grid[r, c, r, c] = 1.0  # every place is like itself only
    drawn = tiles(grid, side_px=3 * (3 * 4 + GAP))
    high, zero = colours()[255], colours()[127]
    zoom = 4
    assert drawn.shape == (2 * (2 * zoom + GAP) - GAP, 3 * (3 * zoom + GAP) - GAP, 3)
    for r in range(2):
        for c in range(3):
            y, x = r * (2 * zoom + GAP), c * (3 * zoom + GAP)
            assert_array_equal(drawn[y + r * zoom + 1, x + c * zoom + 1], high)
            assert_array_equal(drawn[y + (1 - r) * zoom + 1, x + c * zoom + 1], zero)


def test_the_matrix_has_queries_down_and_keys_across():
    weights = np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]])
    red, blue = np.full((3, 3, 3), (200, 0, 0), np.uint8), np.full((3, 3, 3), (0, 0, 200), np.uint8)
    drawn = matrix(weights, ["cls", red], ["cls", red, blue], side_px=116)
    cell, thumb = 30, 30
    assert drawn.shape == (thumb + 2 * cell, thumb + 3 * cell, 3)
    assert_array_equal(drawn[thumb + 5, thumb + 5], colours()[255])
    assert_array_equal(drawn[thumb + cell + 5, thumb + cell + 5], colours()[128])
    assert_array_equal(drawn[thumb + 5, thumb + 2 * cell + 5], colours()[0])
    assert_array_equal(drawn[thumb + cell + 5, 5], [200, 0, 0])  # second query
    assert_array_equal(drawn[5, thumb + 2 * cell + 5], [0, 0, 200])  # third key


def test_charts_hold_their_numbers():
    heat = heat_map(np.array([[-3.0, 1.0]]), "x", "y", signed=True)
    assert (heat.data[0].zmin, heat.data[0].zmax) == (-3.0, 3.0)
    assert heat.layout.yaxis.autorange == "reversed"  # row 0 on top
    dots = dots_by_depth([np.array([1.0, 2.0]), np.array([3.0])], "pixels", spread=[np.zeros(2), np.ones(1)])
    assert list(dots.data[0].y) == [1, 2, 3]
    assert list(dots.data[0].customdata) == [[1, 1], [1, 2], [2, 1]]
    assert list(dots.data[0].error_y.array) == [0, 0, 1]
    ring = dots_by_depth([np.array([1.0, 2.0]), np.array([3.0])], "pixels", marked=(2, 1)).data[-1]
    assert (ring.x, ring.y, ring.customdata) == ((2.0,), (3.0,), ([2, 1],))
    lines = curves({"a": (np.array([1, 2]), np.array([3, 4]))}, "x", "y", log=True)
    assert (lines.layout.xaxis.type, list(lines.data[0].y)) == ("log", [3, 4])
    assert list(bars(["one", "two"], [0.2, 0.8], "share").data[0].x) == [0.2, 0.8]


def test_a_frame_of_cells_on_the_page_and_on_paper():
    """Two rows and one column of 3 × 3 from the second on."""
    figure = framed(heat_map(np.eye(3), "x", "y"), 1, 0, 2)
    (box,) = figure.layout.shapes
    assert (box.x0, box.x1, box.y0, box.y1) == (-0.5, 0.5, 0.5, 2.5)
    assert panel_of(figure).boxes == ((-0.5, 0.5, 0.5, 2.5),)


def test_a_saturated_bias_is_coloured_by_rank():
    """Six numbers, most at the ends: on an even scale 0.1 would look like 0; the ranks tell them apart."""
    values = np.array([[[0.0, 0.1, 0.1], [15.0, 15.9, 16.0]]])
    assert ranks(values).round(3).tolist() == [[[0.0, 0.3, 0.3], [0.6, 0.8, 1.0]]]


def test_the_colours_of_a_patch_stand_on_one_scale():
    """Of ±4 the strongest: 1, −2 in red, 4, 0 in green; white between the two."""
    red, green = np.split(colour_strips(np.array([1.0, -2.0, 4.0, 0.0]), 2), [31])
    scale = colours(SIGNED)  # 256 steps from −4 to 4
    assert red.shape[1] == green.shape[1] == 640
    assert_array_equal(green[-1, 0], scale[255])  # 4 of 4
    assert_array_equal(green[-1, -1], scale[128])  # 0
    assert_array_equal(red[0, 0], scale[159])  # 1 of 4
    assert_array_equal(red[0, -1], scale[64])  # −2 of 4
    assert (red[28:31] == 255).all()
