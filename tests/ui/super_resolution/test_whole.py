"""The view Whole picture: tiles that come in one after another, and stay when the work is stopped."""

import io

import numpy as np
import pytest
from PIL import Image

from tests.ui.conftest import fine, opened, sent_to
from vizkit.analysis.attribution.subject import Stopped
from vizkit.models.super_resolution import enlarge, open_enlarger
from vizkit.ui.device import Device
from vizkit.ui.pages.super_resolution.whole import Enlarged, enlarging, png_of
from vizkit.ui.session import background
from vizkit.ui.session.remembered import shelf

VIEW = {"super_resolution_view": "Whole picture", "image": "digit 3"}


class Heard(background.Task):
    """A task that is stopped after so many passes."""

    def __init__(self, passes: int = 99):
        super().__init__(Device())
        self.passes, self.said = passes, []

    def report(self, doing, done, total):
        self.said.append((done, total))
        if len(self.said) == self.passes:
            raise Stopped


def picture(rows, columns):
    return np.random.default_rng(0).integers(256, size=(rows, columns, 3), dtype=np.uint8)


def test_tiles_that_are_done_when_it_is_stopped_are_not_computed_again():
    rgb, key = picture(9, 110), ("whole test",)
    first, second = Heard(1), Heard()
    with pytest.raises(Stopped):
        enlarging(rgb, None, key, None)(first)
    stopped: Enlarged = shelf().find(key)
    assert (stopped.done, stopped.total) == (1, 3)
    whole = enlarge(open_enlarger("bundled:insects_sr"), rgb)
    assert np.array_equal(stopped.pixels[:, :192], whole[:, :192])
    assert not np.array_equal(stopped.pixels[:, 192:], whole[:, 192:])  # bicubic as yet
    enlarging(rgb, None, key, stopped)(second)
    assert second.said == [(2, 3), (3, 3)]
    assert np.array_equal(shelf().find(key).pixels, whole)


def test_a_picture_is_enlarged_by_a_press_and_can_be_taken_away(monkeypatch):
    monkeypatch.setattr(background, "start", lambda name, work: work(Heard()))
    test = opened("super_resolution", **VIEW, sr_whole_reference="mayfly nymph")
    fine(test)
    assert sent_to(test, "vizkit_swipe")[0]["titles"][1] == "TTSR, 0 of 1 tiles"
    next(button for button in test.button if button.label == "Enlarge ×4").click()
    test.run()
    fine(test)
    assert sent_to(test, "vizkit_swipe")[0]["titles"] == ["bicubic", "TTSR"]
    assert [button.proto.label for button in test.get("download_button")] == ["Picture (PNG)"]
    again = opened("super_resolution", **test.query_params)
    assert sent_to(again, "vizkit_swipe")[0]["titles"] == ["bicubic", "TTSR"]


def test_a_picture_that_is_large_already_is_refused_in_a_sentence(monkeypatch):
    monkeypatch.setattr("vizkit.models.super_resolution.enlarging.MOST_PIXELS", 50)
    test = opened("super_resolution", **VIEW)
    assert not test.exception
    assert "give a smaller one" in "\n".join(each.value for each in (*test.info, *test.warning))


def test_the_file_has_every_pixel():
    rgb = picture(40, 52)
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(png_of(rgb)))), rgb)
