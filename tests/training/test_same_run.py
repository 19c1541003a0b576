"""A run depends on its recipe alone: not on workers, processes, parts of a batch, or what else the process draws."""

import random

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from PIL import Image
from timm.data import Mixup
from timm.data.random_erasing import RandomErasing
from torch.testing import assert_close

import vizkit
from tests.launching import on_two_nodes
from tests.training.test_training import ENVIRONMENT, SAME, TINY_VIT, followed
from vizkit.datasets.opening import open_set
from vizkit.image import Preprocessing
from vizkit.training.loop import train
from vizkit.training.pictures import augmentation
from vizkit.training.pictures.batches import Batches, Fitted, drawn_from, loader, normalised
from vizkit.training.recipe import Recipe, RecipeError
from vizkit.training.runs.command_line import arguments
from vizkit.training.runs.folder import RunFolder

EVERYTHING = Recipe(
    data="digits",
    images=96,
    model="vit_tiny_patch16_224",
    model_args=TINY_VIT,
    epochs=2,
    batch=32,
    crop=0.3,
    randaugment="rand-m9-mstd0.5-inc1",
    mixup=0.8,
    cutmix=1.0,
    erasing=0.5,
    turn_deg=9.0,
    drop_path=0.2,
    smoothing=0.1,
)
NEEDS = Preprocessing((32, 32), (0.5,) * 3, (0.5,) * 3, crop_pct=1.0)
CPU = torch.device("cpu")


def curve(run):
    return [[line[key] for key in SAME] for line in run.metrics()]


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    return followed(tmp_path_factory.mktemp("runs") / "alone", EVERYTHING)


def shown(recipe=EVERYTHING, rank=0, processes=1, epoch=1):
    """What the model sees in an epoch and is to answer, by rows of the global batch: (step, row) → pixels, target."""
    images = open_set("digits", "train", images=recipe.images)
    data = Fitted(images, NEEDS, augmentation.picture_changes(recipe, NEEDS))
    batches, found = Batches(len(data), recipe, rank, processes), {}
    batches.epoch = epoch
    for number, (pictures, labels) in enumerate(loader(data, batches, 0)):
        step, part = divmod(number, len(batches.own))
        own, pixels = batches.own[part], normalised(pictures, NEEDS, CPU)
        place = (epoch, step)
        seen = augmentation.augmented(pixels, labels, len(images.labels), recipe, place, own, batches.batch)
        found |= {(step, row): (seen[0][i], seen[1][i]) for i, row in enumerate(own.tolist())}
    return found


# ---- what is drawn ---------------------------------------------------------------------------------------------------
def states():
    """Not Python's own: the type checks of the tests draw from it too; `drawn_from` is tested for it by itself."""
    return np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()


def test_batches_neither_read_nor_move_the_generators_of_the_process():
    with drawn_from(1):
        before = states()
        first = shown()
        assert states() == before
    with drawn_from(2):
        again = shown()
    assert first.keys() == again.keys()
    assert all(torch.equal(a, b) for key in first for a, b in zip(first[key], again[key], strict=True))


@pytest.mark.parametrize("processes, accumulate", [(2, 1), (1, 4), (2, 2), (4, 1)])
def test_parts_and_processes_see_the_batches_of_one(processes, accumulate):
    whole, recipe, parts = shown(), EVERYTHING.but({"accumulate": accumulate}), {}
    for rank in range(processes):
        parts |= shown(recipe, rank, processes)
    assert parts.keys() == whole.keys()
    for key, (pixels, target) in whole.items():
        assert_close(parts[key][0], pixels)
        assert torch.equal(parts[key][1], target)


def test_another_seed_epoch_or_step_is_drawn_differently():
    first = shown()
    for other in (shown(EVERYTHING.but({"seed": 1})), shown(epoch=0)):
        assert not any(torch.equal(first[key][0], other[key][0]) for key in first)
    shares = {float(first[step, 0][1].max()) for step in range(3)}
    assert len(shares) == 3


def test_randaugment_at_full_strength_keeps_a_picture():
    change = augmentation.rand_augment(Recipe(randaugment="rand-m10-n1-inc1"), NEEDS)
    change.ops = [each for each in change.ops if each.name == "PosterizeIncreasing"]
    change.choice_weights = None
    picture = Image.fromarray(np.arange(3 * 32 * 32, dtype=np.uint8).reshape(32, 32, 3))
    for seed in range(4):  # each operation is left out half the time
        with drawn_from(seed):
            assert len(np.unique(np.array(change(picture)))) >= 2


def test_erasing_is_that_of_timm_in_its_areas_and_shapes():
    theirs, ours = [], []
    with drawn_from(5):
        for number in range(1500):
            pixels = torch.zeros(3, 48, 64)
            theirs.append(RandomErasing(0.5, mode="pixel", device="cpu")(pixels.clone()))
            augmentation.erase(pixels, 0.5, np.random.default_rng(number))
            ours.append(pixels)
    facts = [[boxes(pictures)] for pictures in (theirs, ours)]
    (a,), (b,) = facts
    assert abs(len(a) - len(b)) < 120  # of 750
    assert_allclose(np.quantile(a, (0.1, 0.5, 0.9), axis=0), np.quantile(b, (0.1, 0.5, 0.9), axis=0), atol=6)
    noise = torch.cat([picture[picture != 0] for picture in ours])
    assert abs(float(noise.mean())) < 0.01
    assert abs(float(noise.std()) - 1) < 0.01


def boxes(pictures):
    """(rows, columns, top, left) of each rectangle."""
    found = []
    for picture in pictures:
        rows, columns = ((picture != 0).any(0).any(axis).nonzero().ravel() for axis in (1, 0))
        if len(rows):
            assert bool((picture != 0)[:, rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1].all())
            found.append([len(rows), len(columns), int(rows[0]), int(columns[0])])
    return np.array(found)


@pytest.mark.product
@pytest.mark.parametrize("changes", [{"mixup": 0.8}, {"cutmix": 1.0}, {"mixup": 0.8, "cutmix": 1.0}], ids=str)
def test_shares_are_drawn_as_by_timm(changes):
    recipe, theirs, ours = Recipe(**changes), [], []
    mix = Mixup(recipe.mixup, recipe.cutmix, label_smoothing=0.0, num_classes=2)
    with drawn_from(3):
        for number in range(2000):
            theirs.append(float(mix(torch.zeros(2, 3, 24, 32), torch.tensor([0, 1]))[1][0, 0]))
            ours.append(augmentation.mixed(torch.zeros(2, 3, 24, 32), recipe, np.random.default_rng(number))[1])
    quantiles = (0.05, 0.25, 0.5, 0.75, 0.95)
    assert_allclose(np.quantile(theirs, quantiles), np.quantile(ours, quantiles), atol=0.06)


def test_an_odd_batch_is_mixed_too():
    recipe = EVERYTHING.but({"images": 7, "batch": 32, "crop": 1.0, "randaugment": ""})
    assert len(shown(recipe)) == 6  # the largest batch of pairs
    with pytest.raises(RecipeError, match=r"does not divide in pairs.* change batch or accumulate\.$"):
        Batches(96, EVERYTHING.but({"batch": 33}))
    with pytest.raises(RecipeError, match="does not divide among 3 processes"):
        Batches(96, Recipe(batch=32), 0, 3)
    with pytest.raises(RecipeError, match="divides into its parts"):
        Recipe(batch=32, accumulate=5)


# ---- whole runs ------------------------------------------------------------------------------------------------------
@pytest.mark.rest
@pytest.mark.parametrize("workers", [1, 2])
def test_workers_change_nothing_to_the_bit(alone, tmp_path, workers):
    run = RunFolder(tmp_path / "run")
    run.create(EVERYTHING)
    torch.manual_seed(workers)
    train(run, EVERYTHING, device="cpu", workers=workers)
    assert curve(run) == curve(alone)
    one, other = (vizkit.load(str(each.path)).model.state_dict() for each in (alone, run))
    assert all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.rest
def test_stopped_between_it_goes_on_to_the_bit(alone, tmp_path, monkeypatch):
    run, steps = RunFolder(tmp_path / "run"), iter(range(9))
    run.create(EVERYTHING)
    mixed = augmentation.mixed

    def failing(*given):
        if next(steps) == 4:  # three steps an epoch
            raise KeyError("in the second epoch")
        return mixed(*given)

    monkeypatch.setattr(augmentation, "mixed", failing)
    with pytest.raises(KeyError, match="second epoch"):
        train(run, EVERYTHING, device="cpu")
    monkeypatch.undo()
    random.seed(5)
    np.random.seed(5)
    torch.manual_seed(5)
    train(run, EVERYTHING, device="cpu", workers=1)
    assert curve(run) == curve(alone)


@pytest.mark.rest
@pytest.mark.parametrize(
    "changes", [{"clip_norm": 0.5}, {"optimizer": "muon", "ema": 0.9, "weight_decay": 0.1}], ids=str
)
def test_a_batch_in_parts_changes_the_weights_as_the_whole_does(tmp_path, changes):
    """Without drop path, whose draws belong to a part; in float32, so up to the rounding of sums."""
    recipe = EVERYTHING.but({"drop_path": 0.0, "optimizer": "sgd", "lr": 0.05, **changes})
    whole = followed(tmp_path / "whole", recipe)
    parts = followed(tmp_path / "parts", recipe.but({"accumulate": 4}))
    assert np.allclose(curve(whole), curve(parts), rtol=1e-5)
    one, other = (vizkit.load(str(each.path)).model.state_dict() for each in (whole, parts))
    assert max(float((one[name] - other[name]).abs().max()) for name in one) < 2e-5
    start = followed(tmp_path / "start", recipe.but({"lr": 1e-9, "min_lr": 0.0}))
    begun = vizkit.load(str(start.path)).model.state_dict()
    assert max(float((one[name] - begun[name]).abs().max()) for name in one) > 1e-2


def test_two_processes_in_two_parts_train_the_model_of_one_in_four(tmp_path):
    """Drop path included: each part of the global batch draws its own, whichever process it is in."""
    recipe = EVERYTHING.but({"optimizer": "sgd", "lr": 0.05})
    one = followed(tmp_path / "one", recipe.but({"accumulate": 4}))
    given = [*arguments(recipe.but({"accumulate": 2})), "--quiet", "--device", "cpu", "-o", tmp_path / "two"]
    for process in on_two_nodes(["train", *given], ENVIRONMENT):
        assert process.returncode == 0, process.stderr
    two = RunFolder(tmp_path / "two")
    assert two.read("versions.json")["processes"] == 2
    assert np.allclose(curve(one), curve(two), rtol=1e-5)
    first, second = (vizkit.load(str(each.path)).model.state_dict() for each in (one, two))
    assert max(float((first[name] - second[name]).abs().max()) for name in first) < 2e-5
