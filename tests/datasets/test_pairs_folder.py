"""Pairs from a folder: squares of pictures, references beside them, and what does not fit."""

import shutil

import numpy as np
import pytest
from PIL import Image

from tests.drawn import noisy_picture
from vizkit.datasets.image_set import SPLITS, DatasetError
from vizkit.datasets.pairs.drawn import SIDE, TIMES, halved, shrunk
from vizkit.datasets.pairs.folder import LEVELS, MOST_SQUARES, SQUARE, open_folder_pairs
from vizkit.training.recipe import Recipe
from vizkit.training.super_resolution.task import opened as opened_of


def save(path, rows=200, columns=230, seed=0):
    """Coarse noise, so that neighbouring pixels are alike."""
    coarse = noisy_picture(4, 5, seed=seed)
    Image.fromarray(coarse).resize((columns, rows), Image.Resampling.BICUBIC).save(path)


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "pond"
    (place / "deeper").mkdir(parents=True)
    for seed in range(6):
        save(place / ("deeper" if seed % 2 else ".") / f"{seed}.png", seed=seed)
    (place / "notes.txt").write_text("no image")
    return place


@pytest.fixture
def beside(tmp_path):
    """Pictures of one grey each, and references of another, so that everything can be told by its colour."""
    place = tmp_path / "pairs"
    place.mkdir()
    for k in range(5):
        for name, grey in ((f"{k}.png", 10 * k), (f"{k}_ref.png", 10 * k + 100)):
            Image.fromarray(np.full((200, 200, 3), grey, np.uint8)).save(place / name)
    return place


def opened(folder, most=30):
    return {split: open_folder_pairs(folder, split, most) for split in SPLITS}


def test_a_pair_is_a_square_halved_the_same_shrunk_and_a_reference(folder):
    pairs = open_folder_pairs(folder, "train", 30)
    for level in LEVELS:
        pair = pairs.pair(3, 1, level=level, posed=True)
        assert pair.truth.shape == pair.reference.shape == (SIDE, SIDE, 3)
        assert np.array_equal(pair.small, shrunk(pair.truth))
        assert pair.small.shape == (SIDE // TIMES, SIDE // TIMES, 3)
    assert np.array_equal(pairs.pair(3).truth, halved(pairs.scene(3)[0]))
    moved, noise = (pairs.pair(3, level=level).reference.astype(float) for level in ("same", "noise"))
    truth = pairs.pair(3).truth
    assert np.abs(moved - truth).mean() < np.abs(noise - truth).mean() / 2


def test_a_picture_is_in_one_split_with_all_its_squares(folder):
    sets = opened(folder)
    paths = [path for split in SPLITS for path, _ in sets[split].files]
    assert len(paths) == len(set(paths)) == 6
    assert all(sets[split].files for split in SPLITS)
    assert {split: len(each) for split, each in sets.items()} == {
        "train": 30,
        "val": MOST_SQUARES,
        "test": MOST_SQUARES,
    }
    train = sets["train"]
    assert sorted({train.file_of(index) for index in range(30)}) == list(range(len(train.files)))
    assert len({each.digest for each in sets.values()}) == 3


def test_pairs_follow_from_their_seeds(folder):
    pairs, again = (open_folder_pairs(folder, "train", 30) for _ in range(2))
    first, second, other = pairs.pair(4, 7, posed=True), again.pair(4, 7, posed=True), pairs.pair(4, 8, posed=True)
    assert all(np.array_equal(one, two) for one, two in zip(first[:3], second[:3], strict=True))
    assert not np.array_equal(first.truth, other.truth)
    assert pairs.digest == again.digest
    for path, _ in pairs.files:
        save(path, seed=9, rows=240)
    assert open_folder_pairs(folder, "train", 30).digest != pairs.digest


def test_a_picture_brings_its_own_reference(beside):
    for pairs in opened(beside).values():
        for index in (0, len(pairs) - 1):
            pair = pairs.pair(index, level="same", posed=pairs.split == "train")
            assert pair.level == "same"
            low = 0.85 * (pair.reference[0, 0, 0] - 100)  # posing changes the light of the truth
            assert low - 1 <= pair.truth.mean() <= 1.15 * (pair.reference[0, 0, 0] - 100) + 1
            assert (pair.reference % 10 == 0).all()
            assert pair.reference.min() >= 100
            other = pairs.pair(index, level="other").reference
            assert other.max() < 100  # of a picture, never of a reference


def test_what_does_not_fit_is_said_in_a_sentence(folder, tmp_path):
    save(folder / "small.png", rows=SQUARE - 1)
    (folder / "broken.png").write_bytes(b"no image")
    sentences = []
    for split in SPLITS:
        pairs = open_folder_pairs(folder, split, 800)
        for index in range(len(pairs)):
            try:
                pairs.scene(index)
            except DatasetError as error:
                sentences.append(str(error))
    assert "small.png has 230 × 191 pixels: give 192 × 192 at least, or take it out." in sentences
    assert any(each.startswith("broken.png cannot be used: ") for each in sentences)
    save(folder / "leaf_ref.png")
    with pytest.raises(DatasetError, match="leaf_ref is a reference of no image: there is no leaf beside it"):
        open_folder_pairs(folder, "train", 30)
    (tmp_path / "few").mkdir()
    save(tmp_path / "few" / "one.png")
    with pytest.raises(DatasetError, match="'few' has 1 images to learn from: give three"):
        open_folder_pairs(tmp_path / "few", "train", 30)
    with pytest.raises(DatasetError, match="two or more"):
        open_folder_pairs(folder.parent / "pond" / "deeper", "train", 1)


def test_a_reference_of_another_size_is_refused(beside):
    save(beside / "0_ref.png", rows=210, columns=200)
    pairs = next(each for each in opened(beside).values() if any(path.endswith("0.png") for path, _ in each.files))
    with pytest.raises(DatasetError, match=r"0\.png and its reference have different sizes"):
        [pairs.scene(index) for index in range(len(pairs))]


def test_a_zip_has_the_pairs_of_its_folder(folder, tmp_path):
    packed = shutil.make_archive(str(tmp_path / "pond"), "zip", folder)
    of_folder, of_zip = (opened_of(Recipe(data=str(data)), "test", 4) for data in (folder, packed))
    assert len(of_zip) == len(of_folder) > 0
    assert np.array_equal(of_zip.pair(0).truth, of_folder.pair(0).truth)
