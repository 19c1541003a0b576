"""Batches by hand: which rows of a batch make a part, what is drawn from which seed, how pictures become numbers."""

import random

import numpy as np
import pytest
import torch
from torch.testing import assert_close
from torch.utils.data import Dataset

from vizkit.datasets.opening import open_set
from vizkit.image import Preprocessing
from vizkit.training.pictures.batches import Batches, Fitted, drawn_from, fitted, loader, normalised, seed_of
from vizkit.training.recipe import Recipe, RecipeError

EIGHT = Recipe(batch=8)
NEEDS = Preprocessing((4, 4), (0.25, 0.5, 0.75), (0.5, 0.25, 0.125), crop_pct=1.0)


# ---- the batches of an epoch -----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "accumulate, rank, processes, rows",
    [
        (1, 0, 1, [[0, 1, 2, 3, 4, 5, 6, 7]]),
        (2, 0, 1, [[0, 1, 6, 7], [2, 3, 4, 5]]),
        (1, 1, 2, [[2, 3, 4, 5]]),
        (2, 0, 2, [[0, 7], [1, 6]]),
        (2, 1, 2, [[2, 5], [3, 4]]),
    ],
)
@pytest.mark.parametrize("mixup", [0.0, 0.8])
def test_a_part_holds_each_picture_and_the_one_at_its_place_from_the_end(accumulate, rank, processes, rows, mixup):
    recipe = EIGHT.but({"accumulate": accumulate, "mixup": mixup})
    batches = Batches(20, recipe, rank, processes)
    assert batches.own.tolist() == rows
    assert (batches.batch, batches.steps, len(batches)) == (8, 2, 2 * len(rows))
    whole = [key for keys in Batches(20, EIGHT) for key in keys]
    steps = [whole[:8], whole[8:16]]
    assert list(batches) == [[step[row] for row in part] for step in steps for part in rows]


@pytest.mark.parametrize(
    "images, changes, batch",
    [
        (5, {}, 5),
        (5, {"mixup": 1.0}, 4),
        (5, {"cutmix": 1.0}, 4),
        (9, {}, 8),
        (3, {"passes": 2}, 6),
        (3, {"repeats": 2}, 6),
        (7, {"accumulate": 2}, 6),
        (7, {"accumulate": 2, "mixup": 1.0}, 4),
    ],
)
def test_few_pictures_make_one_batch_as_large_as_can_be_divided(images, changes, batch):
    batches = Batches(images, EIGHT.but(changes))
    assert (batches.batch, batches.steps) == (batch, 1)
    assert sum(map(len, batches)) == batch


@pytest.mark.parametrize(
    "images, changes, processes, words",
    [
        (20, {}, 3, "A batch of 8 images does not divide among 3 processes with 1 parts each"),
        (20, {"mixup": 1.0, "accumulate": 8}, 1, "8 images does not divide in pairs, .*, among 1 processes with 8"),
        (1, {"mixup": 1.0}, 1, "A batch of 1 images does not divide in pairs"),
    ],
)
def test_a_batch_that_cannot_be_divided_is_refused(images, changes, processes, words):
    with pytest.raises(RecipeError, match=words):
        Batches(images, EIGHT.but(changes), 0, processes)


def test_an_epoch_goes_through_the_pictures_in_orders_of_its_own():
    batches = Batches(10, EIGHT.but({"batch": 6, "passes": 2, "repeats": 3, "seed": 4}))
    assert len(batches) == batches.steps == 10
    epochs = []
    for epoch in (0, 1):
        assert batches.epoch == 0 or epoch
        batches.epoch = epoch
        keys = [key for part in batches for key in part]
        order = [index for index, _ in keys[::3]]
        assert [index for index, _ in keys] == [index for index in order for _ in range(3)]  # copies lie together
        assert sorted(order[:10]) == sorted(order[10:]) == list(range(10))
        assert order[:10] != order[10:]
        seeds = [seed for _, seed in keys]
        assert len(set(seeds)) == 60
        assert 2**31 < max(seeds) < 2**32
        epochs.append((order, seeds))
    assert epochs[0][0] != epochs[1][0]
    other = Batches(10, EIGHT.but({"batch": 6, "passes": 2, "repeats": 3, "seed": 5}))
    assert [index for part in other for index, _ in part][::3] != epochs[0][0]


# ---- what is drawn ---------------------------------------------------------------------------------------------------
def drawn():
    return random.random(), np.random.rand(), float(torch.rand(()))


def states():
    return random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()


def test_inside_all_three_generators_follow_the_seed_and_afterwards_go_on_as_before():
    with drawn_from(1000):
        first = drawn()
    before = states()
    with drawn_from(1000):
        assert drawn() == first
    with pytest.raises(KeyError), drawn_from(6):
        raise KeyError
    assert states() == before
    with drawn_from(6):
        assert all(a != b for a, b in zip(drawn(), first, strict=True))
    with drawn_from(2**32 + 1000):  # numpy takes 32 bits
        assert drawn()[1] == first[1]
    expected = (
        random.Random(1000).random(),
        np.random.RandomState(1000).rand(),
        float(torch.rand((), generator=torch.Generator().manual_seed(1000))),
    )
    assert first == expected


def test_one_seed_from_several_numbers():
    assert seed_of(3, 1) == int(np.random.SeedSequence([3, 1]).generate_state(1)[0])
    assert len({seed_of(a, b) for a in range(20) for b in range(20)}) == 400


def test_a_picture_is_fitted_and_changed_with_the_generators_of_its_seed():
    images = open_set("digits", "train", images=3)
    rgb, label = images[2]
    plain = Fitted(images, NEEDS)
    assert len(plain) == 3
    assert plain[2, 9][1] == label
    assert np.array_equal(plain[2, 9][0].numpy(), fitted(rgb, NEEDS))

    def noise(picture):
        assert np.array_equal(np.asarray(picture), rgb)
        return np.uint8([random.randrange(256), np.random.randint(256), int(torch.randint(256, ()))])[None, None]

    changed = Fitted(images, NEEDS, noise)
    one, same, other = (changed[2, seed] for seed in (1, 1, 2))
    assert one[1] == label
    assert torch.equal(one[0], same[0])
    assert not torch.equal(one[0], other[0])


# ---- to the model ----------------------------------------------------------------------------------------------------
class Numbers(Dataset):
    def __len__(self):
        return 9

    def __getitem__(self, key):
        return torch.tensor(key[0]), key[1]


class InMemory(Numbers):
    def __getitems__(self, keys):
        return [index for index, _ in keys]


def test_pictures_are_read_one_by_one_by_processes_that_stay_or_whole_batches_from_memory():
    keys = [[(3, 1), (4, 2)], [(5, 7)]]
    plain = loader(Numbers(), keys, 0)
    assert [[each.tolist() for each in batch] for batch in plain] == [[[3, 4], [1, 2]], [[5], [7]]]
    assert (plain.num_workers, plain.persistent_workers, plain.prefetch_factor) == (0, False, None)
    read = loader(Numbers(), keys, 2)
    assert (read.num_workers, read.persistent_workers, read.prefetch_factor) == (2, True, 4)
    memory = loader(InMemory(), keys, 2)
    assert list(memory) == [[3, 4], [5]]
    assert memory.num_workers == 0


@pytest.mark.parametrize("data", [Numbers(), InMemory()])
def test_a_loader_pins_memory_where_it_is_told_and_draws_nothing_from_the_process(data):
    assert not loader(data, [[(0, 0)]], 0).pin_memory
    assert loader(data, [[(0, 0)]], 0, pin=True).pin_memory
    before = torch.get_rng_state()
    list(loader(data, [[(0, 0)]], 0))
    assert torch.equal(torch.get_rng_state(), before)


def test_pixels_by_hand():
    pictures = torch.tensor([[[[255, 0, 51], [0, 255, 102]]], [[[0, 0, 0], [255, 255, 255]]]], dtype=torch.uint8)
    found = normalised(pictures, NEEDS, torch.device("cpu"))
    assert found.shape == (2, 3, 1, 2)
    expected = [[[1.5, -0.5]], [[-2, 2]], [[(0.2 - 0.75) / 0.125, (0.4 - 0.75) / 0.125]]]
    assert_close(found[0], torch.tensor(expected))
    assert_close(found[1], torch.tensor([[[-0.5, 1.5]], [[-2.0, 2.0]], [[-6.0, 2.0]]]))


def test_pixels_come_to_the_device_that_is_asked_for():
    pictures = torch.zeros(2, 4, 4, 3, dtype=torch.uint8)
    assert normalised(pictures, NEEDS, torch.device("meta")).device.type == "meta"
