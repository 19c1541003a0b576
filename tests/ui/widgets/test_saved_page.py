"""Page (HTML) under Save is the view itself, as it can be played, also of one without a model."""

import io
import json
import re
from collections.abc import Callable

import pytest
import streamlit as st
from PIL import Image

from tests.hosts.toy import Toy, subject
from tests.ui.conftest import VIT, fine, opened
from vizkit.hosts.layout import LEAST_MM, MOST_MM
from vizkit.report.item import Item
from vizkit.ui.session.subjects import NOTHING
from vizkit.ui.widgets.save import WIDTH, _file
from vizkit.views.sequences.masks import Masks


@pytest.mark.parametrize("view, of", [(Toy(3), subject()), (Masks(), NOTHING)], ids=["played", "no model"])
def test_a_view_is_saved_as_a_page_that_plays(view, of):
    source = "bundled:digits_vit" if of is not NOTHING else ""
    page = _file(Item(view, source, "Toy" if source else "", ""), of, "html", None)().decode()
    book = re.search(r"<script type='application/json'[^>]*>(.*?)</script>", page, re.S)
    assert book
    assert (json.loads(book[1])["field"] is not None) == bool(source)
    assert page.count("<title>") == 1
    assert ("Image: " in page) == bool(of.image and source)


def test_a_picture_is_as_wide_as_the_dialog_says(monkeypatch):
    test, files = opened("rollout", models=VIT, image="digit 3"), dict[str, Callable[[], bytes]]()
    monkeypatch.setattr(st, "download_button", lambda label, make, *_, **__: files.update({label: make}))
    width = test.number_input(key=f"{WIDTH}rollout0")
    assert (width.value, width.min, width.max) == (None, LEAST_MM, MOST_MM)
    widths = []
    for width_mm in (None, 89, 183):
        test.number_input(key=f"{WIDTH}rollout0").set_value(width_mm).run()
        fine(test)
        image = Image.open(io.BytesIO(files["Figure (PNG)"]()))
        widths.append(image.width / image.info["dpi"][0] * 25.4)
        points = float(re.findall(r"<svg[^>]* width=.([0-9.]+)", files["Drawing (SVG)"]().decode())[0])
        assert points == pytest.approx(widths[-1] / 25.4 * 72, rel=0.01)
    assert widths[1:] == pytest.approx([89, 183], abs=0.3)
    assert widths[0] not in widths[1:]
