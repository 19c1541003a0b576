"""What corrupted pictures have lost."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tests.drawn import noisy_picture
from vizkit.analysis.comparison.corruption import CORRUPTIONS, corrupted, erased

RGB = noisy_picture(64, 48)


@pytest.mark.parametrize("kind", CORRUPTIONS)
def test_a_corruption_is_the_same_every_time_and_takes_a_lot(kind):
    out = corrupted(RGB, kind)
    assert out.shape == RGB.shape
    assert np.abs(out.astype(int) - RGB).mean() > 20
    assert_array_equal(out, corrupted(RGB, kind))


def test_an_object_is_filled_with_what_surrounds_it():
    ground = np.full((20, 20, 3), 80, np.uint8)
    mask = np.zeros((20, 20), bool)
    mask[5:9, 5:9] = True
    ground[mask] = 200
    out = erased(ground, mask)
    assert_array_equal(out, np.full_like(out, 80))
    assert_array_equal(erased(ground, np.ones_like(mask)), ground)
