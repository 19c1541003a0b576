"""Greedy search for small sets: right by hand, never smaller than the smallest, and sometimes larger."""

from itertools import combinations

import pytest
import torch

from tests.drawn import noise
from vizkit.analysis.attribution.smallest_set import search


def linear(weights, bias):
    """An answer whose margin is a sum over the parts that are there."""

    def answers(there):
        margin = there.double() @ torch.tensor(weights, dtype=torch.float64) + bias
        return torch.stack([margin, margin.sigmoid()], 1)

    return answers


def test_the_parts_that_weigh_most_are_enough():
    result = search(linear([1.0, 5.0, 2.0, -3.0], -6.0), 4, "keep")
    assert result.order == (1, 2)
    assert result.reached
    assert result.passes == 1 + 4 + 3
    assert result.probability == pytest.approx([torch.tensor(m).sigmoid().item() for m in (-6.0, -1.0, 1.0)])


def test_without_the_parts_that_weigh_most_the_answer_flips():
    result = search(linear([1.0, 5.0, 2.0, -3.0], 1.5), 4, "flip")
    assert (result.order, result.reached) == ((1, 2), True)


def test_nothing_is_needed_where_the_answer_is_there_already_and_nothing_reached_where_it_never_is():
    assert search(linear([1.0, 1.0], 2.0), 2, "keep").order == ()
    never = search(linear([1.0, 1.0], -9.0), 2, "keep")
    assert (never.order, never.reached) == ((0, 1), False)
    assert search(linear([1.0] * 5, -4.5), 5, "keep", most=2).order == (0, 1)


@pytest.mark.parametrize("goal", ["keep", "flip"])
def test_greedy_is_never_smaller_than_the_smallest_and_equal_where_parts_add_up(goal):
    for seed in range(20):
        weights = noise(7, seed=seed).tolist()
        answers = linear(weights, -1.0 if goal == "keep" else 1.0 - min(0.0, sum(weights)))
        result = search(answers, 7, goal)
        sign = 1 if goal == "keep" else -1
        sizes = [
            size
            for size in range(8)
            for chosen in combinations(range(7), size)
            if sign * float(answers(torch.tensor([[(part in chosen) == (goal == "keep") for part in range(7)]]))[0, 0])
            > 0
        ]
        assert result.reached == bool(sizes)
        if sizes:
            assert len(result.order) == min(sizes)


def test_greedy_passes_by_parts_that_help_only_together():
    def answers(there):
        margin = -1 + 3.0 * (there[:, 0] & there[:, 1]) + 0.4 * there[:, 2] + 0.4 * there[:, 3] + 0.4 * there[:, 4]
        return torch.stack([margin, margin.sigmoid()], 1)

    assert len(search(answers, 5, "keep").order) == 3  # two would do: 0 and 1


def test_every_part_is_told_and_the_listener_may_stop():
    heard = []

    def tell(now):
        heard.append(now)
        if len(now.order) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search(linear([1.0] * 5, -9.0), 5, "keep", tell=tell)
    assert [len(each.order) for each in heard] == [1, 2]
