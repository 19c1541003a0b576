"""Lines between two pictures: from where to where, and only for weights that count."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from vizkit.figure.attention.matches import GAP_PX, SIDE_PX, matches
from vizkit.figure.palette import colours
from vizkit.traces import Attention, NotApplicable, Tokens

GREY = np.full((4, 4, 3), 128, np.uint8)
REFERENCE = np.full((8, 16, 3), 128, np.uint8)
QUERY, KEY = Tokens("picture", grid=(4, 4), stride=1.0), Tokens("reference", grid=(2, 4), stride=4.0, image=1)


def attention(weights):
    rows = torch.tensor(weights).expand(16, -1)
    return Attention("one", rows[None, None], QUERY, KEY, torch.arange(16)[None], torch.arange(8)[None])


def test_a_line_leads_from_the_query_to_its_key():
    """Only query (0, 2) is drawn; its key is cell (1, 3), the last one."""
    drawn = matches(attention([0.0] * 7 + [1.0]), GREY, REFERENCE, strength=torch.linspace(0, 1, 16))
    assert drawn.shape == (SIDE_PX, 2 * SIDE_PX + GAP_PX, 3)
    begin, end = (int(2.5 * 120), int(0.5 * 120)), (480 + 32 + int(3.5 * 120), int(1.5 * 120))
    colour = colours()[int(255 * 2 / 15)]
    for share in (0.0, 0.5, 1.0):
        x, y = (round(a + share * (b - a)) for a, b in zip(begin, end, strict=True))
        assert np.abs(drawn[y, x].astype(int) - colour).max() < 12, share
    assert (drawn[120:, :480] == 128).all()
    assert (drawn[400:, 512:] == 255).all()  # below the reference, which is half as high


def test_weights_are_opacities_and_small_ones_are_left_out():
    half = matches(attention([0.0] * 6 + [0.05, 0.95]), GREY, REFERENCE)
    whole = matches(attention([0.0] * 7 + [1.0]), GREY, REFERENCE)
    at = (60, 300)
    assert np.allclose(half[at], 0.95 * whole[at].astype(float) + 0.05 * 128, atol=2)
    missing = (154, 700)  # on the way to cell (1, 2)
    assert (half[missing] == half[missing][0]).all()


def test_tokens_of_one_picture_have_no_lines():
    one = attention([0.0] * 7 + [1.0])
    with pytest.raises(NotApplicable, match="on one and keys on the other"):
        matches(replace(one, key=replace(KEY, image=0)), GREY, REFERENCE)
