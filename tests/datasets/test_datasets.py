"""Built-in sets, torchvision's sets, the contact sheet and the command."""

import hashlib
import io
import pickle
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from vizkit.__main__ import main
from vizkit.datasets import builtin, digits, from_torchvision
from vizkit.datasets.contact_sheet import contact_sheet
from vizkit.datasets.from_torchvision import open_torchvision
from vizkit.datasets.image_set import DatasetError, ImageSet, Source
from vizkit.datasets.opening import kind_of, open_set, splits_of

ROOT = Path(__file__).parents[2]


def png(level=0, size=(8, 8)):
    file = io.BytesIO()
    Image.new("RGB", size, (level, 0, 0)).save(file, "PNG")
    return file.getvalue()


ANTS_AND_BEES = {f"{label}/{i}.png": png(i) for label in ("ant", "bee") for i in range(8)}


@pytest.fixture
def folder(tmp_path):
    for name, content in ANTS_AND_BEES.items():
        path = tmp_path / "garden" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return tmp_path / "garden"


def files_in(root):
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())


# ---- built-in --------------------------------------------------------------------------------------------------------
def test_insects_are_drawn_by_split_seed_and_size():
    from vizkit.datasets.insects import LABELS, draw

    images = open_set("insects", "train", images=24, size_px=32, seed=5)
    assert (images.labels, len(images), images.notes) == (LABELS, 24, ())
    picture, target = images[7]
    drawn = draw(7, split="train", seed=5, size_px=32)
    assert (picture == drawn.picture).all()
    assert target == drawn.label == images.targets[7]
    assert np.bincount(images.targets).tolist() == [2] * 12
    others = [
        open_set("insects", "test", images=24, size_px=32, seed=5),
        open_set("insects", "train", images=24, size_px=32),
    ]
    others += [open_set("insects:hard", "train", images=24, size_px=32, seed=5)]
    assert all((other[7][0] != picture).any() for other in others)
    digests = {each.digest for each in (images, *others, open_set("insects", "train", images=25, size_px=32, seed=5))}
    assert len(digests) == 5
    assert open_set("insects", "train", images=24, size_px=32, seed=5).digest == images.digest


def test_how_many_insects_without_a_number(monkeypatch):
    monkeypatch.setattr(builtin.insects, "INSECTS", {"train": 30, "val": 12, "test": 20})
    assert [len(open_set("insects", split)) for split in ("train", "val", "test")] == [30, 12, 20]


def test_digits():
    images = open_set("digits", "val")
    row = digits.members("val")[7]
    assert (images[7][0] == digits.picture(row)).all()
    assert images[7][1] == digits.label(row)
    assert images.place(7) == f"digit {row}"
    few = open_set("digits", "val", images=20)
    assert few.targets.tolist() == images.targets[:20].tolist()
    assert (few[7][0] == images[7][0]).all()
    assert few.digest != images.digest != open_set("digits", "test").digest


@pytest.mark.parametrize("name", ["insects", "digits", "folder"])
def test_pictures_travel_and_are_the_callers_own(name, folder):
    images = open_set(folder if name == "folder" else name, "train", images=4, size_px=32)
    back = pickle.loads(pickle.dumps(images))
    assert (back[2][0] == images[2][0]).all()
    assert (back.digest, back.targets.tolist()) == (images.digest, images.targets.tolist())
    images[2][0][:] = 77
    assert (back[2][0] == images[2][0]).all()
    with pytest.raises(ValueError, match="read-only"):
        images.targets[0] = 3


def test_fewer_pictures_of_a_folder_are_of_all_classes(folder):
    images = open_set(str(folder), "train", images=4)
    assert np.bincount(images.targets).tolist() == [2, 2]
    assert [images.place(i)[:3] for i in range(4)] == ["ant", "ant", "bee", "bee"]
    everything = open_set(folder, "train", images=1000)
    assert "There are 12 images for train, not the 1,000 that were asked for." in everything.notes


def test_names(tmp_path, folder, monkeypatch):
    shutil.make_archive(str(tmp_path / "garden"), "zip", folder)
    (tmp_path / "garden.zip").rename(tmp_path / "garden.ZIP")
    (tmp_path / "text.txt").write_bytes(b"")
    assert kind_of("insects:easy") == ("insects", "easy")
    assert kind_of(folder) == ("folder", str(folder))
    assert kind_of(str(tmp_path / "garden.ZIP")) == ("archive", str(tmp_path / "garden.ZIP"))
    assert splits_of("insects") == splits_of("digits") == splits_of(folder) == ("train", "val", "test")
    assert splits_of(tmp_path / "garden.ZIP") == ("train", "val", "test")
    folder.rename(tmp_path / "digits")
    monkeypatch.chdir(tmp_path)
    assert open_set("./digits", "train").labels == open_set(Path("digits"), "train").labels == ("ant", "bee")
    assert len(open_set("digits", "train").labels) == 10


WRONG = {  # arguments of open_set → the sentence
    "split": (("digits", "dev"), {}, "There is no split 'dev'"),
    "number": (("digits", "train"), {"images": 0}, "at least one image, not 0"),
    "difficulty": (("insects:wild", "train"), {}, "not drawn 'wild'; choose one of easy"),
    "size": (("insects", "train"), {"size_px": 4096}, "16 to 512 pixels wide, not 4096"),
    "seed": (("insects", "train"), {"seed": -1}, "whole number from 0, not -1"),
    "digits of a kind": (("digits:mnist", "train"), {}, "There are no digits:mnist; choose digits or digits:faulty"),
    "torchvision": (("torchvision:mnist", "train"), {}, "choose one of cifar10, cifar100, flowers102, pets"),
    "name": (("insect", "train"), {}, "No set and no folder is called 'insect'"),
    "file": ((__file__, "train"), {}, "test_datasets.py is no set of images"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments(name):
    positional, named, sentence = WRONG[name]
    with pytest.raises(DatasetError, match=re.escape(sentence)) as caught:
        open_set(*positional, **named)
    assert "\n" not in str(caught.value)


def test_a_set_is_never_empty_and_sentences_are_short():
    with pytest.raises(DatasetError, match="has no images for val"):
        ImageSet("x", "val", ("a", "b"), np.array([], np.int64), builtin.digits.Written("val"), "")
    assert len(str(DatasetError("x" * 10_000))) == 300


def test_opening_is_light():
    code = (
        "import sys; from vizkit.datasets.opening import open_set; len(open_set('digits', 'train'))\n"
        "print([name for name in ('torch', 'torchvision', 'cv2', 'sklearn') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"


# ---- torchvision -----------------------------------------------------------------------------------------------------
@pytest.fixture
def cifar10(cache, monkeypatch):
    """Forty pictures in the files of CIFAR-10; only their checksums are others."""
    from torchvision.datasets import CIFAR10

    folder = cache / "torchvision" / "cifar10" / CIFAR10.base_folder
    folder.mkdir(parents=True)
    draw = np.random.default_rng(0)

    def store(name, content):
        data = pickle.dumps(content)
        (folder / name).write_bytes(data)
        return [name, hashlib.md5(data).hexdigest()]

    def batch(name, images):
        pixels = draw.integers(0, 256, (images, 3072), dtype=np.uint8)
        return store(name, {"data": pixels, "labels": [i % 2 for i in range(images)]})

    monkeypatch.setattr(CIFAR10, "train_list", [batch(f"data_batch_{i}", 20) for i in (1, 2)])
    monkeypatch.setattr(CIFAR10, "test_list", [batch("test_batch", 6)])
    name, md5 = store("batches.meta", {"label_names": ["cat", "dog"]})
    monkeypatch.setattr(CIFAR10, "meta", {"filename": name, "key": "label_names", "md5": md5})
    from_torchvision._made.cache_clear()
    return folder


def test_cifar(cifar10):
    from torchvision.datasets import CIFAR10

    parts = {split: open_set("torchvision:cifar10", split) for split in ("train", "val", "test")}
    assert [np.bincount(part.targets).tolist() for part in parts.values()] == [[18, 18], [2, 2], [3, 3]]
    assert (parts["val"].labels, parts["val"].name) == (("cat", "dog"), "torchvision:cifar10")
    assert parts["val"].notes == ("There is no val: 10% of train, chosen by seed 0, take its place.",)
    own = CIFAR10(str(cifar10.parent), train=True)
    places = {split: [parts[split].place(i) for i in range(len(parts[split]))] for split in ("train", "val")}
    rows = {split: [int(place.removeprefix("picture ")) for place in found] for split, found in places.items()}
    assert sorted(rows["train"] + rows["val"]) == list(range(40))
    for split in ("train", "val"):
        for i, row in enumerate(rows[split]):
            picture, target = parts[split][i]
            assert (picture == np.asarray(own[row][0])).all()
            assert target == own[row][1]
    other = open_set("torchvision:cifar10", "val", seed=1)
    assert other.digest != parts["val"].digest == open_set("torchvision:cifar10", "val").digest
    assert len(pickle.dumps(parts["train"])) < 3000  # not the pictures themselves


def test_damaged_files_of_torchvision(cifar10):
    (cifar10 / "test_batch").write_bytes(b"x")
    with pytest.raises(DatasetError, match="are damaged; delete the folder"):
        open_set("torchvision:cifar10", "train")


def test_pets(cache):
    root = cache / "torchvision" / "pets" / "oxford-iiit-pet"
    (root / "images").mkdir(parents=True)
    (root / "annotations").mkdir()
    breeds = [("Abyssinian", 1), ("great_pyrenees", 2)]
    lines = [f"{breed}_{i} {number} 1 1" for breed, number in breeds for i in range(10)]
    for i, line in enumerate(lines):
        (root / "images" / f"{line.split()[0]}.jpg").write_bytes(png(i))
    (root / "annotations" / "trainval.txt").write_text("\n".join(lines) + "\n")
    (root / "annotations" / "test.txt").write_text("\n".join(lines[::-5]) + "\n")
    images = open_torchvision("pets", "train")
    assert images.labels == ("Abyssinian", "Great Pyrenees")
    assert np.bincount(images.targets).tolist() == [9, 9]
    test = open_torchvision("pets", "test")
    assert (test.place(0), test[0][0][0, 0, 0], test[0][1]) == ("oxford-iiit-pet/images/great_pyrenees_9.jpg", 19, 1)
    from_torchvision._made.cache_clear()


def test_flowers(cache, monkeypatch):
    from scipy.io import savemat
    from torchvision.datasets import Flowers102

    root = cache / "torchvision" / "flowers102" / "flowers-102"
    (root / "jpg").mkdir(parents=True)
    for i in range(1, 7):
        (root / "jpg" / f"image_{i:05d}.jpg").write_bytes(png(i))
    savemat(root / "imagelabels.mat", {"labels": np.array([[1, 2, 3, 1, 2, 3]])})
    savemat(root / "setid.mat", {"trnid": np.array([[1, 2]]), "valid": np.array([[3, 4]]), "tstid": np.array([[5, 6]])})
    sums = {
        part: (f, hashlib.md5((root / f).read_bytes()).hexdigest())
        for part, f in (("label", "imagelabels.mat"), ("setid", "setid.mat"))
    }
    monkeypatch.setattr(Flowers102, "_file_dict", Flowers102._file_dict | sums)
    from_torchvision._made.cache_clear()
    val = open_torchvision("flowers102", "val")
    assert (val.targets.tolist(), val.notes, len(val.labels)) == ([2, 0], (), 102)
    assert [picture[0, 0, 0] for picture, _ in val] == [3, 4]


def test_a_silent_server_is_left_soon(cache, monkeypatch):
    from torchvision.datasets import CIFAR10

    with socket.create_server(("127.0.0.1", 0)) as silent:  # accepts, and says nothing
        monkeypatch.setattr(CIFAR10, "url", f"http://127.0.0.1:{silent.getsockname()[1]}/cifar.tar.gz")
        monkeypatch.setattr(from_torchvision, "SILENCE_S", 0.2)
        start = time.process_time()
        with pytest.raises(DatasetError, match="cannot be downloaded: there is no network"):
            open_set("torchvision:cifar10", "train")
    assert time.process_time() - start < 10
    assert list((cache / "torchvision").iterdir()) == []
    assert socket.getdefaulttimeout() is None


# ---- contact sheet ---------------------------------------------------------------------------------------------------
class Flat(Source):
    """Pictures of one level of grey: 10 × class + number in the class. Number 3 is broken."""

    def __init__(self, levels):
        self.levels = levels

    def picture(self, index):
        if self.levels[index] % 10 == 3:
            from vizkit.image import ImageError

            raise ImageError("The image is damaged.")
        return np.full((10, 14, 3), self.levels[index], np.uint8)


def flat(classes, each):
    targets = np.repeat(np.arange(classes), each)
    levels = [int(10 * target + i % each) for i, target in enumerate(targets)]
    return ImageSet("flat", "train", tuple(map(str, range(classes))), targets, Flat(levels), "")


def tiles(sheet, columns, rows, tile_px):
    """The level of every tile, −1 where it is white; the sheet must be flat inside tiles and white between them."""
    step = tile_px + 2
    assert sheet.shape == (rows * step - 2, columns * step - 2, 3)
    padded = np.pad(sheet, ((0, 2), (0, 2), (0, 0)), constant_values=255)
    cells = padded.reshape(rows, step, columns, step, 3).swapaxes(1, 2)
    inside = cells[:, :, :tile_px, :tile_px]
    assert (inside == inside[:, :, :1, :1, :1]).all()
    assert (cells[:, :, tile_px:] == 255).all()
    assert (cells[:, :, :, tile_px:] == 255).all()
    levels = inside[:, :, 0, 0, 0].astype(int)
    return np.where(levels == 255, -1, levels)


def test_sheet_has_a_row_for_each_class():
    found = tiles(contact_sheet(flat(3, 3), 4, 6, tile_px=6), 4, 6, 6)
    assert [sorted(found[[2 * i, 2 * i + 1]].ravel()) for i in range(3)] == [
        [-1] * 5 + [0, 1, 2],
        [-1] * 5 + [10, 11, 12],
        [-1] * 5 + [20, 21, 22],
    ]


def test_sheet_has_a_column_for_each_class_or_mixes_them():
    columns = tiles(contact_sheet(flat(5, 9), 5, 2, tile_px=6), 5, 2, 6)
    assert (columns // 10 == np.arange(5)).all()
    mixed = tiles(contact_sheet(flat(9, 2), 4, 4, tile_px=6), 4, 4, 6)
    assert len(set(mixed.ravel())) == 16
    assert len({tuple(row // 10) for row in mixed}) == 4


def test_sheet_follows_from_its_seed_and_skips_broken_pictures():
    images = flat(2, 9)
    one, same, other = (contact_sheet(images, 4, 2, 6, seed) for seed in (0, 0, 1))
    assert (one == same).all()
    assert (one != other).any()
    found = tiles(contact_sheet(images, 9, 2, 6), 9, 2, 6)
    assert [sorted(row) for row in found] == [[-1, 0, 1, 2, 4, 5, 6, 7, 8], [-1, 10, 11, 12, 14, 15, 16, 17, 18]]


def test_sheet_cuts_the_middle_and_refuses_nonsense():
    picture = np.zeros((8, 16, 3), np.uint8)
    picture[:, 4:12] = 200

    class One(Source):
        def picture(self, index):
            return picture

    images = ImageSet("one", "train", ("a", "b"), np.array([0, 1]), One(), "")
    assert (tiles(contact_sheet(images, 1, 2, 8), 1, 2, 8) == 200).all()
    for wrong in ((0, 1, 8), (1, 1, 0), (1000, 1, 100)):
        with pytest.raises(DatasetError, match="choose fewer tiles"):
            contact_sheet(images, *wrong)


# ---- the command -----------------------------------------------------------------------------------------------------
def test_command_tells_and_writes(folder, tmp_path, capsys):
    (folder / "ant" / "x.txt").write_bytes(b"")
    sheet = tmp_path / "sheet.png"
    assert main(["datasets", str(folder), "--split", "val", "-o", str(sheet), "--seed", "2"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "garden: 2 classes, 16 images",
        "     train  val  test",
        "ant      6    1     1",
        "bee      6    1     1",
        "all     12    2     2",
        "train sizes: 8×8",
        "val sizes: 8×8",
        "test sizes: 8×8",
        "Divided by seed 2, each class alike: 70% train, 15% val, 15% test.",
        "Left out: files that are no images by their names (1, such as ant/x.txt).",
        f"{sheet}: images of val",
    ]
    with Image.open(sheet) as image:
        assert image.size == (12 * 98 - 2, 8 * 98 - 2)


def test_command_checks(folder, capsys):
    place = open_set(folder, "train").place(3)
    (folder / place).write_bytes(b"x")
    assert main(["datasets", str(folder)]) == 0
    assert "train: some images cannot be opened; --check names them\n" in capsys.readouterr().out
    assert main(["datasets", str(folder), "--check"]) == 0
    printed = capsys.readouterr().out
    assert f"train: 1 of 12 images cannot be opened\n  {place}: This is not an image" in printed
    assert "val: 0 of 2 images cannot be opened\n" in printed


def test_command_lists_what_is_built_in(capsys):
    assert main(["datasets"]) == 0
    printed = capsys.readouterr().out
    for name in builtin.ABOUT:
        assert f"{name} " in printed
        kind_of(name)
    assert set(from_torchvision.SETS) == {name.split(":")[1] for name in builtin.ABOUT if "torchvision" in name}


def test_command_with_many_classes_and_few_images(capsys, monkeypatch):
    monkeypatch.setattr("vizkit.commands.datasets.MOST_CLASSES", 4)
    assert main(["datasets", "digits", "--images", "30"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "digits: 10 classes, 90 images"
    assert lines[6:9] == ["all     30   30    30", "… and 6 classes more", "train sizes: 32×32"]


WRONG_COMMANDS = {
    "no such set": (
        ["nowhere"],
        "No set and no folder is called 'nowhere'; give insects, digits, torchvision:…, a folder",
    ),
    "no such folder to write to": (["digits", "-o", "nowhere/x.png"], "cannot be written"),
    "no image to write": (["digits", "-o", "x.txt"], "give a name that ends in .png"),
    "no images": (["digits", "--images", "0"], "--images. Must be > 0"),
    "size": (["insects", "--size", "9999"], "16 to 512 pixels wide"),
}


@pytest.mark.parametrize("name", WRONG_COMMANDS)
def test_command_says_what_is_wrong(name, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given, sentence = WRONG_COMMANDS[name]
    assert main(["datasets", *given]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert sentence in printed.err
    assert printed.err.startswith("vizkit: ")
    assert printed.err.count("\n") == 1
    assert files_in(tmp_path) == []


def test_command_for_a_split_that_is_not_there(tmp_path, capsys):
    for label in ("ant", "bee"):
        (tmp_path / "few" / label).mkdir(parents=True)
        (tmp_path / "few" / label / "1.png").write_bytes(png())
    assert main(["datasets", str(tmp_path / "few"), "--split", "val", "-o", str(tmp_path / "s.png")]) == 2
    assert "few has no images for val" in capsys.readouterr().err
