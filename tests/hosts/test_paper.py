"""Views on paper: what is on the sheet, where, and that it is what the page shows."""

from dataclasses import replace
from io import BytesIO
from typing import ClassVar

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image

from tests.hosts.toy import HEAT, RGB, Toy, subject
from vizkit.figure.canvas.rows import Rows
from vizkit.figure.charts import bars, heat_map
from vizkit.figure.saved.plate import Outline, Overlay, Raster, Stroke, Words, font
from vizkit.figure.saved.png import png
from vizkit.figure.saved.single import MARGIN, WIDTH, Captions
from vizkit.figure.saved.svg import svg
from vizkit.figure.scales import OWN, between
from vizkit.hosts.column import DRAWN
from vizkit.hosts.layout import Layout
from vizkit.hosts.paper import numbers, plate
from vizkit.hosts.paper import sheet as paper_sheet
from vizkit.traces import Tokens
from vizkit.views import blocks
from vizkit.views.blocks import (
    Canvas,
    Chart,
    Columns,
    Grid,
    Heading,
    Line,
    Map,
    Metrics,
    Numbers,
    Part,
    Picture,
    Proof,
    Said,
    Table,
    Tile,
    Tiles,
)
from vizkit.views.controls import ControlError
from vizkit.views.rows_of import grid_for_browser
from vizkit.views.settled import flat

CELL = Tile("", HEAT), subject()
CAPTIONS = Captions("A title: layer 2 of 3", ["a line"], ["a footer"], {"Source": "a link"})


def sheet(*names):
    return plate(Toy(), [subject(name) for name in names or ("Toy",)], CAPTIONS)


def words_of(drawn):
    return [mark.text for mark in drawn.marks if isinstance(mark, Words)]


def test_all_that_is_said_is_on_the_sheet():
    words = words_of(sheet())
    for text in (
        "A <b>heading</b>",
        "a quiet line",
        "Said at 2.",
        "toys · times an equal share",
        "a share",
        "25 %",
        "7 kg",
        "Small maps",
        "first",
        "There is none.",
        "its caption",
        "What",
        "12",
        "more",
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
    assert_allclose(first.places, 2 * HEAT)
    assert first.scale.equal == 0.5  # of 0.2, 0.4, 0.6 and 0.8
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


def covered(mark):
    """(left, top, right, bottom) of what has an area of its own, a little less than all of it."""
    if isinstance(mark, Words):
        wide = font(mark.size).getlength(mark.text)
        left = mark.x - {"start": 0, "middle": wide / 2, "end": wide}[mark.anchor]
        return left + 0.3, mark.y - 0.7 * mark.size, left + wide - 0.3, mark.y
    return mark.x + 0.1, mark.y + 0.1, mark.x + mark.width - 0.1, mark.y + mark.height - 0.1


@pytest.mark.parametrize("names", [("one",), ("one", "two", "three", "four")])
def test_nothing_covers_another(names):
    """Pictures and words all have places of their own, but for names on the pale bars of a list."""
    drawn = [mark for mark in sheet(*names).marks if isinstance(mark, Words | Overlay | Raster)]
    drawn = [mark for mark in drawn if not (isinstance(mark, Raster) and mark.rgb.shape == (1, 1, 3))]
    for index, one in enumerate(drawn):
        left, top, right, bottom = covered(one)
        for other in drawn[index + 1 :]:
            x0, y0, x1, y1 = covered(other)
            assert right <= x0 or x1 <= left or bottom <= y0 or y1 <= top, (one, other)


def test_columns_stand_beside_one_another():
    """452 points between the margins: two parts of (452 − 10) / 2 = 221."""
    photograph = [mark for mark in sheet().marks if isinstance(mark, Raster) and mark.rgb is RGB]
    number = next(mark for mark in sheet().marks if isinstance(mark, Words) and mark.text == "12")
    assert [(mark.x, mark.width, mark.height) for mark in photograph] == [(MARGIN, 221, 110.5)]
    assert number.x == MARGIN + 231
    assert photograph[0].y < number.y < photograph[0].y + 110.5


def page(*blocks):
    return paper_sheet([([subject()], blocks)], CAPTIONS)


def bar(name, count=3):
    return Chart(
        bars([f"{name} {index}" for index in range(count)], [float(index) for index in range(count)], "shares", name),
        name,
    )


def test_columns_without_room_stand_below_one_another():
    """Three charts need 200 points each: two in the first row, the third below."""
    one, two, three = (
        (mark.x, mark.y)
        for mark in page(Columns(((bar("a"),), (bar("b"),), (bar("c"),)))).marks
        if isinstance(mark, Words) and mark.text in "abc"
    )
    assert one[1] == two[1] < three[1]
    assert (one[0], two[0], three[0]) == (MARGIN, MARGIN + 231, MARGIN)


def test_four_maps_stand_two_by_two():
    """Three need 320 points each, so they stand below one another; of four to compare 221 are enough."""

    def rows(count):
        over = Map(Rows(HEAT.reshape(1, 4), (2, 2)), (0.5, 0.5), "", "quantity")
        tops = [mark.y for mark in page(Columns(((over,),) * count)).marks if isinstance(mark, Overlay)]
        return [tops.count(top) for top in sorted(set(tops))]

    assert (rows(3), rows(4)) == ([1, 1, 1], [2, 2])


def test_cells_stand_beside_one_another_where_their_names_can_be_read():
    """Six names of 30 points have no room in 221 less 74 for those of the rows; twelve have none below either."""

    def tops(name, count):
        part = (Chart(heat_map(np.eye(count), "key", "query", x_names=[f"{at} {name}" for at in range(count)]), ""),)
        drawn = page(Columns((part, part)))
        return [mark.y for mark in drawn.marks if isinstance(mark, Raster) and mark.rgb.shape[:2] == (count, count)]

    for beside, found in ((True, tops("a", 6)), (False, tops("lovely", 6)), (True, tops("lovely", 12))):
        assert (found[0] == found[1]) is beside


def tiles(count, chosen=None, tops=(0.4,) * 13):
    maps = tuple(Tile(f"number {index}", HEAT, scale=between(0, tops[index])) for index in range(count))
    return Tiles("", maps, "", "step", tuple(range(count)), chosen, 66)


@pytest.mark.parametrize("count, rows", [(1, [1]), (6, [6]), (7, [4, 3]), (12, [6, 6]), (13, [5, 5, 3])])
def test_small_maps_stand_in_rows_of_one_length(count, rows):
    """452 points hold six maps of 66 with 8 between them."""
    tops = [mark.y for mark in page(tiles(count)).marks if isinstance(mark, Overlay)]
    assert [tops.count(top) for top in sorted(set(tops))] == rows


def test_small_maps_say_their_ends_and_which_one_is_large():
    same, few = page(tiles(3, 1)), page(tiles(3, tops=(0.4, 0.8, 0.4)))
    assert {"0", "0.4", "one scale for all of them"} <= set(words_of(same))
    assert {"0", "0.4", "0.8", "number 0, number 2", "number 1"} <= set(words_of(few))
    own = words_of(page(tiles(4, tops=(0.4, 0.8, 0.2, 0.6))))
    assert {"0 to 0.4", "0 to 0.8", "0 to 0.2", "0 to 0.6"} <= set(own)
    assert "one scale for all of them" not in [*own, *words_of(few)]
    (frame,) = (mark for mark in same.marks if isinstance(mark, Outline))
    second = [mark for mark in same.marks if isinstance(mark, Overlay)][1]
    assert (frame.x, frame.y, frame.width) == (second.x, second.y, second.width)


LONG = "a very long sentence of many words, " * 40


@pytest.mark.product
@pytest.mark.parametrize(
    "block",
    [
        Said(LONG),
        Line("x" * 2000),
        Heading(LONG),
        Table(({"a": LONG, "b" * 90: 1.0, "c": None},), ""),
        Metrics((("what " * 30, "1" * 60, "more " * 40),) * 5),
        Picture(RGB, "", LONG, 0.2),
        replace(tiles(2), maps=(Tile("long name " * 4, HEAT, "long note " * 6), Tile("b", None, "c"))),
        Chart(bars(["name " * 20, "b"], [1.0, -2.0], "y", LONG[:150]), ""),
    ],
)
def test_no_text_is_cut(block):
    drawn = page(block)
    said = "".join(words_of(drawn)).replace(" ", "")
    assert "…" not in said
    for mark in drawn.marks:
        if isinstance(mark, Words):
            left, top, right, bottom = covered(mark)
            assert MARGIN - 1 <= left <= right <= WIDTH - MARGIN + 1, mark
            assert 0 < top < bottom < drawn.height
    if isinstance(block, Said):
        assert LONG.replace(" ", "") in said


def test_a_map_without_places_still_says_its_sentence():
    nowhere = Map(Rows(np.zeros((0, 0)), None), (0.5, 0.5), "", "", (("a share", 0.5),), "No places here.")
    assert {"No places here.", "a share", "50 %"} <= set(words_of(page(nowhere)))


@pytest.mark.parametrize(
    "rows, ends, highest",
    [
        (Rows(HEAT.reshape(1, 4), (2, 2)), {"quantity · times an equal share", "≤ ¼", "1", "≥ 32 ×"}, 0.4),
        (Rows(HEAT.reshape(1, 4), (2, 2), scale=OWN), {"quantity", "0", "40 %"}, 0.4),
        (Rows(HEAT.reshape(1, 4), (2, 2), scale=between(0, 0.5), kind="features"), {"quantity", "0", "0.5"}, 0.4),
        (Rows(HEAT.reshape(1, 4), (2, 2), scale=between(-1, 1), kind="similarity"), {"quantity", "−1", "0", "1"}, 0.4),
    ],
)
def test_colours_end_where_those_of_the_page_do(rows, ends, highest):
    drawn = page(Map(rows, (0.5, 0.5), "", "quantity"))
    (over,) = (mark for mark in drawn.marks if isinstance(mark, Overlay))
    assert ends <= set(words_of(drawn))
    assert over.places.max() == pytest.approx(highest)


def test_a_grid_to_pick_from_has_no_colours_and_frames_its_cell():
    instead = np.zeros((20, 20, 3), np.uint8)
    drawn = page(Map(grid_for_browser(Tokens("patches", grid=(2, 2))), (0.9, 0.1), "", "", instead=instead))
    (over,) = (mark for mark in drawn.marks if isinstance(mark, Overlay))
    assert over.image is instead
    assert over.opacities == (0.0, 0.0)
    assert over.marked == (10, 0, 20, 10)
    assert not [mark for mark in drawn.marks if isinstance(mark, Raster)]


def test_a_failed_proof_is_said_and_one_that_holds_is_not():
    trace = subject().seen
    assert trace.check.failure is None
    assert words_of(page(Proof(trace))) == words_of(page())
    broken = replace(trace, check=replace(trace.check, logit_error=0.5))
    assert broken.check.failure in " ".join(words_of(page(Proof(broken))))


def test_a_canvas_is_drawn_as_what_is_still_of_it():
    assert "in its place" in words_of(page(Canvas("vizkit_any", {}, "", still=(Line("in its place"),))))


def test_every_kind_of_block_has_its_drawing():
    """A block that paper does not know would end every save of its view."""
    kinds = {each for each in vars(blocks).values() if isinstance(each, type) and issubclass(each, blocks.Block)}
    assert kinds - {blocks.Block, blocks.Part, blocks.Later} == set(DRAWN)


def test_a_view_of_several_models_at_once_is_in_one_column():
    class Both(Toy):
        together: ClassVar = True

        def show(self, of):
            yield Said(" and ".join(each.name for each in of))
            cells = tuple((Tile("", HEAT, each.name), each) for each in of)
            yield Grid(("one", "two"), (Tile("Row", None),), (cells,), "its quantity", "")
            yield Map(Rows(HEAT.reshape(1, 4), (2, 2)), (0.5, 0.5), "", "", of=of[1])

    drawn = plate(Both(), [subject("one"), subject("two")], CAPTIONS)
    assert drawn.width == WIDTH
    assert {"one and two", "Row", "its quantity", "one", "two"} <= set(words_of(drawn))
    first, second, large = (mark for mark in drawn.marks if isinstance(mark, Overlay))
    assert first.y == second.y
    assert first.x + first.width < second.x
    assert second.x + second.width == pytest.approx(WIDTH - MARGIN)  # with 4 at their end
    assert large.width == 452


def heads(layers, count=2):
    """In a table, as that of all layers and heads; the last layer has one head alone."""
    across, down = (
        tuple(f"layer {at}" for at in range(1, layers + 1)),
        tuple(f"head {at}" for at in range(1, count + 1)),
    )
    values = tuple((head, layer) for head in range(count) for layer in range(layers))
    maps = tuple(Tile("", None if value == (1, layers - 1) else HEAT) for value in values)
    table = Tiles("", maps, "", "", values, (1, 1), 70, columns=across, rows=down)
    return Canvas("vizkit_heads", {}, "", still=(table,))


def places(drawn):
    """Where maps begin, row by row."""
    rows = {}
    for mark in drawn.marks:
        if isinstance(mark, Overlay):
            rows.setdefault(round(mark.y, 3), []).append(round(mark.x, 3))
    return [rows[top] for top in sorted(rows)]


@pytest.mark.parametrize("layers", [3, 12, 24, 48])
def test_a_table_of_maps_is_saved_as_it_stands_on_the_page(layers):
    """Layers across and heads down, however many: a sheet grows before a map is smaller than a centimetre."""
    drawn = page(heads(layers))
    first, second = places(drawn)
    assert len(first) == layers
    assert second == first[:-1]  # where a layer has no such head its place is empty
    assert all(mark.width >= 28 for mark in drawn.marks if isinstance(mark, Overlay))
    assert (drawn.width > WIDTH) is (layers > 12)
    above = {mark.x: mark.text for mark in drawn.marks if isinstance(mark, Words) and mark.text.startswith("layer")}
    assert sorted(round(x, 3) for x in above) == first
    (frame,) = (mark for mark in drawn.marks if isinstance(mark, Outline))
    assert frame.x == pytest.approx(first[1], abs=1e-3)
    assert frame.y == max(mark.y for mark in drawn.marks if isinstance(mark, Overlay))


@pytest.mark.parametrize("width_mm", [60, 89, 183.5, 420])
@pytest.mark.parametrize("models", [1, 2])
def test_a_figure_is_as_wide_as_is_asked(width_mm, models):
    columns = [([subject()], [heads(24)])] * models
    drawn = paper_sheet(columns, CAPTIONS, layout=Layout(width_mm))
    assert drawn.width * 25.4 / 72 == pytest.approx(width_mm)
    assert all(mark.x >= 0 and mark.x + mark.width <= drawn.width for mark in drawn.marks if isinstance(mark, Overlay))
    pixels = Image.open(BytesIO(png(drawn)))
    assert pixels.width / pixels.info["dpi"][0] * 25.4 == pytest.approx(width_mm, abs=0.3)
    assert f'width="{drawn.width:g}pt"' in svg(drawn)


@pytest.mark.parametrize(
    "block, only, across, down",
    [
        (heads(12), ("layer 1", "layer 11", "head 2"), 2, 1),
        (heads(12), ("head 2",), 11, 1),
        (Columns(((heads(12),), (Said("a"),))), ("layer 3",), 1, 2),
        (tiles(5), ("number 1", "number 4"), 2, 1),
        (
            Grid(("one", "two"), (Tile("a", None), Tile("b", None)), ((CELL, CELL),) * 2, "", ""),
            ("two", "b"),
            1,
            1,
        ),
    ],
    ids=["both", "rows", "inside", "small maps", "grid"],
)
def test_only_some_layers_heads_or_maps_are_on_a_figure(block, only, across, down):
    drawn = paper_sheet([([subject()], [block])], CAPTIONS, layout=Layout(only=only))
    assert list(map(len, places(drawn))) == [across] * down
    assert drawn.title == f"A title: {', '.join(only)}"


def test_numbers_of_a_figure_of_chosen_maps_are_those_maps_and_the_choices_are_with_them():
    layout, (maps,) = Layout(85, ("layer 1", "layer 11", "head 2")), heads(12).still
    found = layout.numbers([([subject()], [maps])])
    assert [*found] == ["layer 1, head 2", "layer 11, head 2"]
    across = len(maps.columns)
    assert_array_equal(found["layer 11, head 2"], maps.maps[across + 10].values)
    assert layout.meta == {"figure": {"only": ["layer 1", "layer 11", "head 2"], "width_mm": 85}}
    assert Layout().meta == {}
    of_tiles = Layout(only=("number 4",)).numbers([([subject()], [tiles(5)])] * 2)
    assert [*of_tiles] == ["number 4_1", "number 4_2"]


def test_a_name_that_no_map_has_is_said_with_those_that_there_are():
    with pytest.raises(ControlError, match="called 'layer 4'; there are layer 1, layer 2, layer 3, head 1, head 2"):
        paper_sheet([([subject()], [heads(3)])], CAPTIONS, layout=Layout(only=("layer 4",)))
    with pytest.raises(ControlError, match="'layer'"):  # a word of a name, and none of its own
        paper_sheet([([subject()], [tiles(2)])], CAPTIONS, layout=Layout(only=("layer",)))
    with pytest.raises(ControlError, match="60 to 420"):
        Layout(0.5)


def test_numbers_of_several_models_have_their_own_names():
    both = numbers(Toy(3).show(subject()), Toy(1).show(subject()))
    assert {name for name in both if not name.startswith("table")} == {"heat_1", "heat_2"}
    assert_array_equal(both["heat_2"], HEAT)


def test_what_tables_say_is_saved_with_the_numbers():
    """Wherever a host makes them: in columns, later, and of several models."""
    rows = ({"method": "a", "score": 0.5, "more": None}, {"method": "b", "score": "−0.1", "more": "x"})
    blocks = [
        Columns(((Table(rows, ""),), (Metrics((("What", "12 %", "more"),)),))),
        Part(lambda: [Table(rows[:1], "")]),
    ]
    saved = numbers([*blocks, Numbers(lambda: {"own": [1]})])
    assert {name: each.tolist() for name, each in saved.items()} == {
        "own": [1],
        "table1": [["method", "score", "more"], ["a", "0.5", ""], ["b", "−0.1", "x"]],
        "table2": [["What"], ["12 %"]],
        "table3": [["method", "score", "more"], ["a", "0.5", ""]],
    }
    assert {"own_1", "table3_1", "table1_2"} <= set(numbers([*blocks, Numbers(lambda: {"own": [1]})], blocks))
    assert numbers([Table((), "")]) == {}


def test_numbers_of_all_blocks():
    assert_array_equal(numbers(flat(Toy(3).show(subject())))["heat"], 3 * HEAT)


# ---- rows, as look.js reads them -------------------------------------------------------------------------------------
def rows():
    """Two windows of two places of a 2 × 2 grid and a class token: [cls], then places 1, 2 and 3, 4."""
    values = np.arange(12, dtype=float).reshape(2, 2, 3)
    return Rows(
        values, (2, 2), (2, 2), np.array([[1, 2], [3, 4]]), np.array([[0, 1, 2], [0, 4, -1]]), ("cls",), ("cls",)
    )


@pytest.mark.parametrize(
    "query, expected",
    [((0.1, 0.1), 1), ((0.9, 0.1), 2), ((0.1, 0.9), 3), ((0.9999, 0.9999), 4), ("cls", 4), ("nobody", 4)],
)
def test_whose_row_it_is(query, expected):
    assert rows().query_id(query) == expected  # [cls] has no row here, so that at the centre: row 2, column 2


def test_a_row_lies_at_its_keys():
    places, special = rows().row_of(2)  # 3, 4, 5 for [cls], 1 and 2
    assert_array_equal(places, [[4, 5], [0, 0]])
    assert special == {"cls": 3.0}
    places, special = rows().row_of(3)  # 6, 7, 8 for [cls], 4 and padding
    assert_array_equal(places, [[0, 0], [0, 7]])


def test_where_a_query_lies():
    assert rows().cell_box(0) is None
    assert rows().cell_box(2) == (0.5, 0.0, 1.0, 0.5)
