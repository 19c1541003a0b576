"""Importance of heads, by hand."""

import math

import numpy as np
import pytest

from vizkit.analysis.attention.head_importance import grid_of, rank_correlation, summed_up
from vizkit.analysis.remarks.interventions import of_heads

NAMES = [(0, 0), (0, 1), (1, 0)]
LOST = np.array([[1.0, 0.0, -0.5], [3.0, 0.0, 0.5]])


def test_means_intervals_and_order_by_hand():
    result = summed_up(NAMES, LOST, np.array([[1.0, 0, 0], [0, 0, 0]]), np.array([[2.0, 0.1, 0.3], [4.0, 0.1, 0.3]]))
    assert result.lost == (2, 0, 0)
    assert result.half == pytest.approx((1.96, 0, 1.96 * 0.5), abs=1e-9)
    assert result.flipped == (0.5, 0, 0)
    assert result.order[0] == 0
    assert result.examples == ((1, 0), (0, 1), (1, 0))
    grid = grid_of(NAMES, result.lost)
    assert grid[0].tolist() == [2, 0]
    assert grid[1, 0] == 0
    assert math.isnan(grid[1, 1])


def test_rank_correlation_by_hand():
    assert rank_correlation([1.0, 2.0, 3.0], [10.0, 20.0, 21.0]) == pytest.approx(1)
    assert rank_correlation([1.0, 2.0, 3.0], [3.0, 2.0, 1.0]) == pytest.approx(-1)
    assert rank_correlation([1.0, 2.0, 2.0, 3.0], [1.0, 2.0, 3.0, 4.0]) == pytest.approx(
        0.9486833
    )  # 4.5 / sqrt(4.5 · 5)
    assert math.isnan(rank_correlation([1.0, 1.0], [1.0, 2.0]))


def test_the_sentence_counts_heads_that_lose_nothing():
    said = of_heads(NAMES, [2.0, 0.0, 0.1], [0.5, 0.1, 0.2], 0.75)
    assert said == (
        "Only head 1 of layer 1 certainly matters: without it the answer loses 2.000 ± 0.611 nats (95 % for all 3 "
        "heads together, Bonferroni). 2 of 3 heads cannot be told from no loss at all; the gradient's estimate ranks "
        "them with a correlation of 0.75."
    )
    alone = of_heads([(0, 0)], [1.0], [0.1], math.nan)
    assert alone.endswith("0 of 1 heads cannot be told from no loss at all.")
    # A larger mean that chance alone may give does not matter most.
    assert of_heads(NAMES, [0.3, 0.1, 0.08], [0.4, 0.05, 0.05], 1.0).startswith(
        "Of heads whose loss is no chance, head 2 of layer 1 matters most: without it the answer loses 0.100 ± 0.061 "
        "nats (95 % for all 3 heads together, Bonferroni); a larger loss (0.300 ± 0.489) may be chance."
    )
    # Of three heads one passes its own bound of 5 % by chance more often than that.
    assert of_heads(NAMES, [0.11, 0.0, 0.0], [0.1] * 3, 1.0).startswith("No head certainly matters alone")
    assert of_heads(NAMES, [0.09, 0.0, 0.0], [0.1] * 3, 1.0).startswith(
        "No head certainly matters alone: without head 1 of layer 1 the answer loses 0.090 ± 0.122 nats (95 % for all "
        "3 heads together, Bonferroni), which may be chance;"
    )
