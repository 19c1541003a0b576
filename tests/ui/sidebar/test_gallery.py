"""Models to start with, classes typed as words, and what is said over a picture that no chosen model knows."""

import io

import numpy as np
import pytest
import torch
from PIL import Image
from streamlit.testing.v1 import AppTest

from tests.models.test_loading import put_in_cache
from tests.ui.conftest import choose, click, fine, opened, sent, texts
from tests.ui.test_evaluate_page import home  # noqa: F401  (a fixture)
from vizkit.evaluation.outcome import Outcome
from vizkit.models import load, pixels_of
from vizkit.settings import GIB
from vizkit.ui.session import chosen, gallery
from vizkit.ui.session.gallery import GALLERY
from vizkit.ui.session.model_names import KNOWN, knows
from vizkit.ui.widgets.processes import evaluation as data
from vizkit.writing import read_record

INSECTS, DIGITS = "bundled:insects_vit", "bundled:digits_vit"
ENTRIES = {entry.source: entry for entries in GALLERY.values() for entry in entries}
VIT = gallery.FOR_PHOTOGRAPHS.source


# ---- what is said of a model is true ---------------------------------------------------------------------------------
@pytest.mark.parametrize("source", [source for source in ENTRIES if not source.startswith("hf-hub:")])
def test_sizes_licences_and_places_are_those_of_timm(source):
    import timm

    entry, config = ENTRIES[source], timm.get_pretrained_cfg(source)
    with torch.device("meta"):
        model = timm.create_model(source)
    assert sum(weight.numel() for weight in model.parameters()) == entry.parameters
    assert (config.license, config.hf_hub_id) == (entry.licence, entry.repo)
    assert config.architecture in source


@pytest.mark.parametrize(
    "source, kind",
    [("hf-hub:openai/clip-vit-base-patch32", "CLIP"), ("hf-hub:google/siglip-base-patch16-224", "Siglip")],
)
def test_both_towers_are_counted(source, kind):
    """The library's own default is the configuration of these very models."""
    transformers = pytest.importorskip("transformers")
    with torch.device("meta"):
        model = getattr(transformers, f"{kind}Model")(getattr(transformers, f"{kind}Config")())
    assert sum(weight.numel() for weight in model.parameters()) == ENTRIES[source].parameters


def test_what_a_download_costs(monkeypatch):
    entry = gallery.FOR_PHOTOGRAPHS
    monkeypatch.setattr(gallery, "here", lambda entry: False)
    assert gallery.cost(entry) == "22 M parameters · 88 MB · about 14 s at 50 Mbit/s · Apache 2.0 licence"
    monkeypatch.setattr(gallery, "here", lambda entry: True)
    assert "on this machine" in gallery.cost(entry)
    monkeypatch.setenv("VIZKIT_MODEL_GIB", str(80e6 / GIB))
    assert "more than the 0.1 GiB that a model may take here" in gallery.cost(entry)


def test_bundled_models_know_what_is_said_of_them():
    for source in (INSECTS, DIGITS):
        assert knows(source).startswith(f"{len(load(source).labels)} ")
    assert set(gallery.bundled()) == set(KNOWN.values())
    assert knows("run:insects_vit") == knows("insects_vit") == knows("bundled:x") == ""


def test_limits_are_those_of_the_library():
    from vizkit.models.sources import zero_shot

    assert (chosen.MOST_CLASSES, chosen.LONGEST_CLASS) == (zero_shot.MOST_CLASSES, zero_shot.LONGEST_CLASS)


# ---- the gallery -----------------------------------------------------------------------------------------------------
def listing():
    import streamlit as st

    from vizkit.ui.sidebar import gallery

    gallery.listed()
    st.session_state["closes"] = st.session_state.pop(gallery.TAKEN, False)


def with_gallery(*models):
    """What stands in the window, without the page around it."""
    test = AppTest.from_function(listing, default_timeout=60)
    test.session_state["models"] = list(models)
    return test.run()


def a_random_one_instead(monkeypatch):
    """The hub answers, and what it would give are random weights."""
    import vizkit.models

    real = vizkit.models.load
    monkeypatch.setattr(gallery, "why_not", lambda entry: "")
    monkeypatch.setattr(
        vizkit.models,
        "load",
        lambda source, **options: real("test_vit", pretrained=False) if source == VIT else real(source, **options),
    )


def test_a_closed_gallery_looks_nothing_up(monkeypatch):
    monkeypatch.setattr(gallery, "cost", lambda entry: pytest.fail("looked up"))
    test = opened(models=DIGITS, image="digit 3")
    fine(test)
    assert test.button(key="gallery").label == "Gallery"


def test_the_gallery_lists_what_one_wants():
    test = with_gallery(DIGITS)
    fine(test)
    said = texts(test)
    for words in (*GALLERY, *KNOWN.values(), "88 MB", "Apache 2.0 licence"):
        assert words in said, words
    assert test.button(key=f"gallery_{DIGITS}").disabled  # it is chosen
    assert not test.button(key=f"gallery_{INSECTS}").disabled
    assert not test.session_state["closes"]


def test_a_click_chooses_a_model(monkeypatch):
    a_random_one_instead(monkeypatch)
    test = with_gallery(DIGITS)
    for source in (VIT, INSECTS):
        click(test, f"gallery_{source}")
        fine(test)
        assert test.session_state["closes"]
    assert test.session_state["models"] == [DIGITS, VIT, INSECTS]


def test_a_fifth_takes_the_place_of_the_last_and_that_is_said():
    four = [f"bundled:digits_{kind}" for kind in ("vit", "swin", "dual", "cnn")]
    test = with_gallery(*four)
    assert "takes the place of CNN · digits" in texts(test)
    click(test, f"gallery_{INSECTS}")
    fine(test)
    assert test.session_state["models"] == [*four[:3], INSECTS]


def test_without_a_network_a_click_says_why_not_and_changes_nothing():
    test = with_gallery(DIGITS)
    click(test, f"gallery_{VIT}")
    (said,) = test.warning
    assert "not on this machine and cannot be fetched" in said.value
    assert test.session_state["models"] == [DIGITS]
    assert not test.session_state["closes"]
    fine(test.run())  # once


def test_what_is_on_this_machine_asks_no_network(tmp_path, monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    put_in_cache(tmp_path, f"timm/{VIT}", {"x": torch.zeros(1)})
    test = with_gallery(DIGITS)
    assert texts(test).count("on this machine") == 1
    click(test, f"gallery_{VIT}")
    fine(test)
    assert test.session_state["models"] == [DIGITS, VIT]


def test_what_is_above_the_budget_cannot_be_clicked(monkeypatch):
    monkeypatch.setenv("VIZKIT_MODEL_GIB", "0.3")
    test = with_gallery(DIGITS)
    assert test.button(key="gallery_hf-hub:openai/clip-vit-base-patch32").disabled
    assert not test.button(key=f"gallery_{VIT}").disabled
    assert "more than the 0.3 GiB" in texts(test)


# ---- pictures that a model does not know -----------------------------------------------------------------------------
def picture(name="rocket.png"):
    out = io.BytesIO()
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (40, 60, 3), np.uint8)).save(out, "PNG")
    return name, out.getvalue(), "image/png"


BANNER = "shows one of them"


@pytest.mark.parametrize("models, image", [(INSECTS, "water strider"), (INSECTS, "china"), (DIGITS, "flower")])
def test_over_a_sample_the_chip_is_enough(models, image):
    said = texts(opened(models=models, image=image))
    assert BANNER not in said
    assert f"knows {knows(models)}" in said


def with_upload(*models):
    test = opened(models=list(models), image="digit 3")
    test.file_uploader(key="uploads").upload(*picture()).run()
    return test


@pytest.mark.rest
def test_the_banner_says_nothing_of_other_models():
    assert BANNER in texts(with_upload(INSECTS))
    assert BANNER not in texts(with_upload(INSECTS, "random:test_vit"))


def test_the_banner_offers_a_model_for_photographs(monkeypatch):
    test = with_upload(INSECTS)
    click(test, "offer_banner")
    assert "not on this machine" in test.warning[0].value
    assert "offer_banner" not in [each.key for each in test.button], "the sentence stands in its place"
    assert test.session_state["models"] == [INSECTS]
    test.run()
    a_random_one_instead(monkeypatch)
    click(test, "offer_banner")
    fine(test)
    assert test.session_state["models"] == [INSECTS, VIT]
    assert BANNER not in texts(test)


def test_the_name_of_an_upload_is_no_markdown():
    test = opened(models=INSECTS)
    test.file_uploader(key="uploads").upload(*picture("![x](http:&#47;&#47;evil.test&#47;a.png).png")).run()
    (said,) = [info.value for info in test.info if BANNER in info.value]
    assert "![" not in said.replace("\\!", "").replace("\\[", "")


# ---- classes typed as words ------------------------------------------------------------------------------------------
def with_clip(tmp_path, page="explore", **query):
    pytest.importorskip("transformers")
    from tests.models.sources.two_towers import two_towers

    tmp_path.mkdir(exist_ok=True)
    two_towers("clip", tmp_path)
    test = opened(page, models=DIGITS, image="china", **query)
    for name in ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"):
        test.file_uploader(key="checkpoint").upload(name, (tmp_path / name).read_bytes(), "x/y")
    test.run()
    click(test, "open_checkpoint")
    fine(test)
    choose(test, models=[test.session_state["models"][-1]])
    fine(test)
    return test


def answers(test):
    return {name for name, _ in sent(test, "explore0")["classes"]}


@pytest.mark.rest
def test_typed_classes_are_the_answers(tmp_path):
    test = with_clip(tmp_path)
    assert answers(test) == set(chosen.FIRST_CLASSES.splitlines())
    assert "knows 5 typed classes" in texts(test)
    choose(test, classes="a cat\n\n  a  dog \na cat")
    fine(test)
    assert answers(test) == {"a cat", "a dog"}
    first = sent(test, "explore0")["classes"]
    choose(test, classes="a dog\na bird")
    assert sent(test, "explore0")["classes"] != first
    choose(test, classes="")
    fine(test)
    assert not answers(test)  # features alone
    assert "typed class" not in texts(test)


@pytest.mark.rest
def test_a_link_brings_its_classes(tmp_path):
    test = with_clip(tmp_path, classes="a red bird\na dog")
    assert test.text_area(key="classes").value == "a red bird\na dog"
    assert answers(test) == {"a red bird", "a dog"}


@pytest.mark.rest
def test_typed_classes_are_bounded_and_never_markdown(tmp_path):
    test = with_clip(tmp_path)
    choose(test, classes="\n".join(f"![x](http://evil.test/{n}.png) $y$" for n in range(99)))
    fine(test)
    assert len(sent(test, "explore0")["classes"]) == 5
    choose(test, classes="x" * 500 + "\n" + "\n".join(map(str, range(150))))
    fine(test)
    assert "knows 100 typed classes" in texts(test)


def test_without_a_model_that_reads_text_nobody_asks_for_classes():
    assert not opened(models=DIGITS, image="digit 3").text_area


@pytest.mark.rest
def test_evaluate_judges_the_typed_classes(tmp_path, home, cache):  # noqa: F811
    labels = ("cat", "red bird")
    for shade, label in enumerate(labels):
        (home / "pictures" / label).mkdir(parents=True)
        for number in range(3):
            Image.new("RGB", (32, 32), (80 * number, 200 * shade, 10)).save(home / "pictures" / label / f"{number}.png")
    test = with_clip(tmp_path / "clip", "evaluate", eval_data=data.FOLDER)
    choose(test, eval_folder=f"{home.name}/pictures")
    assert "knows no label" in click(test, "eval_start").error[0].value
    choose(test, classes="\n".join(labels))
    click(test, "eval_start")
    fine(test)
    assert "knows 2 typed classes" in texts(test)
    (file,) = (cache / "evaluations").rglob("outcome.npz")
    judged = read_record(file, Outcome)
    assert judged.classes == (labels,)
    zero_shot, right = load(tmp_path / "clip", classes=labels), 0
    for image, place in enumerate(judged.places):
        rgb = np.asarray(Image.open(home / "pictures" / place))
        with torch.no_grad():
            expected = int(zero_shot.model(pixels_of(zero_shot, rgb))[0].argmax())
        assert judged.answer_of(0, image) == labels[expected]
        right += place.startswith(labels[expected])
    assert test.dataframe[0].value["Accuracy, %"].tolist() == pytest.approx([100 * right / 6], abs=0.05)
