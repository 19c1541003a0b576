"""The page Data set, through app.py without a browser, on a few pictures of each set."""

import csv
import re
import shutil
from pathlib import Path
from urllib.parse import parse_qsl

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from PIL import Image

from tests.ui.conftest import at_rest, fine, forged, opened, sent_to, texts
from tests.views.contract import few_pictures
from vizkit.datasets.opening import open_set
from vizkit.datasets.planted import planted
from vizkit.evaluation.data_set.record import record
from vizkit.figure.evaluation.points import MOST_CHOSEN, chosen_of
from vizkit.hosts.showing import Showing
from vizkit.models import load
from vizkit.views import bundled
from vizkit.views.blocks import Line, Link
from vizkit.views.data_set.plane import HEAD, ISLAND, Plane, colouring
from vizkit.views.data_set.recorded import TAUGHT, label_of, tile
from vizkit.views.data_set.shortcuts import Shortcuts
from vizkit.views.data_set.suspects import Suspects
from vizkit.views.data_set.taught import Taught
from vizkit.views.data_set.taught import wrong as errors
from vizkit.views.subject import Subject, no_picture

VIT, SWIN, CNN = (f"bundled:digits_{kind}" for kind in ("vit", "swin", "cnn"))
VIEWS = ("Map", "Suspects", "Shortcuts", "Who taught this?")


@pytest.fixture(autouse=True)
def few(monkeypatch, one_pass):
    few_pictures(monkeypatch, 48)


def shown(view, model=VIT, **query):
    return at_rest(opened("data_set", models=model, **{"data_set_view": view, "data_set": "digits", **query}))


@pytest.mark.rest
@pytest.mark.parametrize("model", [VIT, SWIN, CNN])
def test_a_lasso_brings_pictures_that_open_on_another_page_and_the_link_brings_them_again(model):
    test = shown("Map", model)
    fine(test)
    (points,) = sent_to(test, "vizkit_points")
    assert len(points["places"]) == len(points["words"]) == 48
    assert {VIT: "Surest errors"}.get(model, "Least sure answers") in texts(test)  # the others have none in so few
    assert "by chance" in texts(test)
    forged(test, "vizkit_points", {"chosen": "2 4-5"})
    fine(test)
    assert "3 images chosen" in texts(test)
    assert test.query_params["chosen"] == "2 4-5"
    places = [tile["place"] for tile in sent_to(test, "vizkit_evaluated")[0]["tiles"]]
    assert places == [points["places"][at] for at in (1, 3, 4)]
    again = at_rest(opened("data_set", **test.query_params))
    assert [tile["place"] for tile in sent_to(again, "vizkit_evaluated")[0]["tiles"]] == places


@pytest.mark.product
@pytest.mark.parametrize("told", [7, None, ["1"], "x" * 5000])
def test_what_no_lasso_sends_changes_nothing(told):
    test = shown("Map")
    before = sent_to(test, "vizkit_points")
    forged(test, "vizkit_points", {"chosen": told})
    assert sent_to(test, "vizkit_points") == before


def test_of_drawn_insects_the_model_is_doubted_and_no_label_is_mended_at_once():
    test = shown("Suspects", "bundled:insects_vit", data_set="hard insects")
    fine(test)
    (listed,) = sent_to(test, "vizkit_suspects")
    assert any(row["proposal"] for row in listed["rows"])
    assert listed["warning"] == ""
    assert "every label is right" in texts(test)


@pytest.mark.rest
def test_decisions_are_in_the_table():
    from vizkit.views.data_set.suspects import Suspects, decisions, suspects

    loaded = load(VIT)
    found = record(loaded, planted(open_set("digits", "test", images=48)))
    every = suspects(found)
    first = next(one for one in every if one.kind == "label")
    text = f"{first.row + 1}:label:{first.proposal + 1} 999:label:1 1:nothing:keep {first.row + 1}:copy:drop x"
    assert dict(decisions(text, found)) == {
        (first.row, "label"): found.labels[first.proposal],
        (first.row, "copy"): "drop",
    }
    rows = list(csv.DictReader(Suspects(decided=text).table(found, every).decode().splitlines()))
    assert [row["decision"] for row in rows if row["picture"] == found.keys[first.row] and row["kind"] == "label"] == [
        found.labels[first.proposal]
    ]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """One that the owner allows, of labels that no model here knows; its path is nobody's business."""
    draw = np.random.default_rng(0)
    for label in ("heron", "kingfisher"):
        (tmp_path / "secret" / "birds" / label).mkdir(parents=True)
        for index in range(12):
            pixels = draw.integers(0, 255, (32, 32, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(tmp_path / "secret" / "birds" / label / f"{index}.png")
    monkeypatch.setenv("VIZKIT_DATA_ROOTS", str(tmp_path / "secret" / "birds"))
    return "birds"


def test_a_link_holds_a_folder_by_its_name_and_labels_that_nobody_knows_are_not_judged(folder):
    test = shown("Map", data_set="a folder")
    (offered,) = [each for each in test.selectbox if each.key == "data_folder"]
    offered.set_value(folder)
    at_rest(test.run())
    fine(test)
    assert test.query_params["data_folder"] == folder
    again = at_rest(opened("data_set", **test.query_params))
    fine(again)
    (points,) = sent_to(again, "vizkit_points")
    assert len(points["places"]) == 24
    assert set(points["names"]) == {"heron", "kingfisher"}
    answers = [each for tile in sent_to(again, "vizkit_evaluated")[0]["tiles"] for each in tile["answers"]]
    assert {each["right"] for each in answers} == {None}
    assert "knows none of these labels" in texts(again)
    assert "secret" not in str(test.query_params)
    assert points["quantity"] == "label"  # in place of right or wrong


def test_where_no_folder_is_allowed_a_zip_is_taken(folder, tmp_path, monkeypatch):
    home = tmp_path / "secret"
    packed = Path(shutil.make_archive(str(tmp_path / "my birds"), "zip", home, "birds")).read_bytes()
    monkeypatch.setenv("VIZKIT_DATA_ROOTS", "")
    test = shown("Map", data_set="a folder")
    test.file_uploader(key="data_folder_zip").upload("my birds.zip", packed, "application/zip")
    at_rest(test.run())
    fine(test)
    assert test.query_params["data_folder"] == "my_birds.zip"
    assert len(sent_to(test, "vizkit_points")[0]["places"]) == 24


@pytest.mark.parametrize("view, key", [("Suspects", "data_page"), ("Shortcuts", "data_cluster")])
def test_a_slider_is_there_when_its_end_is_known(view, key):
    first = opened("data_set", models=VIT, data_set_view=view, **{key: "3"})
    assert key not in [each.key for each in first.slider]
    assert "In this link" not in texts(first)
    later = at_rest(first)
    ends = [each.max for each in later.slider if each.key == key]
    assert ends == [] or ends[0] > 1


def test_the_map_shows_the_errors_first_and_which_of_them_have_the_mark(monkeypatch):
    few_pictures(monkeypatch, 400)
    test = at_rest(opened("data_set"))
    (points,) = sent_to(test, "vizkit_points")
    assert points["names"] == ["right", "wrong", "right, with the planted mark", "wrong, with the planted mark"]
    assert points["groups"][0][0] == ISLAND
    by_maps = at_rest(opened("data_set", data_space="where it looked"))
    assert "images with a planted mark lie together, by where it looked: 100 %" in texts(by_maps)
    assert "The magenta square is the planted mark." in texts(test)
    assert "✓ and ✗: whether the answer is what the image shows." in texts(test)


@pytest.mark.parametrize("name", ["elsewhere", "../secret", "/etc"])
def test_a_link_of_a_folder_that_is_not_offered_says_so_and_opens_nothing(folder, name):
    test = shown("Map", data_set="a folder", data_folder=name)
    assert "This link is of a folder that is not offered here: choose another one." in texts(test)
    assert name not in texts(test)
    assert not sent_to(test, "vizkit_points")


def test_planted_wrong_labels_are_no_errors_of_the_model():
    loaded, whole = load(VIT), open_set("digits", "test", images=48)
    clean, found = record(loaded, whole), record(loaded, planted(whole, labels=0.25, copies=0))
    assert_array_equal(found.right, clean.right)  # as if nobody had changed a label
    wrong = [row for row, fault in enumerate(found.faults) if fault.label is not None]
    assert len(wrong) == 12
    assert (found.answer != found.truth).sum() >= 11  # by their labels they would be errors
    assert set(errors(found)) == set(np.flatnonzero(~clean.right))
    first = next(row for row in wrong if clean.right[row])
    true, label = (str(each.labels[each.target[first]]) for each in (clean, found))
    assert label_of(found, first) == f"{label} (planted; it is {true})"
    assert tile(found, first, np.zeros((8, 8, 3), np.uint8))["answers"][0]["right"] is True
    assert colouring(found, "error").at.sum() == (~clean.right).sum()


@pytest.mark.parametrize("models", [{}, {"models": "bundled:photographs_vit"}], ids=["a first visit", "no classes"])
def test_the_page_opens_on_planted_faults_as_the_model_that_learned_them_sees_them(models):
    """Whatever was chosen, and where nothing was."""
    test = at_rest(opened("data_set", **models))
    fine(test)
    (points,) = sent_to(test, "vizkit_points")
    assert len(points["places"]) == 96  # of both splits
    said = texts(test)
    assert "with a planted wrong label are judged by what they show" in said
    assert len(re.findall(r"is right on|head on", said)) == 1, "one accuracy"
    assert HEAD in [each.label for each in test.expander]
    assert not test.sidebar.multiselect, "no model is offered that is not shown"
    assert f"{bundled.title(TAUGHT)} was trained on 48 of these images, faults included" in said
    assert {each[0] for each in points["groups"]} == {*"0123456789", ISLAND}


def test_every_view_finds_what_was_planted(monkeypatch):
    """All of the set, as the page shows it: the mark is a shortcut, and marked eights taught the marked three."""
    few_pictures(monkeypatch, 2000)
    of = Subject(lambda: load(VIT), no_picture())
    taught, shortcuts, suspects = (Showing(view(), [of]) for view in (Taught, Shortcuts, Suspects))
    assert taught.subjects[0].name == bundled.title(TAUGHT)
    assert taught.said == (
        "An image of “3” is answered “8”: all 6 images that taught it most are labelled “8”. Planted here: a mark in "
        "its corner, which all 6 images that taught it most have too."
    )
    assert shortcuts.said.endswith(": a shortcut.")
    assert "of “8” the model looks at a place in the top left corner" in shortcuts.said
    (row,) = [line for line in lines(suspects) if line.startswith("Planted here")]
    assert "20 near copies: 20 found, 0 alarms without cause" in row
    found, alarms = (int(each) for each in re.search(r"108 wrong labels: (\d+) found, (\d+) alarms", row).groups())
    assert found > 75
    assert alarms < 50


def lines(showing):
    return [block.text for block in showing.blocks if isinstance(block, Line)]


def test_a_model_of_other_images_is_told_which_knows_these():
    of = Subject(lambda: load(VIT), no_picture())
    for of.source, models in ((VIT, []), ("bundled:photographs_vit", [VIT])):
        first = next(iter(Plane(data="digits").show(of)))
        assert [each.model for each in (first,) if isinstance(each, Link)] == models


# ---- what is done with it --------------------------------------------------------------------------------------------
def test_the_ten_worst_are_in_the_report_with_one_click():
    test = at_rest(opened("data_set", models=VIT, image="mayfly nymph"))
    next(each for each in test.button if each.label == "The ten worst to the report").click()
    at_rest(test.run())
    fine(test)
    (entry,) = test.session_state["_report"].values()
    assert len(chosen_of(entry.item.shows.chosen, 96)) == 10
    assert (entry.item.source, entry.item.image) == (TAUGHT, "")
    figure = Showing(entry.item.shows, [Subject(lambda: load(TAUGHT), no_picture())]).blocks[-1]
    assert len(figure.data["tiles"]) == 10
    again = at_rest(opened("data_set", **dict(parse_qsl(entry.item.link.partition("?")[2]))))
    assert "10 images chosen" in texts(again)


def test_a_mended_copy_is_a_folder_that_training_takes(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("VIZKIT_RUNS", str(tmp_path / "runs"))
    monkeypatch.setattr("vizkit.ui.session.allowed.only_here", lambda: True)
    decided = "1:label:2 2:copy:drop 2:label:2 3:dark:keep"
    query = {"data_set": "a folder", "data_folder": folder, "data_set_view": "Suspects"}
    test = at_rest(opened("data_set", models=VIT, decided=decided, **query))
    fine(test)
    test.button(key="mend_write").click()
    at_rest(test.run())
    fine(test)
    assert "1 image with another label, 1 left out. Written: mended/birds-mended" in texts(test).replace("\\", "")
    copy, whole = tmp_path / "runs" / "mended" / "birds-mended", tmp_path / "secret" / "birds"
    first, second = sorted((whole / "heron").iterdir(), key=lambda file: int(file.stem))[:2]
    assert first.read_bytes() in [file.read_bytes() for file in (copy / "kingfisher").iterdir()]
    assert len([*(copy / "kingfisher").iterdir()]) == 13  # two of them were called alike
    assert not (copy / "heron" / first.name).exists()
    assert not (copy / "heron" / second.name).exists()
    assert len([*copy.rglob("*.png")]) == 23 == len([*whole.rglob("*.png")]) - 1
    test.button(key="mend_tune").click()
    test.run()
    assert test.session_state["train_folder"] == "mended/birds-mended"
    assert test.session_state["train_task"] == "Fine-tune a model"


@pytest.mark.parametrize("chosen", ["bundled:photographs_vit", TAUGHT])
def test_one_click_opens_the_form_of_a_run_on_the_mended_copy_by_the_model_that_was_judged(
    chosen, tmp_path, monkeypatch
):
    monkeypatch.setenv("VIZKIT_RUNS", str(tmp_path / "runs"))
    monkeypatch.setattr("vizkit.ui.session.allowed.only_here", lambda: True)
    test = at_rest(opened("data_set", models=chosen, data_set_view="Suspects", decided="1:label:2"))
    test.button(key="mend_write").click()
    at_rest(test.run())
    test.button(key="mend_tune").click()
    test.run()
    fine(test)
    assert test.selectbox(key="field_model").value == TAUGHT
    assert test.selectbox(key="train_folder").value == "mended/digits-faulty-mended"
    assert not test.button(key="train_start").disabled


def test_visitors_who_start_no_training_write_no_copy(folder, monkeypatch):
    monkeypatch.setenv("VIZKIT_ALLOW_JOBS", "no")
    query = {"data_set": "a folder", "data_folder": folder, "data_set_view": "Suspects"}
    test = at_rest(opened("data_set", models=VIT, decided="1:label:2", **query))
    assert not [each for each in test.button if each.key == "mend_write"]
    assert "VIZKIT_ALLOW_JOBS" in texts(test)


# ---- what is planted, what is chosen ---------------------------------------------------------------------------------
def test_planted_faults_are_those_that_are_named():
    whole = open_set("insects", "test", images=48, size_px=64)
    some = planted(whole, labels=0.25, copies=3, marked=(0, 0.5))
    source = some.source
    assert {row: int(whole.targets[row]) for row in np.flatnonzero(some.targets != whole.targets)} == source.wrong
    assert len(source.wrong) == 12
    assert len(source.copies) == 3
    assert not set(source.copies) & set(source.copies.values())
    for row, of in source.copies.items():
        apart = np.abs(some[row][0].astype(int) - np.roll(some[of][0], 1, 1)).mean()
        assert apart < 12 < np.abs(some[row][0].astype(int) - whole[row][0]).mean()
    assert all(some.targets[row] == 0 for row in source.marked)
    assert all((some[row][0][4, 4] == (230, 40, 200)).all() for row in source.marked)
    for seed in range(20):  # a label that is planted is never the picture's own
        changed = planted(whole, labels=0.25, seed=seed)
        assert len(np.flatnonzero(changed.targets != whole.targets)) == len(changed.source.wrong) == 12
    assert some.digest == planted(whole, labels=0.25, copies=3, marked=(0, 0.5)).digest != planted(whole).digest


@pytest.mark.parametrize(
    "text, rows",
    [
        ("", []),
        ("3 7 12-15", [2, 6, 11, 12, 13, 14]),
        ("0 21 20", [19]),
        ("5-2", []),
        ("-3 a 1-b 4", [3]),
        ("9" * 30, []),
        ("18-99999", [17, 18, 19]),
    ],
)
def test_what_is_chosen_is_read(text, rows):
    assert chosen_of(text, 20) == rows


def test_of_very_many_the_first_are_taken():
    assert len(chosen_of("1-10000", 10_000)) == MOST_CHOSEN
