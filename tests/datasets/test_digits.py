"""The digits, their fixed split, and the models trained on them."""

import hashlib
import re
from pathlib import Path

import numpy as np
import pytest
import timm
import torch
from numpy.testing import assert_array_equal

from vizkit.datasets import digits, photographs

BUNDLED = Path(__file__).parents[2] / "vizkit" / "bundled"
MODELS = ("vit", "swin", "cnn")


def test_splits_part_all_images():
    rows = np.concatenate([digits.members(split) for split in digits.SPLITS])
    assert sorted(rows) == list(range(1797))


def test_splits_hold_their_share_of_every_class():
    counts = {split: np.bincount(digits.load(split)[1], minlength=10) for split in digits.SPLITS}
    every = sum(counts.values())
    for split, share in digits.SPLITS.items():
        assert np.abs(counts[split] - share * every).max() <= 1


def test_split_is_fixed_for_ever():
    text = ";".join(",".join(map(str, digits.members(split))) for split in ("train", "val", "test"))
    assert (
        hashlib.sha256(text.encode()).hexdigest() == "2651bb324eae54b201ad47ead3bbfd414bfa57f1bd23b9d6aa4d53996b0eb8c7"
    )


def test_load_agrees_with_picture_and_label():
    levels, labels = digits.load("val")
    row = digits.members("val")[7]
    assert (digits.enlarge(levels[7]) == digits.picture(row)).all()
    assert labels[7] == digits.label(row)
    assert levels.max() == 16


def test_load_names_the_splits_it_knows():
    with pytest.raises(ValueError, match="train, val, test, found 'dev'"):
        digits.load("dev")


def test_enlarge_makes_flat_squares():
    large = digits.enlarge(np.array([[0, 16], [8, 1]], dtype=np.uint8))
    assert large.shape == (8, 8, 3)
    for channel in range(3):
        assert (large[:4, :4, channel] == 0).all()
        assert (large[:4, 4:, channel] == 255).all()
        assert (large[4:, :4, channel] == 128).all()  # 127.5, to the even number
        assert (large[4:, 4:, channel] == 16).all()  # 15.9


def test_callers_cannot_change_the_digits():
    levels, _ = digits.load("test")
    levels[:] = 3
    assert (digits.load("test")[0] != 3).any()


@pytest.mark.parametrize("name", photographs.NAMES)
def test_photographs_are_the_callers_own(name):
    first = photographs.picture(name)
    assert first.shape[2] == 3
    assert min(first.shape[:2]) >= 300
    first[:] = 0
    assert photographs.picture(name).any()


def test_unknown_photograph():
    with pytest.raises(ValueError, match="rocket, flower, found 'dog'"):
        photographs.picture("dog")


@pytest.mark.product
@pytest.mark.parametrize("name", MODELS)
def test_bundled_model_is_as_good_as_its_card_says(name):
    folder = BUNDLED / f"digits_{name}"
    model = timm.create_model(f"local-dir:{folder}", pretrained=True).eval()
    levels, labels = digits.load("test")
    config = model.pretrained_cfg
    mean, std = (torch.tensor(config[key]).view(3, 1, 1) for key in ("mean", "std"))
    pictures = torch.from_numpy(digits.enlarge(levels)).permute(0, 3, 1, 2) / 255
    with torch.inference_mode():
        answers = model((pictures - mean) / std).argmax(-1).numpy()
    right, images = map(int, re.search(r"Test \| (\d+) of (\d+)", (folder / "card.md").read_text("utf-8")).groups())
    assert images == len(labels)
    assert abs((answers == labels).sum() - right) <= 1
    assert right / images >= 0.97
    assert list(config["label_names"]) == list("0123456789")
    assert (folder / "model.safetensors").stat().st_size < 4e6


@pytest.mark.parametrize("name", MODELS)
def test_bundled_texts_name_no_machine(name):
    for text in ("card.md", "config.json"):
        content = (BUNDLED / f"digits_{name}" / text).read_text("utf-8")
        assert not re.search(r"[\s`\"]/\w|/home|/root|/tmp|/work|[A-Z]:\\", content)


def test_swin_shifts_its_windows():
    model = timm.create_model(f"local-dir:{BUNDLED / 'digits_swin'}", pretrained=True)
    shifts = [[tuple(block.shift_size) for block in stage.blocks] for stage in model.layers]
    assert shifts == [[(0, 0), (2, 2)], [(0, 0), (2, 2)] * 2]


def test_the_files_read_are_what_scikit_learn_loads():
    """They are read without importing scikit-learn; should it ever move or change them, this says so."""
    from sklearn.datasets import load_digits, load_sample_image

    from vizkit.datasets import photographs

    pixels, target = load_digits(return_X_y=True)
    levels, labels = digits._everything()
    assert_array_equal(levels, pixels.reshape(-1, 8, 8))
    assert_array_equal(labels, target)
    for name in ("china", "flower"):
        assert_array_equal(photographs.picture(name), load_sample_image(f"{name}.jpg"))
