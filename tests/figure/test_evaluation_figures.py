"""The drawings of an evaluation by their numbers: confusion matrix, reliability, and what a report makes of them."""

import numpy as np
import pytest

from vizkit.evaluation.measures import Bin
from vizkit.evaluation.report_pictures import confusion_table, environment, mistakes
from vizkit.figure.evaluation.confusion import MOST_NUMBERED, confusion
from vizkit.figure.evaluation.reliability import reliability

COUNTS = np.array([[8, 2, 0], [0, 5, 5]])


def test_a_matrix_has_a_cell_for_every_answer_that_was_given():
    heat, cells = confusion(["a", "b"], ["a", "b", "another class"], COUNTS).data
    np.testing.assert_array_equal(heat.z, [[0.8, 0.2, np.nan], [np.nan, 0.5, 0.5]])
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
    assert "80.0% of this label" in cells.hovertemplate[0]


def test_a_large_matrix_has_no_numbers_and_one_name_twice_stays_two():
    names = ["crane"] * 2 + [f"class {i}" for i in range(MOST_NUMBERED)]
    heat, cells = confusion(names, names, np.eye(len(names), dtype=np.int64)).data
    assert cells.mode == "markers"
    assert heat.y[:2] == ("crane", "crane (2)")
    assert tuple(cells.customdata[1]) == ("crane", "crane")  # what a click tells: the name itself


def test_bars_of_few_pictures_are_pale():
    bins, diagonal = reliability([0.0, 0.8], 0.2, [0.15, 0.9], [0.5, 1.0], [1, 100], "#6366f1").data
    assert (list(bins.x), bins.width, bins.offset) == ([0.0, 0.8], 0.2, 0)
    assert list(bins.y) == [0.5, 1.0]
    assert [float(colour.split()[-1][:-1]) for colour in bins.marker.color] == pytest.approx([0.35 + 0.065, 1.0])
    assert [tuple(each) for each in bins.customdata] == [(0.15, 1), (0.9, 100)]
    assert (diagonal.x, diagonal.y) == ((0, 1), (0, 1))


def part(macro: str, *given) -> str:
    return getattr(environment().get_template("parts.html").module, macro)(*given)


def test_the_report_lists_mistakes_by_their_number():
    assert mistakes(COUNTS, ("a", "b")) == [("b", "another class", 5), ("a", "b", 2)]
    assert mistakes(COUNTS, ("a", "b"), most=1) == [("b", "another class", 5)]
    text = part("frequent", mistakes(COUNTS, ("<a>", "b")))
    assert "<bdi>&lt;a&gt;</bdi> taken for <bdi>b</bdi>: 2" in text
    assert part("frequent", mistakes(np.diag([3, 4, 0])[:2], ("a", "b"))).strip() == "<p>No mistakes.</p>"


def test_the_report_s_table_has_every_count_and_gives_way_to_a_list():
    def table(counts, labels) -> str:
        return part("confusion", *confusion_table(counts, labels))

    text = table(COUNTS, ("a", "<b>"))
    assert [text.count(f">{number}</td>") for number in (8, 2, 5)] == [1, 1, 2]
    assert "another class" in text
    assert "<b>" not in text
    assert "another class" not in table(np.diag([3, 4, 0])[:2], ("a", "b"))
    many = tuple(map(str, range(41)))
    assert "41 classes" in table(np.zeros((41, 42), np.int64), many)


def test_a_bar_of_the_report_is_as_high_as_its_share():
    text = part("reliability", (Bin(0.8, 12, 0.83, 0.5),), 15)
    assert 'height="150.0"' in text
    assert "probability 0.830, right 0.500, 12 pictures" in text
