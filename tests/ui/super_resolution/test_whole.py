"""The image as it is, enlarged: tiles that come in one after another, and stay when the work is stopped."""

import io

import numpy as np
import pytest
from PIL import Image

from tests.ui.conftest import fine, opened, sent_to
from vizkit.analysis.attribution.subject import Stopped
from vizkit.device import Device
from vizkit.models.super_resolution import enlarge, open_enlarger
from vizkit.traces import NotApplicable
from vizkit.ui.session import background
from vizkit.ui.session.subjects import SharedSubject
from vizkit.views.blocks import Canvas, Later, Said
from vizkit.views.subject import no_model
from vizkit.views.super_resolution.enlarge import WHOLE, Enlarge
from vizkit.views.super_resolution.whole import from_the_middle, jobs_of, png_of, tiles_of

VIEW = {"super_resolution_view": "Whole picture", "image": "digit 3"}  # as an earlier version had it
AS_IT_IS = Enlarge(side=WHOLE)


class Heard(background.Task):
    """A task that is stopped when it is heard for the last time."""

    def __init__(self, last=99):
        super().__init__(Device())
        self.last, self.said = last, []

    def report(self, doing, done, total):
        self.said.append((done, total))
        if len(self.said) == self.last:
            raise Stopped


def picture(rows, columns):
    return np.random.default_rng(0).integers(256, size=(rows, columns, 3), dtype=np.uint8)


def test_tiles_that_are_done_when_it_is_stopped_are_not_computed_again():
    of = SharedSubject(no_model, picture(9, 110))
    (later,) = AS_IT_IS.show(of)
    with pytest.raises(Stopped):
        background.do(of, later.jobs, Heard(3))  # each job is heard twice
    found = {job.key: done for job in later.jobs if (done := of.find(job.key)) is not None}
    said, *_, canvas = (each for each in later.show(found) if isinstance(each, Said | Canvas))
    assert canvas.data["titles"][1] == "without reference"
    assert said.text.startswith("The part on show is being enlarged: 1 of 3 tiles done"), "one count"
    (middle, *_), *_ = found.values()
    whole = enlarge(open_enlarger("bundled:insects_sr"), of.rgb)
    assert np.array_equal(middle[2], whole[:, 192:384]), "the middle comes first"
    rest = [job for job in later.jobs if job.key not in found]
    second = Heard()
    background.do(of, rest, second)
    assert len(second.said) == 4
    *_, numbers = later.show({job.key: of.find(job.key) for job in later.jobs})
    assert np.array_equal(numbers.arrays()["result"], whole)


def test_the_middle_of_a_picture_comes_first():
    sides = [slice(0, 4), slice(4, 8), slice(8, 10)]
    assert from_the_middle([(row, column) for row in sides for column in sides])[0] == 4


def test_a_small_picture_is_enlarged_at_once_and_can_be_taken_away(monkeypatch):
    monkeypatch.setattr(background, "start", lambda name, work: work(Heard()))
    test = opened("super_resolution", **VIEW, sr_whole_reference="mayfly nymph")
    fine(test)
    (sent,) = sent_to(test, "vizkit_transfer")
    assert sent["titles"] == ["bicubic", "with the reference"]
    assert sent["reference"]
    assert "All pixels (PNG)" in [button.proto.label for button in test.get("download_button")]
    again = opened("super_resolution", **test.query_params)
    assert sent_to(again, "vizkit_transfer") == [sent]


def test_the_clock_that_asks_for_more_starts_when_all_is_drawn(monkeypatch):
    """Else it ticks within the same run, and Streamlit leaves what another setting drew standing below."""
    order, shown = [], Enlarge.shown
    monkeypatch.setattr(background, "start", lambda *_: None)
    monkeypatch.setattr(background, "show", lambda *_, **__: order.append("clock"))
    monkeypatch.setattr(Enlarge, "shown", lambda *given, **more: order.append("tiles") or shown(*given, **more))
    opened("super_resolution", **VIEW)
    assert order[:2] == ["tiles", "clock"]


def test_of_a_large_picture_the_part_in_view_is_enlarged_at_once_and_the_rest_at_a_press():
    of = SharedSubject(no_model, picture(300, 300))
    (near,) = AS_IT_IS.show(of)
    assert not near.button, "what is looked at is enlarged at once"
    assert near.silent, "no bar that nobody asked for"
    assert [block for block in near.show({}) if isinstance(block, Later)] == []
    found = {job.key: [(slice(0, 4), slice(0, 4), picture(4, 4))] for job in near.jobs}
    (later,) = near.show(found)
    assert 0 < len(near.jobs) <= 20
    assert later.button == "Enlarge all 49 tiles"
    assert later.only_asked
    assert not later.silent
    assert len(later.jobs) <= 25
    said, *_, _ = later.show({})
    assert said.text.startswith("The part on show, 720 × 416 pixels: neighbouring pixels differ ")


def test_a_tile_is_enlarged_once_whatever_asks_for_it(monkeypatch):
    of = SharedSubject(no_model, picture(60, 60))
    near, every = jobs_of(of, tiles_of(of.rgb), None, (slice(0, 60), slice(0, 60)))
    background.do(of, near, Heard())
    monkeypatch.setattr("vizkit.models.super_resolution.enlarging.enlarged_tiles", None)
    background.do(of, every, Heard())
    assert len(of.find(every[0].key)) == 1


def test_a_picture_that_is_large_already_is_refused_in_a_sentence(monkeypatch):
    monkeypatch.setattr("vizkit.models.super_resolution.enlarging.MOST_PIXELS", 50)
    with pytest.raises(NotApplicable, match="give a smaller one"):
        list(AS_IT_IS.show(SharedSubject(no_model, picture(9, 9))))


def test_the_file_has_every_pixel():
    rgb = picture(40, 52)
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(png_of(rgb)))), rgb)
