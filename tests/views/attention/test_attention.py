"""Views of Attention by hand."""

import math

import pytest
import torch
from numpy.testing import assert_allclose

from tests.views.contract import subject
from vizkit.analysis.attention.statistics import entropy_by_place
from vizkit.analysis.remarks.attention import SINK
from vizkit.hosts.layout import small_maps
from vizkit.hosts.paper import numbers
from vizkit.traces import NotApplicable
from vizkit.views.attention.statistics import Statistics, farthest
from vizkit.views.attention.walkthrough import WalkThrough
from vizkit.views.blocks import Canvas, Chart, Line, Map, Tiles
from vizkit.views.explore import Explore
from vizkit.views.rollout import Rollout
from vizkit.views.settled import flat
from vizkit.views.swin.window import Window


@pytest.mark.parametrize("name", ["digits_vit", "digits_swin"])
def test_the_marked_head_is_the_one_of_the_map_the_line_and_the_charts(name):
    of = subject(name)
    blocks = flat(Statistics(layer=2, head=3).show(of))
    (entropy,) = (each for each in flat(Statistics(shows="entropy", layer=2, head=3).show(of)) if isinstance(each, Map))
    assert any(isinstance(each, Line) and each.text.startswith("layer 2, head 3") for each in blocks)
    for chart in (each for each in blocks if isinstance(each, Chart)):
        assert chart.picks == ("layer", "head")
        assert list(chart.figure.data[-1].customdata[0]) == [2, 3]
    expected = entropy_by_place(of.layers[1], 2)
    assert_allclose(entropy.rows.values[0], expected.flatten(), atol=1e-6)
    assert entropy.said.startswith("Head 3 of layer 2: ")


@pytest.mark.parametrize(
    "view, model",
    [
        (Explore(), "digits_vit"),
        (Explore(layer=2), "digits_swin"),
        (Explore(query="cls"), "digits_vit"),
        (Rollout(query="patch"), "digits_vit"),
        (Rollout(query="patch"), "digits_swin"),
        (Window(), "digits_swin"),
    ],
)
def test_small_maps_mark_on_paper_the_query_of_the_large_one(view, model):
    of = subject(model)
    blocks = flat(view.show(of))
    large = next(each for each in blocks if isinstance(each, Map))
    asks = large.rows.cell_box(large.rows.query_id(large.query, of.asked))
    tiles = [tile for maps in small_maps(blocks) if isinstance(maps, Tiles) for tile in maps.maps]
    same_grid = [tile for tile in tiles if tile.values.shape == large.rows.key_grid]
    assert {tile.asks for tile in same_grid} == {asks}


def test_the_most_global_head_is_no_sink_where_another_one_is_there():
    of = subject("digits_vit")
    mean = of.made(subject_statistics, of.seen)
    at, head = farthest(mean)
    for each in mean:
        each.sink[:] = 0.0
    mean[at - 1].sink[head - 1] = 1.0
    assert farthest(mean) != (at, head)
    assert farthest(mean, at)[0] == at
    for each in mean:
        each.sink[:] = 1.0
    assert farthest(mean) == (at, head)
    (line,) = (each for each in Statistics().map(of, at, head, sink=1.0) if isinstance(each, Line))
    assert SINK < 1
    assert line.text.startswith(f"layer {at}, head {head}, the most global, which gives 100 % of its attention to one")


def subject_statistics(trace):
    from vizkit.analysis.attention.statistics import by_layer

    return by_layer(trace)


def test_the_matrix_has_the_map_in_the_row_that_is_framed():
    of = subject("digits_vit")
    view = WalkThrough(layer=3, head="2", query=(1, 4))
    blocks = flat(view.show(of))
    (matrix,) = (each for each in blocks if isinstance(each, Canvas) and each.script == "vizkit_matrix")
    found = numbers(blocks)
    assert matrix.data["marked"] == 1 + 8 + 4
    weights = of.layers[2].weights[0, 1]
    assert_allclose(found["matrix"], weights, atol=1e-6)
    assert_allclose(found["places"].ravel(), weights[matrix.data["marked"], 1:], atol=1e-6)
    (heads,) = (each for each in blocks if isinstance(each, Canvas) and each.script == "vizkit_heads")
    assert (heads.data["layer"], heads.data["head"]) == (2, 1)
    assert heads.data["layers"][2]["tops"][1] == pytest.approx(float(found["places"].max()), abs=1e-6)


def test_weighted_by_values_every_weight_is_a_length():
    """‖α f(x)‖ by hand, of one query and key."""
    of = subject("digits_vit")
    view = WalkThrough(layer=3, head="2", query=(1, 4), by_values=True)
    _, row = view.row(of)
    width, key = row.head.value.shape[-1], 7
    brought = row.parts.out_weight[:, width : 2 * width] @ row.head.value[key]
    expected = float(row.weights[key] * brought.norm())
    assert numbers(view.show(of))["matrix"][row.position, key] == pytest.approx(expected, rel=1e-4)
    with pytest.raises(NotApplicable, match="the length of a value has no meaning"):
        list(WalkThrough(by_values=True, unscaled=True).show(of))


def test_special_tokens_have_a_matrix_too():
    of = subject("digits_vit")
    _, row = WalkThrough(query="cls").row(of)
    assert (row.query_id, row.asked) == (0, "cls")
    assert math.isclose(float(torch.as_tensor(row.weights).sum()), 1, abs_tol=1e-5)
