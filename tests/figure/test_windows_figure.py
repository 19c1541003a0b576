"""Pictures of windows, and how far two pictures lie apart, by their numbers."""

import numpy as np
import pytest
import torch

from vizkit.analysis.swin.shifted_windows import layout, pieces
from vizkit.analysis.swin.total_variation import total_variation
from vizkit.figure.palette import REGIONS
from vizkit.figure.swin.windows import DIMMED, MARK, borders, windows

GREY = np.full((64, 64, 3), 100, np.uint8)


def test_borders_by_hand():
    upper, left = borders(np.array([[0, 0, 1], [0, 0, 1], [2, 2, 2]]))
    assert upper == [[2, 0], [2, 1], [2, 2]]
    assert left == [[0, 2], [1, 2]]


@pytest.mark.parametrize("shift", [(0, 0), (2, 2), (1, 3)])
def test_lines_lie_where_the_windows_end_and_nowhere_else(shift):
    found = pieces(layout((8, 8), (4, 4), shift)).numpy()
    drawn = windows(GREY, found, side_px=640)
    assert drawn.shape == (640, 640, 3)
    ends = [{at for at in (side, side + 4, side - 4) if 0 < at < 8} for side in shift]
    for cell in range(1, 8):
        across, down = drawn[cell * 80, 40::80], drawn[40::80, cell * 80]
        assert (across == 255).all() == (cell in ends[0])
        assert (down == 255).all() == (cell in ends[1])
    assert (drawn[40, 40] == 100).all()  # the middle of a token is the image


def test_the_token_is_framed_and_everything_it_cannot_see_dimmed():
    found = pieces(layout((8, 8), (4, 4), (2, 2))).numpy()
    drawn = windows(GREY, found, (3, 3), side_px=640)
    assert (drawn[3 * 80, 3 * 80 + 40] == MARK).all()
    middles = drawn[40::80, 40::80, 0]
    assert (middles[2:6, 2:6] == 100).all()
    middles[2:6, 2:6] = round(100 * DIMMED)
    assert (middles == round(100 * DIMMED)).all()


def test_tokens_keep_their_shape():
    assert windows(np.zeros((64, 128, 3), np.uint8), np.zeros((8, 16), int), side_px=320).shape == (160, 320, 3)
    assert windows(np.zeros((64, 64, 3), np.uint8), np.zeros((4, 8), int), side_px=320).shape == (320, 320, 3)
    assert windows(np.zeros((9, 9, 3), np.uint8), np.zeros((3, 3), int), side_px=3).shape == (6, 6, 3)


def test_every_region_has_its_own_colour():
    assert len(set(REGIONS)) == 9


def test_moved_mass_by_hand():
    before = torch.tensor([[2.0, 2.0], [0.0, 0.0]])
    assert total_variation(before, 7 * before) == 0
    assert total_variation(before, torch.tensor([[0.0, 0.0], [1.0, 3.0]])) == 1
    assert total_variation(before, torch.tensor([[1.0, 0.0], [1.0, 0.0]])) == pytest.approx(0.5)
