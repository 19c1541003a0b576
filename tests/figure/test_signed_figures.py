"""Signed maps, the matrix in blocks, the curves of removal: pictures tested as numbers."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from vizkit.figure.attention.head_grid import head_grid
from vizkit.figure.attention.matrix import blocks
from vizkit.figure.evaluation.removal_curves import removal_curves
from vizkit.figure.overlay import overlay
from vizkit.figure.palette import CEILING, SIGNED, colours
from vizkit.figure.scales import between
from vizkit.figure.vector import vector_overlay

GREY = np.full((10, 30, 3), 100, np.uint8)
WHOLE = (0.0, 0.0, 30.0, 10.0)
BOTH = between(-2, 2, signed=True)
SPEAKS = np.array([[-2.0, 0.0, 1.0]])


def test_blue_and_red_are_as_far_from_white():
    table = colours(SIGNED).astype(int)
    assert table[0].tolist() == [5, 48, 97]
    assert table[255].tolist() == [103, 0, 31]
    assert (abs(table[127] - 247) <= 3).all()
    assert (abs(table[128] - 247) <= 3).all()
    assert table[60][2] > table[60][0] + 60  # blue below zero
    assert table[195][0] > table[195][2] + 60  # red above


def test_the_bar_of_heads_has_both_ends_with_zero_in_the_middle_and_shares_in_per_cent():
    def marks(**more):
        bar = head_grid(np.array([[0.02, 0.09]]), **more).data[0].colorbar
        assert bar.len < 1, "plotly leaves out an end that has no room"
        return [*zip(bar.tickvals, bar.ticktext, strict=True)]

    assert marks(signed=True) == [(-0.09, "−0.09"), (0, "0"), (0.09, "0.09")]
    assert [text for _, text in marks(share=True)] == ["2 %", "9 %"]
    *_, veil = head_grid(np.array([[0.02, 0.09]]), signed=True, chance={(0, 1)}).data
    assert 0.09 * (1 - veil.opacity) < 0.02, "what may be chance is paler than what is none"


def test_nothing_is_painted_where_a_signed_map_is_zero():
    drawn = overlay(GREY, SPEAKS, WHOLE, scale=BOTH)
    assert_allclose(drawn[5, 15], [73, 73, 73], atol=1)
    assert_array_equal(drawn[5, 5], np.round((1 - CEILING) * 73 + CEILING * colours(SIGNED)[0]))
    half = CEILING * (191 / 127.5 - 1)
    assert_array_equal(drawn[5, 25], np.round((1 - half) * 73 + half * colours(SIGNED)[191]))


def test_values_beyond_the_last_colour_stay_on_it():
    levels = BOTH.levels(np.array([[-9.0, 9.0]]))
    assert levels.tolist() == [[0, 255]]
    assert BOTH.opacities(levels).tolist() == [[CEILING, CEILING]]


def test_a_drawing_says_signed_numbers():
    svg = vector_overlay(GREY, SPEAKS, WHOLE, scale=BOTH)
    assert "column 1: −2" in svg
    assert 'fill-opacity="0.004"' in svg  # zero lies between two of 256 colours


def test_a_large_matrix_shows_the_largest_of_each_block():
    weights = np.zeros((3, 6))
    weights[2, 5], weights[0, 0] = 1.0, 0.5
    drawn = blocks(weights, most_px=3)
    assert_array_equal(drawn[0, 0], colours()[128])
    assert_array_equal(drawn[1, 2], colours()[255])
    assert_array_equal(drawn[0, 1], colours()[0])


def test_chance_is_drawn_beside_the_methods():
    share = np.array([0.0, 0.5, 1.0])
    figure = removal_curves({"Rollout": share[::-1]}, share, np.full(3, 0.4), "places removed", "Deletion")
    assert [line.name for line in figure.data] == ["Rollout", "random order"]
    assert figure.data[1].line.dash == "dash"
    assert_array_equal(figure.data[0].y, [1.0, 0.5, 0.0])
