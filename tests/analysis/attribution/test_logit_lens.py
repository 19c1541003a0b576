"""From where on an answer is there, by hand; and the sentences about it."""

import pytest
import torch

from vizkit.analysis.attribution.logit_lens import frequent, runner_up, stays_from
from vizkit.analysis.remarks.interventions import of_contributions, of_lens, of_patches


@pytest.mark.parametrize(
    ("answers", "first"), [([2, 2, 2], 0), ([1, 2, 2], 1), ([2, 1, 2], 2), ([2, 2, 1], None), ([2], 0), ([1], None)]
)
def test_an_answer_stays_from_the_layer_after_the_last_other_one(answers: list[int], first: int | None):
    assert stays_from(answers, 2) == first


def test_the_runner_up_is_the_likeliest_of_the_others():
    values = torch.tensor([0.1, 0.6, 0.3])
    assert [runner_up(values, target) for target in range(3)] == [1, 2, 1]
    assert runner_up(torch.tensor([1.0]), 0) is None


def test_the_most_frequent_classes_come_first():
    said = torch.tensor([[3, 1, 3], [7, 1, 3]])
    assert frequent(said, 2) == [(3, 3), (1, 2)]
    assert frequent(said, 9) == [(3, 3), (1, 2), (7, 1)]


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ([2, 2, 2], "Read off the class token, the answer cat is there after the first of 3 layers already and stays."),
        ([0, 2, 2], "Read off the class token, the answer cat is there from layer 2 of 3 on and stays."),
        ([0, 0, 2], "Read off the class token, the answer cat is there only after the last layer."),
        (
            [2, 0, 0, 2, 2],
            "Read off the class token, the answer cat is there from layer 4 of 5 on and stays; it was "
            "there before, after layer 1, and was lost again.",
        ),
        ([0, 2, 0], "cat is the likeliest answer not after the last layer, but after layer 2; at the end it has 90 %."),
        ([0, 1, 0], "cat is the likeliest answer after no layer; at the end it has 90 %."),
    ],
)
def test_what_is_said_of_a_lens(answers: list[int], words: str):
    assert of_lens("cat", answers, 2, [0.9] * len(answers), "the class token") == words


def test_what_is_said_of_patches_and_parts():
    words = "After layer 3, 1,200 of 1,369 patches say cat; 100 say dog."
    assert of_patches("cat", 1200, 1369, 3, [("dog", 100)]) == words
    heads, mlp = torch.tensor([[0.5, -1.0], [2.0, 0.0]]), torch.tensor([0.1, 0.2])
    said = of_contributions("cat", heads, mlp, 1.8)
    most, least = "head 1 of layer 2 gives the most (+2.00)", "head 2 of layer 1 says most against it (−1.00)"
    assert said == f"Of the +1.80 for cat, {most}; {least}."
    assert "against" not in of_contributions("cat", heads.abs(), mlp, 3.8)
