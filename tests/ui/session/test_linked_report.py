"""A report from elsewhere: from its file, or by a link, as far as the owner of the server lets reports be kept."""

import base64
import hashlib
import io
import os
import re
import zlib
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from tests.hostile import TEXT
from tests.ui.conftest import VIT, choose, click, fine, opened, texts
from vizkit.report.document import MOST_ITEMS, Entry, Report
from vizkit.report.item import Item
from vizkit.ui.pages.report import linked
from vizkit.ui.session import uploads
from vizkit.ui.session.report import ENTRIES
from vizkit.views.explore import Explore

ITEM = Item(Explore(layer=2, head=2), VIT, "ViT · digits", "digit 3", link="explore?layer=2")
REPORT = Report("Heads", (Entry(ITEM, "one"), Entry(replace(ITEM, shows=Explore(layer=3, query="cls")), TEXT)))
FILE = REPORT.to_json().encode()


def photograph(shade):
    buffer = io.BytesIO()
    Image.fromarray(np.full((20, 30, 3), shade, np.uint8)).save(buffer, "PNG")
    return buffer.getvalue()


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("VIZKIT_CACHE", str(tmp_path))
    monkeypatch.delenv("VIZKIT_KEEP_PICTURES", raising=False)
    return tmp_path


@pytest.fixture
def keeping(monkeypatch):
    monkeypatch.setenv("VIZKIT_KEEP_PICTURES", "yes")


def given(name, content):
    return opened("report").file_uploader(key="report_files").upload(name, content).run()


def entries(test):
    return list(test.session_state[ENTRIES].values())


def kept():
    test = given("replay.json", FILE)
    return next(button for button in test.button if button.label == "Keep for a link").click().run()


def stored():
    return [*uploads.root().glob("*/*.json")]


def test_what_is_here_is_not_added_twice_and_keeps_its_title():
    test = given("replay.json", FILE)
    more = Report("Other", (REPORT.entries[0], Entry(replace(ITEM, shows=Explore(layer=1, query="cls")))))
    test.file_uploader(key="report_files").upload("more.json", more.to_json().encode()).run()
    fine(test)
    assert entries(test) == [*REPORT.entries, more.entries[1]]
    assert test.text_input(key="report_title").value == "Heads"


@pytest.mark.parametrize(
    "data, sentence",
    [
        (b"nothing", "This is no replay.json"),
        (b"[" * 100_000, "This is no replay.json"),
        (re.sub(rb'"kind": ?"[^"]*"', b'"kind": "secret"', FILE, count=1), "saves no figure of the kind"),
        (Report("", REPORT.entries[:1] * (MOST_ITEMS + 1)).to_json().encode(), "figures; this one has"),
    ],
)
def test_a_file_that_is_no_replay_is_refused_in_one_sentence(data, sentence):
    test = given("replay.json", data)
    assert sentence in test.warning[0].value.replace("\\", "")
    assert not entries(test)


def test_a_picture_of_ones_own_is_asked_for_and_given():
    own = Report("", (Entry(replace(ITEM, image="mine.png")),))
    test = given("replay.json", own.to_json().encode())
    assert "no longer among your images" in texts(test)
    test.file_uploader(key="report_files").upload("mine.png", photograph(90)).run()
    fine(test)
    assert len(test.main.get("iframe")) == 1
    test.switch_page("pages/explore.py").run()
    assert "mine.png" in test.selectbox(key="image").options


def test_a_model_of_another_visitor_and_a_path_are_not_opened(tmp_path):
    for source in (f"checkpoint:theirs-{'a' * 64}", str(tmp_path), "run:../../etc"):
        test = given("replay.json", Report("", (Entry(replace(ITEM, source=source)),)).to_json().encode())
        assert len(test.warning) == 1
        assert not test.main.get("iframe")


# ---- in a link -------------------------------------------------------------------------------------------------------
def test_the_address_holds_the_report_and_its_comments():
    test = given("replay.json", FILE)
    there = opened("report", report=test.query_params["report"])
    fine(there)
    assert entries(there) == list(REPORT.entries)
    assert there.text_input(key="report_title").value == "Heads"
    assert there.query_params["report"] == test.query_params["report"]
    click(there, "remove_2")
    assert entries(there) == [REPORT.entries[0]]  # and the address did not bring it back
    assert entries(opened("report", report=there.query_params["report"])) == [REPORT.entries[0]]
    click(there, "remove_1")
    assert "report" not in there.query_params


def test_what_a_link_cannot_hold_is_said(monkeypatch):
    own = Report("", (REPORT.entries[0], Entry(replace(ITEM, image="mine.png"))))
    linked_here = given("replay.json", own.to_json().encode())
    assert "but for figures of your own images" in texts(linked_here)
    monkeypatch.setattr(linked, "LONGEST_LINK", 20)
    test = given("replay.json", FILE)
    assert "report" not in test.query_params
    assert "too long for a link" in texts(test)


@pytest.mark.parametrize("text", ["", "x", "x" * 4000, "{}"])
def test_a_link_gives_back_what_it_was_made_of(text):
    assert linked.unpacked(linked.packed(text)) == text.encode()


BOMB = base64.urlsafe_b64encode(zlib.compress(bytes(2**26), 9)).decode()


@pytest.mark.parametrize("link", ["~", "~!!", "~AAAA", f"~{BOMB}", "~" + "A" * 9999, linked.packed("{}")[:-3]])
def test_a_link_of_nothing_opens_nothing(link):
    assert len(linked.unpacked(link)) <= 2**22
    test = opened("report", report=link)
    assert not entries(test)
    assert len(test.warning) == 1
    assert "report" not in test.query_params


# ---- by a link -------------------------------------------------------------------------------------------------------
def test_nothing_is_kept_and_nothing_opened_unless_the_owner_allows(cache):
    place = uploads.root() / hashlib.sha256(FILE).hexdigest() / "replay.json"
    place.parent.mkdir(parents=True)
    place.write_bytes(FILE)
    test = opened("report", report=place.parent.name)
    assert not entries(test)
    assert "a report that is not here" in texts(test)
    assert "report" not in test.query_params


@pytest.mark.usefixtures("keeping")
def test_a_link_opens_the_report_that_was_kept():
    test = kept()
    fine(test)
    (place,) = stored()
    assert place.parent.name == hashlib.sha256(place.read_bytes()).hexdigest() == test.query_params["report"]
    again = opened("report", report=test.query_params["report"])
    fine(again)
    assert entries(again) == list(REPORT.entries)
    assert again.text_input(key="report_title").value == "Heads"
    assert again.query_params["report"] == test.query_params["report"]


@pytest.mark.usefixtures("keeping")
def test_a_report_that_was_changed_is_no_longer_that_of_the_link():
    test = kept()
    click(test, "remove_1")
    assert test.query_params["report"].startswith("~")
    assert "the address holds it" in texts(test)


@pytest.mark.rest
@pytest.mark.usefixtures("keeping")
def test_its_pictures_are_kept_too():
    test = given("mine.png", photograph(91))
    test.switch_page("pages/explore.py").run()
    choose(test, image="mine.png")
    click(test, "report_explore0")
    test.switch_page("pages/report.py").run()
    next(button for button in test.button if button.label == "Keep for a link").click().run()
    again = opened("report", report=test.query_params["report"])
    fine(again)
    assert len(again.main.get("iframe")) == 1


@pytest.mark.usefixtures("keeping")
@pytest.mark.parametrize("damage", ["old", "other", "name"])
def test_what_is_not_that_report_is_not_opened(damage):
    digest = kept().query_params["report"]
    (place,) = stored()
    if damage == "old":
        os.utime(place, (0, 0))
    if damage == "other":
        place.write_bytes(FILE.replace(b"one", b"two"))
    test = opened("report", report=digest if damage != "name" else f"../{digest}")
    assert not entries(test)
    assert "a report that is not here" in texts(test)


@pytest.mark.usefixtures("keeping")
def test_there_is_an_end_to_what_is_kept(monkeypatch):
    monkeypatch.setattr(linked, "MOST_KEPT", 0)
    test = kept()
    assert "There is no room for this report here" in texts(test)
    assert not stored()
    monkeypatch.setattr(linked, "MOST_KEPT", 9)
    monkeypatch.setenv("VIZKIT_UPLOADS_GIB", "1e-9")
    assert "no room" in texts(kept())
    assert not stored()
