"""What a walk multiplies, gives and draws, by hand on four pixels."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from vizkit.analysis.convolution.sliding import Steps
from vizkit.analysis.convolution.walk import Walk, walked

RGB = np.array([[[10, 20, 30], [40, 50, 60]], [[70, 80, 90], [100, 110, 120]]], np.uint8)
ONES = (((1.0, 1.0), (1.0, 1.0)),)
WALK = Walk("sum", "convolution", ONES, Steps(2), side_px=2, channel="green")


def test_a_channel_is_read_and_drawn():
    made = walked(RGB, WALK)
    assert made.image.tolist() == [[[20, 50], [80, 110]]]
    assert made.shades[1, 0].tolist() == [80, 80, 80]
    assert made.output.tolist() == [[260]]
    assert walked(RGB, replace(WALK, channel="grey")).image[0, 0, 0] == 18  # .299 · 10 + .587 · 20 + .114 · 30


def test_a_models_filter_reads_what_the_model_is_given():
    kernel = tuple(((weight, 0.0), (0.0, 0.0)) for weight in (1.0, 10.0, 100.0))
    walk = replace(WALK, kernel=kernel, mean=(0.1, 0.2, 0.3), std=(0.5, 0.25, 2.0), bias=7.0)
    given = (RGB[0, 0] / 255 - [0.1, 0.2, 0.3]) / [0.5, 0.25, 2.0]
    assert float(walked(RGB, walk).output) == pytest.approx(given @ [1, 10, 100] + 7)
    assert_array_equal(walked(RGB, walk).shades, RGB)
    assert walk.white is None


def test_weights_that_sum_to_a_picture_have_a_white():
    assert WALK.white == 4 * 255
    assert replace(WALK, kernel=(((0.25, 0.5),) * 2,)).white == 1.5 * 255
    assert replace(WALK, kernel=(((0.2, 0.2),) * 2,)).white == 255
    assert replace(WALK, kernel=(((1.0, -1.0),) * 2,)).white is None
    assert replace(WALK, kernel=(), kind="max").white == 255


@pytest.mark.parametrize(
    "change",
    [
        {"steps": Steps(3)},
        {"steps": Steps(2, 0)},
        {"steps": Steps(2, 1, 10**6)},
        {"side_px": 10**6},
        {"steps": Steps(2, 1, 0, 9)},
        {"mean": (0.1,) * 3, "std": (1.0,) * 3},
    ],
)
def test_numbers_that_make_no_walk_are_refused(change):
    with pytest.raises(ValueError, match=r"walks|fit"):
        walked(RGB, replace(WALK, **change))
