"""The drawings of an evaluation by their numbers: confusion matrix, reliability, and what paper shows of them."""

import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

from vizkit.figure.charts import bars
from vizkit.figure.evaluation.confusion import MOST_NUMBERED, confusion, grounds, largest_mistake
from vizkit.figure.evaluation.reliability import reliability
from vizkit.figure.palette import CLASSES
from vizkit.figure.palette import OTHERS as GREY
from vizkit.figure.saved.panels import chart_marks, panel_of
from vizkit.figure.saved.plate import Raster, Stroke, Words
from vizkit.figure.sequences.word_matrix import WordMatrix
from vizkit.views.evaluate.measured import OTHERS, frequent

COUNTS = np.array([[8, 2, 0], [0, 5, 5]])


def test_a_matrix_has_a_cell_for_every_answer_that_was_given():
    heat, cells = confusion(["a", "b"], ["a", "b", "another class"], COUNTS, 0.5).data
    assert_array_equal(heat.z, [[-0.8, 0.2, np.nan], [np.nan, -0.5, 0.5]])
    assert (heat.zmin, heat.zmax) == (-1, 0.5)  # below zero one grey, above it the mistakes, to the largest
    assert [tuple(each) for each in cells.customdata] == [
        ("a", "a"),
        ("a", "b"),
        ("b", "b"),
        ("b", "another class"),
    ]
    assert [*zip(cells.y, cells.x, strict=True)] == [
        tuple(each[:2]) for each in cells.customdata
    ]  # a point lies on its cell
    assert list(cells.text) == ["8", "2", "5", "5"]
    assert "80 % of this label" in cells.hovertemplate[0]
    one = confusion(["a", "b"], ["a", "b"], np.array([[0, 1], [0, 3]]), 0.5, ("a", "b"))
    assert [("1 image," in said, "3 images," in said) for said in one.data[1].hovertemplate] == [(1, 0), (0, 1)]
    assert [(frame.x0, frame.y0) for frame in one.layout.shapes] == [(0.5, -0.5)]


def test_a_large_matrix_has_no_numbers_and_one_name_twice_stays_two():
    names = ["crane"] * 2 + [f"class {i}" for i in range(MOST_NUMBERED)]
    heat, cells = confusion(names, names, np.eye(len(names), dtype=np.int64), 0.0).data
    assert cells.mode == "markers"
    assert heat.y[:2] == ("crane", "crane (2)")
    assert tuple(cells.customdata[1]) == ("crane", "crane")  # what a click tells: the name itself


def test_bars_of_few_pictures_are_pale():
    bins, diagonal = reliability([0.0, 0.8], 0.2, [0.15, 0.9], [0.5, 1.0], [1, 100], "#6366f1", "a").data
    assert (list(bins.x), bins.width, bins.offset) == ([0.0, 0.8], 0.2, 0)
    assert list(bins.y) == [0.5, 1.0]
    assert [float(colour.split()[-1][:-1]) for colour in bins.marker.color] == pytest.approx([0.35 + 0.065, 1.0])
    assert [tuple(each) for each in bins.customdata] == [(0.15, 1), (0.9, 100)]
    assert (diagonal.x, diagonal.y) == ((0, 1), (0, 1))


def test_counts_are_written_whole_and_none_says_nothing():
    own = grounds(COUNTS, 0.5)
    table = WordMatrix(COUNTS.astype(float), ("<a>", "b"), ("<a>", "b", "another class"), grounds=own)
    text = table.html()
    assert [text.count(f">{number}</td>") for number in (8, 2, 5, 0)] == [1, 1, 2, 0]
    assert "<a>" not in text
    marks, _ = table.marks(300.0)
    assert sorted(mark.text for mark in marks if isinstance(mark, Words) and mark.text.isdigit()) == [
        "2",
        "5",
        "5",
        "8",
    ]


@settings(max_examples=30)
@given(arrays(np.int64, (3, 4), elements=st.integers(0, 20)), st.floats(0.01, 1.0))
def test_a_cell_has_one_colour_on_the_screen_in_a_page_and_on_paper(counts: np.ndarray, more: float):
    top = max(largest_mistake(counts), more)
    heat, _ = confusion(["a", "b", "c"], ["a", "b", "c", "d"], counts, top).data
    table = WordMatrix(counts.astype(float), ("a", "b", "c"), ("a", "b", "c", "d"), grounds=grounds(counts, top))
    cells = [mark.rgb[0, 0] for mark in table.marks(300.0)[0] if isinstance(mark, Raster)]
    drawn = re.findall(r"<td[^>]*?(?:background:rgb\((.*?)\)[^>]*)?>", table.html().partition("</tr>")[2])
    for place, (value, paper, page) in enumerate(zip(heat.z.ravel(), cells, drawn, strict=True)):
        screen = (255, 255, 255)
        if not np.isnan(value):
            at = (value + 1) / (top + 1)  # along the scale of plotly, which begins at −1
            (low, first), (high, last) = next(
                pair
                for pair in pairwise(heat.colorscale)
                if pair[0][0] <= at <= pair[1][0] and pair[0][0] < pair[1][0]
                if value < 0 or pair[0][0] > 0
            )
            share = (at - low) / (high - low)
            screen = tuple((1 - share) * a + share * b for a, b in zip(rgb(first), rgb(last), strict=True))
            assert [*map(int, page.split(","))] == paper.tolist()
            assert (place // 4 == place % 4) == (rgb(GREY) == tuple(paper.tolist()))
        assert_allclose(paper, screen, atol=1)


def rgb(colour: str) -> tuple[int, ...]:
    named = colour.startswith("#")
    return tuple(bytes.fromhex(colour[1:]) if named else map(int, re.findall(r"\d+", colour)))


def test_no_name_of_a_matrix_is_cut_and_each_column_has_its_name_over_it():
    names = ("mayfly nymph", "water strider", "water scorpion", "cased caddisfly larva")
    table = WordMatrix(np.eye(4), names, names)
    marks, _ = table.marks(table.least)
    words, cells = ([mark for mark in marks if isinstance(mark, kind)] for kind in (Words, Raster))
    assert {mark.text for mark in words if mark.upright} == {mark.text for mark in words if mark.anchor == "end"}
    assert {mark.text for mark in words if mark.upright} == {*names}
    for mark, cell in zip((mark for mark in words if mark.upright), cells, strict=False):
        assert cell.x < mark.x - mark.size / 2 < mark.x < cell.x + cell.width
        assert mark.y < cell.y


def test_mistakes_are_listed_by_their_number():
    rows = frequent(COUNTS, ("a", "b"))
    assert [[*row.values()] for row in rows] == [["b", OTHERS, 5], ["a", "b", 2]]
    assert frequent(np.diag([3, 4, 0])[:2], ("a", "b")) == ()


def test_bars_of_probability_are_as_high_on_paper_as_their_shares():
    panel = panel_of(reliability([0.0, 0.8], 0.2, [0.15, 0.9], [0.5, 1.0], [1, 100], CLASSES[2], "a"))
    standing, diagonal = panel.lines
    assert (standing.x, standing.y, standing.wide) == ((0, 0.8), (0.5, 1), 0.2)
    assert (standing.colour, diagonal.dash) == (2, "dash")
    first, second = (mark for mark in chart_marks(panel, 0.0)[0] if isinstance(mark, Raster))
    assert (second.height, second.width) == pytest.approx((2 * first.height, first.width))
    assert first.rgb.mean() > second.rgb.mean(), "few images are pale on paper too"


def test_the_interval_of_a_bar_is_on_paper_and_its_number_beyond():
    figure = bars(["a", "b"], [2.0, 0.0], "wrong answers").update_traces(
        error_x={"type": "data", "array": [3.0, 1.0], "arrayminus": [1.0, 0.0], "symmetric": False}
    )
    panel = panel_of(figure)
    assert panel.lines[0].ends == ((1.0, 5.0), (0.0, 1.0))
    marks, _ = chart_marks(panel, 0.0)
    (left, _), (right, _) = next(mark for mark in marks if isinstance(mark, Stroke) and mark.line == 1.2).points
    number = next(mark for mark in marks if isinstance(mark, Words) and mark.text == "2")
    assert left < right < number.x
