"""The sidebar offers what the open view reads and nothing else; what was chosen comes back with it."""

import io
import re

import numpy as np
import pytest
from PIL import Image

from tests.ui import test_views
from tests.ui.conftest import SWIN, VIT, fine, opened, texts
from vizkit.ui.sidebar.inputs import OF_ITS_OWN
from vizkit.ui.views import read_now

OTHER_PICTURE, OTHER_MODELS = "mayfly nymph", ["bundled:insects_swin", "bundled:insects_vit"]
# Detection reads the picture of the sidebar only where that is chosen; the first view of each page is a default.
PARTIAL = {name: each for name, each in test_views.ALL.items() if each[1].reads != "picture and models"}
KEYS = {"picture": "image", "models": "models"}


def elements(test):
    """Everything that a view has drawn; a file to be made gets another number in each run."""
    protos = [getattr(element, "proto", None) for element in test.main if element.type != "download_button"]
    return [proto.SerializeToString(deterministic=True) for proto in protos if proto is not None]


def offered(test):
    keys = {str(widget.key) for kind in ("selectbox", "multiselect") for widget in test.sidebar.get(kind)}
    return {part for part, key in KEYS.items() if key in keys}


@pytest.fixture(autouse=True)
def nothing_begins(tmp_path, monkeypatch):
    monkeypatch.setenv("VIZKIT_RUNS", str(tmp_path / "runs"))
    monkeypatch.setattr("vizkit.ui.session.background.start", lambda name, work: None)


@pytest.mark.rest
@pytest.mark.parametrize("stem, view", PARTIAL.values(), ids=PARTIAL)
def test_what_a_view_does_not_read_changes_nothing(stem, view):
    models = list(test_views.NEEDS[view.needs or "model"].models[:1])
    usual = test_views.opened(stem, view.title, models)
    other = test_views.opened(
        stem,
        view.title,
        models if "models" in view.reads else OTHER_MODELS,
        test_views.IMAGE if view.reads == "picture" else OTHER_PICTURE,
    )
    assert elements(usual)
    assert elements(other) == elements(usual)


@pytest.mark.product
@pytest.mark.parametrize(
    "page, query, parts",
    [
        ("train", {}, set()),
        ("explore", {}, {"picture", "models"}),
        ("evaluate", {}, {"models"}),
        ("super_resolution", {}, {"picture"}),
        ("detection", {}, set()),
        ("detection", {"det_of": "your image"}, {"picture"}),
        ("detection", {"det_of": "image of the sidebar"}, {"picture"}),  # in a link of an earlier version
        ("detection", {"det_of": "picture of the sidebar"}, {"picture"}),  # of one before it
        ("patches", {"patches_view": "Cost"}, {"picture", "models"}),  # which is part of Cut
    ],
)
def test_the_sidebar_offers_what_the_view_reads(page, query, parts):
    test = opened(page, **query)
    fine(test)
    assert offered(test) == parts
    assert (OF_ITS_OWN in [caption.value for caption in test.sidebar.caption]) is (not parts)


def test_what_was_chosen_comes_back():
    test = opened("attention", image="digit 5", models=[SWIN, VIT], input="whole image")
    before = test.query_params["image"], test.query_params["models"]
    for page in ("train", "evaluate", "super_resolution", "attention"):
        test.switch_page(f"pages/{page}.py").run()
        fine(test)
    assert test.selectbox(key="image").value == "digit 5"
    assert test.multiselect(key="models").value == [SWIN, VIT]
    assert test.session_state["input"] == "whole image"
    assert (test.query_params["image"], test.query_params["models"]) == before


def test_a_link_to_a_view_without_them_keeps_them_for_the_next():
    test = opened("train", image="digit 3", models=["Swin · digits"], input="whole image")
    test.switch_page("pages/explore.py").run()
    fine(test)
    assert test.selectbox(key="image").value == "digit 3"
    assert test.multiselect(key="models").value == [SWIN]
    assert test.session_state["input"] == "whole image"


@pytest.mark.rest
def test_a_reload_of_a_view_without_them_loses_nothing():
    test = opened("attention", image="digit 3", models=[SWIN, VIT])
    test.switch_page("pages/train.py").run()
    again = opened("train", **test.query_params)
    again.switch_page("pages/explore.py").run()
    fine(again)
    assert again.selectbox(key="image").value == "digit 3"
    assert again.multiselect(key="models").value == [SWIN, VIT]
    assert "models" not in opened("train").query_params


@pytest.mark.rest
def test_uploads_come_back_though_their_widget_was_gone():
    buffer = io.BytesIO()
    Image.fromarray(np.full((20, 30, 3), 99, np.uint8)).save(buffer, "PNG")
    test = opened(models=VIT).file_uploader(key="uploads").upload("mine.png", buffer.getvalue()).run()
    digest = test.session_state["_picture"].digest
    for _ in range(2):
        test.switch_page("pages/train.py").run()
        assert "uploads" not in test.session_state
        test.switch_page("pages/explore.py").run()
        fine(test)
        assert test.selectbox(key="image").value == "mine.png"
        assert test.session_state["_picture"].digest == digest


def test_the_shape_of_a_picture_that_is_not_read_does_not_matter():
    """A Swin made for the whole of a picture has the tables of its shape."""
    wide, square = (
        opened("compare", compare_view="Similarity", models=SWIN, input="whole image", image=name)
        for name in ("flower", "digit 3")
    )
    fine(wide)
    of_view = [re.sub(r" · [\d.]+ GiB in use", "", texts(test)) for test in (wide, square)]  # the process grows
    assert of_view[0] == of_view[1]


# ---- it can fail -----------------------------------------------------------------------------------------------------
def test_a_view_that_reads_more_than_it_says_is_found():
    usual, other = (test_views.opened("patches", "Cut", [VIT], name) for name in ("digit 3", "digit 5"))
    assert elements(other) != elements(usual)


def test_a_pages_view_is_known_before_it_is_drawn():
    assert read_now("train") == "nothing"
