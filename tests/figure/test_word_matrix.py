"""The table with words on its sides."""

import numpy as np
import pytest

from vizkit.figure.saved.plate import Raster, Words
from vizkit.figure.sequences.word_matrix import WordMatrix, short


@pytest.mark.parametrize(
    "value, text",
    [
        (0.268, ".268"),
        (1.0, "1"),
        (0.0, "0"),
        (0.001, ".001"),
        (0.0001, "0"),
        (0.9999, "1"),
        (-1.316, "−1.32"),
        (-0.5, "−0.50"),
        (2.5, "2.50"),
        (-1.0, "−1"),
    ],
)
def test_numbers_are_short(value, text):
    assert short(value) == text


def test_cells_say_who_looks_at_whom_and_rows_their_sums():
    values = np.array([[0.25, 0.75], [0.5, 0.25]])
    table = WordMatrix(values, ["<a>", "b"], ["b", "b"], sums=True).html()
    assert "&lt;a&gt; | b: 0.75" in table
    assert "<a>" not in table
    assert table.count('class="sum"') == 2
    assert ">.750</td>" in table.split("<tr>")[-1]
    assert "rgba(59, 130, 246, 0.85)" in table
    masked = WordMatrix(values, ["a", "b"], ["b", "b"], allowed=values > 0.3, hidden="−∞").html()
    assert masked.count("−∞") == 2


def test_many_columns_have_their_numbers_in_titles_alone():
    table = WordMatrix(np.full((1, 13), 1 / 13), ["a"], ["b"] * 13).html()
    assert "0.07692" in table
    assert ">.077</td>" not in table


def test_paper_has_a_cell_for_each_pair_and_the_words_of_the_table():
    values = np.array([[0.25, 0.75], [0.5, 0.25]])
    made = WordMatrix(values, ["<a>", "b"], ["b", "b"], allowed=values > 0.3, hidden="−∞", sums=True, title="Weights")
    marks, height = made.marks(200.0)
    cells = [mark for mark in marks if isinstance(mark, Raster)]
    texts = [mark.text for mark in marks if isinstance(mark, Words)]
    assert len(cells) == 4
    assert texts.count("−∞") == 2
    assert ".750" in texts
    assert "<a>" in texts
    assert all(cell.x >= 0 and cell.x + cell.width <= 200 and cell.y + cell.height <= height for cell in cells)
    strongest, masked = (tuple(cells[at].rgb[0, 0]) for at in (1, 0))
    assert strongest == (88, 149, 247), "85 % of the blue on white"
    assert masked == (225, 226, 233)
