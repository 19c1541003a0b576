"""Changes of a picture: none at strength 0, what each does exactly, and what it leaves as it was."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from PIL import Image

from tests.drawn import noisy_picture
from vizkit.analysis.comparison.perturbation import (
    CELLS,
    LEVELS,
    PERTURBATIONS,
    blur,
    jpeg,
    mean_colour,
    noise,
    occlude,
    perturbed,
    rearranged,
    rotate,
    shift,
    shrink,
)

KINDS = sorted(PERTURBATIONS)


def constant(height=40, width=60, colour=(10, 200, 90)):
    return np.full((height, width, 3), colour, np.uint8)


@pytest.mark.parametrize("kind", KINDS)
def test_strength_zero_is_the_picture_itself(kind, photo):
    assert perturbed(photo, kind, 0.0) is photo
    strengths = PERTURBATIONS[kind].strengths
    assert len(strengths) == LEVELS
    assert strengths[0] == 0
    assert list(strengths) == sorted(set(strengths))


@pytest.mark.parametrize("kind", KINDS)
def test_every_strength_gives_a_picture_of_the_same_size_and_leaves_the_first_alone(kind, photo):
    before = photo.copy()
    made = [perturbed(photo, kind, strength, 3) for strength in PERTURBATIONS[kind].strengths]
    assert all(each.shape == photo.shape and each.dtype == np.uint8 for each in made)
    assert all((each != photo).any() for each in made[1:])
    assert_array_equal(photo, before)
    smallest = noisy_picture(CELLS, CELLS, 1)
    assert all(perturbed(smallest, kind, s).shape == smallest.shape for s in PERTURBATIONS[kind].strengths)


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_decides_and_only_where_chance_is_at_work(kind, photo):
    strength = PERTURBATIONS[kind].strengths[5]
    one, same, other = (perturbed(photo, kind, strength, seed) for seed in (0, 0, 1))
    assert_array_equal(one, same)
    assert (one != other).any() == PERTURBATIONS[kind].chance == (kind in ("noise", "occlusion", "shuffle"))


def test_a_shift_moves_whole_pixels_and_fills_with_the_mean_colour(photo):
    moved = shift(photo, 0.25)  # 16 of 64
    assert_array_equal(moved[:, 16:], photo[:, :48])
    assert (moved[:, :16] == mean_colour(photo)).all()
    assert (shift(photo, 1.0) == mean_colour(photo)).all()


def test_turning_half_around_is_flipping_twice(photo):
    assert_array_equal(rotate(photo, 180.0), photo[::-1, ::-1])
    wide = rotate(constant(), 45.0)
    assert (wide == (10, 200, 90)).all(), "the mean colour of one colour is that colour"


def test_smaller_is_about_the_centre():
    small = shrink(constant(40, 60, (0, 0, 0)) + np.uint8(0), 0.5)
    assert (small == 0).all()
    photo = constant(40, 60, (255, 255, 255))
    photo[:2] = 0  # so that the mean colour is none of the two
    made = shrink(photo, 0.5)
    inside = (made == made[20, 30]).all(-1)
    assert inside[14:30, 15:45].all()
    assert (made[:10] == mean_colour(photo)).all()
    assert (made[:, :15] == mean_colour(photo)).all()


@pytest.mark.parametrize("strength", PERTURBATIONS["blur"].strengths[1:])
def test_blurring_one_colour_changes_nothing(strength):
    assert_array_equal(blur(constant(), float(strength)), constant())


def test_blur_scales_with_the_picture():
    """The same drawing twice as large, blurred alike, is the same when it is made small again."""
    small = np.zeros((224, 224, 3), np.uint8)
    small[80:140, 60:170] = 255
    large = small.repeat(2, 0).repeat(2, 1)
    again = np.asarray(Image.fromarray(blur(large, 4.0)).resize((224, 224), Image.Resampling.BOX)).astype(int)
    assert np.abs(again - blur(small, 4.0)).max() < 8


def test_noise_has_the_named_size_and_no_direction():
    grey = constant(224, 224, (128, 128, 128))
    off = noise(grey, 0.1, 5).astype(float) - 128
    assert off.std() == pytest.approx(25.5, rel=0.02)
    assert abs(off.mean()) < 0.5
    assert abs(np.corrcoef(off[..., 0].ravel(), off[..., 1].ravel())[0, 1]) < 0.02
    large = noise(constant(448, 448, (128, 128, 128)), 0.1, 5)
    assert_array_equal(large[::2, ::2], large[1::2, 1::2])  # grains of two pixels
    assert (large[::2] != large[1::2]).sum() == 0


def test_jpeg_loses_more_and_more(photo):
    loss = [np.abs(jpeg(photo, float(s)).astype(int) - photo).mean() for s in (5, 50, 95)]
    assert loss[0] < loss[1] < loss[2]


@pytest.mark.parametrize("cells", [1, 14, 98, 195])
def test_occlusion_covers_exactly_the_named_share(cells):
    photo = np.random.default_rng(2).integers(0, 100, (28, 42, 3), dtype=np.uint8)
    photo[0, 0] = 255
    made = occlude(photo, cells / CELLS**2, 7)
    covered = (made == mean_colour(photo)).all(-1) & (made != photo).any(-1)
    assert covered.sum() == cells * 2 * 3
    assert_array_equal(made[~covered], photo[~covered])
    less = (occlude(photo, (cells - 1) / CELLS**2, 7) != photo).any(-1)
    assert (covered | ~less).all(), "a stronger one covers the same and more"


@pytest.mark.parametrize("side", [1, 2, 5, 14])
def test_an_order_and_its_inverse_give_the_picture_back(side, photo):
    order = np.random.default_rng(side).permutation(side**2)
    mixed = rearranged(photo, side, order)
    assert_array_equal(rearranged(mixed, side, np.argsort(order)), photo)
    assert sorted(map(tuple, mixed.reshape(-1, 3))) == sorted(map(tuple, photo.reshape(-1, 3))), "no pixel is lost"


def test_cells_are_put_where_the_order_says():
    quarters = np.zeros((4, 6, 3), np.uint8)
    quarters[:2, :3], quarters[:2, 3:], quarters[2:, :3], quarters[2:, 3:] = 1, 2, 3, 4
    made = rearranged(quarters, 2, np.array([3, 0, 1, 2]))
    assert [int(made[y, x, 0]) for y, x in ((0, 0), (0, 5), (3, 0), (3, 5))] == [4, 1, 2, 3]


def test_refusals(photo):
    with pytest.raises(KeyError):
        perturbed(photo, "fog", 1.0)
    with pytest.raises(ValueError, match="0 or more"):
        perturbed(photo, "blur", -1.0)
    with pytest.raises(ValueError, match="no 14 × 14 cells"):
        rearranged(photo[:9], 14, np.arange(196))


def test_a_strength_reads_behind_a_number_and_behind_at():
    said = [kind.in_words(4) for kind in PERTURBATIONS.values()]
    assert said == [
        "20 % of the width",
        "45°",
        "40 % off the sides",
        "σ = 2 px",
        "σ = 15 %",
        "quality 30",
        "43 % of the cells",
        "5 × 5",
    ]
    assert not any(words.startswith("by ") for words in said)
