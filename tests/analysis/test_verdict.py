"""The verdict of trust: thresholds, ties, failures, and nothing where nothing can be said."""

import math
from dataclasses import replace

import pytest
import torch

from vizkit.analysis.trust.deletion import Curves
from vizkit.analysis.trust.scores import Score
from vizkit.analysis.trust.table import CHANCE, Row, Summary, Tally, table
from vizkit.analysis.trust.truth_score import Placed
from vizkit.analysis.trust.verdict import ERRORS, MARGIN, UNCHANGED, beyond_chance, marks, side, verdict

EVEN = 0.5  # what chance gets


def row(name, *, rank=1.0, gains=(), **figures):
    made = {
        key: value if isinstance(value, Summary) else Summary(value, 0.0, 1, EVEN) for key, value in figures.items()
    }
    return Row(name, name, made, rank, gains=dict(enumerate(gains)))


def test_a_figure_of_one_image_is_beyond_chance_from_the_margin_on():
    assert side("insertion", Summary(EVEN + MARGIN + 1e-9, 0.0, 1, EVEN)) == "better"
    assert side("insertion", Summary(EVEN + MARGIN - 1e-9, 0.0, 1, EVEN)) == "chance"
    assert side("deletion", Summary(EVEN - MARGIN - 1e-9, 0.0, 1, EVEN)) == "better"  # smaller is better
    assert side("deletion", Summary(EVEN + MARGIN + 1e-9, 0.0, 1, EVEN)) == "worse"
    assert side("insertion", Summary(0.9, 0.0, 1)) is side("deletion", Summary(0.9, 0.0, 1)) is None  # chance unknown
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
    assert judged.best == pytest.approx({"good": 0.4, "near": 0.355, "middle": 0.25})
    assert judged.fails == {
        "no better than chance": ("even",),
        "worse than chance in deletion": ("wrong",),
        "nearly the same with shuffled weights": ("fixed",),
    }
    fails = (
        "Fails: even (no better than chance); wrong (worse than chance in deletion); fixed (nearly the same with "
        "shuffled weights)."
    )
    ahead = "good and near are ahead on this image: +0.40 and +0.35 by the mean difference to chance in deletion and "
    ahead += "insertion, no difference on one image, then middle (+0.25)"
    assert judged.said() == f"{ahead}. {fails}"
    also = {name: row(name, deletion=0.3, insertion=0.7) for name in ("later", "last")}
    judged = verdict([*rows[:3], also["later"]])
    assert judged.said() == f"{ahead} and later (+0.20)."
    judged = verdict([*rows[:3], *also.values()])
    assert judged.said() == f"{ahead}, later (+0.20) and last (+0.20)."


def test_over_pictures_two_maps_differ_by_two_standard_errors_of_their_differences():
    """Differences to the first: 0.1, 0.1, 0.2, 0.2 have the mean 0.15 and the standard error √(1/300) / 2 = 0.0289, so
    that map is told apart; −0.1, 0.3, −0.1, 0.3 have the mean 0.1 and the standard error 0.1155: that one is not,
    though it stands lower in the table than a map that is."""
    many = Summary(0.0, 0.1, 4, 0.0, 0.01)
    rows = [
        row("first", rank=2.0, gains=(0.5, 0.5, 0.6, 0.6), road=replace(many, mean=0.55)),
        row("apart", rank=1.0, gains=(0.4, 0.4, 0.4, 0.4), road=replace(many, mean=0.4)),
        row("varies", rank=3.0, gains=(0.6, 0.2, 0.7, 0.3), road=replace(many, mean=0.45)),
    ]
    judged = verdict(rows)
    assert (judged.best, judged.images) == (pytest.approx({"first": 0.55, "varies": 0.45}), 4)
    assert judged.within == pytest.approx(2 * 0.0288675, rel=1e-4)  # of 0.5, 0.5, 0.6, 0.6
    ahead = "first wins over 4 images: +0.55 ± 0.06 by the mean difference to chance in ROAD"
    assert judged.said() == f"{ahead}; not told apart from varies (+0.45), within two standard errors."
    alone = verdict(rows[:2])
    assert alone.said() == f"{ahead}."


def test_gains_are_the_mean_difference_to_chance_of_each_picture():
    """Deletion 0.1 where chance gets 0.5 is 0.4 better, insertion 0.7 beside 0.5 is 0.2: 0.3."""
    share = torch.linspace(0, 1, 3)
    flat = Curves(share, torch.full((3,), 0.1), torch.full((3,), 0.7))
    scores = [Score("rollout", curves=flat, chance=Curves(share, torch.full((3,), 0.5), torch.full((3,), 0.5)))]
    tally = Tally()
    tally.add(scores)
    tally.add([])  # a picture without this method keeps its number
    tally.add(scores)
    (found, _) = tally.rows()
    assert found.gains == pytest.approx({1: 0.3, 3: 0.3})


def test_no_difference_beyond_chance_is_said():
    judged = verdict([row("one", deletion=0.48), row("other", deletion=0.6)])
    assert judged.best == {}
    assert judged.said() == "On this image no map is reliably better than a random order."


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
    most = [row(name, deletion=0.1) for name in "abc"] + [row("d", deletion=0.5)]
    assert marks(most, "deletion") == {"d": "fails"}  # a colour that most have says nothing


def test_one_map_on_one_picture():
    alone = verdict([row("only", deletion=0.25, insertion=0.75, randomisation=Summary(0.3, 0.0, 1))])
    assert alone.said() == (
        "only wins on this image: +0.25 by the mean difference to chance in deletion and insertion."
    )


def test_one_common_picture_tells_no_two_maps_apart():
    judged = verdict([row("good", deletion=0.1, gains=(0.4,)), row("other", deletion=0.2, gains=(0.3,))])
    assert [*judged.best] == ["good", "other"]
    apart = replace(row("other", deletion=0.2), gains={1: 0.1, 2: 0.1, 7: 0.9})
    judged = verdict(
        [row("good", deletion=0.1, gains=(0.4, 0.4, 0.5)), apart]
    )  # of common pictures the second is worse
    assert [*judged.best] == ["good"]


def test_exactly_two_standard_errors_are_none():
    for mean, name in ((0.625, "deletion"), (0.375, "insertion"), (0.375, "deletion"), (0.625, "insertion")):
        assert side(name, Summary(mean, 0.0, 9, EVEN, 0.0625)) == "chance"


def test_chance_is_no_method():
    rows = [row("a", insertion=0.9), row("b", insertion=0.7), row(CHANCE, rank=None, insertion=0.95)]
    assert marks(rows, "insertion") == {"a": "best"}
    assert marks([row(CHANCE, rank=None, insertion=0.95)], "insertion") == {}
