"""Rollout: one scale for all layers, sinks, the check of its map, and the terms of each share."""

import base64

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

import vizkit
from tests.views.contract import subject
from vizkit.analysis.attribution.layer_product import Mass
from vizkit.analysis.attribution.rollout import Rollout as Row
from vizkit.analysis.attribution.rollout import rollout, rollout_by_layer, same_place
from vizkit.analysis.attribution.subject import cells_of
from vizkit.analysis.remarks import maps
from vizkit.analysis.trust.deletion import erased
from vizkit.datasets import samples
from vizkit.figure.scales import SHARES, colours_used
from vizkit.scoring import subject_of
from vizkit.traces import Tokens
from vizkit.views.blocks import Canvas, Later, Link, Map, Said, Tiles
from vizkit.views.relevance.erasing import RANDOM_ORDERS
from vizkit.views.rollout import Rollout
from vizkit.views.rollout_parts import others, within_image
from vizkit.views.subject import Subject


@pytest.mark.parametrize("query", ["cls", "mean", (2, 5)])
@pytest.mark.parametrize("depth", [1, 4, 6])
def test_the_terms_beside_the_map_are_of_its_row(query, depth):
    of = subject("digits_vit")
    row = rollout_by_layer(of.whole(), query)[depth - 1]
    (canvas,) = (block for block in Rollout(query=query, depth=depth).show(of) if isinstance(block, Canvas))
    data = {name: np.frombuffer(base64.b64decode(canvas.data[name]), "<f4") for name in ("taken", "passed", "shares")}
    assert_allclose(data["shares"], row.mass.rows[0], rtol=1e-6)
    terms = (data["taken"] * data["passed"]).reshape(len(data["shares"]), -1)
    assert (np.diff(terms) <= 1e-9).all()  # the largest first
    assert (terms.sum(1) <= data["shares"] * (1 + 1e-5)).all()
    rest = others(row.grid, query if isinstance(query, tuple) else None)
    assert canvas.data["place"] == 1 + int(rest.argmax())  # opens on the largest, behind [cls], that is not the query


def test_the_centre_of_a_cell_lies_in_one_of_another_grid_by_hand():
    assert same_place((1, 0), (2, 2), (4, 4)) == (3, 1)
    assert same_place((3, 1), (4, 4), (2, 2)) == (1, 0)
    assert same_place((1, 1), (3, 3), (3, 3)) == (1, 1)


def test_the_share_within_the_image_is_said_where_it_is_another_number():
    tokens = Tokens("tokens", ("cls",), (1, 2), stride=16.0)
    alone = Row(Mass(torch.tensor([[0.0, 0.25, 0.75]]), torch.zeros(1), tokens), "mean")
    beside = Row(Mass(torch.tensor([[0.2, 0.2, 0.6]]), torch.zeros(1), tokens), "cls")
    assert within_image(alone) == ""
    assert within_image(beside).startswith("The largest place has 60 % of the whole row, 75 % of what lies on")


def test_all_layers_have_one_scale_and_a_linear_one_leaves_out_the_place_that_asks():
    of = subject("digits_vit")
    blocks = list(Rollout().show(of))
    assert [block.rows.scale for block in blocks if isinstance(block, Map)] == [SHARES]
    (strip,) = (block for block in blocks if isinstance(block, Tiles))
    assert {(tile.scale.low, tile.scale.top) for tile in strip.maps} == {(0.25, 32)}
    assert [tile.scale.equal for tile in strip.maps] == pytest.approx([tile.values.mean() for tile in strip.maps])
    linear = [*Rollout((2, 3), scale="linear").show(of)]
    (strip,) = (block for block in linear if isinstance(block, Tiles))
    for tile in strip.maps:
        assert tile.scale.top == np.delete(tile.values.ravel(), 2 * 8 + 3).max()
    assert strip.maps[0].scale.top < strip.maps[0].values[2, 3]


def test_a_sink_is_named_and_ringed_and_the_product_without_it_has_none():
    loaded, rgb = vizkit.load("bundled:photographs_vit"), samples.picture("cat")
    of = Subject(lambda: loaded, rgb)
    blocks = list(Rollout().show(of))
    (over,) = (block for block in blocks if isinstance(block, Map))
    assert over.ringed == ((2, 7),)
    places, _ = over.rows.row_of(0)
    assert np.unravel_index(places.argmax(), places.shape) == (2, 7)
    assert over.said.startswith("Row 3, column 8 is a sink: it receives 95 % of the attention of head 6 in layer 1")
    assert "half of the rest lies on" in over.said
    shades, plain = (colours_used(each.of(places).positions(places)) for each in (over.rows.scale, SHARES))
    assert shades > plain + 2, (shades, plain)  # the rest is seen
    (link,) = (block for block in blocks if isinstance(block, Link))
    (over,) = (block for block in link.view.show(of) if isinstance(block, Map))
    assert (link.view, over.ringed) == (Rollout(start=2), ())
    assert "sink" not in over.said


@pytest.mark.parametrize("model, image", [("insects_vit", "mayfly nymph"), ("photographs_vit", "cat")])
def test_the_map_that_opens_is_checked_by_what_is_left_of_the_answer(model, image):
    loaded = vizkit.load(f"bundled:{model}")
    of = Subject(lambda: loaded, samples.picture(image), image=image)
    (check,) = (block for block in Rollout().show(of) if isinstance(block, Later))
    (said,) = check.now()
    assert isinstance(said, Said)
    (found,) = (of.find(job.key) for job in check.jobs)
    assert maps.without_brightest(found, of.loaded.head) in said.text
    asked, cells = subject_of(of.loaded, of.rgb, of.loaded.head.target(of.seen.logits)), cells_of(of.seen)
    end = erased(asked, rollout(of.seen), cells, orders=RANDOM_ORDERS)
    assert (found.whole, found.brightest, found.random) == pytest.approx((end.whole, end.brightest, end.random))
    assert found.brightest < found.random


@pytest.mark.parametrize("changed", [{"discard": 0.5}, {"query": (2, 5)}, {"start": 2}])
def test_another_map_is_checked_when_it_is_asked_for_alone(changed):
    of = subject("digits_vit")
    (check,) = (block for block in Rollout(**changed).show(of) if isinstance(block, Later))
    assert (bool(check.button), check.only_asked, [*check.now()]) == (True, True, [])
    assert all(of.find(job.key) is None for job in check.jobs)
