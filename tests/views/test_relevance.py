"""Relevance: what a page says of its maps is saved beside them."""

import numpy as np
import pytest

import vizkit
from vizkit.analysis.attribution.methods import METHODS
from vizkit.analysis.trust.table import CHANCE, FIGURES, signed
from vizkit.views.blocks import Table, Tiles


@pytest.fixture(scope="module")
def digits():
    return vizkit.load("bundled:digits_vit", device="cpu")


def test_what_stands_beside_a_map_is_saved():
    shown = vizkit.show("relevance", vizkit.load("bundled:insects_vit", device="cpu"), "sample:mayfly nymph")
    maps = next(block for block in shown.blocks if isinstance(block, Tiles) and block.picks)
    beside = {method: tile.name.split()[-1] for tile, (method, _) in zip(maps.maps, maps.values, strict=True)}
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
                    if column.startswith(("random ρ", figure)[figure != "randomisation"])
                ),
                "",
            )
            saved = shown.numbers[f"{name}_{figure}_score"]
            assert str(said).split(" ")[0] == "".join(f"{value:.2f}".replace("-", "−") for value in saved)
    assert {f"{name}_{each}_score" for name in (*METHODS, CHANCE) for each in FIGURES} <= set(shown.numbers)
    assert shown.numbers["table1"].tolist()[0] == list(table.rows[0])
    assert np.isfinite(shown.numbers["rollout_deletion_score"]).all()
