"""Views on paper: what is on the sheet, where, and that it is what the page shows."""

import numpy as np
import pytest

from tests.hosts.toy import HEAT, Toy, subject
from vizkit.datasets import samples
from vizkit.figure.canvas.rows import Rows
from vizkit.figure.saved.plate import Outline, Overlay, Raster, Stroke, Words
from vizkit.figure.saved.png import png
from vizkit.figure.saved.single import MARGIN, WIDTH, Captions
from vizkit.figure.saved.svg import svg
from vizkit.figure.saved.text import font
from vizkit.hosts.paper import numbers, plate
from vizkit.views.blocks import flat

CAPTIONS = Captions("A title", ["a line"], ["a footer"], {"Source": "a link"})


def sheet(*names: str):
    return plate(Toy(), [subject(name) for name in names or ("Toy",)], CAPTIONS)


def words_of(drawn) -> list[str]:
    return [mark.text for mark in drawn.marks if isinstance(mark, Words)]


def test_all_that_is_said_is_on_the_sheet():
    words = words_of(sheet())
    for text in (
        "A <b>heading</b>",
        "a quiet line",
        "Said at 2.",
        "toys",
        "a share",
        "25 %",
        "7 kg",
        "Small maps",
        "first",
        "There is none.",
        "its caption",
        "What",
        "12 (more)",
        "A chart",
        "1.5",
        "–",
        "its words",
        "Not for this model.",
        "Five: 5",
        "a footer",
    ):
        assert text in words, text
    assert not any("Few ask" in text or "a^2" in text for text in words)


def test_the_map_is_that_of_the_page_with_its_query():
    first = next(mark for mark in sheet().marks if isinstance(mark, Overlay))
    np.testing.assert_allclose(first.places, 2 * HEAT)
    assert (first.low, first.top) == (0.0, 0.8)
    x0, y0, x1, y1 = subject().box_xyxy
    assert first.marked == pytest.approx(((x0 + x1) / 2, (y0 + y1) / 2, x1, y1))  # the cell at (0.9, 0.9) of 2 × 2


@pytest.mark.parametrize("names", [("one",), ("one", "two"), ("one", "two", "three")])
def test_nothing_lies_beyond_the_sheet(names):
    drawn = sheet(*names)
    assert drawn.width == WIDTH * min(2, len(names))
    for mark in drawn.marks:
        if isinstance(mark, Stroke):
            ends = [(x, x, y, y) for x, y in mark.points]
        elif isinstance(mark, Words):
            wide = font(mark.size).getlength(mark.text)
            left = mark.x - {"start": 0, "middle": wide / 2, "end": wide}[mark.anchor]
            ends = [(left, left + wide, mark.y - mark.size, mark.y)]
        else:
            ends = [(mark.x, mark.x + mark.width, mark.y, mark.y + mark.height)]
        for left, right, top, bottom in ends:
            assert -1 <= left <= right <= drawn.width + 1, mark
            assert -2 <= top <= bottom <= drawn.height, mark


def test_models_stand_beside_one_another_under_their_names():
    drawn = sheet("one", "two", "three")
    places = {mark.text: (mark.x, mark.y) for mark in drawn.marks if isinstance(mark, Words)}
    assert places["one"][0] == places["three"][0] == MARGIN
    assert places["two"] == (WIDTH + MARGIN, places["one"][1])
    assert places["three"][1] > places["one"][1] + 400


def test_pictures_do_not_cover_one_another():
    pictures = [mark for mark in sheet().marks if isinstance(mark, Overlay | Raster) and not isinstance(mark, Outline)]
    for index, one in enumerate(pictures):
        for other in pictures[index + 1 :]:
            apart = (
                one.x + one.width <= other.x + 0.1
                or other.x + other.width <= one.x + 0.1
                or one.y + one.height <= other.y + 0.1
                or other.y + other.height <= one.y + 0.1
            )
            assert apart, (one, other)


def test_the_same_record_gives_the_same_bytes():
    assert png(sheet()) == png(sheet())
    assert svg(sheet()) == svg(sheet())
    assert png(plate(Toy(3), [subject()], CAPTIONS)) != png(sheet())
    assert "<b>" not in svg(sheet())


def test_numbers_of_all_blocks():
    np.testing.assert_array_equal(numbers(flat(Toy(3).show(subject())))["heat"], 3 * HEAT)


# ---- rows, as look.js reads them -------------------------------------------------------------------------------------
def rows() -> Rows:
    """Two windows of two places of a 2 × 2 grid and a class token: [cls], then places 1, 2 and 3, 4."""
    values = np.arange(12, dtype=float).reshape(2, 2, 3)
    return Rows(
        values, (2, 2), (2, 2), np.array([[1, 2], [3, 4]]), np.array([[0, 1, 2], [0, 4, -1]]), ("cls",), ("cls",)
    )


@pytest.mark.parametrize(
    ("query", "expected"),
    [((0.1, 0.1), 1), ((0.9, 0.1), 2), ((0.1, 0.9), 3), ((0.9999, 0.9999), 4), ("cls", 1), ("nobody", 1)],
)
def test_whose_row_it_is(query, expected):
    assert rows().query_id(query) == expected  # [cls] has no row here, so the first that has


def test_a_row_lies_at_its_keys():
    places, special = rows().row_of(2)  # 3, 4, 5 for [cls], 1 and 2
    np.testing.assert_array_equal(places, [[4, 5], [0, 0]])
    assert special == {"cls": 3.0}
    places, special = rows().row_of(3)  # 6, 7, 8 for [cls], 4 and padding
    np.testing.assert_array_equal(places, [[0, 0], [0, 7]])


def test_where_a_query_lies():
    assert rows().cell_box(0) is None
    assert rows().cell_box(2) == (0.5, 0.0, 1.0, 0.5)


def test_a_sample_with_a_real_view():
    from tests.hosts.toy import loaded
    from vizkit.views.rollout import Rollout
    from vizkit.views.subject import Subject

    of = Subject(loaded, samples.picture("digit 3"), model="ViT · digits", image="digit 3")
    drawn = plate(Rollout(depth=2), [of], CAPTIONS)
    first = next(mark for mark in drawn.marks if isinstance(mark, Overlay))
    np.testing.assert_array_equal(first.places, numbers(flat(Rollout(depth=2).show(of)))["places"])
