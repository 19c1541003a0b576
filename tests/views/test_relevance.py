"""Relevance: what a page says of its maps is saved beside them."""

import numpy as np
import pytest
import torch
from torch.testing import assert_close

import vizkit
from vizkit.analysis.attribution.generic_relevance import generic_relevance
from vizkit.analysis.attribution.methods import METHODS
from vizkit.analysis.trust.table import CHANCE, FIGURES, signed
from vizkit.datasets import samples
from vizkit.heads import LIKENESS_IN_WORDS
from vizkit.percent import in_percent
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Said, Table, Tiles
from vizkit.views.controls import ControlError, checked, controls, options
from vizkit.views.relevance.explained import now
from vizkit.views.relevance.maps import Maps
from vizkit.views.relevance.race import Race
from vizkit.views.relevance.trust import Trust
from vizkit.views.subject import Subject


@pytest.fixture(scope="module")
def digits():
    return vizkit.load("bundled:digits_vit")


def test_what_stands_beside_a_map_is_saved():
    shown = vizkit.show("relevance", vizkit.load("bundled:insects_vit"), "sample:mayfly nymph")
    maps = next(block for block in shown.blocks if isinstance(block, Tiles) and block.picks)
    beside = {
        method: tile.note.partition(" over chance")[0] for tile, (method, _) in zip(maps.maps, maps.values, strict=True)
    }
    saved = {name: shown.numbers[f"{name}_gain"] for name in METHODS}
    assert {name for name, gain in saved.items() if len(gain)} == set(beside)
    assert {name: signed(float(saved[name][0])) for name in beside} == beside


@pytest.mark.parametrize("edits", [[], ["heads:2.1=0"]], ids=["nothing is ranked", "a changed model"])
def test_what_has_no_score_saves_none(digits, edits):
    """This model says 3 of the blurred picture too, so there is nothing to take away."""
    shown = vizkit.show("relevance", digits, "sample:digit 3", edits=edits)
    assert not any(len(shown.numbers[f"{name}_gain"]) for name in METHODS)


def test_every_score_of_the_table_is_saved(digits):
    shown = vizkit.show("trust", digits, "sample:digit 3")
    (table,) = (block for block in shown.blocks if isinstance(block, Table))
    titles = {"Chance": CHANCE, **{method.title: name for name, method in METHODS.items()}}
    for row in table.rows:
        name = titles[str(row["method"])]
        for figure in ("deletion", "insertion", "randomisation"):
            said = next(
                (
                    cell
                    for column, cell in row.items()
                    if column.startswith(("like random weights", figure)[figure != "randomisation"])
                ),
                "",
            )
            saved = shown.numbers[f"{name}_{figure}_score"]
            assert str(said).split(" ")[0] == "".join(f"{value:.2f}".replace("-", "−") for value in saved)
    assert {f"{name}_{each}_score" for name in (*METHODS, CHANCE) for each in FIGURES} <= set(shown.numbers)
    assert shown.numbers["table1"].tolist()[0] == list(table.rows[0])
    assert np.isfinite(shown.numbers["rollout_deletion_score"]).all()


def test_no_map_is_ahead_before_all_are_scored():
    loaded = vizkit.load("bundled:insects_vit")
    of = Subject(lambda: loaded, samples.picture("mayfly nymph"), image="mayfly nymph", model="ViT")
    race = Race(Trust(), of, ("rollout", "generic_relevance"))
    for name in race.methods:
        race.view.made(of, name)
    now(of, race.start)
    now(of, race.scored["generic_relevance"])
    said, canvas, *_ = race.show(race.found())
    assert (type(said), said.text) == (Said, "1 of 2 maps is scored; which is best is said when all are.")
    assert [lane["title"] for lane in canvas.data["lanes"]] == ["Rollout", "Generic relevance", "Random order"]
    now(of, race.scored["rollout"])
    _, canvas, *_ = race.show(race.found())
    assert all(lane["title"][-1].isdigit() for lane in canvas.data["lanes"][:-1])


@pytest.fixture(scope="module")
def photographs():
    return vizkit.load("bundled:photographs_vit")


@pytest.fixture(scope="module")
def cat(photographs):
    return Subject(lambda: photographs, samples.picture("cat"), image="cat", model="ViT")


@pytest.mark.rest  # all maps of a large model, a minute
@pytest.mark.parametrize("text", ["feature 7", "7", "class 7"])
def test_a_single_feature_of_a_model_without_classes_is_explained(photographs, cat, text):
    view = checked(Maps(target=text, method="generic_relevance"), [cat])
    assert view.target == "feature 7"
    expected = generic_relevance(vizkit.trace(photographs, cat.rgb, target=7), "cls")
    assert_close(torch.from_numpy(view.numbers([cat])["generic_relevance"]), expected)
    assert view.title([cat]) == "Evidence for feature 7"
    likeness = Maps(method="generic_relevance").numbers_of(cat)["generic_relevance"]
    assert not np.allclose(likeness, expected)  # kept apart from output 0 of the other
    assert not np.array_equal(Maps(target="feature 0").numbers_of(cat)["generic_relevance"], likeness)


def test_every_feature_is_offered_and_no_other(cat):
    offered = options(controls(Maps)["target"], [cat])
    assert offered[:2] == ["what each model predicts", LIKENESS_IN_WORDS]
    assert offered[2:] == [f"feature {number}" for number in range(384)]
    with pytest.raises(ControlError, match="ViT has 384 features, numbered from 0"):
        checked(Maps(target="feature 384"), [cat])


def test_a_feature_has_no_largest_value_by_which_maps_could_be_ranked(cat):
    view = Maps(target="feature 7")
    assert view.race(cat, ["rollout"]) == {}
    with pytest.raises(NotApplicable, match="A single feature has no largest value"):
        [*Trust(target="feature 7").show(cat)]


def test_the_first_sentence_has_the_numbers_of_trust():
    """Of insects, where the class can be taken away: a tenth of the places, of twenty steps the second."""
    loaded = vizkit.load("bundled:insects_vit")
    of = Subject(lambda: loaded, samples.picture("mayfly nymph"), image="mayfly nymph")
    said = next(
        block for block in vizkit.show("relevance", loaded, "sample:mayfly nymph").blocks if type(block) is Said
    )
    view = Trust()
    curves = now(of, view.measured(of, ["generic_relevance"])["generic_relevance"]).curves
    chance = now(of, view.chance(of)).chance
    whole, left, random = (
        in_percent(float(each)) for each in (curves.deletion[0], curves.deletion[2], chance.deletion[2])
    )
    assert said.text.endswith(
        f"; blurring the brightest 10 % lowers its probability from {whole} to {left}, a random 10 % to {random}."
    )
