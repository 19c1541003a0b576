"""Lines between words on paper: who looks at whom, and how strongly."""

import numpy as np
import pytest

from vizkit.figure.saved.plate import Outline, Stroke, Words
from vizkit.figure.sequences.arcs import Arcs, box, y
from vizkit.figure.sequences.word_matrix import ORANGE

CROSS = np.array([[0.02, 0.98], [0.6, 0.4]])


def drawn(focus):
    arcs = Arcs(("two", "one"), ("[BEGIN]", "1", "2"), CROSS, None, None, focus, [("1", 0.9996), ("2", 0.25)])
    return arcs.marks(400.0)[0]


@pytest.mark.parametrize("focus, strong", [(1, [(0.98, 1, 1)]), (2, [(0.6, 2, 0), (0.4, 2, 1)])])
def test_the_word_in_focus_has_the_strong_lines_and_faint_ones_are_left_out(focus, strong):
    strokes = [mark for mark in drawn(focus) if isinstance(mark, Stroke)]
    assert len(strokes) == 3
    found = {(mark.points[0][1], mark.points[-1][1]): mark.line for mark in strokes}
    for weight, row, key in strong:
        assert found[y(row), y(key)] == pytest.approx(0.6 + 3 * weight)
    assert [mark.y + mark.height / 2 for mark in drawn(focus) if isinstance(mark, Outline)] == [y(focus)]


def test_words_bars_and_probabilities_are_said():
    texts = [mark.text for mark in drawn(1) if isinstance(mark, Words)]
    assert {"two", "one", "[BEGIN]", ".98", "> 99.9 %", "25 %", "Word 1: probabilities"} <= {*texts}
    assert ".02" not in texts


@pytest.mark.parametrize("share, end", [(0.3, 64 - 3), (0.8, 0.8 * 64 - 3), (0.98, 64 - 3)])
def test_a_number_stands_inside_its_bar_or_beside_it_and_not_on_its_end(share, end):
    (number,) = [mark for mark in box(0.0, 0, 64.0, "one", ORANGE, share) if getattr(mark, "text", "").startswith(".")]
    assert number.x == pytest.approx(end)
