"""Pointing, mass, rank correlation and the table, by hand."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.testing import assert_close

import vizkit
from tests.analysis.conftest import image, made, traced
from tests.toys import CELLS, linear, picture
from vizkit.analysis.attribution.explaining import Explanation, explain
from vizkit.analysis.attribution.methods import METHODS
from vizkit.analysis.attribution.subject import Stopped
from vizkit.analysis.trust import scores
from vizkit.analysis.trust.deletion import Curves, curves, random_curves
from vizkit.analysis.trust.randomisation import spearman, survives
from vizkit.analysis.trust.scores import Case, Score, merged, score, score_case, undecided
from vizkit.analysis.trust.table import FIGURES, Tally, gain_of, signed, table
from vizkit.analysis.trust.truth_score import Placed, Truth, mass, placed, pointing, seen_mask
from vizkit.image import Preprocessing, prepare
from vizkit.models.probes.model_functions import randomised
from vizkit.scoring import case_of, pictures
from vizkit.traces import NotApplicable

MASK = torch.zeros(100, 200, dtype=torch.bool)
MASK[50:, :50] = True  # the lower left quarter of the left half


def explanation(heat, method="rollout", cells=CELLS):
    return Explanation(method, heat, False, (4, 8), cells)


# Against a mask -------------------------------------------------------------------------------------------------------


def test_pointing_by_hand():
    cells = torch.zeros(4, 8)
    cells[3, 1] = 1.0  # its centre is at (87.5, 37.5)
    assert pointing(cells, MASK)
    cells[0, 7] = 2.0
    assert not pointing(cells, MASK)


def test_pointing_has_a_tolerance():
    pixels = torch.zeros(100, 200)
    pixels[46, 55] = 1.0  # 4 rows above and 6 columns right of the mask
    assert pointing(pixels, MASK, tolerance=0.03)  # 6 pixels of 200
    assert not pointing(pixels, MASK, tolerance=0.025)
    assert not pointing(pixels, MASK, tolerance=0.0)
    found = placed(pixels, Truth(MASK))
    assert (found.pointing, found.pointing_strict) == (True, False)
    pixels[60, 10] = 2.0
    found = placed(pixels, Truth(MASK))
    assert (found.pointing, found.pointing_strict) == (True, True)


def test_the_chance_of_pointing_is_that_of_a_point_put_anywhere():
    mask = torch.zeros(20, 30, dtype=torch.bool)
    mask[4:7, 26:] = mask[15, 3] = True
    for tolerance in (0.0, 0.03, 0.1):
        hits = []
        for place in range(600):
            heat = torch.zeros(600)
            heat[place] = 1.0
            hits.append(pointing(heat.view(20, 30), mask, tolerance))
        found = placed(torch.ones(20, 30), Truth(mask), tolerance)
        assert found.near_share == pytest.approx(sum(hits) / 600)
        assert found.thing_share == pytest.approx(13 / 600)
    assert found.near_share == pytest.approx((9 * 7 + 7 * 7) / 600)  # 3 pixels on each side, the edge cuts one off


def test_every_figure_of_a_mask_has_its_chance():
    """An even map gets its share of the mass, and a hottest point put anywhere that of pointing."""
    thing, deciding = torch.zeros(100, 100, dtype=torch.bool), torch.zeros(100, 100, dtype=torch.bool)
    thing[20:60, 10:40] = True
    deciding[20:30, 10:40] = True
    one = Score("rollout", placed(torch.ones(5, 5), Truth(thing, deciding)))
    assert one.figures()["on_thing"] == pytest.approx(one.by_chance()["on_thing"]) == pytest.approx(0.12)
    assert one.figures()["on_deciding"] == pytest.approx(one.by_chance()["on_deciding"]) == pytest.approx(0.03)
    assert one.by_chance()["pointing_strict"] == pytest.approx(0.12)
    assert one.by_chance()["pointing"] == pytest.approx(0.46 * 0.36)
    assert one.by_chance().keys() == one.figures().keys()
    assert Score("rollout").by_chance() == {}


def test_mass_by_hand():
    # A third of the mass in the lower left cell, of which half is mask; the rest elsewhere; what is negative counts
    # as nothing.
    heat = torch.tensor([[0.0, 2.0], [1.0, -5.0]])
    on, per_pixel, share = mass(heat, MASK)
    assert (on, share) == (pytest.approx(1 / 6), pytest.approx(1 / 8))
    assert per_pixel == pytest.approx((1 / 6 / (1 / 8)) / (5 / 6 / (7 / 8)))
    assert mass(torch.ones(4, 5), MASK)[1] == pytest.approx(1)


def test_masks_without_meaning():
    for mask in (torch.zeros(4, 4), torch.ones(4, 4)):
        with pytest.raises(NotApplicable, match="empty or covers"):
            mass(torch.ones(2, 2), mask.bool())
    with pytest.raises(NotApplicable, match="No place speaks"):
        placed(-torch.ones(2, 2), Truth(MASK))


def test_a_mask_is_cropped_as_the_picture_is():
    mask = np.zeros((60, 90), bool)
    mask[10:30, 40:70] = True
    for options in ({"crop_pct": 0.8}, {"crop_mode": "squash"}, {"crop_mode": "border"}, {"channels": 1}):
        channels = options.get("channels", 3)
        how = Preprocessing((32, 48), (0.4,) * channels, (0.2,) * channels, **options)
        grey = np.repeat(mask[..., None].astype(np.uint8) * 255, 3, 2)
        expected = prepare(grey, how)[0][0] * 0.2 + 0.4 >= 0.5
        found = seen_mask(mask, how).numpy()
        assert found.any()
        assert (found != expected).mean() < 0.01 or options.get("crop_mode") == "border"


# Rank correlation -----------------------------------------------------------------------------------------------------


def test_ranks_by_hand():
    # Equal values share a rank: (3.5, 1, 3.5, 2) against (1, 2, 3, 4); Σ of the products, less the means, is −1.
    tied = spearman(torch.tensor([3.0, 1.0, 3.0, 2.0]), torch.tensor([1.0, 2.0, 3.0, 4.0]))
    assert tied == pytest.approx(-1 / (4.5 * 5) ** 0.5)
    assert spearman(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 8.0, 27.0])) == pytest.approx(1)
    assert spearman(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([3.0, 2.0, 1.0])) == pytest.approx(-1)
    # d = (0, 1, 1): 1 − 6 · 2 / (3 · 8) = ½
    assert spearman(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 3.0, 2.0])) == pytest.approx(0.5)
    with pytest.raises(NotApplicable, match="constant"):
        spearman(torch.ones(3), torch.tensor([1.0, 3.0, 2.0]))


def test_a_map_that_ignores_the_model_survives_randomisation(digits, photo):
    def edges(loaded):  # a map of the picture alone
        grey = torch.from_numpy(photo).float().mean(-1)
        return explanation((grey[1:, 1:] - grey[:-1, :-1]).abs(), cells=(8, 8))

    other = randomised(digits)
    assert survives(edges(digits), edges(other)) == pytest.approx(1)
    target = int(vizkit.trace(digits, photo).logits.argmax())
    maps = [explain("grad_cam", vizkit.trace(loaded, photo, target=target)) for loaded in (digits, other)]
    assert abs(survives(*maps)) < 0.8
    with pytest.raises(ValueError, match="one method"):
        survives(maps[0], edges(other))


def test_randomised_weights(digits):
    one, same, other = randomised(digits, 1), randomised(digits, 1), randomised(digits, 2)
    before, after = dict(digits.model.named_parameters()), dict(one.model.named_parameters())
    for name, weight in after.items():
        assert torch.equal(weight.flatten().sort().values, before[name].flatten().sort().values)  # none lost
        assert torch.equal(weight, dict(same.model.named_parameters())[name])
    assert not torch.equal(after["blocks.0.attn.qkv.weight"], before["blocks.0.attn.qkv.weight"])
    assert not torch.equal(after["head.weight"], dict(other.model.named_parameters())["head.weight"])
    assert (one.trained, one.compared, digits.trained) == (False, {}, True)
    top = dict(randomised(digits, 1, share=0.01).model.named_parameters())
    assert [name for name in top if not torch.equal(top[name], before[name])] == ["head.weight", "head.bias"]
    with pytest.raises(ValueError, match="above 0"):
        randomised(digits, share=0.0)


# One score ------------------------------------------------------------------------------------------------------------


def test_score_has_what_was_asked():
    toy = linear(picture(1)[0], picture(2))
    heat = torch.rand(2, 4, generator=torch.Generator().manual_seed(1))
    truth = Truth(torch.arange(32).view(4, 8) < 5)
    everything = ("truth", "deletion", "road", "randomisation", "infidelity", "sensitivity")
    other = explanation(heat.flip(0))
    found = score(
        explanation(heat), toy, truth, measures=everything, randomised=other, again=lambda p: p[0].sum(0), steps=4
    )
    assert set(found.figures()) == set(FIGURES) - {"on_deciding"}
    assert len(found.chance.share) == len(found.curves.share) == 5
    assert score(explanation(heat), toy, truth, measures=("truth",)).figures().keys() == {
        "pointing",
        "pointing_strict",
        "on_thing",
    }
    assert found.by_chance().keys() == {"pointing", "pointing_strict", "on_thing", "deletion", "insertion", "road"}
    assert (found.by_chance()["road"], found.undecided) == (0.0, "")
    given = Curves(torch.tensor([0.0, 0.5, 1.0]), torch.ones(3), torch.ones(3))
    assert len(score(explanation(heat), toy, chance=given).curves.share) == 3
    nothing = score(explanation(-heat - 1), toy, truth, measures=("truth",))
    assert (nothing.figures(), nothing.notes[0][:15]) == ({}, "No place speaks")


def test_only_what_is_chosen_is_measured_and_only_where_it_can_be():
    toy, truth = linear(picture(1)[0], picture(2)), Truth(torch.arange(32).view(4, 8) < 5)
    heat = torch.rand(2, 4, generator=torch.Generator().manual_seed(1))
    own, other = explanation(heat), explanation(heat.flip(0))
    given = Curves(torch.tensor([0.0, 0.5, 1.0]), torch.ones(3), torch.ones(3))
    usual = score(own, toy, truth, randomised=other, again=lambda p: p[0].sum(0))
    assert usual.figures().keys() == {"pointing", "pointing_strict", "on_thing", "deletion", "insertion"}
    assert score(own, toy, truth, measures=("deletion",), chance=given).placed is None
    assert score(own, toy, measures=("truth", "randomisation", "sensitivity")).figures() == {}
    found = score(own, toy, measures=("road",))
    assert found.figures() == {"road": found.road.gap}


@pytest.mark.parametrize("measure", ["deletion", "curves", "road", "infidelity", "sensitivity"])
def test_every_measure_can_be_stopped(measure):
    def stop(done, total):
        raise Stopped

    toy, heat = linear(picture(1)[0], picture(2)), torch.arange(8.0).view(2, 4)
    given = Curves(torch.tensor([0.0, 0.5, 1.0]), torch.ones(3), torch.ones(3)) if measure == "curves" else None
    measures = ("deletion",) if given else (measure,)
    with pytest.raises(Stopped):
        score(explanation(heat), toy, measures=measures, chance=given, again=lambda p: p[0].sum(0), progress=stop)


def test_curves_of_chance_hide_with_what_is_chosen():
    """As `random_curves` itself does; other things to put in place give other curves."""
    toy, heat = linear(picture(1)[0], picture(2)), torch.arange(8.0).view(2, 4)
    for fill in ("blur", "mean"):
        found = score(explanation(heat), toy, measures=("deletion",), steps=3, fill=fill)
        expected = random_curves(toy, CELLS, steps=3, fill=fill)
        assert torch.equal(found.chance.deletion, expected.deletion)
    assert not torch.equal(expected.deletion, random_curves(toy, CELLS, steps=3).deletion)


def test_maps_finer_than_patches_are_averaged_over_them():
    toy = linear(picture(1)[0], picture(2))
    fine = torch.zeros(4, 8)
    fine[0, 7] = 5.0  # the hottest pixel, in a cell with 5; the cell at the lower left has 8
    fine[2:, :2] = 2.0
    found = score(explanation(fine), toy, Truth(torch.arange(32).view(4, 8) >= 24), measures=("truth",))
    assert found.figures()["pointing"] == 1.0


# Many images ----------------------------------------------------------------------------------------------------------


def scored(method, pointing, deletion, share=0.1):
    falling = Curves(torch.tensor([0.0, 1.0]), torch.tensor([deletion, deletion]), torch.ones(2))
    chance = Curves(torch.tensor([0.0, 1.0]), torch.tensor([0.5, 0.5]), torch.zeros(2))
    return Score(method, Placed(pointing, False, 2 * share, 0.4, 2.0, share), falling, chance)


def test_table_by_hand():
    several = [
        [scored("rollout", True, 0.2), scored("grad_cam", True, 0.4), Score("legrad", notes=("No.",))],
        [scored("rollout", False, 0.3), scored("grad_cam", True, 0.5), scored("legrad", True, 0.1, 0.3)],
    ]
    rows = {row.method: row for row in table(several)}
    assert rows["rollout"].figures["pointing"].mean == 0.5
    assert rows["rollout"].figures["pointing"].spread == pytest.approx(0.5**0.5)
    assert rows["rollout"].figures["deletion"].mean == pytest.approx(0.25)
    assert (rows["legrad"].nothing, rows["legrad"].figures["deletion"].images) == (1, 1)
    assert rows["legrad"].figures["deletion"].spread == 0
    # Pointing: grad_cam and legrad share places 1 and 2; mass and insertion: all share 2; deletion: 2, 3, 1.
    assert rows["rollout"].rank == pytest.approx((3 + 2 + 2 + 2) / 4)
    assert rows["grad_cam"].rank == pytest.approx((1.5 + 2 + 3 + 2) / 4)
    assert rows["legrad"].rank == pytest.approx((1.5 + 2 + 1 + 2) / 4)
    assert [row.method for row in table(several)] == ["legrad", "grad_cam", "rollout", "chance"]
    assert rows["chance"].figures.keys() == {"pointing", "pointing_strict", "on_thing", "deletion", "insertion"}
    assert rows["chance"].figures["pointing"].mean == pytest.approx(0.2)
    assert rows["chance"].figures["on_thing"].mean == pytest.approx(0.1)
    assert rows["chance"].rank is None
    assert table([]) == []
    assert set(METHODS) >= set(rows) - {"chance"}


def test_difference_to_chance_is_over_the_same_images():
    several = [
        [scored("rollout", True, 0.2, 0.1), scored("legrad", True, 0.2, 0.1)],
        [scored("rollout", False, 0.3, 0.4), Score("legrad", notes=("No.",))],
    ]
    rows = {row.method: row for row in table(several)}
    both, one = rows["rollout"].figures["on_thing"], rows["legrad"].figures["on_thing"]
    assert (both.chance, both.above_chance) == (pytest.approx(0.25), pytest.approx(0.15))
    assert (one.chance, one.above_chance) == (pytest.approx(0.1), pytest.approx(0.3))
    assert rows["rollout"].figures["deletion"].above_chance == pytest.approx(0.25 - 0.5)
    assert rows["rollout"].figures["pointing"].above_chance == pytest.approx(0.5 - 0.5)
    assert rows["chance"].figures["on_thing"].above_chance is None


def test_one_map_computed_in_two_ways_is_not_better_than_itself():
    rows = table([[scored("grad_cam", True, 0.4), scored("hires_cam", True, 0.4004), scored("legrad", True, 0.4006)]])
    places = {row.method: row.rank for row in rows}
    shared = (2 + 2 + 2) / 4  # pointing, mass, insertion
    assert places["grad_cam"] == pytest.approx(shared + 1.5 / 4)
    assert places["legrad"] == pytest.approx(shared + 2.5 / 4)


def test_a_difference_has_its_sign():
    assert [signed(value) for value in (0.123, -0.3, -0.001, 0.0, 0.005001)] == [
        "+0.12",
        "−0.30",
        "0.00",
        "0.00",
        "+0.01",
    ]
    assert signed(-0.0004, 3) == "0.000"
    assert signed(-0.0006, 3) == "−0.001"


def test_strict_pointing_is_not_counted_twice():
    better = replace(scored("legrad", True, 0.2), placed=Placed(True, True, 0.2, 0.4, 2.0, 0.1))
    rows = table([[scored("rollout", True, 0.2), better]])
    assert [row.rank for row in rows] == [1.5, 1.5, None]
    assert rows[1].figures["pointing_strict"].mean == 1


# Where nothing can be ranked ------------------------------------------------------------------------------------------


def test_a_class_that_is_not_the_answer_is_not_ranked():
    pixels = torch.ones(1, 3, 4, 8)
    pixels[..., 4:] = 0
    toy = linear(pixels[0] - 0.6, pixels)  # an even picture gets less than 0
    assert undecided(toy, "mean") == ""
    assert "the class is not the model's answer" in undecided(replace(toy, target=1))
    assert undecided(replace(toy, against=1), "mean") == ""
    assert "the class is not the one of the two" in undecided(replace(toy, against=0))  # it is as likely as itself
    assert "of the two that the model prefers" in undecided(replace(toy, target=1, against=0))


def test_the_gain_of_a_map_is_how_far_both_curves_are_from_chance():
    pixels = torch.ones(1, 3, 4, 8)
    pixels[..., [2, 3, 6, 7]] = -1  # stripes of one cell
    toy = linear(pixels[0] / 10, pixels, batch=8)
    heat = torch.tensor([[1.0, 0.0, 1.0, 0.0]] * 2)
    chance = random_curves(toy, CELLS, 2, 10)
    for heats in (heat, -heat):
        (own,) = curves(toy, [heats], CELLS, len(chance.share) - 1)
        found = score(explanation(heats), toy, measures=["deletion"], chance=chance)
        fall, rise = chance.deletion_area - own.deletion_area, own.insertion_area - chance.insertion_area
        assert gain_of(found) == pytest.approx((fall + rise) / 2)
    assert gain_of(Score("rollout", chance=chance)) is None


def test_measures_of_one_map_become_one_score():
    """What was measured and is 0 counts, and what was not measured hides nothing."""
    parts = [
        Score("rollout", road=None, infidelity=0.2, notes=("a",), undecided="why"),
        Score("rollout", randomisation=0.0, notes=("b",), undecided="why"),
    ]
    whole = Score("rollout", infidelity=0.2, randomisation=0.0, notes=("a", "b"), undecided="why")
    assert merged("rollout", parts) == whole
    assert merged("rollout", []) == Score("rollout")


def test_a_class_that_the_empty_picture_gets_is_not_ranked():
    biased = linear(torch.ones(3, 4, 8), picture(1) + 5)
    assert "when the whole image is blurred" in undecided(biased)
    assert "when the whole image has one colour" in undecided(biased, "mean")
    assert "so hiding places cannot take that back" in undecided(replace(biased, against=1))


def test_pictures_that_decide_nothing_are_left_out_and_said():
    good = [scored("rollout", True, 0.2), scored("legrad", False, 0.4)]
    bad = [
        replace(one, undecided="the day is wet") for one in (scored("rollout", False, 0.9), scored("legrad", True, 0.1))
    ]
    tally = Tally()
    for several in (good, bad, good):
        tally.add(several)
    rows = {row.method: row for row in tally.rows()}
    assert tally.said() == "1 of 3 images are left out: the day is wet."
    assert (rows["rollout"].figures["pointing"].mean, rows["rollout"].figures["pointing"].images) == (1, 2)
    assert rows["rollout"].rank < rows["legrad"].rank
    tally = Tally()
    tally.add(good)
    assert tally.said() == ""


def test_where_no_picture_decides_nothing_is_crowned():
    bad = [
        replace(scored(name, True, fall), undecided="the day is wet")
        for name, fall in (("legrad", 0.9), ("rollout", 0.1))
    ]
    tally = Tally()
    tally.add(bad)
    assert tally.said() == "No map is ranked here: the day is wet."
    assert [(row.method, row.rank) for row in tally.rows()] == [("legrad", None), ("rollout", None), ("chance", None)]
    tally.add(bad)
    assert tally.said() == "2 of 2 images cannot rank maps: the day is wet."


def test_a_case_says_that_nothing_can_be_ranked():
    biased = linear(torch.ones(3, 4, 8), picture(1) + 5)
    trace = traced(made("test_vit", depth=2), image(1))
    found = score_case(Case(trace, biased), ["patch_ablation", "attention"], steps=2)
    assert [("is blurred" in one.undecided) for one in found] == [True, True]
    blind = score_case(Case(traced(made("test_resnet"), image(1, (96, 160))), biased), ["attention"], steps=2)
    assert blind[0].notes
    assert "is blurred" in blind[0].undecided


def two_of_each():
    """(trace, another), (subject, another)"""
    traces = tuple(traced(made("test_vit", depth=2), image(seed)) for seed in (1, 2))
    return traces, tuple(linear(torch.ones(3, 4, 8), picture(seed)) for seed in (1, 2))


def test_what_a_case_is_asked(monkeypatch):
    """Every call with all that it is given: nothing of it is seen in the figures of a picture that ranks nothing."""
    calls, told = [], []
    (trace, other), (own, random) = two_of_each()

    def explain(name, given, *, subject, progress):
        progress(1, 9)
        calls.append(("explain", name, given is trace, subject is own))
        return explanation(torch.zeros(4, 8), name)

    def chance(subject, cells, orders, steps, fill, *, progress):
        calls.append(("chance", subject is own, cells, orders, steps, fill))
        return "chance"

    def score(found, subject, truth, *, again, progress, **given):
        randomised = given["randomised"] is not None
        calls.append(("score", found.method, subject is own, truth, again, randomised, given["steps"]))
        return Score(found.method)

    for name, stand_in in {"explain": explain, "random_curves": chance, "score": score}.items():
        monkeypatch.setattr(scores, name, stand_in)
    monkeypatch.setattr(scores, "undecided", lambda subject, fill: f"undecided by {fill}")
    case = Case(trace, own, None, other, random)
    found = score_case(case, ["rollout", "legrad"], fill="mean", progress=lambda *done: told.append(done))
    assert [one.undecided for one in found] == ["undecided by mean"] * 2
    assert calls == [
        ("explain", "rollout", True, True),
        ("chance", True, CELLS, 1, 28, "mean"),
        ("score", "rollout", True, None, None, False, 28),
        ("explain", "legrad", True, True),
        ("score", "legrad", True, None, None, False, 28),
    ]
    assert told == [(0, 2), (1, 2), (1, 2), (2, 2)]
    calls.clear()
    score_case(case, ["rollout"], measures=("randomisation",), steps=3)
    assert calls == [
        ("explain", "rollout", True, True),
        ("explain", "rollout", False, False),
        ("score", "rollout", True, None, None, True, 3),
    ]


@pytest.mark.parametrize("method, traced_anew", [("rollout", True), ("occlusion", False)])
def test_a_map_of_a_changed_input(monkeypatch, method, traced_anew):
    """A method that runs the model itself needs no other trace, for it knows the grid alone."""
    asked = []
    (trace, other), (own, changed) = two_of_each()

    def explain(name, given, *, subject):
        asked.append((name, given is other, subject.pixels is changed.pixels))
        return explanation(torch.eye(4, 8), name)

    monkeypatch.setattr(scores, "explain", explain)
    monkeypatch.setattr(scores, "on_patches", lambda found: found.heat)
    again = scores.again_of(method, Case(trace, own, trace_again=lambda pixels: other))
    assert_close(again(changed.pixels), torch.eye(4, 8))
    assert asked == [(method, traced_anew, True)]
    assert scores.again_of(method, Case(trace, own)) is None


@pytest.fixture(scope="module")
def swin_cases():
    loaded = vizkit.load("bundled:insects_swin")
    opened, shuffled = pictures(loaded, "insects", 2), randomised(loaded)
    return [case_of(loaded, opened, index, shuffled, again=True) for index in range(2)]


def test_cases_of_insects(swin_cases):
    for case in swin_cases:
        assert case.trace.target == int(case.trace.logits.argmax()) == case.subject.target
        assert case.random_trace.target == case.trace.target
        assert case.truth.thing.shape == case.truth.deciding.shape == (112, 112)
        assert bool((case.truth.thing | ~case.truth.deciding).all())  # parts are of the insect
        logits = case.subject.logits(case.subject.pixels)[0]
        assert_close(logits, case.trace.logits, rtol=0, atol=1e-4)
    assert swin_cases[0].name != swin_cases[1].name


def test_pictures_without_truth(digits):
    case = case_of(digits, pictures(digits, "digits", 1), 0)
    assert case.truth is None
    assert score_case(case, ["rollout"], steps=2)[0].figures().keys() == {"deletion", "insertion"}
