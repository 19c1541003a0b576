"""Folders of pictures: what they mean, how they are divided, and what is left out or refused."""

import os
import pickle
import subprocess
import sys
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from vizkit.datasets.folder import open_folder, splits_in
from vizkit.datasets.image_set import DatasetError
from vizkit.datasets.inspection import check, summary
from vizkit.datasets.layout import natural, split_of
from vizkit.datasets.split_shares import counts, divide, fair_choice
from vizkit.evaluation.pictures import open_pictures
from vizkit.explanations.source import open_source

ROOT = Path(__file__).parents[2]
SPLITS = ("train", "val", "test")


def paint(path, level=0, size=(8, 8)):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, (level, 0, 0)).save(path)


def touch(folder, names):
    """Files that are pictures by their names only: enough for whatever does not open them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_bytes(b"")


def classes(root, **sizes):
    for label, size in sizes.items():
        touch(root / label, [f"{i}.jpg" for i in range(size)])


def places(images):
    return [images.place(i) for i in range(len(images))]


def members(root, seed=0):
    return {split: set(places(open_folder(root, split, seed=seed))) for split in splits_in(root, seed=seed)}


# ---- what a folder means ---------------------------------------------------------------------------------------------
def test_split_folders_are_taken_as_they_are(tmp_path):
    for level, path in enumerate(("Training/ant/1.png", "valid/ant/1.png", "TEST_set/ant/1.png")):
        paint(tmp_path / path, level)
        paint(tmp_path / path.replace("ant", "bee"), level + 100)
    for level, split in enumerate(SPLITS):
        images = open_folder(tmp_path, split)
        assert (images.name, images.split, images.labels) == (tmp_path.name, split, ("ant", "bee"))
        assert [(picture[0, 0, 0], target) for picture, target in images] == [(level, 0), (level + 100, 1)]
        assert images.notes == ()
    assert places(images) == ["TEST_set/ant/1.png", "TEST_set/bee/1.png"]


def test_class_folders_are_divided_alike_in_every_class(tmp_path):
    classes(tmp_path, ant=100, bee=20)
    found = {split: open_folder(tmp_path, split, seed=3) for split in SPLITS}
    assert [np.bincount(images.targets).tolist() for images in found.values()] == [[70, 14], [15, 3], [15, 3]]
    every = [place for images in found.values() for place in places(images)]
    assert len(every) == len(set(every)) == 120
    assert found["val"].notes == ("Divided by seed 3, each class alike: 70% train, 15% val, 15% test.",)


def test_division_follows_from_seed_and_names_alone(tmp_path):
    classes(tmp_path / "one", ant=40, bee=40)
    before = members(tmp_path / "one")
    assert members(tmp_path / "one") == before != members(tmp_path / "one", seed=1)
    for i in reversed(range(40)):  # the same files, made in another order and elsewhere
        touch(tmp_path / "two" / "bee", [f"{i}.jpg"])
        touch(tmp_path / "two" / "ant", [f"{i}.jpg"])
    assert members(tmp_path / "two") == before
    classes(tmp_path / "one", wasp=33, aphid=7)  # other classes, one of them sorted first
    after = members(tmp_path / "one")
    kept = {split: {path for path in after[split] if path[:3] in ("ant", "bee")} for split in SPLITS}
    assert kept == before


def test_division_is_fixed_for_ever():
    """Another division would test models on the pictures that they were trained on."""
    rows = divide(np.zeros(12, np.int64), [f"ant/{i}.jpg" for i in range(12)], 0, {"train": 0.7, "val": 0.3})
    assert {split: part.tolist() for split, part in rows.items()} == FIXED


FIXED = {"train": [1, 2, 4, 5, 6, 7, 8, 10], "val": [0, 3, 9, 11]}


def test_a_new_picture_moves_few_of_its_class(tmp_path):
    classes(tmp_path, ant=200, bee=3)
    before = members(tmp_path)
    touch(tmp_path / "ant", ["new.jpg"])
    after = members(tmp_path)
    assert sum(len(before[split] - after[split]) for split in SPLITS) <= 2


@pytest.mark.parametrize(
    "pictures, expected", [(0, [0, 0, 0]), (1, [1, 0, 0]), (2, [1, 0, 1]), (3, [1, 1, 1]), (4, [2, 1, 1])]
)
def test_small_classes(pictures, expected):
    assert counts(pictures, {"train": 0.7, "val": 0.15, "test": 0.15}) == expected


def test_counts_leave_something_for_train_whatever_the_shares():
    for pictures in range(3, 60):
        given = counts(pictures, {"train": 0.01, "val": 0.5, "test": 0.49})
        assert (sum(given), min(given) >= 1) == (pictures, True)


def test_fair_choice_is_proportional_and_grows():
    targets = np.repeat([0, 1], [90, 10])
    keys = [str(i) for i in range(100)]
    small, large = fair_choice(targets, keys, 10, 0), fair_choice(targets, keys, 30, 0)
    assert (np.bincount(targets[small]).tolist(), np.bincount(targets[large]).tolist()) == ([9, 1], [27, 3])
    assert set(small) < set(large)
    assert set(small) != set(fair_choice(targets, keys, 10, 1))


def test_train_and_test_without_val(tmp_path):
    classes(tmp_path / "train", ant=34, bee=34)
    classes(tmp_path / "test", ant=5, bee=5)
    found = members(tmp_path)
    assert {split: len(paths) for split, paths in found.items()} == {"train": 56, "val": 12, "test": 10}
    assert all(path.startswith("test/") for path in found["test"])
    assert all(path.startswith("train/") for path in found["val"])
    assert "There is no val: 18% of train, chosen by seed 0, take its place." in open_folder(tmp_path, "val").notes


def test_train_and_val_without_test(tmp_path):
    classes(tmp_path / "train", ant=3, bee=3)
    classes(tmp_path / "val", ant=2, bee=2)
    found = members(tmp_path)
    assert found["test"] == found["val"] == {f"val/{label}/{i}.jpg" for label in ("ant", "bee") for i in (0, 1)}
    for split in ("train", "test"):
        assert "There is no test: val takes its place" in open_folder(tmp_path, split).notes[0]
    assert open_folder(tmp_path, "val").notes == ()


def test_train_alone_is_divided(tmp_path):
    classes(tmp_path / "train", ant=20, bee=20)
    assert {split: len(paths) for split, paths in members(tmp_path).items()} == {"train": 28, "val": 6, "test": 6}


def test_a_split_without_pictures(tmp_path):
    classes(tmp_path, ant=2, bee=2)
    assert splits_in(tmp_path) == ("train", "test")
    with pytest.raises(DatasetError, match="no images for val"):
        open_folder(tmp_path, "val")
    assert "No images in val: ant, bee." in open_folder(tmp_path, "train").notes


def test_a_class_may_be_called_train(tmp_path):
    classes(tmp_path, car=5, train=5, plane=5)
    assert open_folder(tmp_path, "train").labels == ("car", "plane", "train")


def test_wrapping_folders_and_flat_test_pictures(tmp_path):
    inside = tmp_path / "download" / "data"
    classes(inside / "train", ant=10, bee=10)
    touch(inside / "test", ["unknown.jpg"])  # as in many competitions
    images = open_folder(tmp_path, "test")
    assert len(images) == 4
    assert "Left out: folders that are no split, or that have no class folders (1, such as test)." in images.notes


def test_labels_in_any_script_stand_in_natural_order(tmp_path):
    names = ["класс 10", "класс 2", "سوسک", "Ant", "bee", "é"]
    for name in names:
        touch(tmp_path / unicodedata.normalize("NFD", name), ["یک 1.jpg", "два.png"])
    images = open_folder(tmp_path, "train")
    assert images.labels == ("Ant", "bee", "é", "класс 2", "класс 10", "سوسک")
    assert images.place(len(images) - 1).startswith("سوسک/")
    assert sorted(["a10", "a", "a2", "۳", "۱۲"], key=natural) == ["۳", "۱۲", "a", "a2", "a10"]


def test_unicode_forms_of_one_class_are_one_class(tmp_path):
    """A folder that was on macOS in one split and not in the other."""
    for split, form in (("train", "NFC"), ("val", "NFD"), ("test", "NFC")):
        classes(tmp_path / split, **{unicodedata.normalize(form, "bée"): 1, "ant": 1})
    assert open_folder(tmp_path, "val").labels == ("ant", "bée")


@pytest.mark.skipif(os.name == "nt", reason="names are Unicode there")
def test_names_that_are_no_unicode(tmp_path):
    for label in (b"caf\xe9", b"ant"):
        paint(tmp_path / os.fsdecode(label) / os.fsdecode(b"\xff.png"))
    images = open_folder(tmp_path, "train")
    assert images.labels == ("ant", "caf�")
    assert images.place(1) == "caf�/�.png"
    assert images[1][0].shape == (8, 8, 3)


# ---- what is left out ------------------------------------------------------------------------------------------------
def test_junk_is_ignored_and_other_things_are_told(tmp_path):
    classes(tmp_path, ant=10, bee=10, empty=0)
    touch(tmp_path / "ant", [".hidden.jpg", "Thumbs.db", "._1.jpg", "notes.txt"])
    touch(tmp_path / "__MACOSX" / "ant", ["1.jpg"])
    touch(tmp_path / ".git", ["1.jpg"])
    touch(tmp_path, ["loose.png"])
    touch(tmp_path / "bee" / "more", ["11.jpg"])
    os.mkfifo(tmp_path / "bee" / "pipe.jpg")
    images = open_folder(tmp_path, "train")
    assert images.labels == ("ant", "bee")
    assert sum(map(len, members(tmp_path).values())) == 21
    assert set(images.notes[1:]) == {
        "Left out: files that are no images by their names (2, such as ant/notes.txt).",
        "Left out: images that lie beside the class folders (1, such as loose.png).",
        "Left out: folders without images (1, such as empty).",
        "Counted for their class: images in a folder inside the class folder (1, such as bee/more/11.jpg).",
    }


def test_links_stay_in_the_folder(tmp_path):
    outside, root = tmp_path / "outside", tmp_path / "root"
    touch(outside, ["secret.jpg"])
    classes(root, ant=4, bee=4)
    (root / "ant" / "out.jpg").symlink_to(outside / "secret.jpg")
    (root / "ant" / "broken.jpg").symlink_to(root / "nowhere.jpg")
    (root / "thief").symlink_to(outside)
    (root / "bee" / "circle").symlink_to(root)
    (root / "bee" / "sideways").symlink_to(root / "ant")
    (root / "ant" / "same.jpg").symlink_to(root / "ant" / "0.jpg")
    images = open_folder(root, "train")
    every = set().union(*members(root).values())
    assert every == {f"{label}/{i}.jpg" for label in ("ant", "bee") for i in range(4)} | {"ant/same.jpg"}
    assert "Left out: links that lead out of the folder, or in circles (5, such as ant/broken.jpg)." in images.notes
    (tmp_path / "door").symlink_to(root)
    assert members(tmp_path / "door") == members(root)


def test_a_link_to_where_it_lies_is_no_class(tmp_path):
    classes(tmp_path / "train", ant=4, bee=4)
    (tmp_path / "train" / "self").symlink_to(tmp_path / "train")
    assert open_folder(tmp_path, "train").labels == ("ant", "bee")


@pytest.mark.parametrize("kind", ["classes", "pictures"])
@pytest.mark.parametrize("allowed", [True, False])
def test_links_are_followed_inside_a_folder_that_the_owner_allows(tmp_path, monkeypatch, kind, allowed):
    pool, root = tmp_path / "pool", tmp_path / "root"
    classes(pool, ant=4, bee=4)
    for label in ("ant", "bee"):
        (root / label).parent.mkdir(exist_ok=True)
        if kind == "classes":
            (root / label).symlink_to(pool / label)
        else:
            (root / label).mkdir()
            for i in range(4):
                (root / label / f"{i}.jpg").symlink_to(pool / label / f"{i}.jpg")
    monkeypatch.setenv("VIZKIT_DATA_ROOTS", str(pool if allowed else root))
    if allowed:
        assert set().union(*members(root).values()) == {
            f"{label}/{i}.jpg" for label in ("ant", "bee") for i in range(4)
        }
        assert len(open_source(str(root)).digest)
        assert open_source(str(root)).images == 8
    else:
        with pytest.raises(DatasetError, match="are links that lead out of it, such as 'ant"):
            open_folder(root, "train")


@pytest.mark.parametrize("there", [("val",), ("test",), ("val", "test")])
def test_a_folder_without_train_is_judged_and_not_learned_from(tmp_path, there):
    for split in there:
        classes(tmp_path / split, ant=2, bee=3)
    judged = {split: places(open_folder(tmp_path, split)) for split in splits_in(tmp_path)}
    own = {
        split: [f"{split}/{label}/{i}.jpg" for label, n in (("ant", 2), ("bee", 3)) for i in range(n)]
        for split in there
    }
    assert judged == own | ({"test": own["val"]} if there == ("val",) else {})
    assert open_folder(tmp_path, there[0]).notes == ()
    assert len(open_pictures(tmp_path)) == 5
    with pytest.raises(DatasetError, match="none for training; add a folder 'train'"):
        open_folder(tmp_path, "train")


REFUSED = {  # files → the sentence
    "nothing": ([], "There are no images in"),
    "no images": (["ant/a.txt", "bee/b.csv"], "There are no images in"),
    "side by side": (["1.jpg", "2.jpg"], "lie side by side"),
    "one class": (["ant/1.jpg", "ant/2.jpg", "empty/x.txt"], "All images .* are of one class, 'ant'"),
    "splits without classes": (["train/1.jpg", "test/2.jpg"], "The folder 'test' has no class folders"),
    "no train": (["test/ant/1.jpg", "test/bee/1.jpg"], "a folder 'test' but none for training"),
    "two trains": (
        [f"{split}/{label}/1.jpg" for split in ("train_a", "train_b", "test") for label in ("ant", "bee")],
        "'train_a' and 'train_b' could each be train",
    ),
    "a class in test only": (
        [*(f"train/{label}/1.jpg" for label in ("ant", "bee")), "test/ant/1.jpg", "test/Bee/1.jpg"],
        "The class 'Bee' is in test but not in train",
    ),
    "groups of classes": (["pests/ant/1.jpg", "pests/fly/1.jpg", "others/bee/1.jpg"], "deeper than folders of classes"),
    "folds": (["one/train/1.jpg", "two/train/1.jpg"], "deeper than folders of classes"),
    "deep": (["ant/1.jpg", "bee/a/b/1.jpg"], "'bee/a/b/1.jpg' lies deeper"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_in_one_sentence(tmp_path, name):
    files, sentence = REFUSED[name]
    for path in files:
        touch((tmp_path / path).parent, [Path(path).name])
    with pytest.raises(DatasetError, match=sentence) as caught:
        open_folder(tmp_path, "train")
    assert str(caught.value).count(".") - str(caught.value).count(".jpg") == 1
    assert "\n" not in str(caught.value)


def test_an_exact_name_wins_and_the_other_is_told(tmp_path):
    for split in ("train", "train_augmented", "test"):
        classes(tmp_path / split, ant=10, bee=10)
    images = open_folder(tmp_path, "train")
    assert not any("augmented" in path for path in places(images))
    assert any("such as train_augmented" in note for note in images.notes)


def test_no_folder(tmp_path):
    with pytest.raises(DatasetError, match="There is no folder 'nowhere'"):
        open_folder(tmp_path / "nowhere", "train")


# ---- pictures --------------------------------------------------------------------------------------------------------
@pytest.fixture
def partly_broken(tmp_path):
    for split in SPLITS:
        for label in ("ant", "bee"):
            for i in range(3):
                paint(tmp_path / split / label / f"{i}.png", i, size=(8 + 4 * i, 16))
    (tmp_path / "train" / "bee" / "1.png").write_bytes(b"not an image")
    whole = (tmp_path / "train" / "ant" / "2.png").read_bytes()
    (tmp_path / "train" / "ant" / "2.png").write_bytes(whole[:50])  # the header is there
    return tmp_path


def test_a_broken_file_is_named_when_opened(partly_broken):
    images = open_folder(partly_broken, "train")
    assert images[0][0].shape == (16, 8, 3)
    with pytest.raises(DatasetError, match=r"^train/bee/1.png: This is not an image"):
        images[4]
    (partly_broken / "train" / "ant" / "0.png").unlink()
    with pytest.raises(DatasetError, match=r"^train/ant/0.png: There is no file"):
        images[0]


def test_check_opens_all(partly_broken):
    told = []
    images = open_folder(partly_broken, "train")
    broken, whole = check(images, lambda done, of: told.append((done, of)))
    assert [place for place, _ in broken] == ["train/ant/2.png", "train/bee/1.png"]
    assert broken[0][1] == "The image is damaged or cut off; save it again as PNG or JPEG."
    assert places(whole) == ["train/ant/0.png", "train/ant/1.png", "train/bee/0.png", "train/bee/2.png"]
    assert [target for _, target in whole] == whole.targets.tolist() == [0, 0, 1, 1]
    assert whole.notes == ("Left out: images that cannot be opened (2, such as train/ant/2.png).",)
    assert whole.digest != images.digest
    assert told == [(i, 6) for i in range(1, 7)]
    assert check(whole) == ([], whole)
    with pytest.raises(DatasetError, match="None of the 2 images"):
        check(images.take(np.array([2, 4])))


def test_summary(partly_broken):
    found = summary(open_folder(partly_broken, "train"))
    assert (found.images, found.counts, found.unreadable) == (6, {"ant": 3, "bee": 3}, 2)
    assert found.sizes == "smallest 8×16, median 12×16, largest 16×16"
    assert summary(open_folder(partly_broken, "val").take(np.array([0, 3]))).sizes == "8×16"


def test_digest_follows_from_the_pictures(tmp_path):
    classes(tmp_path, ant=10, bee=10)
    first = open_folder(tmp_path, "train").digest
    assert open_folder(tmp_path, "train").digest == first
    assert len({first, open_folder(tmp_path, "val").digest, open_folder(tmp_path, "train", seed=1).digest}) == 3
    path = tmp_path / open_folder(tmp_path, "train").place(0)
    path.write_bytes(b"other")
    assert open_folder(tmp_path, "train").digest != first
    tmp_path.joinpath("ant").rename(tmp_path / "wasp")
    assert open_folder(tmp_path, "train").labels == ("bee", "wasp")


def test_it_is_a_sequence_that_travels(partly_broken):
    images = pickle.loads(pickle.dumps(open_folder(partly_broken, "val")))
    assert (images[-1][0] == images[len(images) - 1][0]).all()
    assert len(list(images)) == 6
    with pytest.raises(IndexError):
        images[6]


def test_data_loader_takes_it(partly_broken):
    from torch.utils.data import DataLoader

    images = open_folder(partly_broken, "test").take(np.array([0, 3]))
    loader = DataLoader(images, batch_size=2, num_workers=1, multiprocessing_context="fork")
    ((pictures, targets),) = list(loader)
    assert (tuple(pictures.shape), targets.tolist()) == ((2, 16, 8, 3), [0, 1])


@pytest.mark.rest
def test_twenty_thousand_files_are_listed_quickly(tmp_path):
    for label in range(20):
        touch(tmp_path / f"class {label}", [f"{i}.jpg" for i in range(1000)])
    code = (  # in a process of its own, without the type checks of the tests; work is measured, not waiting
        "import sys, time; from pathlib import Path; from vizkit.datasets.folder import open_folder\n"
        "start = time.process_time(); images = open_folder(Path(sys.argv[1]), 'train')\n"
        "print(len(images), time.process_time() - start)"
    )
    run = subprocess.run([sys.executable, "-c", code, tmp_path], cwd=ROOT, capture_output=True, text=True, check=True)
    images, took_s = run.stdout.split()
    assert images == "14000"
    assert float(took_s) < 4  # measured: 0.9


def test_split_names():
    assert [split_of(name) for name in ("Train", "TRAINING", "valid", "validation", "Test-1", "contest", "vale")] == [
        "train",
        "train",
        "val",
        "val",
        "test",
        None,
        "val",
    ]
