"""Behaviours of heads, by hand on a grid of 2 × 3 patches with a class token."""

import pytest
import torch

from tests.toys import attending, trace_of
from vizkit.analysis.attention.head_behaviour import BEHAVIOURS, behaviours, by_layer, cell_colours, relations
from vizkit.geometry import window_ids
from vizkit.traces import Tokens

GRID = Tokens("patches", ("cls", "reg1"), (2, 3), stride=8.0)


def layer(tokens, *heads):
    return attending(torch.stack(heads)[None], tokens)


def of(attention, pixels=None):
    return {name: values.tolist() for name, values in behaviours(attention, relations(attention, pixels)).items()}


def test_a_head_that_looks_at_everything_alike_has_the_shares_of_the_grid():
    even = of(layer(GRID, torch.full((8, 8), 1 / 8)), torch.rand(3, 4, 6))
    assert set(even) == set(BEHAVIOURS)
    assert even["entropy"] == pytest.approx([1])
    assert even["class"] == even["registers"] == even["own"] == pytest.approx([1 / 8])
    assert even["neighbours"] == pytest.approx([(4 * 3 + 2 * 5) / 6 / 8])  # corners have 3, the middle column 5
    assert even["row"] == pytest.approx([2 / 8])
    assert even["column"] == pytest.approx([1 / 8])
    assert even["border"] == pytest.approx([6 / 8])  # two rows are all border
    assert even["colour"] == pytest.approx([1])  # chance


def test_heads_that_do_a_single_thing_do_nothing_else():
    itself, left, first = torch.eye(8), torch.zeros(8, 8), torch.zeros(8, 8)
    first[:, 0] = 1
    order = torch.arange(8)
    left[order, torch.tensor([0, 1, 3, 2, 3, 6, 5, 6])] = 1  # a neighbour in the row
    heads = of(layer(GRID, itself, left, first))
    assert heads["own"] == [pytest.approx(1), 0, 0]
    assert heads["neighbours"] == heads["row"] == [0, pytest.approx(1), 0]
    assert heads["column"] == [0, 0, 0]
    assert heads["class"] == [0, 0, pytest.approx(1)]
    assert heads["distance"][:2] == pytest.approx([0, 1])
    assert heads["distance_px"][:2] == pytest.approx([0, 8])
    assert heads["entropy"] == pytest.approx([0, 0, 0])
    assert torch.tensor(heads["colour"]).isnan().all()  # no picture was given


def test_the_same_colour_against_chance():
    line = Tokens("patches", (), (1, 5), stride=1.0)
    pixels = torch.tensor([[[0.0, 1.0, 0.0, 1.0, 5.0]]])  # of four others the nearest one: 0↔2, 1↔3, the last ↔ 1 and 3
    assert cell_colours(pixels, (1, 5)).flatten().tolist() == [0, 1, 0, 1, 5]
    twin = torch.zeros(5, 5)
    twin[torch.arange(5), torch.tensor([2, 3, 0, 1, 1])] = 1
    even = torch.full((5, 5), 0.2)
    lift = of(layer(line, twin, even, torch.eye(5).roll(1, 0)), pixels)["colour"]
    assert lift[0] == pytest.approx(5 / (4 * 0.25 + 0.5))  # 1 of 4 for four patches, 2 of 4 for the last
    assert lift[1] == pytest.approx(1)
    assert lift[2] == pytest.approx(1 / (4 * 0.25 + 0.5))  # the patch before is near in colour for the last alone


def test_windows_count_only_what_they_compare():
    tokens = Tokens("patches", (), (3, 4), stride=4.0)
    ids = window_ids((3, 4), (2, 2))  # the last row is padded
    weights = torch.full((4, 1, 4, 4), 0.25)
    result = of(attending(weights, tokens, ids))
    assert result["own"] == pytest.approx([0.25])
    assert result["row"] == pytest.approx([0.25])
    assert result["column"] == pytest.approx([8 / 12 / 4])  # the patches of the padded row have no other
    assert torch.tensor(result["class"]).isnan().all()


def test_layers_without_places_have_an_entropy_only():
    tokens = Tokens("tokens", free=4)
    result = of(layer(tokens, torch.full((4, 4), 0.25)))
    assert result["entropy"] == pytest.approx([1])
    assert all(torch.tensor(result[name]).isnan().all() for name in BEHAVIOURS if name != "entropy")


def test_a_larger_grid_has_an_inside():
    """4 × 4 patches that look at everything alike: corners have 3 neighbours, edges 5, the inside 8."""
    tokens = Tokens("patches", (), (4, 4), stride=8.0)
    even = of(layer(tokens, torch.full((16, 16), 1 / 16)))
    assert even["neighbours"] == pytest.approx([(4 * 3 + 8 * 5 + 4 * 8) / 16 / 16])
    assert even["row"] == even["column"] == pytest.approx([3 / 16])
    assert even["border"] == pytest.approx([12 / 16])
    sides = [torch.zeros(16, 16) for _ in range(4)]
    for side, at in zip(sides, (0, 4 * 1 + 3, 4 * 3 + 1, 4 + 1), strict=True):  # left, right, below, inside
        side[:, at] = 1
    assert of(layer(tokens, *sides))["border"] == pytest.approx([1, 1, 1, 0])


def test_a_token_without_a_place_is_no_patch():
    """A class token, two patches and a free slot that look at everything alike."""
    tokens = Tokens("patches", ("cls",), (1, 2), free=1, stride=8.0)
    even = of(layer(tokens, torch.full((4, 4), 0.25)), torch.rand(3, 1, 2))
    assert [even[name] for name in ("own", "row", "neighbours", "border", "class")] == [
        pytest.approx([share]) for share in (0.25, 0.25, 0.25, 0.5, 0.25)
    ]


def test_of_a_trace_every_layer_has_its_own_relations():
    """The second layer repeats the windows of the first, the third shifts them."""
    tokens = Tokens("patches", (), (4, 4), stride=8.0)
    weights = torch.rand(4, 2, 4, 4, generator=torch.Generator().manual_seed(0)).softmax(-1)
    windows = [window_ids((4, 4), (2, 2), shift) for shift in ((0, 0), (0, 0), (1, 1))]
    layers = [attending(weights, tokens, ids) for ids in windows]
    for found, attention in zip(by_layer(trace_of(*layers)), layers, strict=True):
        alone = behaviours(attention, relations(attention))
        assert {name: each.tolist() for name, each in found.items() if not each.isnan().any()} == {
            name: each.tolist() for name, each in alone.items() if not each.isnan().any()
        }


def test_a_single_key_leaves_nothing_to_choose():
    one = Tokens("one", (), (1, 1), stride=8.0)
    assert of(layer(one, torch.ones(1, 1)))["entropy"] == [0]
    two = Tokens("two", (), (1, 2), stride=8.0)
    assert of(layer(two, torch.full((2, 2), 0.5)))["entropy"] == pytest.approx([1])
