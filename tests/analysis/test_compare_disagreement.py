"""Who says the same, and how many bits models are apart, against numbers by hand and scipy."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon

from vizkit.analysis.comparison.class_names import agreeing
from vizkit.analysis.comparison.disagreement import divergences, groups, js_bits, overlaps

SHARES = st.lists(st.floats(0, 1, width=32), min_size=4, max_size=4).filter(lambda p: sum(p) > 1e-3)


def shares(*values):
    return torch.tensor(values, dtype=torch.float64)


def test_bits_by_hand():
    assert js_bits(shares(1, 0), shares(0, 1)) == 1
    assert js_bits(shares(0.3, 0.7), shares(0.3, 0.7)) == 0
    # P = (1, 0), Q = (½, ½): M = (¾, ¼); ½ log2(4/3) + ½ (½ log2(2/3) + ½ log2 2)
    expected = 0.5 * math.log2(4 / 3) + 0.25 * math.log2(2 / 3) + 0.25
    assert js_bits(shares(1, 0), shares(0.5, 0.5)) == pytest.approx(expected)
    assert expected == pytest.approx(0.3113, abs=1e-4)


@given(SHARES, SHARES)
def test_bits_are_scipys_distance_squared_and_the_same_from_both_sides(one, other):
    p, q = (np.array(each) / sum(each) for each in (one, other))
    found = js_bits(torch.tensor(p), torch.tensor(q))
    assert found == pytest.approx(float(np.nan_to_num(jensenshannon(p, q, base=2)) ** 2), abs=1e-9)
    assert found == pytest.approx(js_bits(torch.tensor(q), torch.tensor(p)), abs=1e-12)
    assert 0 <= found <= 1


def test_only_classes_that_both_know_count_in_the_order_of_neither():
    agreed = agreeing([["cat", "dog", "ant"], ["bee", "dog", "cat"]])
    places = overlaps(agreed)
    assert places == {(0, 1): ([0, 1], [2, 1])}
    found = divergences(places, {0: shares(0.4, 0.4, 0.2), 1: shares(0.4, 0.6, 0.0)})
    assert found == {(0, 1): pytest.approx(js_bits(shares(0.5, 0.5), shares(0, 1)))}


def test_pairs_that_mostly_say_something_else_are_left_out():
    places = overlaps(agreeing([["cat", "dog", "ant"], ["cat", "dog", "bee"]]))
    assert divergences(places, {0: shares(0.3, 0.1, 0.6), 1: shares(0.5, 0.5, 0)}) == {}
    assert divergences(places, {1: shares(0.5, 0.5, 0)}) == {}, "the other did not answer"


def test_one_class_in_common_is_none():
    assert overlaps(agreeing([["cat", "dog"], ["cat", "ant"]])) == {}
    assert overlaps(agreeing([["cat", "dog"], []])) == {}


def test_groups():
    assert groups({0: 7, 1: 3, 2: 3, 3: 9}) == ((1, 2), (0,), (3,))
    assert groups({}) == ()
