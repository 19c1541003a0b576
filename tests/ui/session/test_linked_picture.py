"""A link to somebody's upload: it opens with the same picture or says that it is not here, and never with another."""

import io
import os
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from tests.ui.conftest import VIT, choose, components, fine, opened, texts
from vizkit.image import read_picture
from vizkit.ui.session import linked_picture, uploads

NOT_HERE = "This link shows rocket.png, which is not here"


def photograph(seed):
    buffer = io.BytesIO()
    Image.fromarray(np.random.default_rng(seed).integers(0, 255, (40, 60, 3), np.uint8)).save(buffer, "PNG")
    return buffer.getvalue()


ROCKET = photograph(1)
DIGEST = read_picture(ROCKET).digest


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("VIZKIT_CACHE", str(tmp_path))
    monkeypatch.delenv("VIZKIT_KEEP_PICTURES", raising=False)
    return tmp_path


def linked(page="explore", **more):
    return opened(page, image="rocket.png", upload=DIGEST, models=VIT, **more)


def picture_of(test):
    return test.session_state["_picture"].digest


def uploaded():
    return opened(models=VIT).file_uploader(key="uploads").upload("rocket.png", ROCKET).run()


def test_the_address_has_name_and_digest_of_an_upload_and_of_nothing_else():
    test = uploaded()
    assert test.query_params["upload"] == DIGEST
    assert test.query_params["image"] == "rocket.png"
    choose(test, image="china")
    assert "upload" not in test.query_params


def test_whoever_copies_a_link_is_told_what_it_leaves_behind(monkeypatch):
    """An upload, and a model of one's own; nothing of what comes with vizkit, or is kept by the server."""
    state = SimpleNamespace(session_state={"image": "rocket.png", "models": ["a.pt", VIT]}, query_params={})
    monkeypatch.setattr(linked_picture, "st", state)
    assert linked_picture.left_behind() == ""
    state.query_params["upload"] = DIGEST
    assert linked_picture.left_behind().startswith("rocket.png is not in the link: whoever opens it has to upload")
    state.session_state["_checkpoints"] = {"a.pt": None}
    assert linked_picture.left_behind().startswith("rocket.png and a.pt are not in the link")
    monkeypatch.setattr(linked_picture, "settings", lambda: SimpleNamespace(keep_pictures=True))
    assert linked_picture.left_behind().startswith("a.pt is not")


def test_a_link_to_an_upload_shows_no_other_picture_and_opens_as_linked_when_it_arrives():
    test = linked(layer="2")
    assert NOT_HERE in texts(test)
    assert not components(test)
    assert test.selectbox(key="image").value == "rocket.png"
    assert (test.query_params["upload"], test.query_params["layer"]) == (DIGEST, "2")
    test.file_uploader(key="uploads").upload("my rocket.png", ROCKET).run()
    fine(test)
    assert picture_of(test) == DIGEST
    assert test.slider(key="layer").value == 2


def test_another_picture_of_the_same_name_is_shown_as_the_visitors_own():
    test = linked().file_uploader(key="uploads").upload("rocket.png", photograph(2)).run()
    assert picture_of(test) == test.query_params["upload"] != DIGEST
    assert "rocket.png (of the link)" in test.selectbox(key="image").options


def test_whoever_has_not_the_picture_chooses_another():
    test = linked().selectbox(key="image").set_value("china").run()
    fine(test)
    assert components(test)
    assert "upload" not in test.query_params


@pytest.mark.parametrize("page", ["compare", "distillation", "attention", "relevance", "rollout", "swin"])
def test_no_page_shows_another_picture(page):
    test = linked(page)
    assert NOT_HERE in texts(test)
    assert not components(test)


def test_a_page_without_the_picture_is_shown():
    test = linked("evaluate")
    fine(test)
    assert NOT_HERE not in texts(test)


def test_a_link_that_was_tampered_with_does_no_harm():
    test = opened(image="x" * 300 + "![](http://evil)", upload=DIGEST, models=VIT)
    assert "x" * 100 not in texts(test)
    assert not components(test)
    assert picture_of(opened(image="rocket.png", upload="../../etc", models=VIT)) != DIGEST


def test_an_upload_is_kept_only_where_the_owner_says_so(cache, monkeypatch):
    uploaded()
    assert not list(cache.glob("uploads/*"))
    monkeypatch.setenv("VIZKIT_KEEP_PICTURES", "yes")
    assert "24 hours" in uploaded().file_uploader(key="uploads").help
    test = linked()
    fine(test)
    assert picture_of(test) == DIGEST
    place = uploads.root() / DIGEST / "picture.png"
    os.utime(place, (0, 0))
    assert NOT_HERE in texts(linked())


def test_what_lies_there_in_its_place_is_not_taken_for_it(monkeypatch):
    monkeypatch.setenv("VIZKIT_KEEP_PICTURES", "yes")
    place = uploads.root() / ("0" * 64) / "picture.png"
    place.parent.mkdir(parents=True)
    place.write_bytes(photograph(3))
    assert NOT_HERE in texts(opened(image="rocket.png", upload="0" * 64, models=VIT))


def test_other_uploads_of_a_link_are_named():
    test = opened("compare", models=VIT, images=["holiday.jpg", "china"])
    assert "This link shows holiday.jpg too, not here" in texts(test)


def test_a_checkpoint_of_a_link_is_named():
    test = opened(models=f"checkpoint:mine-{'a' * 64}")
    assert "This link shows the checkpoint mine, which is not here: open it in the sidebar." in texts(test)
