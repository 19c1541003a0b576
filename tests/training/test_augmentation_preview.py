"""The corner of augmentation: what it draws is what the loop does, and the labels add up."""

import random

import numpy as np
import pytest
import timm
import torch
from PIL import Image

from vizkit.image import Preprocessing, prepare, unprepare
from vizkit.models.probes.residual import branches
from vizkit.models.sources.loaded import Loaded
from vizkit.traces import NotApplicable
from vizkit.training.pictures import preview
from vizkit.training.pictures.augmentation import augmented, picture_changes, rand_augment
from vizkit.training.pictures.batches import drawn_from, fitted, normalised
from vizkit.training.recipe import Recipe

NEEDS = Preprocessing((32, 32), (0.5,) * 3, (0.5,) * 3, crop_pct=1.0)
PICTURE = np.random.default_rng(1).integers(0, 256, (32, 32, 3), dtype=np.uint8)
OTHER = np.random.default_rng(2).integers(0, 256, (40, 48, 3), dtype=np.uint8)


# ---- single pictures -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("magnitude", "operations"), [(9, 2), (3, 4)])
def test_randaugment_is_what_the_loop_does(magnitude, operations):
    """Against the way in which `Fitted` applies a recipe."""
    seeds = list(range(12))
    found = preview.rand_augmented(OTHER, NEEDS, magnitude, operations, seeds)
    change = picture_changes(Recipe(randaugment=f"rand-m{magnitude}-n{operations}-mstd0.5-inc1"), NEEDS)
    plain = fitted(OTHER, NEEDS)
    for seed, each in zip(seeds, found, strict=True):
        with drawn_from(seed):
            assert (each.picture == np.array(change(Image.fromarray(OTHER)))).all()
        if each.words == "nothing this time":
            assert (each.picture == plain).all()
    words = [each.words for each in found]
    assert len(set(words)) > 4
    assert max(len(each.split(" + ")) for each in words) <= operations
    assert any(name.startswith(("Rotate", "Shear", "Translate")) for name in words)
    assert any((each.picture != plain).any() for each in found)


def test_each_operation_that_is_drawn_is_applied_half_the_time():
    """Of two, one picture in four has none, two have one, one has both; ± 3 standard deviations of √(120·¼·¾)."""
    assert {operation.prob for operation in rand_augment(Recipe(randaugment="rand-m9-n2"), NEEDS).ops} == {0.5}
    assert preview.APPLIED == 0.5
    words = [each.words for each in preview.rand_augmented(PICTURE, NEEDS, 9, 2, range(120))]
    assert 30 - 14 <= sum(each == "nothing this time" for each in words) <= 30 + 14
    assert 30 - 14 <= sum(" + " in each for each in words) <= 30 + 14


def test_erasing_is_what_the_loop_does():
    recipe, place, rows = Recipe(erasing=0.5, flip=0.0, seed=3), (4, 5), np.arange(20)
    seeds = [[recipe.seed, *place, 3, row] for row in rows.tolist()]
    found = preview.erased(OTHER, NEEDS, recipe.erasing, seeds)
    pixels = torch.from_numpy(prepare(OTHER, NEEDS)[0]).repeat(20, 1, 1, 1)
    shown, _ = augmented(pixels, torch.zeros(20, dtype=torch.int64), 2, recipe, place, rows, 20)
    for picture, each in zip(shown, found, strict=True):
        assert (each.picture == unprepare(picture.numpy(), NEEDS)).all()
    kept = sum(each.words == "kept" for each in found)
    assert 3 <= kept <= 17
    shares = [int(each.words.split("%")[0]) for each in found if each.words != "kept"]
    assert min(shares) >= 1
    assert max(shares) <= 35
    assert {each.words for each in preview.erased(OTHER, NEEDS, 0.0, seeds[:4])} == {"kept"}
    assert "kept" not in {each.words for each in preview.erased(OTHER, NEEDS, 1.0, seeds[:4])}


def test_the_generators_of_the_process_are_left_as_they_were():
    before = np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()
    one = preview.rand_augmented(PICTURE, NEEDS, 9, 2, [1, 2])
    preview.skipped([0.5] * 4, 8, 3)
    assert (np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()) == before
    assert (one[1].picture == preview.rand_augmented(PICTURE, NEEDS, 9, 2, [2])[0].picture).all()
    state = random.getstate()  # alone, because the type checks of the tests draw from this one too
    with drawn_from(4):
        random.random()
    assert random.getstate() == state


# ---- two pictures ----------------------------------------------------------------------------------------------------
def test_mixup_by_hand():
    found = preview.mixed((PICTURE, OTHER), (2, 0), 4, NEEDS, Recipe(mixup=0.8, smoothing=0.1), seed=5)
    share = found.share
    assert 0.02 < share < 0.98
    one, two = (fitted(rgb, NEEDS).astype(float) for rgb in (PICTURE, OTHER))
    assert np.abs(found.picture - (share * one + (1 - share) * two)).max() <= 0.51
    even = 0.1 / 4
    expected = [even + 0.9 * (1 - share), even, even + 0.9 * share, even]
    np.testing.assert_allclose(found.label, expected, atol=1e-5)


def test_cutmix_by_hand():
    found = preview.mixed((PICTURE, OTHER), (1, 3), 5, NEEDS, Recipe(cutmix=1.0), seed=5)
    one, two = (fitted(rgb, NEEDS) for rgb in (PICTURE, OTHER))
    own = (found.picture == one).all(-1)
    assert ((found.picture == two).all(-1) | own).all()
    rows, columns = np.nonzero(~own)
    box = (rows.max() - rows.min() + 1) * (columns.max() - columns.min() + 1)
    assert box == len(rows)  # a full rectangle
    assert found.share == pytest.approx(own.mean(), abs=1e-6)
    np.testing.assert_allclose(found.label, [0, found.share, 0, 1 - found.share, 0], atol=1e-6)


def test_two_pictures_of_one_class_stay_that_class():
    found = preview.mixed((PICTURE, OTHER), (3, 3), 12, NEEDS, Recipe(mixup=0.8), seed=5)
    assert found.label[3] == pytest.approx(1)
    assert 0.02 < found.share < 0.98


def test_a_larger_alpha_mixes_more_evenly():
    def spread(alpha):
        shares = [
            preview.mixed((PICTURE, OTHER), (0, 1), 2, NEEDS, Recipe(mixup=alpha), seed).share for seed in range(60)
        ]
        return np.std(shares)

    # Of Beta(α, α): ½ / √(2α + 1).
    assert spread(0.1) == pytest.approx(0.5 / np.sqrt(1.2), abs=0.08)
    assert spread(2.0) == pytest.approx(0.5 / np.sqrt(5.0), abs=0.05)


# ---- blocks ----------------------------------------------------------------------------------------------------------
MODELS = {
    "vit": ("vit_tiny_patch16_224", {"img_size": 32, "embed_dim": 24, "depth": 5, "num_heads": 2}, [2] * 5),
    "swin": (
        "swin_tiny_patch4_window7_224",
        {"img_size": 64, "window_size": 4, "embed_dim": 24, "depths": [2, 3], "num_heads": [2, 2]},
        [2] * 5,
    ),
    "cnn": ("resnetv2_18d", {"layers": [2, 2, 2], "channels": [8, 16, 16], "stem_chs": 8}, [1] * 6),
}


@pytest.mark.parametrize("kind", MODELS)
def test_chances_and_branches_are_those_of_timms_models(kind):
    name, options, expected = MODELS[kind]
    model = timm.create_model(name, drop_path_rate=0.3, **options)
    plain = timm.create_model(name, **options)
    counts = branches(Loaded(name, plain, torch.device("cpu"), NEEDS))
    assert counts == expected
    given = [module.drop_prob for module in model.modules() if type(module).__name__ == "DropPath"]
    by_branch = [p for p, count in zip(preview.chances(0.3, len(counts)), counts, strict=True) for _ in range(count)]
    assert [p for p in by_branch if p] == pytest.approx([p for p in given if p])  # at 0 timm puts none


def test_a_model_without_such_blocks_is_refused():
    with pytest.raises(NotApplicable, match="no residual blocks"):
        branches(Loaded("plain", torch.nn.Sequential(torch.nn.Conv2d(3, 3, 1)), torch.device("cpu"), NEEDS))


def test_blocks_are_skipped_as_often_as_they_should():
    drawn = preview.skipped([0.0, 0.25, 0.5], 4000, seed=1)
    assert drawn.shape == (4000, 3)
    np.testing.assert_allclose(drawn.mean(0), [0, 0.25, 0.5], atol=0.03)
    assert (preview.skipped([0.0, 0.25, 0.5], 4000, seed=1) == drawn).all()
    assert (preview.skipped([0.0, 0.25, 0.5], 4000, seed=2) != drawn).any()


# ---- the paper -------------------------------------------------------------------------------------------------------
def test_the_published_ablation():
    """DeiT, table 8."""
    by_name = {each.change: (each.at_224, each.at_384) for each in preview.ABLATION}
    assert (preview.BASELINE.at_224, preview.BASELINE.at_384) == (81.8, 83.1)
    assert by_name["no RandAugment"] == (79.6, 80.4)
    assert by_name["AutoAugment instead"] == (81.2, 81.9)
    assert by_name["no Mixup"] == (78.7, 79.8)
    assert by_name["no CutMix"] == (80.0, 80.6)
    assert by_name["neither Mixup nor CutMix"] == (75.8, 76.7)
    assert by_name["SGD for pre-training"] == (74.5, 77.3)
    assert by_name["SGD for fine-tuning"] == (81.8, 83.1)


def test_normalised_is_what_the_preview_starts_from():
    """The loop normalises the fitted picture; the preview prepares it. They are the same numbers."""
    pixels = normalised(torch.from_numpy(fitted(OTHER, NEEDS))[None], NEEDS, torch.device("cpu"))
    torch.testing.assert_close(pixels[0], torch.from_numpy(prepare(OTHER, NEEDS)[0]))
