"""Sinks by hand: who takes much of a head's attention whatever asks."""

import pytest
import torch

import vizkit
from tests import toys
from vizkit.analysis.attribution.sinks import sinks
from vizkit.datasets import samples
from vizkit.traces import Tokens


def trace_of(weights, **changed):
    """One layer of 8 × 10 patches and a class token."""
    tokens = Tokens("patches", ("cls",), (8, 10), stride=16.0)
    return toys.trace_of(toys.attending(weights, tokens, **{"heads": weights.shape[1]} | changed))


def even(heads):
    return torch.full((1, heads, 81, 81), 1 / 81)


def test_a_place_that_takes_much_of_a_head_whatever_asks():
    """The second head gives 60 % to patch 37 (row 4, column 8 from 1), the third as much to itself or to [cls]."""
    weights = even(3)
    weights[0, 1] = 0.4 / 80
    weights[0, 1, :, 1 + 37] = 0.6
    weights[0, 2] = 0.2 * torch.eye(81)
    weights[0, 2, :, 0] = 0.8
    (found,) = sinks(trace_of(weights))
    assert (found.layer, found.head, found.place) == (1, 2, (3, 7))
    assert found.share == pytest.approx(0.6)


def test_even_attention_has_none_and_a_mean_of_heads_is_not_asked():
    assert sinks(trace_of(even(2))) == ()
    weights = even(1)
    weights[..., 5] = 1
    assert sinks(trace_of(weights / weights.sum(-1, keepdim=True))) != ()
    assert sinks(trace_of(weights / weights.sum(-1, keepdim=True), heads=4)) == ()


def test_the_model_of_photographs_has_one_in_a_head_of_its_first_layer():
    loaded = vizkit.load("bundled:photographs_vit")
    (found,) = sinks(vizkit.trace(loaded, samples.picture("cat")))
    assert (found.layer, found.head, found.place) == (1, 6, (2, 7))
    assert found.share > 0.9
