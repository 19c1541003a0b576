"""A report as slides: one for each picture, inside its 16:9, with its comment and where it came from."""

import io
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from pptx import Presentation

from vizkit.figure.saved.single import Captions
from vizkit.hosts.paper import lying, sheet
from vizkit.report.document import Entry, Report
from vizkit.report.example import EXAMPLE
from vizkit.report.item import Item
from vizkit.report.replay import inputs_for
from vizkit.report.slides import pptx
from vizkit.views.blocks import Heading, Line, Picture
from vizkit.views.explore import Explore
from vizkit.views.subject import Subject, no_model, no_picture

ITEM = Item(Explore(layer=2, head=2), "bundled:digits_vit", "ViT · digits", "digit 3", link="explore?layer=2")


@pytest.fixture(scope="module")
def deck():
    report = Report("Heads", (Entry(ITEM, "Look <b>here</b>"), Entry(replace(ITEM, shows=Explore(layer=3)))))
    return Presentation(io.BytesIO(pptx(report, inputs_for(report, {}, {}))))


def test_a_slide_for_each_picture_inside_of_it(deck):
    assert deck.slide_width / deck.slide_height == pytest.approx(16 / 9, rel=1e-4)
    title, first, second = deck.slides
    assert [shape.text for shape in title.shapes if shape.has_text_frame] == ["Heads"]
    for slide in (first, second):
        (picture,) = (shape for shape in slide.shapes if hasattr(shape, "image"))
        assert 0 < picture.left < picture.left + picture.width < deck.slide_width
        assert 0 < picture.top < picture.top + picture.height < deck.slide_height
        with Image.open(io.BytesIO(picture.image.blob)) as opened:
            assert picture.width / picture.height == pytest.approx(opened.width / opened.height, rel=1e-3)
        assert "layer=2" in slide.notes_slide.notes_text_frame.text
        assert "Model: ViT · digits" in slide.notes_slide.notes_text_frame.text


def test_the_comment_is_text_beside_the_picture(deck):
    _, first, second = deck.slides
    picture, comment = first.shapes
    assert comment.text == "Look <b>here</b>"
    assert comment.left >= picture.left + picture.width
    assert comment.left + comment.width <= deck.slide_width
    assert len(second.shapes) == 1


def test_the_example_opens_and_its_link_is_short():
    inputs = inputs_for(EXAMPLE, {}, {})
    assert [each.loaded.labels[3] for each in inputs] == ["dragonfly nymph"] * 3


def blocks(*heights):
    """Pictures so many times as high as wide."""
    return [Picture(np.zeros((10 * height, 10, 3), np.uint8), alt="") for height in heights]


def test_blocks_lie_in_columns_without_one_lost():
    nobody, captions = [Subject(no_model, no_picture())], Captions("Title", (), (), {})
    shown = [(nobody, [Heading("A"), *blocks(1, 1, 1, 1), Line("end")])]
    standing, wide = sheet(shown, captions), lying(shown, captions)
    assert len(wide.marks) == len(standing.marks)
    assert standing.width / standing.height < 0.4
    assert 1 < wide.width / wide.height < 2.5
    assert max(mark.x for mark in wide.marks) < wide.width
    one = lying([(nobody, blocks(1))], captions)
    assert one.width == standing.width  # nothing to lay beside it
