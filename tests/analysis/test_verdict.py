"""The verdict of trust: thresholds, ties, failures, and nothing where nothing can be said."""

import math

import pytest

from vizkit.analysis.trust.scores import Score
from vizkit.analysis.trust.table import CHANCE, Row, Summary, table
from vizkit.analysis.trust.truth_score import Placed
from vizkit.analysis.trust.verdict import ERRORS, MARGIN, UNCHANGED, beyond_chance, marks, side, verdict

EVEN = 0.5  # what chance gets


def row(name: str, *, rank: float | None = 1.0, **figures: float | Summary) -> Row:
    made = {
        key: value if isinstance(value, Summary) else Summary(value, 0.0, 1, EVEN) for key, value in figures.items()
    }
    return Row(name, name, made, rank)


def test_a_figure_of_one_image_is_beyond_chance_from_the_margin_on():
    assert side("insertion", Summary(EVEN + MARGIN + 1e-9, 0.0, 1, EVEN)) == "better"
    assert side("insertion", Summary(EVEN + MARGIN - 1e-9, 0.0, 1, EVEN)) == "chance"
    assert side("deletion", Summary(EVEN - MARGIN - 1e-9, 0.0, 1, EVEN)) == "better"  # smaller is better
    assert side("deletion", Summary(EVEN + MARGIN + 1e-9, 0.0, 1, EVEN)) == "worse"
    assert side("insertion", Summary(0.9, 0.0, 1)) is None  # chance is not known
    assert side("randomisation", Summary(0.9, 0.0, 1, EVEN)) is None  # has no better side


def test_over_images_the_standard_error_decides():
    assert side("road", Summary(0.011, 0.1, 400, 0.0, 0.005)) == "better"
    assert side("road", Summary(ERRORS * 0.005, 0.1, 400, 0.0, 0.005)) == "chance"
    assert side("road", Summary(0.3, 0.1, 2, 0.0, 0.2)) == "chance"


def test_the_error_is_that_of_the_differences_to_chance():
    """Two images, on_thing 0.6 and 0.3 with chance 0.5 and 0.1: the differences are 0.1 and 0.2."""
    scores = [
        [Score("rollout", placed=Placed(True, True, 0.5, on, 1.0, near))] for on, near in ((0.6, 0.5), (0.3, 0.1))
    ]
    summary = table(scores)[0].figures["on_thing"]
    assert summary.error == pytest.approx(math.sqrt(0.005) / math.sqrt(2))
    assert table(scores[:1])[0].figures["on_thing"].error is None


def test_the_most_faithful_and_those_that_fail():
    rows = [
        row("near", deletion=0.13, insertion=0.84),
        row("good", deletion=0.1, insertion=0.9),
        row("middle", deletion=0.2, insertion=0.7),
        row("even", deletion=0.49, insertion=0.52),
        row("wrong", deletion=0.7, insertion=0.9),
        row("fixed", deletion=0.1, insertion=0.95, randomisation=Summary(UNCHANGED, 0.0, 1)),
        row(CHANCE, rank=None, deletion=Summary(EVEN, 0.0, 1)),
    ]
    judged = verdict(rows)
    assert judged is not None
    assert judged.best == ("good", "near")  # 0.40 and 0.355 beyond chance
    assert judged.beyond == pytest.approx(0.4)
    assert judged.fails == {
        "no better than chance": ("even",),
        "worse than chance in deletion": ("wrong",),
        "nearly the same with shuffled weights": ("fixed",),
    }
    assert judged.said() == (
        "Most faithful here: good (+0.40 to chance), not told apart from near. Fails: even (no better than chance); "
        "wrong (worse than chance in deletion); fixed (nearly the same with shuffled weights)."
    )


def test_a_clear_first_stands_alone():
    judged = verdict([row("good", road=0.9), row("less", road=0.9 - MARGIN - 1e-6)])
    assert judged is not None
    assert judged.best == ("good",)
    assert judged.said() == "Most faithful here: good (+0.40 to chance)."


def test_no_difference_beyond_chance_is_said():
    judged = verdict([row("one", deletion=0.48), row("other", deletion=0.6)])
    assert judged is not None
    assert judged.best == ()
    assert judged.said().startswith("No difference beyond chance")


def test_without_ranks_or_without_a_measure_of_faithfulness_there_is_no_verdict():
    assert verdict([row("one", rank=None, deletion=0.1)]) is None
    assert verdict([row("one", on_thing=0.9)]) is None
    assert verdict([]) is None
    assert beyond_chance(row("one", on_thing=0.9)) is None
    assert beyond_chance(row("one", deletion=0.1, road=0.7)) == pytest.approx(0.3)


def test_the_best_and_the_failing_cells():
    rows = [row("a", deletion=0.1), row("b", deletion=0.1002), row("c", deletion=0.3), row("d", deletion=0.5)]
    assert marks(rows, "deletion") == {"a": "best", "b": "best", "d": "fails"}
    assert marks([row("a", deletion=0.48), row("b", deletion=0.7)], "deletion") == {"a": "fails", "b": "fails"}
    random = [row(name, randomisation=Summary(rho, 0.0, 1)) for name, rho in (("a", UNCHANGED), ("b", 0.1))]
    assert marks(random, "randomisation") == {"a": "fails"}
    assert marks(random, "deletion") == {}
