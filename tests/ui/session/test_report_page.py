"""The report: pictures added on other pages, their order, comments, what is saved of them, and what no longer fits."""

import io
import json
import re
import zipfile
from dataclasses import replace

import pytest
import streamlit as st

from tests.hostile import HOST, TEXT
from tests.ui.conftest import CNN, VIT, choose, click, fine, opened, sent_to, texts, triggered
from vizkit.report.document import Entry, article
from vizkit.report.item import Item
from vizkit.report.making import headed
from vizkit.ui.pages.report import contents
from vizkit.ui.pages.report.pictures import again
from vizkit.ui.session.report import ENTRIES
from vizkit.views.explore import Explore
from vizkit.views.rules import RefusedError
from vizkit.views.sequences.masks import Masks
from vizkit.views.subject import Subject, no_model, no_picture

FOLDER = "Folder with numbers (ZIP)"


def with_pictures():
    """The attention of a ViT, the features of a CNN: of layer 2, head 3."""
    test = opened("explore", models=[VIT, CNN], image="digit 3", layer="2", head="3")
    for key in ("explore0", "explore1"):
        click(test, f"report_{key}")
    assert "Added: 2 figures" in test.toast[0].value
    assert "2 figures in the report" in texts(test), "as long as it stands there"
    assert any("(2)" in style.proto.body for style in test.get("html")), "in the menu"
    click(test, "report_explore0")
    assert "in the report already" in test.toast[0].value
    return test.switch_page("pages/report.py").run()


def models(test):
    return [entry.item.source for entry in test.session_state[ENTRIES].values()]


@pytest.mark.rest
def test_pictures_are_ordered_commented_and_saved(monkeypatch):
    test = with_pictures()
    fine(test)
    entries = test.session_state[ENTRIES]
    assert entries[1].item.shows == Explore(layer=2, head=3, staged=True)
    assert entries[2].item.shows == Explore(layer=2, head=3, staged=True)
    assert "layer=2" in entries[1].item.link
    assert test.button(key="up_1").disabled
    click(test, "down_1")
    assert models(test) == [CNN, VIT]
    assert models(click(test, "remove_2")) == [VIT]
    test.text_area(key="report_comment_1").input(TEXT).run()
    test.text_input(key="report_title").input(TEXT).run()
    fine(test)
    waiting = {}
    monkeypatch.setattr(st, "download_button", lambda label, make, *_, **__: waiting.update({label: make}))
    test.run()
    with zipfile.ZipFile(io.BytesIO(waiting[FOLDER]())) as archive:
        assert all(name.startswith("report/") and name.count("/") == 1 for name in archive.namelist())
        replay = json.loads(archive.read("report/replay.json"))
    assert [(each["kind"], each["comment"]) for each in replay["items"]] == [("view explore", TEXT)]
    page = waiting["One page (HTML)"]().decode()
    assert "onclick='print()'" in page, "it prints, or is saved as PDF"
    assert "@media print" in page
    assert f"<img src=http://{HOST}" not in page
    assert "&lt;img src=http" in page
    test.switch_page("pages/explore.py").run()
    test.switch_page("pages/report.py").run()
    assert test.text_area(key="report_comment_1").value == TEXT
    assert test.text_input(key="report_title").value == TEXT


def test_a_figure_begins_as_its_figure_and_its_sentence_and_is_not_there_twice():
    test = opened("rollout", models="bundled:digits_vit", image="digit 3")
    test.button(key="report_rollout0").click().run()
    assert test.session_state[ENTRIES][1].item.shows.staged
    session = test.session_state[ENTRIES]
    session[1] = replace(session[1], item=replace(session[1].item, shows=replace(session[1].item.shows, staged=False)))
    test.button(key="report_rollout0").click().run()
    assert len(test.session_state[ENTRIES]) == 1


@pytest.mark.rest
def test_a_picture_is_short_or_whole_and_seen_as_the_saved_page_has_it(monkeypatch):
    """Its figure and its sentence alone: the grid of heads is gone. The rest is the same text, but for numbers of
    elements."""
    seen = []
    monkeypatch.setattr(st, "iframe", lambda page, **_: seen.append(page))
    waiting = {}
    monkeypatch.setattr(st, "download_button", lambda label, make, *_, **__: waiting.update({label: make}))
    test = with_pictures()
    for length, grids in (("Whole", 1), ("Short", 0), ("Whole", 1)):
        seen.clear()
        choose(test, report_length_1=length)
        fine(test)
        assert test.session_state[ENTRIES][1].item.shows == Explore(layer=2, head=3, staged=not grids)
        assert ('"script":"vizkit_heads"' in seen[0]) is bool(grids)
        whole = waiting["One page (HTML)"]().decode()
        for page in seen:
            (figure,) = re.findall(r"<figure>.*?</figure>", page, re.DOTALL)
            assert without_numbers(figure) in without_numbers(whole)
    assert len(seen) == 2


KEPT_HERE = "vizkit_report_kept"


def test_what_the_tab_kept_comes_back_on_any_page():
    [kept] = sent_to(with_pictures(), KEPT_HERE)
    there = opened("explore", models=VIT, image="digit 3")
    [asking] = [each.proto for each in there.sidebar.get("bidi_component") if each.proto.component_name == KEPT_HERE]
    assert json.loads(asking.json) == {"report": None}
    triggered(there, KEPT_HERE, "kept", kept["report"])
    fine(there)
    assert models(there) == [VIT, CNN]
    there.switch_page("pages/report.py").run()
    [same] = sent_to(there, KEPT_HERE)
    assert same == kept
    for number in (1, 2):
        click(there, f"remove_{number}")
    assert sent_to(there, KEPT_HERE) == [{"report": ""}], "and an empty one is kept as empty"


@pytest.mark.product
@pytest.mark.parametrize("told", ["", "{}", "[" * 5000, 3, None, "x" * 5_000_000, '{"format": 1, "items": [{}]}'])
def test_what_a_browser_forges_as_a_report_is_none(told):
    test = opened("report")
    triggered(test, KEPT_HERE, "kept", told)
    assert not models(test)


def without_numbers(page):
    return re.sub(r"vizkit-[0-9a-f]{32}", "vizkit", page)


def test_an_empty_report_begins_with_an_example_or_with_a_saved_one_above_one_figure():
    test = opened("report")
    fine(test)
    shown = [node.type for node in test.main if node.type in ("button", "file_uploader", "iframe")]
    assert shown == ["button", "file_uploader", "iframe"]


def test_a_figure_opens_again_by_its_own_page_whatever_its_link_says():
    item = Item(Explore(), VIT, "a", "digit 3", link="https://elsewhere.org/x?layer=4&at=0.5,0.5")
    assert again(item) == "explore?layer=4&at=0.5,0.5"
    assert again(replace(item, link="javascript:alert(1)")) == "explore"


def test_a_figure_says_whose_it_is_in_its_title_and_whose_texts_it_is_of():
    item = Item(Explore(), VIT, "ViT · digits", "digit 3")
    assert headed("Attention", item) == "Attention · ViT · digits · digit 3"
    assert headed("What ViT · digits sees in digit 3", item) == "What ViT · digits sees in digit 3"
    masks = article(Entry(Item(Masks(), "", "", "")), Subject(no_model, no_picture()))
    assert f"Model: {Masks().text_model}" in masks


def test_a_line_of_the_contents_that_is_dragged_moves_its_picture(monkeypatch):
    moved = {}
    monkeypatch.setattr(contents, "CONTENTS", lambda key, data, move: moved.update(lines=data["lines"], move=move))
    kept = {number: Entry(Item(Explore(), VIT, name, "digit 3")) for number, name in ((4, "a"), (2, "b"), (9, "c"))}
    monkeypatch.setattr(st, "session_state", {ENTRIES: kept})
    contents.show(kept, {2: "Its title"})
    rule, move = moved["move"]
    assert moved["lines"] == ["Cards · a · digit 3", "Its title · b · digit 3", "Cards · c · digit 3"]
    for places, order in (([0, 2], [2, 9, 4]), ([2, 0], [9, 4, 2])):
        st.session_state[ENTRIES] = kept
        move(rule(places))
        assert [*st.session_state[ENTRIES]] == order
    with pytest.raises(RefusedError):
        rule([0, 3])
    contents.show(dict([*kept.items()][:1]), {})  # nothing to order
    assert len(moved["lines"]) == 3


@pytest.mark.product
@pytest.mark.parametrize(
    "change, sentence",
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
    (warning,) = test.warning
    assert sentence in warning.value.replace("\\", "")
