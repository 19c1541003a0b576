"""Charts and tiles on a plate: what is read off a figure, and where its lines and cells are drawn."""

import io
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image

from vizkit.figure.charts import bars, curves, dots_by_depth, heat_map, paired_bars, rule, template
from vizkit.figure.contributions import appearing
from vizkit.figure.palette import CLASSES, OTHERS, SIGNED, colours
from vizkit.figure.saved.panels import Line, Panel, chart_marks, panel_of
from vizkit.figure.saved.plate import Plate, Raster, Stroke, Words
from vizkit.figure.saved.png import png
from vizkit.figure.saved.svg import svg


def plate_of(panel):
    marks, end = chart_marks(panel, 0.0)
    return Plate(480.0, end + 10, "", tuple(marks))


def words(plate):
    return [mark.text for mark in plate.marks if isinstance(mark, Words)]


def test_a_figure_of_curves_is_read_with_its_axes():
    figure = curves(
        {"a <b>": (np.arange(3), np.array([1, np.nan, 3.14159265])), "c": (np.arange(2), np.ones(2))},
        "steps",
        "loss",
        "Title",
        marked={1.0: "dot"},
    )
    figure.update_yaxes(type="log", range=[-3, 1])
    panel = panel_of(figure)
    assert (panel.title, panel.x, panel.y, panel.log, panel.span_y) == ("Title", "steps", "loss", True, (-3.0, 1.0))
    assert panel.lines[0] == Line("a <b>", (0.0, 1.0, 2.0), (1.0, None, 3.14159), 0)
    assert panel.lines[1].colour == 1
    assert [box[:3:2] for box in panel.boxes] == [(1.0, 1.0)]


def test_axes_that_show_no_numbers_have_none_on_paper():
    """The places of a t-SNE are other ones on another processor, and their numbers mean nothing."""
    figure = curves({"a": (np.arange(3), np.arange(3.0))}, "first axis", "second axis")
    assert {"0", "1", "2"} <= {*words(plate_of(panel_of(figure)))}
    figure.update_layout(xaxis={"showticklabels": False}, yaxis={"showticklabels": False})
    assert [word for word in words(plate_of(panel_of(figure))) if word[:1].isdigit()] == []


def test_a_heat_map_is_read_with_its_colours_and_frames():
    figure = heat_map(np.array([[1.0, -2], [0, 0.5]]), "x", "y", signed=True, limit=4.0)
    figure.add_shape(type="rect", x0=-0.5, y0=-0.5, x1=0.5, y1=0.5)
    panel = panel_of(figure)
    assert (panel.cells, panel.limit, panel.signed) == (((1.0, -2.0), (0.0, 0.5)), 4.0, True)
    plate = plate_of(panel)
    raster = next(mark.rgb for mark in plate.marks if isinstance(mark, Raster))
    assert_array_equal(raster[0, 1], colours(SIGNED)[64])  # −2 of ±4: a quarter of the way
    assert "y, downwards; x, to the right" in words(plate)


def test_lines_are_drawn_where_their_numbers_are_and_break_where_there_are_none():
    line = Line("one", (0.0, 1.0, 2.0, 3.0), (0.0, 1.0, None, 0.5), 2, "dash")
    plate = plate_of(Panel("", "x", "y", (line,), span_y=(0.0, 1.0)))
    drawn = [mark for mark in plate.marks if isinstance(mark, Stroke) and mark.colour == CLASSES[2]]
    (first, second), (dot,), legend = (mark.points for mark in drawn)
    assert first[1] - second[1] == pytest.approx(190)  # 0 at the bottom, 1 at the top
    assert dot[0] - first[0] == pytest.approx(3 * (second[0] - first[0]))
    assert dot[1] == pytest.approx((first[1] + second[1]) / 2)
    assert len(legend) == 2
    assert {"0", "1", "2", "3", "0.2", "one", "y against x"} <= set(words(plate))
    page = np.asarray(Image.open(io.BytesIO(png(plate))))
    times = page.shape[1] / plate.width
    assert page[round(dot[1] * times), round(dot[0] * times)].tolist() == [15, 120, 0]  # CLASSES[2]
    root = ElementTree.fromstring(svg(plate))
    dashed = [mark for mark in root.iter("{http://www.w3.org/2000/svg}polyline") if mark.get("stroke-dasharray")]
    assert len(dashed) == 3


def test_a_logarithmic_axis_has_powers_of_ten():
    line = Line("", (1.0, 2.0, 3.0), (1e-4, 1e2, 0.0))
    plate = plate_of(Panel("", "x", "y", (line,), log=True))
    assert {"10⁻⁴", "10⁰", "10²"} <= set(words(plate))
    legend, points = sorted(
        (mark.points for mark in plate.marks if isinstance(mark, Stroke) and mark.line > 1),
        key=lambda points: points[0][1] != points[1][1],
    )
    assert len(legend) == len(points) == 2  # the last number has no logarithm
    assert points[0][1] > points[1][1]


def test_dots_are_not_joined_and_have_no_line_in_the_legend():
    figure = dots_by_depth([np.array([0.25, 0.5]), np.array([0.75])], "share")
    panel = panel_of(figure)
    assert [(line.y, line.words) for line in panel.lines] == [((0.25, 0.5, 0.75), ("", "", ""))]
    strokes = [mark for mark in plate_of(panel).marks if isinstance(mark, Stroke)]
    assert [len(stroke.points) for stroke in strokes if stroke.line > 1] == [1, 1, 1]


def test_cells_carry_their_numbers_where_there_is_room():
    figure = heat_map(np.array([[0.25, 1.0]] * 2), "key", "query", x_names=["a", "b"], digits=2)
    marks = plate_of(panel_of(figure)).marks
    dark, bright, *_ = (mark for mark in marks if isinstance(mark, Words) and mark.text in ("0.25", "1.00"))
    assert (dark.text, dark.colour, bright.text) == ("0.25", "#ffffff", "1.00")
    assert bright.colour != dark.colour
    signed = heat_map(np.array([[-0.5, np.nan], [0.5, 1.0]]), "key", "query", signed=True, digits=2)
    assert signed.data[0].text[0] == ["−0.50", ""], "an empty cell says nothing"
    signed = panel_of(signed)
    assert [word for word in words(plate_of(signed)) if "." in word] == ["−0.50", "0.50", "1.00"]
    many = heat_map(np.full((2, 80), 0.25), "key", "query", digits=2)
    assert words(plate_of(panel_of(many))).count("0.25") == 1  # the end of its colours
    assert panel_of(heat_map(np.eye(2), "key", "query")).digits is None


@pytest.mark.parametrize("dash, drawn", [("solid", [10.0]), ("dash", [6.0, 1.0]), ("dot", [1.5, 1.5, 1.5])])
def test_a_dashed_line_is_drawn_in_pieces_that_follow_its_bends(dash, drawn):
    pieces = Stroke(((0.0, 0.0), (4.0, 0.0), (4.0, 6.0)), "#000000", 1.0, dash).pieces()
    lengths = [sum(np.hypot(*np.subtract(b, a)) for a, b in pairwise(piece)) for piece in pieces]
    assert_allclose(lengths, drawn, atol=1e-6)
    if dash != "dot":
        assert (4.0, 0.0) in pieces[0]


@pytest.mark.parametrize("values", [(), (None,), (5.0,), (5.0, 5.0), (1e29, -1e29), (1e-300, 0.0)])
def test_any_numbers_give_a_plate(values):
    line = Line("", tuple(float(i) for i in range(len(values))), values)
    for log in (False, True):
        assert png(plate_of(Panel("", "", "", (line,), log=log)))


def test_rules_of_a_figure_are_drawn():
    figure = curves({"a": (np.arange(3), np.arange(3))}, "x", "y")
    rule(figure, 1.0)
    plate = plate_of(panel_of(figure))
    assert [mark.dash for mark in plate.marks if isinstance(mark, Stroke) and mark.dash == "dot"] == ["dot"]


@pytest.mark.parametrize("layer", [1, 2, 3])
def test_a_rule_at_a_name_stands_over_this_name(layer: int):
    """On an axis of names a shape is counted from the first of them."""
    said = {"a": (CLASSES[0], np.array([0.1, 0.2, 0.9]))}
    plate = plate_of(panel_of(appearing(said, "probability", (), layer)))
    line, rule = (
        next(mark for mark in plate.marks if isinstance(mark, Stroke) and mark.colour == ink)
        for ink in (CLASSES[0], OTHERS)
    )
    assert rule.points[0][0] == pytest.approx(line.points[layer - 1][0])


def test_named_cells_say_their_names_and_a_single_row_is_a_strip():
    names = ["the", "cat"]
    panel = panel_of(heat_map(np.eye(2), "x", "y", x_names=names, y_names=["a", "b"]))
    assert (panel.rows, panel.columns) == (("a", "b"), ("the", "cat"))
    assert {"a", "b", "the", "cat"} <= set(words(plate_of(panel)))
    strip = Panel("scores", "", "", cells=((0.5, None, -1.0),), signed=True, columns=("x", "y", "z"))
    plate = plate_of(strip)
    (raster,) = (mark for mark in plate.marks if isinstance(mark, Raster))
    assert raster.height < 20
    assert_array_equal(raster.rgb[0, 1], colours(SIGNED)[128])  # what is infinite has no colour
    assert {"scores", "from −1 to 1", "x", "y", "z"} <= set(words(plate))


def test_bars_have_the_lengths_of_their_numbers_from_zero():
    panel = panel_of(bars(["a", "b"], [0.5, -1.0], "cosine"))
    (line,) = panel.lines
    assert panel.bars
    assert (line.x, line.y, line.words) == ((1.0, 2.0), (0.5, -1.0), ("a", "b"))
    plate = plate_of(panel)
    first, second = (mark for mark in plate.marks if isinstance(mark, Raster))
    assert second.width == pytest.approx(2 * first.width)
    assert second.x + second.width == pytest.approx(first.x)  # −1 ends where 0.5 begins
    assert first.y + first.height < second.y
    assert {"a", "b", "0.5", "−1", "cosine"} <= set(words(plate))


def test_bars_of_two_kinds_lie_beside_one_another_and_are_named():
    panel = panel_of(paired_bars(["a", "b"], {"one": [0.25, 0.0], "two": [0.75, 1.0]}, "share"))
    plate = plate_of(panel)
    drawn = [mark for mark in plate.marks if isinstance(mark, Raster)]
    assert len(drawn) == 3  # 0 has no bar, its number alone
    assert drawn[1].width == pytest.approx(3 * drawn[0].width)
    assert {"one", "two", "0.25", "0.75", "0", "1"} <= set(words(plate))
    assert all(mark.x + mark.width < plate.width for mark in drawn)


def test_words_that_would_lie_over_one_another_are_dots_alone():
    panel = Panel("", "x", "y", (Line("words", (0.0, 0.001, 1.0), (0.0, 0.0, 1.0), words=("first", "second", "far")),))
    marks, _ = chart_marks(panel, 0.0)
    texts = [mark.text for mark in marks if isinstance(mark, Words)]
    assert "first" in texts
    assert "far" in texts
    assert "second" not in texts
    assert sum(isinstance(mark, Stroke) and len(mark.points) == 1 for mark in marks) == 3


def test_a_figure_has_the_template_and_still_checks_what_it_is_given():
    figure = curves({"a": (np.arange(2), np.arange(2))}, "x", "y")
    assert figure.layout.template.to_plotly_json() == template().to_plotly_json()
    figure.layout.template.layout.hovermode = "x"
    assert template().layout.hovermode == "closest"
    with pytest.raises(ValueError, match="height"):
        figure.layout.height = "no"
