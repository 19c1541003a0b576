"""Deletion, insertion and ROAD on models whose answers are known on paper."""

import math

import pytest
import torch
from torch.testing import assert_close

from tests.toys import CELLS, linear, picture
from vizkit.analysis.attribution.subject import Subject, filled
from vizkit.analysis.trust.deletion import Curves, area, curves, erased, order_of, random_curves
from vizkit.analysis.trust.road import Road, imputed, road

# Four cells in a row of one pixel each; the picture's mean is 2.5, and the logit is log 2 · (3 x₁ + x₂ − x₄) + 0.
ROW = torch.tensor([[[[4.0, 3.0, 2.0, 1.0]]]])
FACTORS = torch.tensor([[[3.0, 1.0, 0.0, -1.0]]]) * math.log(2)
HEAT = torch.tensor([[9.0, 5.0, 2.0, 1.0]])


def share(power):
    """Probability of the first class when its logit is log 2 · power."""
    return 2**power / (1 + 2**power)


def test_curves_by_hand():
    (found,) = curves(linear(FACTORS, ROW), [HEAT], (1, 4), steps=4, fill="mean")
    # Left in place: 12 + 3 − 1 = 14; then x₁ is 2.5: 7.5 + 3 − 1; then x₂: 7.5 + 2.5 − 1; x₃ has no weight; all 2.5.
    assert found.deletion.tolist() == pytest.approx([share(p) for p in (14, 9.5, 9, 9, 7.5)], abs=1e-6)
    # Put back: nothing 7.5; x₁: 12 + 2.5 − 2.5; x₂: 12 + 3 − 2.5; then x₃, then x₄.
    assert found.insertion.tolist() == pytest.approx([share(p) for p in (7.5, 12, 12.5, 12.5, 14)], abs=1e-6)
    assert found.share.tolist() == [0, 0.25, 0.5, 0.75, 1]
    expected = (share(14) / 2 + share(9.5) + 2 * share(9) + share(7.5) / 2) / 4
    assert found.deletion_area == pytest.approx(expected, abs=1e-6)


def test_erasing_the_brightest_is_one_step_of_the_curves():
    toy = linear(FACTORS, ROW)
    (along,), chance = curves(toy, [HEAT], (1, 4), steps=4), random_curves(toy, (1, 4), 3, steps=4)
    for step in (1, 2):
        found = erased(toy, HEAT, (1, 4), step / 4, 3)
        expected = (float(curve[step]) for curve in (along.share, along.deletion, chance.deletion))
        assert (found.share, found.brightest, found.random) == pytest.approx(tuple(expected))
        assert found.whole == pytest.approx(float(along.deletion[0]))
    assert erased(toy, HEAT, (1, 4), 0.01).share == 0.25  # one at least


def test_area_is_the_formula():
    assert area(torch.tensor([1.0, 0.5, 0.0])) == pytest.approx((1.5 - 0.5) / 2)
    assert area(torch.tensor([0.2, 0.2, 0.2, 0.2])) == pytest.approx(0.2)
    assert area(torch.tensor([1.0, 0.0])) == 0.5


def test_the_order_of_equal_cells_is_random_but_fixed():
    orders = {tuple(order_of(torch.zeros(2, 4), CELLS, seed).tolist()) for seed in range(6)}
    assert len(orders) == 6
    assert order_of(HEAT, (1, 4)).tolist() == [0, 1, 2, 3]
    assert order_of(-HEAT, (1, 4)).tolist() == [3, 2, 1, 0]
    # A coarser map is enlarged: between 0 and 1 the four cells rise.
    assert order_of(torch.tensor([[0.0, 1.0]]), (1, 4)).tolist() == [3, 2, 1, 0]


@pytest.mark.parametrize("fill", ["mean", "blur"])
def test_batches_and_company_change_nothing(fill):
    weights, pixels = picture(1)[0] / 3, picture(2)
    heats = [torch.rand(2, 4, generator=torch.Generator().manual_seed(seed)) for seed in range(3)]
    alone = [curves(linear(weights, pixels, batch=1), [heat], CELLS, 4, fill)[0] for heat in heats]
    for one, other in zip(alone, curves(linear(weights, pixels, batch=5), heats, CELLS, 4, fill), strict=True):
        assert_close(one.deletion, other.deletion)
        assert_close(one.insertion, other.insertion)
        assert float(one.deletion[0]) == pytest.approx(float(one.insertion[-1]))
        assert float(one.deletion[-1]) == pytest.approx(float(one.insertion[0]))


def test_no_more_passes_than_needed():
    asked = []
    toy = linear(picture(1)[0], picture(2))
    counting = Subject(lambda pixels: asked.append(len(pixels)) or toy.logits(pixels), toy.pixels, 0)
    curves(counting, [torch.rand(2, 4)], CELLS, steps=8)
    assert sum(asked) == 2 * 8
    asked.clear()
    found = curves(counting, [torch.rand(2, 4)] * 3, CELLS, steps=99)  # there are 8 cells
    assert sum(asked) == 3 * 2 * 7 + 2
    assert len(found[0].share) == 9


def test_a_map_that_knows_beats_chance_and_its_reverse():
    weights, pixels = picture(1)[0] / 2, picture(2)
    toy = linear(weights, pixels)
    effect = ((pixels - filled(pixels, "blur"))[0] * weights).sum(0)
    knows, against = curves(toy, [effect, -effect], CELLS, 8)
    chance = random_curves(toy, CELLS, orders=20, steps=8)
    assert knows.deletion_area < chance.deletion_area < against.deletion_area
    assert knows.insertion_area > chance.insertion_area > against.insertion_area
    assert chance.deletion_area == pytest.approx(random_curves(toy, CELLS, orders=20, steps=8).deletion_area)
    one = random_curves(toy, CELLS, orders=1, steps=8)
    two = random_curves(toy, CELLS, orders=2, steps=8)
    assert not torch.equal(one.deletion, two.deletion)
    assert isinstance(two, Curves)


def test_difference_of_two_classes_is_a_share_among_the_two():
    against = linear(FACTORS, ROW, against=1)
    assert float(against.share(ROW)) == pytest.approx(share(14), abs=1e-6)
    three = Subject(lambda pixels: torch.tensor([[1.0, 2.0, 5.0]]).expand(len(pixels), 3), ROW, 0, 1)
    assert float(three.share(ROW)) == pytest.approx(1 / (1 + math.e), abs=1e-6)


# ROAD -----------------------------------------------------------------------------------------------------------------


def test_imputation_is_the_dense_solution():
    pixels = picture(4, channels=2)[:, :, :, :6]
    missing = torch.rand(3, 1, 4, 6, generator=torch.Generator().manual_seed(1)) < 0.6
    found = imputed(pixels, missing)
    for image, gone in enumerate(missing[:, 0]):
        places = gone.nonzero().tolist()
        matrix, right = torch.zeros(len(places), len(places)), torch.zeros(len(places), 2)
        for i, (row, column) in enumerate(places):
            for down in (-1, 0, 1):
                for across in (-1, 0, 1):
                    there, weight = [row + down, column + across], 1 / 12 if down and across else 1 / 6
                    if there == [row, column] or not (0 <= there[0] < 4 and 0 <= there[1] < 6):
                        continue
                    matrix[i, i] += weight
                    if there in places:
                        matrix[i, places.index(there)] -= weight
                    else:
                        right[i] += weight * pixels[0, :, there[0], there[1]]
        expected = pixels[0].clone()
        expected[:, gone] = torch.linalg.solve(matrix, right).T
        assert_close(found[image], expected, rtol=0, atol=5e-3)


def test_imputation_keeps_a_plain_picture_and_what_is_left():
    plain = torch.full((1, 3, 9, 7), -2.0)
    missing = torch.zeros(1, 1, 9, 7, dtype=torch.bool)
    missing[..., 1:8, :6] = True
    assert_close(imputed(plain, missing), plain, rtol=0, atol=1e-3)
    known = picture(5)
    half = torch.zeros(1, 1, 4, 8, dtype=torch.bool)
    half[..., :4] = True
    assert torch.equal(imputed(known, half)[..., 4:], known[..., 4:])
    assert float(imputed(known, half).abs().max()) <= float(known.abs().max()) + 1e-3  # a mean is never outside
    with pytest.raises(ValueError, match="nothing is left"):
        imputed(known, torch.ones(1, 1, 4, 8, dtype=torch.bool))


def test_road_tells_a_map_that_knows():
    """The class is the brightness of one spot; imputed from around, it is gone."""
    pixels = torch.zeros(1, 1, 16, 16)
    pixels[..., 4:8, 4:8] = 1.0
    toy = Subject(lambda p: torch.stack([p[..., 4:8, 4:8].mean((1, 2, 3)) * 6 - 3, 0 * p[:, 0, 0, 0]], 1), pixels, 0)
    heat = torch.zeros(4, 4)
    heat[1, 1] = 1.0
    found, seen = road(toy, heat, (4, 4), progress=lambda done, total: None), road(toy, -heat, (4, 4))
    assert found.share.tolist() == [3 / 16, 6 / 16, 10 / 16, 13 / 16]
    assert float(found.most_relevant_first.max()) < 0.3
    assert float(found.least_relevant_first.min()) > 0.9
    assert found.gap > 0.6
    assert seen.gap == pytest.approx(-found.gap, abs=0.05)
    assert road(toy, heat, (4, 4)).gap == found.gap
    assert isinstance(found, Road)
