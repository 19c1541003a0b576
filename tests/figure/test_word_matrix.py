"""The table with words on its sides."""

import numpy as np
import pytest

from vizkit.figure.sequences.word_matrix import short, word_matrix


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.268, ".268"), (1.0, "1"), (0.0, "0"), (0.001, ".001"), (0.0001, "0"), (0.9999, "1"), (-1.316, "−1.32"),
     (-0.5, "−0.50"), (2.5, "2.50"), (-1.0, "−1")],
)  # fmt: skip
def test_numbers_are_short(value: float, text: str):
    assert short(value) == text


def test_cells_say_who_looks_at_whom_and_rows_their_sums():
    values = np.array([[0.25, 0.75], [0.5, 0.25]])
    table = word_matrix(values, ["<a>", "b"], ["b", "b"], sums=True)
    assert "&lt;a&gt; → b: 0.75" in table
    assert "<a>" not in table
    assert table.count('class="sum"') == 2
    assert ">.750</td>" in table.split("<tr>")[-1]
    assert "rgba(59, 130, 246, 0.85)" in table
    masked = word_matrix(values, ["a", "b"], ["b", "b"], allowed=values > 0.3, hidden="−∞")
    assert masked.count("−∞") == 2


def test_many_columns_have_their_numbers_in_titles_alone():
    table = word_matrix(np.full((1, 13), 1 / 13), ["a"], ["b"] * 13)
    assert "0.07692" in table
    assert ">.077</td>" not in table
