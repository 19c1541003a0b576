"""Saved pictures: what is drawn and written in a PNG and an SVG, by small maps with numbers known on paper."""

import io
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from vizkit.figure.palette import colours
from vizkit.figure.saved.plate import Outline, Overlay, Plate, Words, clean, fitting, font, wrapped
from vizkit.figure.saved.png import png
from vizkit.figure.saved.single import WIDTH, Captions, MapOf, below, map_bar, map_marks, top_lines
from vizkit.figure.saved.small_maps import SmallMap, small_maps
from vizkit.figure.saved.svg import svg
from vizkit.figure.scales import SHARES, SIGNED_SHARES, Scale, between

GREY = np.full((40, 60, 3), 100, np.uint8)
HOSTILE = "<script>alert(1)</script>![x](http://evil.test/a.png)\x00\x1b[31m" + "n" * 200
SVG = "{http://www.w3.org/2000/svg}"


def captions(**changed):
    said = {
        "title": "Attention: layer 2",
        "lines": ["Model a · image b"],
        "footer": ["vizkit 1", "http://x/?a=1"],
        "facts": {"Description": "Model a", "vizkit": '{"a": "<b>"}'},
    }
    return Captions(**said | changed)


def one_map(image, box_xyxy, of, said):
    marks, y = top_lines(said, WIDTH)
    made, y = map_marks(image, box_xyxy, of, y)
    return below([*marks, *made], said, WIDTH, y)


def drawn(**changed):
    places = np.array([[0.0, 0.1, 0.0], [0.2, 0.0, 0.5]])
    options = {"places": places, "scale": between(0, 0.5, "%"), "quantity": "share of the attention"}
    return one_map(GREY, (15.0, 5.0, 45.0, 35.0), MapOf(**options | changed), captions())


def words(plate):
    return [mark.text for mark in plate.marks if isinstance(mark, Words)]


def test_a_plate_says_what_it_shows_and_where_its_colours_end():
    said = words(drawn())
    assert said[:2] == ["Attention: layer 2", "Model a · image b"]
    assert said[2:] == ["0", "50 %", "share of the attention", "vizkit 1", "http://x/?a=1"]
    signed = words(drawn(scale=Scale("linear", -2.0, 2.0, True, "", full=(-3.0, 9.0))))
    assert signed[2:6] == ["≤ −2", "0", "≥ 2", "share of the attention · all: −3 to 9"]
    assert words(drawn(scale=SHARES))[2:10] == ["≤ ¼", "½", "1", "2", "4", "8", "16", "≥ 32 ×"]


def test_a_png_has_its_text_in_the_file_and_its_colours_on_the_paper():
    plate = drawn(marked=(0.0, 0.0, 1 / 3, 0.5), opacities=(1.0, 1.0))
    image = Image.open(io.BytesIO(png(plate)))
    assert image.text == {"Title": "Attention: layer 2", "Description": "Model a", "vizkit": '{"a": "<b>"}'}
    assert png(plate) == png(plate)
    (over,) = [mark for mark in plate.marks if isinstance(mark, Overlay)]
    pixels, times = np.asarray(image), image.width / plate.width

    def at(x, y):
        """The colour at a point of the photograph, in its pixels."""
        scale = over.width / GREY.shape[1]
        return pixels[round((over.y + y * scale) * times), round((over.x + x * scale) * times)].tolist()

    assert at(40, 28) == colours()[255].tolist()  # the largest value
    assert at(30, 28) == colours()[0].tolist()
    assert at(5, 20) == [35, 35, 35]  # the model did not see it
    edge = [at(x, 12) for x in np.arange(22, 28, 0.25)]
    assert [255, 255, 255] in edge  # the marker of the query
    assert [0, 0, 0] in edge
    titles = pixels[: round(40 * times)]
    assert (titles < 100).any()  # the title is drawn


def test_an_svg_is_whole_and_holds_the_same_text_harmlessly():
    said = captions(title=clean(HOSTILE), lines=[HOSTILE], facts={"vizkit": '"&<', "Description": "<d>"})
    shares = np.array([[1, 1e-7]])
    plate = one_map(GREY, (0.0, 0.0, 60.0, 40.0), MapOf(shares, between(0, 1, "%"), "share"), said)
    root = ElementTree.fromstring(svg(plate))
    assert root.find(f"{SVG}title").text == clean(HOSTILE)
    assert root.find(f"{SVG}desc").text == "<d>"
    facts = {fact.get("name"): fact.text for fact in root.find(f"{SVG}metadata")[0]}
    assert facts == {"vizkit": '"&<', "Description": "<d>"}
    assert not list(root.iter(f"{SVG}script"))
    titles = [title.text for title in root.iter(f"{SVG}title")]
    assert titles[1:] == ["row 1, column 1: 100 %", "row 1, column 2: < 0.001 %"]
    assert any("script" in (text.text or "") for text in root.iter(f"{SVG}text"))


@pytest.mark.parametrize("wide", [170.0, 206.0, 264.0, 452.0])
@pytest.mark.parametrize("scale", [SHARES, SIGNED_SHARES, between(-0.25, 0.25, "%", signed=True)])
def test_values_below_a_bar_lie_beside_one_another(wide, scale):
    made, _ = map_bar(0.0, wide, scale, "")
    level = [mark for mark in made if isinstance(mark, Words) and mark.text in dict(map(reversed, scale.ticks))]
    assert [level[0].text, level[-1].text] == [scale.ticks[0][1], scale.ticks[-1][1]]
    sizes = [font(mark.size).getlength(mark.text) for mark in level]
    starts = [
        m.x - {"start": 0, "middle": 0.5, "end": 1}[m.anchor] * size for m, size in zip(level, sizes, strict=True)
    ]
    ends = [start + size for start, size in zip(starts, sizes, strict=True)]
    assert all(end < start for end, start in zip(ends, starts[1:], strict=False))
    assert wide < 300 or len(level) == len(scale.ticks)  # of a whole page none is left out


def test_a_small_map_marks_who_asks_where_the_large_one_does():
    box, asks = (15.0, 5.0, 45.0, 35.0), (0.5, 0.0, 0.75, 0.5)
    small = SmallMap("layer 1", "", GREY, box, np.eye(2, 4), SHARES, marked=asks)
    marks, _ = small_maps([small], 1, 100.0, (0.2, 0.8), 0.0)
    (over,) = (mark for mark in marks if isinstance(mark, Overlay))
    dark, light = (mark for mark in marks if isinstance(mark, Outline))
    assert (dark.line, light.line) == (4.0, 2.0)  # a cell is 25 wide
    assert (light.x - over.x, light.y - over.y) == pytest.approx((50, 0))
    assert (light.width, light.height) == pytest.approx((25, 50))


@pytest.mark.parametrize("text", [HOSTILE, "a " * 300, "x" * 500, "", "\n\t"])
def test_no_line_is_wider_than_its_room(text):
    for line in wrapped(text, 11.0, 200.0, 3):
        assert font(11.0).getlength(line) <= 200
        assert line.isprintable()
    assert len(wrapped(text, 11.0, 200.0, 3)) <= 3
    assert font(11.0).getlength(fitting(text, 11.0, 90.0)) <= 90


def test_a_word_that_has_room_on_a_line_is_not_broken():
    words = "dragonfly nymph: dragonfly nymph, 43 %"
    assert " ".join(wrapped(words, 11.0, 62.0, 9)) == words
    assert "".join(wrapped("x" * 50, 11.0, 62.0, 9)) == "x" * 50


def test_words_stand_upright_over_their_place():
    """From their place up, in both files: the ink is left of the place and above it."""
    mark = Words("upright", 40.0, 90.0, 12.0, upright=True)
    drawn = Plate(100.0, 100.0, "", (mark,))
    with Image.open(io.BytesIO(png(drawn))) as image:
        times = image.width / 100
        rows, columns = (np.argwhere(np.asarray(image.convert("L")) < 128) / times).T
    assert 40 - 12 < columns.min() < columns.max() < 40 + 5
    assert 90 - font(12.0).getlength("upright") - 1 < rows.min() < rows.max() <= 90.5
    assert 'transform="rotate(-90 40 90)"' in svg(drawn)


def test_a_name_is_elided_in_its_middle():
    short = fitting("vit_small_patch16_224_a_very_long_name_indeed_21k", 11.0, 150.0)
    assert short.startswith("vit_")
    assert short.endswith("21k")
    assert "…" in short


def test_a_fine_map_is_one_picture_and_a_coarse_one_has_values():
    assert svg(drawn(places=np.eye(80))).count("<rect") < 20
    assert svg(drawn()).count("<title>row") == 6
