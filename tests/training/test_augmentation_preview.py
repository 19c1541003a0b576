"""What the form of a run shows of its augmentation is what the loop does."""

import random

import numpy as np
import pytest
import torch
from PIL import Image

from tests.drawn import noisy_picture
from vizkit.image import Preprocessing
from vizkit.training.pictures.augmentation import picture_changes, rand_augment
from vizkit.training.pictures.batches import drawn_from, fitted, seed_of
from vizkit.training.pictures.preview import learned_from
from vizkit.training.recipe import Recipe

NEEDS = Preprocessing((32, 32), (0.5,) * 3, (0.5,) * 3, crop_pct=1.0)
PICTURE = noisy_picture(32, 32, 1)
OTHER = noisy_picture(40, 48, 2)
PLAIN = Recipe(flip=0.0)


def test_without_augmentation_pictures_are_only_fitted():
    for found, rgb in zip(learned_from([PICTURE, OTHER], PLAIN, NEEDS, 0), (PICTURE, OTHER), strict=True):
        assert (found == fitted(rgb, NEEDS)).all()


def test_randaugment_is_what_the_loop_does():
    """Against the way in which `Fitted` applies a recipe."""
    recipe = PLAIN.but({"randaugment": "rand-m9-n2-mstd0.5-inc1"})
    change = picture_changes(recipe, NEEDS)
    found = [learned_from([OTHER], recipe, NEEDS, draw)[0] for draw in range(12)]
    for draw, each in enumerate(found):
        with drawn_from(seed_of(recipe.seed, draw, 0)):
            assert (each == np.array(change(Image.fromarray(OTHER)))).all()
    assert any((each != fitted(OTHER, NEEDS)).any() for each in found)
    assert {operation.prob for operation in rand_augment(recipe, NEEDS).ops} == {0.5}


def test_a_flip_is_one_and_erasing_leaves_the_rest():
    assert (learned_from([PICTURE], Recipe(flip=1.0), NEEDS, 0)[0] == fitted(PICTURE, NEEDS)[:, ::-1]).all()
    (found,) = learned_from([PICTURE], PLAIN.but({"erasing": 1.0}), NEEDS, 3)
    lost = (found != fitted(PICTURE, NEEDS)).any(-1)
    rows, columns = np.nonzero(lost)
    assert 0.01 < lost.mean() < 0.35
    assert lost[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1].mean() > 0.99  # one rectangle


@pytest.mark.parametrize("changes", [{"mixup": 0.8}, {"cutmix": 1.0}])
def test_two_pictures_are_mixed_with_one_another(changes):
    first, second = learned_from([PICTURE, OTHER], PLAIN.but(changes), NEEDS, 5)
    one, two = (fitted(rgb, NEEDS).astype(float) for rgb in (PICTURE, OTHER))
    if "mixup" in changes:
        share = float(((first - two) * (one - two)).sum() / ((one - two) ** 2).sum())
        assert 0.02 < share < 0.98
        assert np.abs(first - (share * one + (1 - share) * two)).max() <= 1.1
        assert np.abs(second - (share * two + (1 - share) * one)).max() <= 1.1
    else:
        own = (first == one).all(-1)
        assert ((first == two).all(-1) | own).all()
        assert 0 < own.mean() < 1


def test_the_generators_of_the_process_are_left_as_they_were():
    recipe = Recipe(randaugment="rand-m9", mixup=0.8, erasing=0.5, turn_deg=15.0)
    before = np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()
    one = learned_from([PICTURE, OTHER], recipe, NEEDS, 1)
    learned_from([PICTURE, OTHER], recipe, NEEDS, 2)
    assert (np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()) == before
    assert np.array_equal(one, learned_from([PICTURE, OTHER], recipe, NEEDS, 1))
    state = random.getstate()  # alone, because the type checks of the tests draw from this one too
    with drawn_from(4):
        random.random()
    assert random.getstate() == state
