"""`vizkit.show`: what it gives, its files, and one sentence for whatever is wrong."""

import json
import pydoc
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image

import vizkit
import vizkit.views
from vizkit.analysis.attribution.rollout import rollout_by_layer
from vizkit.datasets import samples
from vizkit.image import digest_of
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Block, Heading, Map
from vizkit.views.controls import ControlError

DIGIT = samples.picture("digit 3")


@pytest.fixture(scope="module")
def shown(digits):
    return vizkit.show("rollout", digits, "sample:digit 3", depth=3)


def test_it_shows_what_the_view_shows(digits, shown):
    expected = rollout_by_layer(vizkit.trace(digits, DIGIT), "cls")[2]  # the third layer
    assert_allclose(shown.numbers["places"], expected.grid.numpy(), atol=1e-6)
    assert all(isinstance(block, Block) for block in shown.blocks)
    assert (shown.view.depth, shown.subjects[0].image, shown.subjects[0].point) == (3, "digit 3", (0.5, 0.5))


def test_it_says_what_is_seen(shown):
    assert repr(shown) == f"Rollout: layers 1 to 3 of 6. {shown.said}"
    assert shown.said.endswith(".")


def test_settings_of_numpy_and_lists_are_pythons(digits):
    view = vizkit.show("rollout", digits, DIGIT, depth=np.int64(2), query=[0, 7], residual=1).view
    assert (view.depth, view.query, view.residual) == (2, (0, 7), 1.0)
    assert list(map(type, (view.depth, view.query, view.residual))) == [int, tuple, float]


def test_a_point_is_a_click_there(digits):
    """Of 8 × 8 patches that at three tenths across and six tenths down is in column 2 and row 4, from 0."""
    by_point = vizkit.show("rollout", digits, DIGIT, at=(0.3, 0.6))
    by_cell = vizkit.show("rollout", digits, DIGIT, query=(4, 2))
    assert by_point.view.query == "patch"
    assert_array_equal(by_point.numbers["places"], by_cell.numbers["places"])
    assert vizkit.show("rollout", digits, DIGIT, at=(0.3, 0.6), query="cls").view.query == "cls"
    last = vizkit.show("rollout", digits, DIGIT, at=(1, 1))
    assert_array_equal(last.numbers["places"], vizkit.show("rollout", digits, DIGIT, query=(7, 7)).numbers["places"])


def test_the_middle_is_a_point_like_any_other(digits):
    """Views that open on the patch that is attended most take it for chosen too."""
    middle, beside = (vizkit.show("cut", digits, DIGIT, at=(at, at)).numbers for at in (0.5, 0.51))
    assert all(np.array_equal(middle[name], beside[name]) for name in middle)
    unset = vizkit.show("cut", digits, DIGIT).numbers
    assert any(not np.array_equal(middle[name], unset[name]) for name in middle)


def test_an_edit_changes_the_model(digits):
    plain, without = (vizkit.show("rollout", digits, DIGIT, edits=edits) for edits in ([], ["heads:2.1=0"]))
    assert not np.allclose(plain.numbers["places"], without.numbers["places"])
    assert without.meta["edits"] == ("heads:2.1=0",)


def test_several_models_stand_after_one_another(digits):
    swin = vizkit.load("bundled:digits_swin")
    both = vizkit.show("rollout", [digits, swin], DIGIT)
    assert [block.text for block in both.blocks if isinstance(block, Heading)] == [digits.name, swin.name]
    assert len([block for block in both.blocks if isinstance(block, Map)]) == 2
    assert_array_equal(both.numbers["places_2"], vizkit.show("rollout", swin, DIGIT).numbers["places"])
    assert both.said.startswith(f"{digits.name}: ")


# ---- files -----------------------------------------------------------------------------------------------------------
def test_a_layer_or_head_beyond_those_of_all_models_is_refused(digits):
    with pytest.raises(ControlError, match="head is a number from 1 to 4, not 99"):
        vizkit.show("explore", digits, DIGIT, head=99)
    with pytest.raises(ControlError, match="depth is a number from 1 to 6, not 99"):
        vizkit.show("rollout", digits, DIGIT, depth=99)


@pytest.mark.parametrize("suffix", [".png", ".svg", ".html", ".npz", ".PNG", ".SVG", ".HTML", ".NPZ"])
def test_each_file_is_what_its_ending_says(shown, suffix, tmp_path):
    path = tmp_path / f"rollout{suffix}"
    shown.save(path)
    begin = {".png": b"\x89PNG", ".svg": b"<svg", ".html": b"<!doctype html>", ".npz": b"PK"}[suffix.lower()]
    assert path.read_bytes().startswith(begin)
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_numbers_say_what_they_are_of(digits, shown, tmp_path):
    shown.save(tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz", allow_pickle=False) as file:
        meta = json.loads(file["meta"].item())
        assert set(file.files) == {"meta", *shown.numbers}
        assert_array_equal(file["by_layer"], shown.numbers["by_layer"])
    assert (meta["view"], meta["settings"]["depth"]) == ("rollout", 3)
    assert meta["models"] == [{"name": digits.name, "source": digits.source, "trained": True}]
    assert (meta["picture"], meta["vizkit"]) == (digest_of(DIGIT), vizkit.__version__)


def test_the_picture_in_a_file_says_it_too(shown, tmp_path):
    shown.save(tmp_path / "a.png")
    with Image.open(tmp_path / "a.png") as picture:
        assert json.loads(picture.text["vizkit"])["settings"]["depth"] == 3
        assert "Model: bundled:digits_vit" in picture.text["Description"]


def test_another_ending_is_refused(shown, tmp_path):
    with pytest.raises(ValueError, match=r"a\.gif cannot be written: give a name that ends in \.png, .* or \.zip\.$"):
        shown.save(tmp_path / "a.gif")
    assert list(tmp_path.iterdir()) == []


def test_a_notebook_shows_it(shown):
    assert shown._repr_html_().startswith("<div id='vizkit-")


def test_what_has_no_page_is_a_sentence_there(shown, monkeypatch):
    def refuse(view, of):
        raise NotApplicable("<b> is too large.")

    monkeypatch.setattr("vizkit.hosts.page.fragment", refuse)
    assert shown._repr_html_() == "<p>&lt;b&gt; is too large.</p>"


# ---- what is wrong ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "settings, sentence",
    [
        ({"fusoin": "max"}, "Rollout has no setting 'fusoin'; the nearest is fusion."),
        ({"methods": ("rollout",)}, "'methods' belongs to .save(…), which chooses what is on a figure."),
        ({"fusion": "sum"}, "fusion cannot be 'sum': there are mean, max, min."),
        ({"fusion": None}, "fusion cannot be None."),
        ({"depth": 0}, "depth is a number from 1, not 0."),
        ({"depth": True}, "depth cannot be True."),
        ({"residual": float("nan")}, "residual is a number from 0 to 1, not nan."),
        ({"query": "dist"}, "query cannot be 'dist': there are cls, mean, patch."),
        ({"full": 1}, "full cannot be 1."),
        ({"at": (2, 0)}, "A point is (x, y) in fractions of the image, each from 0 to 1, not (2, 0)."),
        ({"at": "middle"}, "A point is (x, y) in fractions of the image, each from 0 to 1, not middle."),
    ],
)
def test_a_wrong_setting_is_a_sentence(digits, settings, sentence):
    with pytest.raises(ControlError) as error:
        vizkit.show("rollout", digits, DIGIT, **settings)
    assert str(error.value) == sentence


@pytest.mark.parametrize(
    "name, model, image, sentence",
    [
        ("rolout", "digits", DIGIT, "There is no view 'rolout'; the nearest is rollout."),
        ("rollout", "digits", None, "Rollout shows something of an image: give one."),
        ("rollout", "digits", DIGIT / 255, "The image has to be 8-bit RGB, (height, width, 3), as vizkit.open_image"),
        ("rollout", "digits", "sample:digit 33", "No image that comes with vizkit is called 'digit 33'; the nearest"),
        ("rollout", None, DIGIT, "Rollout shows one to 4 models, not 0."),
        ("rollout", ["digits"] * 5, DIGIT, "Rollout shows one to 4 models, not 5."),
        ("rollout", "bundled:digits_vit", DIGIT, "A model has to be what vizkit.load or vizkit.wrap gives."),
    ],
)
def test_what_cannot_be_shown_is_a_sentence(digits, name, model, image, sentence):
    with pytest.raises(ValueError, match="^" + re.escape(sentence)):
        vizkit.show(name, digits if model == "digits" else model, image)


def test_a_view_without_a_meaning_says_for_which_model(digits):
    cnn = vizkit.load("bundled:digits_cnn")
    with pytest.raises(NotApplicable, match=r"^This model has no attention layers; there is nothing to multiply\.$"):
        vizkit.show("rollout", cnn, DIGIT)
    with pytest.raises(NotApplicable, match=r"^bundled:digits_cnn: This model has no attention layers"):
        vizkit.show("rollout", [digits, cnn], DIGIT)


def test_a_file_is_opened_by_its_path(digits, tmp_path):
    Image.fromarray(DIGIT).save(tmp_path / "digit 3.png")
    by_path = vizkit.show("rollout", digits, tmp_path / "digit 3.png")
    assert (by_path.subjects[0].original == DIGIT).all()
    with pytest.raises(ValueError, match="There is no file at this path"):
        vizkit.show("rollout", digits, "digit 3")


# ---- help ------------------------------------------------------------------------------------------------------------
def test_help_is_a_manual():
    told = pydoc.plain(pydoc.render_doc(vizkit.views.Rollout))
    assert "query: str | tuple[int, int] = 'cls', fusion: Literal['mean', 'max', 'min'] = 'mean'" in told
    assert "Bright places contribute most to the marked token" in told
    assert (
        "fusion = 'mean'\n |          Heads joined by: mean, max or min. How the heads of a layer become one matrix."
        in told
    )
    assert "depth = None\n |          Up to layer: a number from 1 to the last layer; by default the last." in told
    assert "discard = 0.0\n |          Drop the smallest weights: a number from 0 to 0.95." in told
