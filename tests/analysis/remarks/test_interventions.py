"""What is said of a changed model, on numbers made by hand."""

import torch

from vizkit.analysis.attribution.smallest_set import Goal, Search
from vizkit.analysis.remarks.interventions import of_answers, of_deciding, of_patching, of_smallest, of_steering

NAMES = ("ant", "bee")


def words(before: list[float], after: list[float], edits: int = 1) -> str:
    said = of_answers(NAMES, before, after, edits)
    return "" if said is None else said.words


def test_the_three_things_that_can_happen():
    assert words([0.9, 0.1], [0.89, 0.11]) == "With 1 change the answer hardly moves: ant, from 90 % to 89 %."
    assert words([0.9, 0.1], [0.6, 0.4], 2) == "With 2 changes the answer stays ant, from 90 % to 60 %."
    assert words([0.9, 0.1], [0.2, 0.8]) == (
        "With 1 change the answer is bee (80 %) and no longer ant, which goes from 90 % to 20 %."
    )
    assert words([0.9, 0.1], [0.2, 0.8], 0) == ""


def test_what_restores_most_is_said_with_its_place() -> None:
    regions = torch.zeros(3, 2, 2)
    regions[1, 0, 1] = 0.4
    special = torch.tensor([[0.1], [0.6], [1.0]])
    words = of_patching("mayfly", 0.9, 0.2, regions, special, ("cls",)).words
    assert words == (
        "The corruption takes mayfly from 90 % to 20 %; of single regions, row 1, column 2 after block 2 restores most "
        "of its logit (40 %); from block 2 on the cls token alone restores more than half."
    )
    assert "alone" not in of_patching("mayfly", 0.9, 0.2, regions, special / 3, ("cls",)).words


def test_where_a_direction_turns_the_answer() -> None:
    factors, names = (-1.0, 0.0, 1.0, 2.0), ("a", "b", "c")

    def words(*answers: int) -> str:
        return of_steering(names, factors, torch.eye(3)[list(answers)], "b").words

    assert words(0, 0, 0, 0) == "Towards b: up to λ = 2 the answer stays a."
    assert words(0, 0, 1, 1) == "Towards b: from λ = 1 on the answer is no longer a but b (100 %)."
    assert words(0, 0, 2, 1) == "Towards b: from λ = 1 on the answer is no longer a, from λ = 2 on it is b (100 %)."
    assert words(0, 0, 2, 0) == "Towards b: from λ = 1 on the answer is no longer a, but at λ = 2 it is again."


def test_smallest_sets_in_words():
    def said(goal: Goal, order: tuple[int, ...], probability: tuple[float, ...], reached: bool = True) -> str:
        return of_smallest(Search(goal, order, probability, reached, 40, 99), "patches", "gull").words

    assert said("keep", (3, 1), (0.1, 0.3, 0.6)) == "2 of 40 patches (5 %) alone keep the answer gull, at 60 %."
    assert (
        said("flip", (3,), (0.9, 0.2))
        == "Without 1 of 40 patches (2 %) the answer is no longer gull, which falls to 20 %."
    )
    assert said("keep", (), (0.7,)) == "No patches are needed: gull is the answer without any, at 70 %."
    assert said("flip", (1, 2), (0.9, 0.8, 0.7), False) == "2 of 40 patches (5 %) are not enough yet: gull is at 70 %."


def test_deciding_parts_in_words():
    words = of_deciding({"ViT": (2.0, 0.5), "Swin": (1.0, 0.5), "CNN": (0.3, 0.5)}).words
    assert words == (
        "2 of 3 models surely lose more by the deciding parts, ViT the most: 2.00 ± 0.50 logits more; not CNN."
    )
    assert of_deciding({"CNN": (0.3, 0.5)}).words.startswith("No model surely loses more")
