"""What is said of a changed model, on numbers made by hand."""

from vizkit.analysis.remarks.interventions import of_answers

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
