"""Pictures that are enlarged: the place that is looked at, the reference by its path, what is drawn on paper."""

import re
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

import vizkit
from vizkit.analysis.super_resolution.quality import agreement, steepness
from vizkit.datasets import samples
from vizkit.figure.saved.plate import Outline, Raster, Stroke, Words
from vizkit.figure.saved.transfer import LIKE, NO_PICTURE, NO_RELEVANCE, Transfer, around, halves, patch
from vizkit.models.super_resolution import difference_around, most_changed, open_enlarger, see
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Canvas, Line, Said
from vizkit.views.controls import ControlError
from vizkit.views.subject import Subject, no_model
from vizkit.views.super_resolution.enlarge import Enlarge
from vizkit.views.super_resolution.whole import PART_HW, seen_around


def grey(rows, columns, value=0):
    return np.full((rows, columns, 3), value, np.uint8)


def test_the_place_around_which_most_has_changed():
    one, other = grey(24, 20), grey(24, 20)
    other[12:16, 8:12] = 90  # place (3, 2), whose eight neighbours see as much: the first is taken
    other[16:20, 8:12] = 30
    assert most_changed(one, other) == (3, 1)


def test_how_far_an_image_is_off_around_a_place():
    one, other = grey(12, 16), grey(12, 16)
    other[:4, :4] = 51  # place (0, 0): a fifth of full brightness
    around = difference_around(one, other)
    np.testing.assert_allclose(around[:, 0], [0.2 / 4, 0.2 / 6, 0], atol=1e-6)  # in a corner four places are seen
    assert around[1, 1] == pytest.approx(0.2 / 9)
    drawn = transfer(says="{own} off", errors={"own": around})
    assert drawn.sentence() == "3.3 % off"
    assert drawn.pack()["errors"]["own"][1] == pytest.approx(0.2 / 6, abs=1e-5)


def test_steepness_and_agreement_of_stripes():
    stripes = grey(4, 4)
    stripes[:, 1::2] = 100
    assert steepness(stripes) == 50.0  # across always 100, down always 0
    assert agreement(grey(2, 2, 80), grey(8, 8, 80)) == np.inf
    assert agreement(grey(2, 2, 255), grey(8, 8, 0)) < 2


def transfer(**more):
    relevance = np.array([[0.1, 0.9, 0.8, 0.2], [0.3, 0.4, 0.5, 0.6]], np.float32)
    usual = {
        "small": grey(2, 4),
        "left": grey(8, 16),
        "right": grey(8, 16, 9),
        "reference": grey(8, 16),
        "truth": grey(8, 16),
    }
    says = "{relevance}, {gate}"
    usual |= {"titles": ("a", "b"), "at": (0, 1), "taken": (0, 1), "relevance": relevance, "gate": 0.4, "says": says}
    return Transfer(**usual | more)


def test_candidates_do_not_overlap_and_the_taken_one_is_first():
    assert [place for place, _ in transfer().candidates()] == [(0, 1), (1, 3)]
    assert [place for place, _ in transfer(taken=(1, 0)).candidates()] == [(1, 0), (0, 2)]


def test_left_of_the_bar_and_right_of_it():
    assert halves(grey(1, 4), grey(1, 4, 9), 0.5)[0, :, 0].tolist() == [0, 0, 9, 9]


def test_the_bar_goes_through_the_chosen_place_of_the_part_that_is_drawn_nearer():
    wide = transfer(small=grey(2, 10), left=grey(8, 40), right=grey(8, 40, 9), truth=grey(8, 40))
    for zoom, column, first, share in (
        (1, 0, 0, 0.05),
        (1, 9, 0, 0.95),
        (2, 0, 0, 0.1),
        (2, 5, 3, 0.5),
        (2, 9, 5, 0.9),
    ):
        one = replace(wide, at=(0, column), zoom=zoom)
        assert (one.drawn[1].start, one.near(one.right).shape[1]) == (first, 40 // zoom)
        assert one.bar == pytest.approx(share)
    frames = [mark for mark in one.marks(300.0)[0] if isinstance(mark, Outline) and mark.colour == "#ffffff"]
    small, result = frames  # not orange, as the place is
    assert "Part of the true image" in [mark.text for mark in one.marks(900.0)[0] if isinstance(mark, Words)]
    assert (small.x, small.width) == pytest.approx((result.x, result.width)), "both show where the part lies"


def test_a_useless_reference_has_the_colours_of_a_useless_one():
    """The strongest of its places is as dark as it is low, and not the brightest of the map."""

    def brightest(most):
        drawn = transfer(relevance=np.array([[-0.3, most], [0.0, 0.1]], np.float32), taken=(0, 1), reference=grey(8, 8))
        rasters = [mark for mark in drawn.marks(300.0)[0] if isinstance(mark, Raster)]
        return int(rasters[3].rgb.max())  # behind the input, the true image and the result

    assert brightest(0.4) < brightest(0.7) < brightest(1.0)


def test_a_tile_at_the_border_is_whole():
    ramp = np.arange(16, dtype=np.uint8)[None, :, None].repeat(16, 0).repeat(3, 2)
    assert patch(ramp, (2, 0))[0, :, 0].tolist() == [*range(12)]
    assert patch(ramp, (3, 3))[0, :, 0].tolist() == [*range(4, 16)]
    assert patch(ramp[:4, :4], (0, 0)).shape == (4, 4, 3)


def test_what_stands_there_without_a_reference_has_a_tile():
    def tiles(**more):
        return [each.text for each in transfer(**more).marks(300.0)[0] if isinstance(each, Words)]

    assert "no reference" in tiles(without=grey(8, 16))
    assert "no reference" not in tiles()
    assert LIKE in tiles()
    assert LIKE not in tiles(reference=NO_PICTURE, relevance=NO_RELEVANCE, says="")


def test_an_image_beside_itself_is_said_to_have_the_answer():
    def said(**settings):
        shown = vizkit.show("enlarge", None, "sample:china", **settings).blocks
        return [each.text for each in shown if isinstance(each, Said | Line)]

    finding, about, *_ = said()
    assert finding.startswith("The reference brings 0.40 dB of PSNR: 25.05 dB with it")
    assert about.startswith("The reference is this image, turned, moved and lit otherwise: the answer, but")
    assert about.endswith("lets 39 % of its finest texture in, mean over all places.")
    assert "this image" not in " ".join(said(reference="noise"))


def test_on_paper_the_arrow_ends_at_the_frame():
    marks, _ = transfer().marks(300.0)
    frames = [each for each in marks if isinstance(each, Outline) and each.colour == "#f59e0b"]
    truth, own, taken, _ = frames
    assert truth.x < own.x < taken.x
    line = next(each for each in marks if isinstance(each, Stroke) and each.colour == "#f59e0b")
    (x0, _), (x1, _) = line.points
    assert x0 == pytest.approx(taken.x)
    assert x1 == pytest.approx(own.x + own.width)
    assert transfer().sentence() == "0.90, 40 %"


def test_the_place_is_a_setting_and_where_most_is_missing_by_default_whatever_the_reference():
    usual = vizkit.show("enlarge", None, "sample:mayfly nymph")
    found = usual.numbers
    row, column = most_changed(found["truth"], found["bicubic"])
    of = Subject(no_model, vizkit.hosts.library.opened("sample:mayfly nymph", vizkit.views.VIEWS["enlarge"])[0])
    of.image = "mayfly nymph"
    for view in (Enlarge(), Enlarge(reference="noise"), Enlarge(moved=20)):
        canvas = next(each for each in view.show(of) if isinstance(each, Canvas))
        assert tuple(canvas.data["at"]) == (row, column)
    other = next(each for each in Enlarge(place=(40, 3)).show(of) if isinstance(each, Canvas))
    assert tuple(other.data["at"]) == (23, 3)
    relevance = found["relevance"].reshape(24, 24)
    assert relevance.max() <= 1.0001


def test_a_reference_is_named_by_its_path_in_a_notebook_and_by_no_link(tmp_path):
    file = tmp_path / "mine.png"
    Image.fromarray(np.random.default_rng(0).integers(256, size=(40, 24, 3), dtype=np.uint8)).save(file)
    shown = vizkit.show("enlarge", None, "sample:mayfly nymph", reference=str(file))
    assert shown.numbers["reference"].shape == (40, 24, 3)
    with pytest.raises(ControlError, match="cannot be"):
        vizkit.show("enlarge", None, "sample:mayfly nymph", reference=str(tmp_path / "no.png"))
    with pytest.raises(NotApplicable):
        next(iter(Enlarge(reference=str(file)).show(Subject(no_model, grey(64, 64)))))


def test_a_part_in_full_size_stays_inside():
    assert around((0, 0), (200, 225), PART_HW) == (slice(0, 104), slice(0, 180))
    assert around((199, 224), (200, 225), PART_HW) == (slice(96, 200), slice(45, 225))
    assert around((5, 50), (10, 225), PART_HW) == (slice(0, 10), slice(0, 180))
    assert around((100, 112), (200, 225), PART_HW) == (slice(48, 152), slice(22, 202))


def as_it_is(**more):
    """What a large drawn image is enlarged to, before any tile is."""
    of = Subject(no_model, samples.picture("mayfly nymph"), image="mayfly nymph")
    (later,) = Enlarge(side="whole", **more).show(of)
    return next(each for each in later.show({}) if isinstance(each, Canvas))


def test_of_the_image_as_it_is_a_part_is_sent_with_the_place_in_the_whole():
    canvas = as_it_is(spot=(3, 200))
    assert canvas.tells["at"][1] == "spot", "a place of the input that is shrunk is another"
    data = canvas.data
    assert (data["size"], data["grid"], data["first"], data["at"]) == ((224, 224), [104, 180], (0, 44), (3, 200))
    assert data["reference"] == data["truth"] == data["says"] == ""
    (paper,) = canvas.still
    marks, _ = paper.draw(452.0)
    outlines = {each.colour: each for each in marks if isinstance(each, Outline)}
    part, place = outlines["#ffffff"], outlines["#f59e0b"]
    small, own = (each for each in marks if isinstance(each, Raster) and each.width > 100)
    assert (part.x, part.y) == pytest.approx((small.x + 44 / 224 * small.width, small.y))
    assert place.x + place.width / 2 == pytest.approx(own.x + 156.5 / 180 * own.width)


def test_of_a_place_of_the_image_as_it_is_attention_is_what_the_network_saw():
    small, reference = (np.random.default_rng(seed).integers(256, size=(60, 52, 3), dtype=np.uint8) for seed in (0, 1))
    of = Subject(no_model, small)
    whole = see(open_enlarger("bundled:insects_ttsr"), small, reference)
    for row, column in ((0, 0), (30, 25), (59, 20)):
        seen, place = seen_around(of, reference, (row, column))
        index = row * 52 + column
        assert np.allclose(seen.map_of(place), whole.map_of(index), atol=1e-5)
        assert (seen.place[place], seen.gate[place]) == (whole.place[index], pytest.approx(whole.gate[index], abs=1e-5))


def test_a_reference_of_the_image_as_it_is_has_its_arrow_too():
    canvas = as_it_is(second="digit 3", spot=(100, 90))
    assert len(canvas.data["place"]) == 1
    assert "takes its texture from" in canvas.data["says"]
    assert "moved" not in canvas.tells


def test_of_the_image_as_it_is_the_place_lies_where_something_is_to_be_seen():
    rgb = np.full((120, 200, 3), 90, np.uint8)
    rgb[20:23, 150:153] = 255  # all else is of one colour
    of = Subject(no_model, rgb, image="")
    (later,) = Enlarge(side="whole").show(of)
    blocks = [*later.show({})]
    (row, column) = next(block.data["at"] for block in blocks if isinstance(block, Canvas))
    assert abs(row - 21) <= 2
    assert abs(column - 151) <= 2
    assert any("no copy of it can be the reference" in block.text for block in blocks if isinstance(block, Line))


def test_a_picture_of_one_colour_is_enlarged_too():
    said = vizkit.show("enlarge-whole", None, grey(8, 8, 120)).said
    assert said.startswith("32 × 32 pixels: shrunk again, it ")
    assert "1 of 1" not in said


def test_the_arrows_follow_a_reference_that_is_moved_and_the_decibels_say_what_it_is_worth():
    still, moved = (vizkit.show("enlarge", image="sample:mayfly nymph", moved=px) for px in (0, 8))
    rows, columns = divmod(still.numbers["place"], 24)  # of 24 × 24 places of 4 × 4 pixels
    followed = rows * 24 + (columns + 2) % 24 == moved.numbers["place"]
    assert followed.mean() > 0.8
    assert (moved.title, still.said) != (still.title, moved.said)
    assert moved.title.endswith(", moved by 8 px")
    gain, own, without = map(float, re.findall(r"\d+\.\d\d", moved.said)[:3])
    assert gain == pytest.approx(own - without)
    assert 0.85 <= gain < 0.95
    told = [each.text for each in moved.blocks if isinstance(each, Line)]
    assert told[1].endswith("it may be worth more as well as less.")
