"""Positions: the order that swaps make, the window as a part of the table, one scale for models side by side."""

from typing import Any

import numpy as np
import pytest
import torch

from tests.views.contract import subject
from vizkit.models.probes.positions import relative_bias
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Canvas, Chart, Map, Tiles
from vizkit.views.positions.kinds import Kinds
from vizkit.views.positions.learned import Learned
from vizkit.views.positions.relative import Relative
from vizkit.views.positions.shuffle import LONGEST, Shuffle, pairs
from vizkit.views.rules import RefusedError
from vizkit.views.settled import flat
from vizkit.views.subject import Subject
from vizkit.views.view import View


def found(view: View, of: Subject, kind: type) -> Any:
    return next(block for block in flat(view.show(of)) if isinstance(block, kind))


def test_swaps_exchange_what_stands_at_two_places():
    """Of four patches: first those at 1 and 3, then what came to 3 with that at 2."""
    of = subject("digits_vit")
    assert Shuffle(0).order(4, of).tolist() == [0, 1, 2, 3]
    assert Shuffle(0, "1-3 3-2").order(4, of).tolist() == [2, 0, 1, 3]
    assert Shuffle(0, "a word").order(4, of).tolist() == [0, 1, 2, 3]
    shuffled = Shuffle(7).order(64, of)
    swapped = Shuffle(7, "1-64").order(64, of)
    assert (swapped[0], swapped[63]) == (shuffled[63], shuffled[0])
    with pytest.raises(NotApplicable, match="no place 65"):
        Shuffle(0, "1-65").order(64, of)


def test_a_picture_can_tell_nothing_but_swaps():
    assert pairs("") == ""
    assert pairs("12-57 3-4") == "12-57 3-4"
    for told in (None, 3, ["1-2"], "1-2;", "0-3", "1-2 x", "1-2 " * LONGEST):
        with pytest.raises(RefusedError):
            pairs(told)


@pytest.mark.parametrize("query", [1, 6, 16])
def test_the_window_is_a_row_of_the_bias_and_a_part_of_the_table(query: int):
    """Both ways to the same numbers: what the layer adds for this query, and the framed part of the table."""
    of = subject("digits_swin")
    bias = relative_bias(of.loaded, 1)
    rows, columns = bias.window
    canvas = found(Relative(layer=2, head=3, query=query), of, Canvas)
    window, table = [block.figure for block in flat(canvas.still) if isinstance(block, Chart)][:2]
    own = bias.bias[2, query - 1].view(rows, columns).numpy()
    np.testing.assert_allclose(window.data[0].z, own, atol=1e-6)
    (frame,) = table.layout.shapes
    top, left = round(frame.y0 + 0.5), round(frame.x0 + 0.5)
    np.testing.assert_allclose(table.data[0].z[top : top + rows, left : left + columns], own, atol=1e-6)


def test_cosines_of_models_side_by_side_have_one_scale():
    of, other = subject("digits_vit"), subject("digits_swin")
    of.beside, other.beside = (other,), (of,)
    views = [found(Kinds(kind="sinusoids"), each, Map) for each in (of, other)]
    assert len({each.rows.low for each in views}) == 1
    lowest = min(float(each.rows.values.min()) for each in views)
    assert views[0].rows.low <= lowest
    assert {low for low, _ in found(Kinds(), of, Tiles).limits} == {views[0].rows.low}


def test_every_patch_has_its_own_sentence():
    over = found(Kinds(kind="one row"), subject("digits_vit"), Map)
    assert set(over.said_by) == set(range(64))
    row = torch.from_numpy(over.rows.values)[9]  # row 2, column 2: between 8 and 10, below 1 and above 17
    assert f"have a cosine of {(row[8] + row[10]) / 2:.2f} with" in over.said_by[9]
    assert f"in its column {(row[1] + row[17]) / 2:.2f}," in over.said_by[9]


@pytest.mark.parametrize(("grid", "side"), [("own", 8), ("half", 4), ("double", 16)])
def test_a_table_is_resampled_in_place(grid, side: int):
    assert found(Learned(grid=grid), subject("digits_vit"), Map).rows.key_grid == (side, side)
