"""The contrast of a map by hand, and the choice of the highest."""

from dataclasses import replace

import pytest
import torch

from tests.drawn import noise
from tests.toys import attending, trace_of
from vizkit.analysis.attention.contrast import LEAST_TIMES, MOST_TIMES, Start, attended, clearest, contrast
from vizkit.figure import scales
from vizkit.geometry import window_ids
from vizkit.traces import Tokens

GRID = (5, 7)
EVEN = torch.zeros(GRID)


def halves():
    """Logits of a map whose left columns get e times the weight of the others."""
    return (torch.arange(7) < 3).float().expand(GRID).clone()


def layer(maps, heads=2):
    """Every query attends evenly but these, by head, row and column."""
    tokens = Tokens("patches", ("cls",), GRID, stride=16.0)
    logits = torch.zeros(1, heads, 36, 36)
    for (head, row, column), each in maps.items():
        logits[0, head, 1 + row * 7 + column, 1:] = each.flatten()
    return attending(logits.softmax(-1), tokens)


def by_loops(weights):
    """Of the weights of places (row, column)."""
    rows, columns = weights.shape
    tones = (weights * rows * columns).clamp(LEAST_TIMES, MOST_TIMES).log2()
    means = [
        float(tones[max(0, r - 1) : r + 2, max(0, c - 1) : c + 2].mean()) for r in range(rows) for c in range(columns)
    ]
    return float(torch.tensor(means).std(correction=0))


def test_it_is_that_of_the_tones_after_a_mean_of_neighbours():
    attention = layer({(1, 2, 4): 5 * noise(*GRID)})
    found = contrast(attention)
    assert float(found[0, 1, 1 + 2 * 7 + 4]) == pytest.approx(
        by_loops(attention.weights[0, 1, 1 + 2 * 7 + 4, 1:].reshape(GRID)), abs=1e-5
    )
    assert found[0, :, 0].tolist() == [-1, -1]  # the class token is no patch
    assert found[0, 0, 1:].abs().max() < 1e-6


def test_the_tones_end_where_the_colours_end():
    assert (LEAST_TIMES, MOST_TIMES) == (scales.LEAST_TIMES, scales.MOST_TIMES)


def test_a_region_has_more_than_one_bright_patch():
    """Which has the larger divergence from an even row."""
    one = EVEN.clone()
    one[2, 2] = 20.0
    found = contrast(layer({(0, 0, 0): one, (1, 3, 3): 3 * halves()}))
    assert float(found[0, 1, 1 + 3 * 7 + 3]) > float(found[0, 0, 1])


def test_the_highest_is_found_in_what_nobody_chose():
    first, second = layer({(0, 1, 2): 2 * halves()}), layer({(0, 0, 1): halves(), (1, 4, 6): 3 * halves()})
    trace = trace_of(first, second)
    middle = {(row, column): ((column + 0.5) / 7, (row + 0.5) / 5) for row in range(5) for column in range(7)}
    everywhere = torch.ones(GRID)
    assert clearest(trace, everywhere) == Start(2, 2, pytest.approx(middle[4, 6]))
    assert clearest(trace, everywhere, layer=1) == Start(1, 1, pytest.approx(middle[1, 2]))
    assert clearest(trace, everywhere, layer=2, head=1) == Start(2, 1, pytest.approx(middle[0, 1]))
    assert clearest(trace, everywhere, head=1) == Start(1, 1, pytest.approx(middle[1, 2]))


def test_only_patches_of_the_object_ask_and_what_lies_beside_it_does_not_count():
    """The left half is the object. Two of its patches ask: one attends to it, the other, with as much contrast, beside
    it; a patch that is no part of it has more."""
    left, ground = halves(), halves().flip(1)
    on = torch.zeros(GRID)
    on[:, :3] = 1.0
    trace = trace_of(layer({(0, 1, 1): ground, (1, 2, 2): left, (1, 4, 6): 3 * left}))
    row, column = (2, 2) if left[0, 0] > left[0, 6] else (1, 1)
    assert clearest(trace, on) == Start(1, 1 + row - 1, pytest.approx(((column + 0.5) / 7, (row + 0.5) / 5)))


def test_the_object_is_where_the_last_layers_attend_to_in_a_region():
    """A sink at the edge gets more than each of nine patches together."""
    sink_and_region = torch.zeros(GRID)
    sink_and_region[4, 6], sink_and_region[0:3, 1:4] = 3.0, 2.0
    logits, even = torch.zeros(1, 1, 36, 36), layer({})
    logits[0, 0, 0, 1:] = sink_and_region.flatten()  # of the class token
    found = attended(trace_of(replace(even, weights=logits.softmax(-1), heads=1)))
    assert divmod(int(found.argmax()), 7) == (1, 2)
    assert float(found.max()) == 1


def test_windows_are_maps_of_their_own():
    tokens, ids = Tokens("stage 1", (), (4, 6), stride=4.0), window_ids((4, 6), (2, 3), (0, 0))
    logits = torch.zeros(4, 1, 6, 6)
    logits[3, 0, 2, [0, 3]] = 2.0  # the left column of the last window
    attention = attending(logits.softmax(-1), tokens, ids)
    found = contrast(attention)
    assert float(found[3, 0, 2]) == pytest.approx(by_loops(attention.weights[3, 0, 2].reshape(2, 3)), abs=1e-5)
    start = clearest(trace_of(attention), torch.ones(4, 6))
    assert start.query == pytest.approx((5.5 / 6, 2.5 / 4))  # the third of the window's first row


def test_without_places_there_is_none():
    words = attending(torch.full((1, 1, 2, 2), 0.5), Tokens("words", ("first", "second"), None))
    assert contrast(words) is None
    assert attended(trace_of(words)) is None
    assert clearest(trace_of(words), torch.ones(1, 2)) is None
    assert clearest(trace_of(), torch.ones(1, 2)) is None
