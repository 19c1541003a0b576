"""The check of a data set on toys: counts, copies and rows worked out by hand."""

import numpy as np
from PIL import Image

from vizkit.datasets.balance import balanced_rows, imbalance
from vizkit.datasets.data_check import Finding, class_findings, copies, data_check
from vizkit.datasets.opening import open_set


def test_rows_take_every_class_in_turn():
    targets = np.array([0, 0, 0, 1, 1, 2])
    assert balanced_rows(targets, 4).tolist() == [0, 3, 5, 1]
    assert balanced_rows(targets, 9).tolist() == [0, 3, 5, 1, 4, 2]
    assert balanced_rows(targets, 2).tolist() == [0, 5]
    assert balanced_rows(np.arange(9), 3).tolist() == [0, 4, 8]


def test_a_class_is_small_beside_one_of_three_times_its_size():
    assert imbalance({"ant": 30, "bee": 10, "cat": 11, "dog": 2, "elk": 0}) == ["dog", "bee"]
    assert imbalance({"ant": 29, "bee": 10}) == []
    assert imbalance({}) == []


def test_copies_within_a_split_and_across():
    same = {("train", "a"): b"1", ("train", "b"): b"2", ("train", "c"): b"2", ("test", "d"): b"1", ("val", "e"): b"3"}
    assert copies(same) == [
        Finding(2, "images that occur in several splits", "d = a"),
        Finding(2, "images that occur twice", "b = c"),
    ]
    assert copies({("train", "a"): b"1"}) == []


def test_numbers_of_pictures():
    sound = {"ant": 4, "bee": 5}
    assert class_findings({"train": sound, "val": sound, "test": sound}) == []
    assert class_findings({"train": {"ant": 9, "bee": 3}, "val": {"ant": 2, "bee": 0}, "test": sound}) == [
        Finding(1, "class only to validate: there is nothing to tell apart", "ant"),
        Finding(1, "classes with a third of the largest or less (ant, 9)", "bee, 3"),
    ]
    assert class_findings({"train": {"ant": 1, "bee": 1, "cat": 0}}) == [
        Finding(1, "classes without an image to learn from", "cat")
    ]


def test_a_folder_is_looked_at_whole(tmp_path):
    for split, label, colours in (
        ("train", "ant", (1, 2, 2)),
        ("train", "bee", (3, 4, 5)),
        ("val", "ant", (1,)),
        ("val", "bee", (7,)),
        ("test", "ant", (8,)),
        ("test", "bee", (9,)),
    ):
        folder = tmp_path / split / label
        folder.mkdir(parents=True)
        for number, colour in enumerate(colours):
            Image.new("RGB", (20, 20), (colour, 0, 0)).save(folder / f"{number}.png")
    (tmp_path / "train" / "bee" / "0.png").write_bytes(b"no image")
    report = data_check({split: open_set(tmp_path, split) for split in ("train", "val", "test")})
    assert (report.opened, report.images) == (10, 10)
    assert [(each.count, each.what) for each in report.findings] == [
        (1, "images that cannot be opened"),
        (2, "images that occur in several splits"),
        (2, "images that occur twice"),
    ]
    assert "bee/0.png" in report.findings[0].example
    assert data_check({"train": open_set(tmp_path, "train")}, seconds=-1.0).opened == 0
