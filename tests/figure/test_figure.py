"""Pictures are tested as numbers: what stands in which pixel."""

import re

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from vizkit.figure.overlay import overlay
from vizkit.figure.palette import CEILING, FLOOR, colours
from vizkit.figure.scales import between
from vizkit.figure.vector import vector_overlay

GREY = np.full((40, 60, 3), 100, np.uint8)
GROUND = 73  # of which a map lets through what it does not cover: 0.55 of the light, and 0.45 of a grey of 40
WHOLE = (0.0, 0.0, 60.0, 40.0)
PLACES = np.array([[0.0, 0.1, 0.2], [0.3, 0.4, 0.5]])


def blend(level):
    opacity = FLOOR + (CEILING - FLOOR) * level / 255
    return np.round((1 - opacity) * GROUND + opacity * colours()[level]).astype(np.uint8)


def test_the_scale_runs_from_dark_to_bright():
    table = colours().astype(int)
    assert table.shape == (256, 3)
    luminance = table @ [0.2126, 0.7152, 0.0722]
    assert luminance[-1] > luminance[0] + 100
    assert (np.diff(luminance) > -2).all()  # a perceptually uniform scale never turns back


def test_each_cell_covers_its_share_of_the_box():
    drawn = overlay(GREY, PLACES, WHOLE)
    assert_array_equal(drawn[0, 0], blend(0))
    assert_array_equal(drawn[0, 59], blend(round(0.2 / 0.5 * 255)))
    assert_array_equal(drawn[39, 59], blend(255))
    assert_array_equal(drawn[20, 19], drawn[39, 0])  # lower left cell, corner to corner
    assert (GREY == 100).all()  # drawn into a new array


def test_what_the_model_did_not_see_is_dimmed():
    drawn = overlay(GREY, PLACES, (15.0, 5.0, 45.0, 35.0))
    assert_array_equal(drawn[4, 20], [35, 35, 35])
    assert_array_equal(drawn[20, 14], [35, 35, 35])
    assert_array_equal(drawn[5, 15], blend(0))
    assert_array_equal(drawn[34, 44], blend(255))


def test_a_box_beyond_the_image_keeps_its_cells_in_place():
    drawn = overlay(GREY, PLACES, (-60.0, 0.0, 60.0, 40.0))  # half of the box is padding on the left
    assert_array_equal(drawn[0, 10], blend(round(0.1 / 0.5 * 255)))


def test_a_scale_of_several_maps_darkens_a_weak_one():
    assert_array_equal(overlay(GREY, PLACES, WHOLE, scale=between(0, 1))[39, 59], blend(128))


def test_the_picture_below_a_map_is_grey_and_without_one_as_it_is():
    red = np.zeros((40, 60, 3), np.uint8)
    red[..., 0] = 200
    dark = blend(0)[0] - round((1 - FLOOR) * GROUND) + (1 - FLOOR) * 51  # 0.55 · 0.3 · 200 + 0.45 · 40
    assert_allclose(overlay(red, PLACES, WHOLE)[0, 0, 0], dark, atol=1)
    assert_array_equal(overlay(red, PLACES, WHOLE, floor=0.0, ceiling=0.0), red)


def test_an_empty_map_is_not_stretched_into_a_picture():
    drawn = overlay(GREY, np.zeros((2, 3)), WHOLE)
    assert (drawn == blend(0)).all()


def test_the_drawing_names_every_value():
    svg = vector_overlay(GREY, PLACES, WHOLE, title="a < b")
    titles = re.findall(r"<title>(.*?)</title>", svg)
    assert titles[0] == "a &lt; b"
    assert titles[-1] == "row 2, column 3: 50 %"
    assert len(titles) == 1 + 6
    assert 'x="20.000" y="20.000" width="20.000" height="20.000"' in svg
