"""Zip files from strangers: what is taken, what is refused, and that nothing is left half done."""

import io
import os
import re
import stat
import struct
import zipfile

import pytest

from tests.datasets.test_datasets import ANTS_AND_BEES, files_in, folder, png  # noqa: F401
from vizkit.datasets import archive
from vizkit.datasets.archive import open_archive, unpack, unpacked
from vizkit.datasets.cache import complete_folder
from vizkit.datasets.folder import open_folder
from vizkit.datasets.image_set import DatasetError
from vizkit.datasets.opening import open_set


def zipped(files, **options):
    """The bytes of a zip file with these names and contents."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", **options) as out:
        for name, content in files.items():
            out.writestr(name, content)
    return file.getvalue()


def test_archive_is_unpacked_once_and_taken_as_a_folder(folder, tmp_path, cache, monkeypatch):  # noqa: F811
    path = tmp_path / "bugs.zip"
    path.write_bytes(zipped({f"my bugs/{name}": content for name, content in ANTS_AND_BEES.items()}))
    images, direct = open_set(path, "train"), open_folder(folder, "train")
    assert (images.name, images.labels) == ("bugs", ("ant", "bee"))
    assert [images.place(i) for i in range(len(images))] == [direct.place(i) for i in range(len(direct))]
    assert all((one[0] == two[0]).all() and one[1] == two[1] for one, two in zip(images, direct, strict=True))
    assert files_in(unpacked(path)) == sorted(ANTS_AND_BEES)
    monkeypatch.setattr(archive, "_unpack", None)  # not called again
    assert open_archive(path.read_bytes(), "train", name="upload").name == "upload"
    assert [each.name for each in (cache / "archives").iterdir()] == [unpacked(path).name]


def test_digest_of_an_archive_does_not_follow_from_when_it_was_unpacked(cache):
    data = zipped(ANTS_AND_BEES)
    digest = open_archive(data, "train").digest
    unpacked(data).rename(cache / "away")
    os.utime(unpacked(data) / "ant" / "0.png", ns=(1, 1))
    assert open_archive(data, "train").digest == digest != open_archive(data, "val").digest
    other = zipped(ANTS_AND_BEES | {"bee/0.png": png(99)})
    assert open_archive(other, "train").digest != digest


def test_only_pictures_are_taken(tmp_path):
    junk = {"__MACOSX/ant/._0.png": b"x", ".DS_Store": b"x", "ant/._0.png": b"x", "run.sh": b"x", "ant/.x/1.png": b"x"}
    found = unpack(zipped(ANTS_AND_BEES | junk | {"ant/THUMBS.DB": b"x", "empty/": b""}), tmp_path / "out")
    assert files_in(found) == sorted(ANTS_AND_BEES)


def test_a_wrapping_split_or_class_folder_is_kept(tmp_path):
    for i, names in enumerate((["train/ant/1.png", "train/bee/1.png"], ["ant/1.png", "ant/2.png"])):
        assert files_in(unpack(zipped(dict.fromkeys(names, png())), tmp_path / str(i))) == names


OUTSIDE = [
    "../evil.png",
    "a/../../evil.png",
    "/evil.png",
    "//server/evil.png",
    "..\\evil.png",
    "C:\\evil.png",
    "C:/x.png",
]


@pytest.mark.parametrize("name", OUTSIDE)
def test_names_outside_are_refused(tmp_path, name):
    with pytest.raises(DatasetError, match="names places outside itself"):
        unpack(zipped(ANTS_AND_BEES | {name: png()}), tmp_path / "in" / "out")
    assert files_in(tmp_path) == []


def test_links_are_not_made(tmp_path):
    link = zipfile.ZipInfo("ant/link.png")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    found = unpack(zipped(ANTS_AND_BEES | {link: "/etc/hostname"}), tmp_path / "out")
    assert files_in(found) == sorted(ANTS_AND_BEES)


def test_backslashes_and_names_in_many_scripts(tmp_path):
    names = ["муха/дом.png", "مگس/۱.png", "bee\\é.png"]
    data = zipped(dict.fromkeys(names, png()))
    assert files_in(unpack(data, tmp_path / "said")) == sorted(name.replace("\\", "/") for name in names)
    assert set(files_in(unpack(without_utf8_flag(data), tmp_path / "unsaid"))) == set(files_in(tmp_path / "said"))
    old = zipped({"caf_/a.png": png(), "bee/a.png": png()}).replace(b"caf_", b"caf\x82")  # code page 437
    assert files_in(unpack(old, tmp_path / "old")) == ["bee/a.png", "café/a.png"]


def without_utf8_flag(data):
    """As macOS writes zip files: names in UTF-8, and the flag that says so not set."""
    changed = bytearray(data)
    for signature, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        for found in re.finditer(re.escape(signature), data):
            changed[found.start() + flags + 1] &= ~0x08
    return bytes(changed)


def encrypted(data):
    changed = bytearray(data)
    for signature, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        for found in re.finditer(re.escape(signature), data):
            changed[found.start() + flags] |= 1
    return bytes(changed)


def damaged_inside(data):
    """The table of contents is whole, the first picture is not."""
    return data[:60] + bytes(8) + data[68:]


BAD = {  # how a good zip file is made a bad one → the sentence
    "empty": (lambda data: b"", "damaged or cut off"),
    "cut": (lambda data: data[:-30], "damaged or cut off"),
    "half": (lambda data: data[: len(data) // 2], "damaged or cut off"),
    "other": (lambda data: b"no zip file at all", "damaged or cut off"),
    "inside": (damaged_inside, "damaged or cut off"),
    "encrypted": (encrypted, "encrypted"),
    "no images": (lambda data: zipped({"readme.txt": b"x"}), "holds no images"),
    "file and folder": (lambda data: zipped({"a.png": png(), "a.png/b.png": png()}), "a file and a folder"),
    "method": (lambda data: data.replace(b"\x14\x00\x00\x00\x00\x00", b"\x14\x00\x00\x00\x61\x00"), "unusual way"),
    "long name": (lambda data: zipped({f"{'x' * 300}/a.png": png()}), "cannot be unpacked"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_archives_are_refused_and_leave_nothing(tmp_path, name):
    spoil, sentence = BAD[name]
    with pytest.raises(DatasetError, match=sentence) as caught:
        unpack(spoil(zipped(ANTS_AND_BEES)), tmp_path / "out")
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_bombs(tmp_path, monkeypatch):
    many = zipped(ANTS_AND_BEES)
    monkeypatch.setattr(archive, "RATIO_FROM", 2**20)
    bomb = zipped({"ant/0.bmp": bytes(4 * 2**20), "bee/0.bmp": b"x"}, compression=zipfile.ZIP_DEFLATED)
    assert len(bomb) < 2**14
    with pytest.raises(DatasetError, match="unpacks to far more than images do"):
        unpack(bomb, tmp_path / "out")
    monkeypatch.setattr(archive, "MAX_BYTES", 2**20)
    with pytest.raises(DatasetError, match="unpacks to more than 0 GiB"):
        unpack(bomb, tmp_path / "out")
    monkeypatch.setattr(archive, "MAX_FILES", 15)
    monkeypatch.setattr(zipfile, "ZipFile", None)  # refused before it is parsed
    with pytest.raises(DatasetError, match="more than 15 files"):
        unpacked(many)
    assert files_in(tmp_path) == []


def test_sizes_that_lie_are_found_out(tmp_path):
    """A file that unpacks to more than it declares is not written beyond that."""
    content = bytes(2**20)
    honest = zipped({"ant/0.bmp": content, "bee/0.png": png()}, compression=zipfile.ZIP_DEFLATED)
    lying = honest.replace((2**20).to_bytes(4, "little"), (100).to_bytes(4, "little"))
    assert lying != honest
    with pytest.raises(DatasetError, match="damaged"):
        unpack(lying, tmp_path / "out")


def test_a_folder_appears_complete_or_not_at_all(tmp_path):
    def interrupted(started):
        (started / "half").write_bytes(b"")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        complete_folder(tmp_path / "made", interrupted)
    assert list(tmp_path.iterdir()) == []

    def overtaken(started):
        (started / "late").write_bytes(b"")
        (tmp_path / "made").mkdir()
        (tmp_path / "made" / "first").write_bytes(b"")

    assert files_in(complete_folder(tmp_path / "made", overtaken)) == ["first"]
    assert [path.name for path in tmp_path.iterdir()] == ["made"]


def test_unreadable_zip_file(tmp_path):
    with pytest.raises(DatasetError, match="cannot be read"):
        open_archive(tmp_path / "nowhere.zip", "train")


@pytest.mark.parametrize("name", ["", "\0a.png"])
def test_an_entry_without_a_name_is_one_sentence(name):
    data = zipped({**ANTS_AND_BEES, "ant/?.png": png()})
    changed = data.replace(b"ant/?.png", (name.encode() + b"\0" * 9)[:9]) if name else renamed_to_nothing(data)
    with pytest.raises(DatasetError, match="file without a name"):
        unpacked(changed)


def renamed_to_nothing(data):
    """The last entry of the table of contents, which is `ant/?.png`, without its name: 9 bytes less."""
    at = data.rindex(b"PK\x01\x02")
    end = data.rindex(b"PK\x05\x06")
    entry = bytearray(data[at:end])
    entry[28:30] = b"\0\0"
    del entry[46:55]
    size = struct.unpack("<I", data[end + 12 : end + 16])[0] - 9
    return data[:at] + bytes(entry) + data[end : end + 12] + struct.pack("<I", size) + data[end + 16 :]
