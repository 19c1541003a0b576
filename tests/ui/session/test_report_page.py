"""The report: pictures added on other pages, their order, comments, what is saved of them, and what no longer fits."""

import io
import json
import zipfile
from dataclasses import replace

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from tests.hostile import HOST, TEXT
from tests.ui.conftest import CNN, VIT, fine, opened, texts
from vizkit.ui.session.report import ENTRIES
from vizkit.views.explore import Explore
from vizkit.views.relevance.maps import Maps

FOLDER = "Folder with numbers (ZIP)"


def with_pictures() -> AppTest:
    """The attention of a ViT, the features of a CNN: of layer 2, head 3."""
    test = opened("explore", models=[VIT, CNN], image="digit 3", layer="2", head="3")
    for key in ("explore0", "explore1"):
        test.button(key=f"report_{key}").click().run()
    assert "Added: 2 pictures" in test.toast[0].value
    test.button(key="report_explore0").click().run()
    assert "in the report already" in test.toast[0].value
    return test.switch_page("pages/report.py").run()


def models(test: AppTest) -> list[str]:
    return [entry.item.source for entry in test.session_state[ENTRIES].values()]


@pytest.mark.product(first=0)
def test_an_empty_report_says_how_to_add_a_picture():
    test = opened("report", models=VIT)
    fine(test)
    assert "choose “Add to report”" in texts(test)


@pytest.mark.product(first=0)
def test_pictures_are_ordered_commented_and_saved(monkeypatch: pytest.MonkeyPatch):
    test = with_pictures()
    fine(test)
    entries = test.session_state[ENTRIES]
    assert entries[1].item.shows == Explore(layer=2, head=3)
    assert entries[2].item.shows == Explore(layer=2, head=3)
    assert "layer=2" in entries[1].item.link
    assert test.button(key="up_1").disabled
    test.button(key="down_1").click().run()
    assert models(test) == [CNN, VIT]
    assert models(test.button(key="remove_2").click().run()) == [VIT]
    test.text_area(key="report_comment_1").input(TEXT).run()
    test.text_input(key="report_title").input(TEXT).run()
    fine(test)
    waiting: dict = {}
    monkeypatch.setattr(st, "download_button", lambda label, make, *_, **__: waiting.update({label: make}))
    test.run()
    with zipfile.ZipFile(io.BytesIO(waiting[FOLDER]())) as archive:
        assert all(name.startswith("report/") and name.count("/") == 1 for name in archive.namelist())
        replay = json.loads(archive.read("report/replay.json"))
    assert [(each["kind"], each["comment"]) for each in replay["items"]] == [("view explore", TEXT)]
    page = waiting["One page (HTML)"]().decode()
    assert f"<img src=http://{HOST}" not in page
    assert "&lt;img src=http" in page
    test.switch_page("pages/explore.py").run()
    test.switch_page("pages/report.py").run()
    assert test.text_area(key="report_comment_1").value == TEXT
    assert test.text_input(key="report_title").value == TEXT


@pytest.mark.product(first=0)
def test_every_way_to_explain_can_be_added():
    test = opened("relevance", models=VIT, image="digit 3", relevance_method="Grad-CAM")
    test.button(key="report_relevance0").click().run()
    test.switch_page("pages/report.py").run()
    fine(test)
    (entry,) = test.session_state[ENTRIES].values()
    assert entry.item.shows == Maps(method="grad_cam")


@pytest.mark.product
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"image": "mine.png"}, "no longer among your images"),
        ({"weights": "0" * 64}, "is another one than when this was saved"),
        ({"source": "run:gone"}, "There is no finished run"),
    ],
)
def test_what_no_longer_fits_is_said_and_left_out(change, sentence):
    test = with_pictures()
    entries = test.session_state[ENTRIES]
    entries[1] = replace(entries[1], item=replace(entries[1].item, **change))
    test.run()
    assert not test.exception
    (warning,) = test.warning
    assert sentence in warning.value.replace("\\", "")


@pytest.mark.product(first=0)
def test_what_waits_on_the_report_page_is_small():
    """Records alone: no picture, no weights, no trace."""
    test = with_pictures()
    for entry in test.session_state[ENTRIES].values():
        assert len(repr(entry)) < 2000
