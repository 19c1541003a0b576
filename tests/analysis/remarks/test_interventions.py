"""What is said of a changed model, on numbers made by hand."""

from vizkit.analysis.attribution.smallest_set import Goal, Search
from vizkit.analysis.remarks.interventions import of_answers, of_deciding, of_smallest

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
