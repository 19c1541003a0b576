"""What is planted is found, what is clean is left alone, and cleanvision says the same of a picture."""

import numpy as np
import pytest
import torch
from PIL import Image

from tests.evaluation.data_set.toys import blobs, recorded
from vizkit.analysis.data_set import picture
from vizkit.evaluation.data_set import suspects, suspects_csv
from vizkit.evaluation.data_set.suspects import copies, fences, wrong_labels
from vizkit.percent import in_percent


def of_kind(found, kind):
    return [one for one in suspects(found) if one.kind == kind]


# ---- labels ----------------------------------------------------------------------------------------------------------
def test_wrong_labels_are_found_and_mended():
    features, true = blobs(240, apart=6.0)
    wrong = np.random.default_rng(0).choice(240, 24, replace=False)
    target = true.copy()
    target[wrong] = (true[wrong] + 1) % 3
    found = of_kind(recorded(features, target), "label")
    rows = {one.row for one in found}
    assert len(rows & {*wrong.tolist()}) >= 22
    assert len(rows - {*wrong.tolist()}) <= 2
    assert all(one.proposal == true[one.row] for one in found if one.row in wrong)
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    assert all(f"probes give {in_percent(1 - one.score)} to it" in one.said for one in found)  # what they are sorted by


def test_clean_labels_are_left_alone():
    assert of_kind(recorded(*blobs(240, apart=9.0)), "label") == []


def test_a_set_with_one_label_has_no_wrong_ones():
    assert wrong_labels(np.zeros(4, np.int64), np.ones((4, 1))) == []
    assert of_kind(recorded(np.eye(4), np.zeros(4, int)), "label") == []


# ---- copies ----------------------------------------------------------------------------------------------------------
def scenes(count=30, seed=0):
    small = torch.from_numpy(np.random.default_rng(seed).integers(0, 256, (count, 3, 4, 4)).astype(np.float32))
    large = torch.nn.functional.interpolate(small, size=(48, 48), mode="bicubic").clamp(0, 255).byte()
    return large.permute(0, 2, 3, 1).numpy()


def hashed(thumbnails):
    return picture.hashes(torch.from_numpy(thumbnails.copy()).permute(0, 3, 1, 2))


def test_copies_are_found_across_splits_also_brighter_and_mirrored():
    shown = scenes()
    shown[20] = shown[3]
    shown[21] = (shown[5] * 0.8).astype(np.uint8)
    shown[22] = shown[7][:, ::-1]
    features, target = blobs(30)
    splits = np.array(["train"] * 20 + ["test"] * 10)
    found = of_kind(recorded(features, target, thumbnails=shown, hashes=hashed(shown), splits=splits), "copy")
    assert {(one.other, one.row) for one in found} == {(3, 20), (5, 21), (7, 22)}
    assert all("in train and in test" in one.said for one in found)
    assert next(one for one in found if one.row == 22).said.startswith("Mirrored")


def test_where_all_pictures_are_alike_a_copy_is_far_nearer():
    """As handwritten digits: one shape with a little noise, so that all are alike; one of them comes again."""
    chance = np.random.default_rng(0)
    shape = np.kron(chance.integers(0, 255, (4, 4)), np.ones((4, 4)))
    small = np.clip(shape + chance.normal(0, 12, (30, 16, 16)), 0, 255)
    small[17] = np.clip(small[4] * 1.02, 0, 255)
    thumbnails = np.repeat(small[..., None], 3, 3).round().astype(np.uint8)
    grey = thumbnails[..., 0].reshape(30, -1).astype(float)
    assert np.corrcoef(grey)[0, 1:].min() > 0.95
    assert [(a, b) for a, b, *_ in copies(grey.astype(np.float32), hashed(thumbnails), thumbnails)] == [(4, 17)]


def test_pictures_of_one_colour_are_no_copies_of_one_another():
    flat = np.zeros((6, 48, 48, 3), np.uint8) + np.arange(0, 240, 40, dtype=np.uint8)[:, None, None, None]
    assert copies(np.eye(6, dtype=np.float32), hashed(flat), flat) == []


def test_a_hash_changes_little_with_the_picture_and_much_with_another():
    shown = scenes(40)
    pictures = torch.from_numpy(shown).permute(0, 3, 1, 2)
    darker = picture.hashes((pictures * 0.8).byte())
    assert picture.bits_apart(picture.hashes(pictures), darker).max() <= 6
    assert picture.bits_apart(picture.hashes(pictures)[:-1], picture.hashes(pictures)[1:]).min() >= 12


# ---- what a picture is like ------------------------------------------------------------------------------------------
def test_scores_are_those_of_cleanvision():
    """Their own functions, of the same picture at the size at which both judge sharpness."""
    from cleanvision.issue_managers.image_property import BlurrinessProperty, calc_percentile_brightness

    chance = np.random.default_rng(0)
    shown = np.stack([np.clip(scenes(1, seed)[0] * scale, 0, 255) for seed, scale in enumerate((1, 0.2, 0.6, 1.3))])
    shown = shown.astype(np.uint8)
    shown[2] = np.clip(shown[2] + chance.normal(0, 20, shown[2].shape), 0, 255)
    ours = picture.scores(torch.from_numpy(shown).permute(0, 3, 1, 2))
    for each, (dark, light, sharp) in zip(shown, ours, strict=True):
        image = Image.fromarray(each)
        low, high = calc_percentile_brightness(image, [5, 99])
        assert dark == pytest.approx(high, abs=0.01)
        assert light == pytest.approx(1 - low, abs=0.01)
        raw = BlurrinessProperty().calculate(image)
        blur, contrast = (1 - np.exp(-0.01 * raw[name]) for name in ("blurriness", "blurriness_grayscale_std"))
        assert sharp == pytest.approx(min(1, blur + (contrast if contrast > 0.18 else 0)), abs=0.05)


def test_dark_light_blurred_odd_and_strange_pictures():
    features, target = blobs(60)
    features[9] = -20
    scores, sizes = np.full((60, 3), 0.9, np.float32), np.full((60, 2), 100)
    scores[1, 0], scores[2, 1], scores[3, 2] = 0.1, 0.01, 0.1
    sizes[4], sizes[5] = (1000, 1000), (50, 200)
    found = suspects(recorded(features, target, scores=scores, sizes_hw=sizes))
    kinds = {(one.kind, one.row) for one in found}
    assert {("dark", 1), ("light", 2), ("blurred", 3), ("size", 4), ("size", 5), ("outlier", 9)} <= kinds
    assert all(0 <= one.score <= 1 for one in found)
    assert not [one for one in found if one.kind == "size" and one.row not in (4, 5)]


def test_a_picture_with_few_of_the_edges_of_the_others_is_blurred_whatever_its_border():
    """A bright border, which a blurred picture has too, keeps its score above the bound; a dark one is only dark."""
    features, target = blobs(60)
    shown = np.random.default_rng(0).integers(0, 256, (60, 12, 12, 3)).astype(np.uint8)
    shown[3] = np.linspace(120, 200, 12, dtype=np.uint8)[:, None, None]
    shown[4] //= 50
    scores = np.full((60, 3), 0.9, np.float32)
    scores[4, 0] = 0.1
    found = suspects(recorded(features, target, scores=scores, thumbnails=shown))
    assert [(one.row, one.kind) for one in found if one.kind in picture.BELOW] == [(4, "dark"), (3, "blurred")]
    assert "Its edges are weak" in next(one.said for one in found if one.kind == "blurred")


def test_fences_by_hand():
    assert fences(np.arange(5.0)) == (1 - 6, 3 + 6)  # quartiles 1 and 3


# ---- what is decided -------------------------------------------------------------------------------------------------
def test_a_table_has_a_line_for_each_suspect_and_what_was_decided():
    features, target = blobs(60)
    scores = np.full((60, 3), 0.9, np.float32)
    scores[7, 0] = 0.1
    found = recorded(features, target, scores=scores, keys=["=1+1", *(f"p{row}" for row in range(1, 60))])
    every = tuple(one for one in suspects(found) if one.kind == "dark")
    assert suspects_csv(found, ()).startswith("picture,split,label,kind,")
    text = suspects_csv(found, every, {(7, "dark"): "drop"})
    assert text.splitlines()[0] == "picture,split,label,kind,score,why,like,proposal,decision"
    assert "p7,train,label 1,dark" in text
    assert text.endswith("drop\n")


@pytest.mark.parametrize("count", [1, 2, 3, 6])
def test_few_pictures_are_no_error(count):
    features, _ = blobs(count)
    suspects(recorded(features, np.arange(count) % 2 if count > 1 else np.zeros(1, int)))
