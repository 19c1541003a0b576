"""A figure for a paper: chosen layers, heads or methods alone, as wide as it is asked for, alike from the page, the
command and the notebook."""

import io
import json
import re

import numpy as np
import pytest
import streamlit as st
from PIL import Image

import vizkit
from tests.ui.conftest import VIT, choose, click, fine, opened
from vizkit.__main__ import main
from vizkit.analysis.attribution.methods import METHODS
from vizkit.ui.session.report import ENTRIES
from vizkit.ui.widgets.save import WIDTH

OVERLAY = re.compile(r'<svg [^>]*viewBox="[^"]*" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)"')
METHODS_OF_IT = ("rollout", "generic_relevance", "grad_cam")


@pytest.fixture
def files(monkeypatch):
    """What the page offers to save."""
    found = {}
    monkeypatch.setattr(st, "download_button", lambda label, make, *_, **__: found.update({label: make}))
    return found


def panels(svg):
    """(left, width) of each map of a drawing, row by row."""
    rows = {}
    for x, y, width in OVERLAY.findall(svg):
        rows.setdefault(y, []).append((float(x), float(width)))
    return list(rows.values())


def words(svg):
    return [(float(size), text) for size, text in re.findall(r'font-size="([\d.]+)"[^>]*>([^<]*)<', svg)]


def drawn_by(command, tmp_path):
    file = tmp_path / "figure.svg"
    assert main(["show", *command, "-o", str(file)]) == 0
    return file.read_text()


def test_a_grid_of_four_layers_by_three_heads_is_the_same_from_everywhere(files, tmp_path, digits):
    """12 panels alone, layers across, heads down, 170 mm wide: 481.89 points, with text of 7 to 9."""
    layers, heads = (1, 2, 4, 6), (1, 3, 4)
    test = opened("explore", models=VIT, image="digit 3")
    test.multiselect(key="saved_Layers_explore0").set_value([f"layer {layer}" for layer in layers])
    test.multiselect(key="saved_Heads_explore0").set_value([f"head {head}" for head in heads])
    test.number_input(key=f"{WIDTH}explore0").set_value(170).run()
    fine(test)
    on_page = files["Drawing (SVG)"]().decode()
    by_command = drawn_by(
        ["explore", "sample:digit 3", "--model", VIT, "--layers", "1,2,4,6", "--heads", "1,3,4", "--width-mm", "170"],
        tmp_path,
    )
    vizkit.show("explore", digits, "sample:digit 3").save(
        tmp_path / "notebook.svg", layers=layers, heads=heads, width_mm=170
    )
    for svg in (on_page, by_command, (tmp_path / "notebook.svg").read_text()):
        assert float(re.findall(r"<svg[^>]* width=.([0-9.]+)pt", svg)[0]) == pytest.approx(170 / 25.4 * 72, abs=0.01)
        rows = panels(svg)
        assert [len(row) for row in rows] == [4, 4, 4]
        assert rows[0] == rows[1] == rows[2]
        assert sum(width for _, width in rows[0]) > 0.85 * 481  # nothing beside them but the names of heads
        said = words(svg)
        assert [text for _, text in said if "layer" in text or "head" in text] == [
            *(f"layer {layer}" for layer in layers),
            *(f"head {head}" for head in heads),
        ]
        assert all(7 <= size <= 9 for size, _ in said)
    image = Image.open(io.BytesIO(files["Figure (PNG)"]()))
    assert image.info["dpi"][0] >= 299
    assert image.width / image.info["dpi"][0] * 25.4 == pytest.approx(170, abs=0.2)


def test_three_methods_are_the_same_from_everywhere(files, tmp_path, digits):
    """Beside one another, and nothing else; a method that takes long is computed where the command names it."""
    titles = {METHODS[name].title for name in METHODS_OF_IT}
    test = opened("relevance", models=VIT, image="digit 3")
    assert titles < set(test.multiselect(key="saved_Maps_relevance0").options)
    test.multiselect(key="saved_Maps_relevance0").set_value(sorted(titles))
    test.number_input(key=f"{WIDTH}relevance0").set_value(120).run()
    fine(test)
    asked = ["relevance", "sample:digit 3", "--model", VIT, "--width-mm", "120", "--methods"]
    vizkit.show("relevance", digits, "sample:digit 3").save(tmp_path / "a.svg", methods=METHODS_OF_IT, width_mm=120)
    for svg in (
        files["Drawing (SVG)"]().decode(),
        drawn_by([*asked, "rollout,generic-relevance,grad_cam"], tmp_path),
        (tmp_path / "a.svg").read_text(),
    ):
        assert [len(row) for row in panels(svg)] == [3]
        assert {text for _, text in words(svg)} & {method.title for method in METHODS.values()} == titles
    slow = drawn_by([*asked, "patch_ablation,rollout"], tmp_path)
    assert [len(row) for row in panels(slow)] == [2]
    assert "Patch ablation" in {text for _, text in words(slow)}
    vizkit.show("relevance", digits, "sample:digit 3").save(
        tmp_path / "a.svg", methods=("patch_ablation", "rollout"), width_mm=120
    )
    assert words((tmp_path / "a.svg").read_text()) == words(slow)


def test_the_report_keeps_the_figure_that_was_chosen():
    test = opened("explore", models=VIT, image="digit 3")
    choose(test, saved_Heads_explore0=["head 2"])
    click(test, "report_explore0")
    (entry,) = test.session_state[ENTRIES].values()
    assert entry.item.only == ("head 2",)


def test_a_layer_that_this_model_does_not_have_is_forgotten():
    """It was chosen for the model before."""
    test = opened("explore", models=VIT, image="digit 3")
    test.session_state["saved_Layers_explore0"] = ["layer 6", "layer 12"]
    fine(test.run())
    assert test.multiselect(key="saved_Layers_explore0").value == ["layer 6"]


def test_the_numbers_of_relevance_have_the_score_of_every_map(tmp_path):
    file = tmp_path / "a.npz"
    vizkit.show("relevance", vizkit.load("bundled:insects_swin"), "sample:mayfly nymph").save(file)
    with np.load(file) as numbers:
        scored = {name for name in METHODS if numbers[f"{name}_gain"].size}
        drawn = {name for name in METHODS if numbers[name].size}
        assert json.loads(numbers["meta"].item())["view"] == "relevance"
        assert numbers["class"] == "mayfly nymph"
        whole = dict(numbers)
    assert scored == drawn
    assert len(scored) > 3
    shown = vizkit.show("relevance", vizkit.load("bundled:insects_swin"), "sample:mayfly nymph")
    shown.save(file, methods=("rollout", "grad_cam"))
    with np.load(file) as numbers:
        assert [name for name in numbers if numbers[name].ndim > 1] == ["Rollout", "Grad-CAM"]
        assert numbers["rollout_gain"] == whole["rollout_gain"]
        assert 0 < numbers["value"] == whole["value"] <= 1
