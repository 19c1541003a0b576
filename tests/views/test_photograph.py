"""Every view on a trained ViT without classes and a photograph: what people open, and what toys do not show: shares
"< 0.001 %" too, in the file of a figure."""

from contextlib import suppress
from functools import cache
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest

import vizkit
from tests.views.contract import few_pictures
from vizkit.datasets import photographs, samples
from vizkit.figure.saved.plate import Overlay
from vizkit.figure.saved.single import Captions
from vizkit.figure.saved.svg import svg
from vizkit.figure.scales import LEAST_TIMES, LINEAR, MOST_TIMES, SHARES, between, colours_used, robust
from vizkit.hosts.paper import plate
from vizkit.traces import NotApplicable
from vizkit.views import VIEWS, class_of
from vizkit.views.subject import Subject

PICTURE = "china"
LEAST_COLOURS = 3.0
SPREAD, APART = 1 / 6, 4.0


@cache
def model():
    return vizkit.load("bundled:photographs_vit")


def subject():
    picture, point = samples.picture(PICTURE), photographs.POINTS[PICTURE]
    return Subject(model, picture, image=PICTURE, model="ViT · photographs", point=point)


def structured(mark):
    """Whether a map has something to show: its shares are spread over a sixth of its places or more (e to their
    entropy), and the 95th percentile is at least four times the 5th, as far as the scale of shares reaches. A head that
    gives nearly all to a few patches is some bright patches on a dark picture, and no scale may say more."""
    values = np.abs(mark.places[np.isfinite(mark.places)]).ravel()
    shares = values[values > 0] / (values.sum() or 1.0)
    low, high = np.percentile(values * values.size / (values.sum() or 1.0), (5, 95)).clip(LEAST_TIMES, MOST_TIMES)
    return float(np.exp(-(shares * np.log(shares)).sum())) >= SPREAD * values.size and high >= APART * low


def too_plain(drawn):
    """Maps that use too few of their colours; those of one scale with ends of its own are compared, and judged
    together."""
    found = [mark for mark in drawn.marks if isinstance(mark, Overlay) and max(mark.opacities) > 0 and structured(mark)]
    groups = {}
    for number, mark in enumerate(found):
        together = mark.scale if mark.scale.kind == LINEAR else number
        groups.setdefault(together, []).append(mark.scale.positions(mark.places).ravel())
    used = [colours_used(np.concatenate(each)) for each in groups.values()]
    return [f"{number:.1f} of 16 colours" for number in used if number < LEAST_COLOURS]


@pytest.mark.product
@pytest.mark.parametrize("view", [view for view, entry in VIEWS.items() if "models" in entry.reads])
def test_a_view_speaks_of_a_photograph_or_says_why_not(view, monkeypatch):
    few_pictures(monkeypatch)
    with suppress(NotApplicable):
        drawn = plate(class_of(view)(), [subject()], Captions("", (), (), {}))
        assert too_plain(drawn) == []
        assert ElementTree.fromstring(svg(drawn)).tag.endswith("svg")


def test_a_map_in_one_colour_is_noticed_and_a_single_bright_patch_is_none():
    places = np.geomspace(0.001, 0.02, 64).reshape(8, 8)
    picture = np.zeros((64, 64, 3), np.uint8)

    def of(places, scale):
        return SimpleNamespace(marks=[Overlay(picture, places, (0.0, 0.0, 64.0, 64.0), 0.0, 0.0, 64.0, 64.0, scale)])

    assert too_plain(of(places, between(0.0, 1.0))) == ["1.0 of 16 colours"]
    assert too_plain(of(places, SHARES)) == too_plain(of(places, robust([places]))) == []
    assert too_plain(of(np.eye(8) * [1, *[0] * 7] + 1e-6, SHARES)) == []
