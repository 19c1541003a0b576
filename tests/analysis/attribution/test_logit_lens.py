"""From where on an answer is there, by hand; and the sentences about it."""

import pytest
import torch

from vizkit.analysis.attribution.logit_lens import frequent, runner_up, stays_from


@pytest.mark.parametrize(
    "answers, first", [([2, 2, 2], 0), ([1, 2, 2], 1), ([2, 1, 2], 2), ([2, 2, 1], None), ([2], 0), ([1], None)]
)
def test_an_answer_stays_from_the_layer_after_the_last_other_one(answers, first):
    assert stays_from(answers, 2) == first


def test_the_runner_up_is_the_likeliest_of_the_others():
    values = torch.tensor([0.1, 0.6, 0.3])
    assert [runner_up(values, target) for target in range(3)] == [1, 2, 1]
    assert runner_up(torch.tensor([1.0]), 0) is None


def test_the_most_frequent_classes_come_first():
    said = torch.tensor([[3, 1, 3], [7, 1, 3]])
    assert frequent(said, 2) == [(3, 3), (1, 2)]
    assert frequent(said, 9) == [(3, 3), (1, 2), (7, 1)]
