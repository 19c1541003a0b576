"""What somebody meets who opens the app for the first time, and what follows from the picture."""

import io

from PIL import Image
from streamlit.testing.v1 import AppTest

from tests.ui.conftest import ROOT, canvases, choose, fine, opened, texts
from vizkit.datasets import samples
from vizkit.views import bundled

PHOTOGRAPHS, INSECTS = ["bundled:photographs_vit"], ["bundled:insects_vit", "bundled:insects_swin"]


def bare():
    """Without any address."""
    return AppTest.from_file(str(ROOT / "app.py"), default_timeout=600).run()


def greeted(test):
    return any("New here?" in link.proto.label for link in test.main.get("page_link"))


def png():
    buffer = io.BytesIO()
    Image.fromarray(samples.picture("cat")).save(buffer, "PNG")
    return buffer.getvalue()


def test_the_bare_address_opens_on_a_photograph_and_what_is_alike_in_it():
    test = bare()
    fine(test)
    assert test.session_state["models"] == PHOTOGRAPHS
    assert samples.kind_of(test.session_state["image"]) == "photographs"
    drawn = {name: data for _, name, data in canvases(test)}
    rows, heads = drawn["vizkit_look"], drawn["vizkit_heads"]
    assert (rows["kind"], rows["key_grid"]) == ("similarity", [18, 18])
    assert [layer["heads"] for layer in heads["layers"]] == [6] * 12
    assert "after block 12 of 12" in texts(test)
    assert greeted(test)


def test_a_click_on_a_head_shows_its_attention_and_the_line_for_newcomers_goes():
    test = bare()
    test.session_state["shows"], test.session_state["head"] = "attention", "3"
    test.run()
    fine(test)
    assert "layer 12 of 12 · head 3 of 6" in texts(test)
    assert not greeted(test)


def test_models_follow_the_picture_until_somebody_chooses():
    test = bare()
    for image, models in (("mayfly nymph", INSECTS), ("digit 3", bundled.names("digits")[:2]), ("cat", PHOTOGRAPHS)):
        choose(test, image=image)
        fine(test)
        assert test.session_state["models"] == models
    choose(test, models=[INSECTS[1]])
    choose(test, image="digit 3")
    assert test.session_state["models"] == [INSECTS[1]]


def test_an_upload_keeps_the_model_of_photographs_and_what_is_shown():
    test = bare()
    test.file_uploader(key="uploads").upload("mine.png", png(), "image/png").run()
    fine(test)
    assert (test.session_state["image"], test.session_state["models"]) == ("mine.png", PHOTOGRAPHS)
    assert "after block 12 of 12" in texts(test)
    assert not test.info
    assert test.button(key=next(each.key for each in test.button if "offer_" in (each.key or ""))).label.startswith(
        "Add"
    )


def test_a_link_that_names_a_model_opens_on_a_picture_that_it_knows():
    test = opened("attention", models="Swin · insects")
    assert samples.kind_of(test.session_state["image"]) == "insects"
    test = opened("attention", models="ViT · digits")
    assert samples.kind_of(test.session_state["image"]) == "digits"
