"""Where pictures come from: every kind of source gives the same pictures, and what is broken in it is said."""

import io
import json
import os
import pickle
import sys
import tarfile

import numpy as np
import pyarrow
import pytest
from PIL import Image
from pyarrow import parquet
from pyarrow.parquet import ParquetFile

from tests.explanations.working import eye, photos, run
from vizkit.datasets.image_set import DatasetError
from vizkit.explanations import opened, source
from vizkit.explanations import table as tables
from vizkit.explanations.reading import Prepared
from vizkit.explanations.source import open_source


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    return photos(tmp_path_factory.mktemp("many") / "photos", 11)


@pytest.fixture
def files(pictures):
    """(name, label, bytes) in the order of the folder."""
    items = open_source(str(pictures)).items(0)
    return [(item.key.replace("/", "_"), item.label, (pictures / item.where).read_bytes()) for item in items]


def shard(path, members):
    with tarfile.open(path, "w") as tar:
        for name, content in members:
            about = tarfile.TarInfo(name)
            about.size = len(content)
            tar.addfile(about, io.BytesIO(content))
    return path


def shards(folder, files):
    folder.mkdir()
    for number, at in enumerate(range(0, len(files), 5)):
        members = []
        for name, label, content in files[at : at + 5]:
            key, _, ending = name.partition(".")
            told = ("cls", label.encode()) if number else ("json", json.dumps({"label": label}).encode())
            members += [(f"deep/{key}.{ending}", content), (f"deep/{key}.{told[0]}", told[1])]
        shard(folder / f"shard-{number}.tar", members)
    return folder


def table(path, files, rows=4, nested=False):
    content = [{"bytes": each, "path": name} if nested else each for name, _, each in files]
    labels = sorted({label for _, label, _ in files})
    held = pyarrow.table({"image": content, "label": [labels.index(label) for _, label, _ in files]})
    features = {"info": {"features": {"label": {"names": labels, "_type": "ClassLabel"}}}}
    parquet.write_table(
        held.replace_schema_metadata({"huggingface": json.dumps(features)}) if nested else held,
        path,
        row_group_size=rows,
    )
    return path


def read(given):
    """label, error and pixels' digest of every picture, in order."""
    prepared, found = Prepared(given, eye().preprocessing), []
    for part in range(len(given.counts)):
        every = prepared[part, [*given.items(part)]]
        found += [
            (row["label"], row["error"], seen.numpy().tobytes())
            for row, seen in zip(every.pictures.to_pylist(), every.seen, strict=True)
        ]
    return found


def test_tars_and_tables_give_what_the_folder_gives(pictures, files, tmp_path, monkeypatch):
    monkeypatch.setattr(source, "PART", 3)
    folder = open_source(str(pictures))
    assert folder.counts == (3, 3, 3, 3)
    for given in (
        open_source(str(shards(tmp_path / "tars", files))),
        open_source(str(tmp_path / "tars" / "shard-*.tar")),
        open_source(str(table(tmp_path / "nested.parquet", files, nested=True))),
    ):
        assert max(given.counts) == 3
        assert read(pickle.loads(pickle.dumps(given))) == read(folder)
        keys = [item.key for part in range(len(given.counts)) for item in given.items(part)]
        assert len({*keys}) == len(keys) == 12
    plain = open_source(str(table(tmp_path / "plain.parquet", files)))
    assert [label for label, *_ in read(plain)] == [{"blue": "0", "green": "1", "red": "2"}[one[1]] for one in files]


def test_what_is_broken_is_a_row_with_its_reason(files, tmp_path):
    cut = next(content for name, _, content in files if "cut" in name)
    shard(tmp_path / "a.tar", [("one.png", b""), ("two.jpg", cut), ("two.cls", b"red"), ("notes.txt", b"words")])
    run(tmp_path / "a.tar", tmp_path / "rows")
    rows = opened(tmp_path / "rows").table.to_pylist()
    assert [(row["key"], row["label"]) for row in rows] == [("a.tar/one.png", None), ("a.tar/two.jpg", "red")]
    assert rows[0]["error"].startswith("The file is empty")
    assert "cut off" in rows[1]["error"] or "damaged" in rows[1]["error"]
    parquet.write_table(pyarrow.table({"image": pyarrow.array([None, b"x"], pyarrow.binary())}), tmp_path / "a.parquet")
    run(tmp_path / "a.parquet", tmp_path / "more")
    assert "no bytes" in opened(tmp_path / "more").table["error"][0].as_py()


def test_pictures_of_all_kinds(tmp_path):
    scene = Image.fromarray(np.random.default_rng(0).integers(0, 255, (16, 24, 3), np.uint8))
    turned = Image.Exif()
    turned[274] = 6
    folder = tmp_path / "photos"
    folder.mkdir()
    scene.convert("CMYK").save(folder / "cmyk.jpg")
    scene.save(folder / "turned.jpg", exif=turned)
    Image.fromarray(np.arange(384, dtype=np.uint16).reshape(16, 24) * 170).save(folder / "deep.png")
    scene.convert("P").save(folder / "palette.gif")
    scene.save(os.path.join(os.fsencode(folder), b"\xff<b>\n=1.png"), "PNG")
    scene.save(folder / "µ 10 .png")
    (folder / ".hidden.png").write_bytes(b"x")
    run(folder, tmp_path / "rows")
    rows = opened(tmp_path / "rows").table.to_pylist()
    assert len(rows) == 6
    assert [row["error"] for row in rows] == [None] * 6
    sizes = {row["key"]: (row["width_px"], row["height_px"]) for row in rows}
    assert sizes.pop("turned.jpg") == (16, 24)
    assert {*sizes.values()} == {(24, 16)}
    assert "\\xff<b>\n=1.png" in sizes
    assert len({row["sha256"] for row in rows}) == 5  # two files are the same one


def test_some_of_them_are_spread_evenly(pictures, files, tmp_path):
    few = open_source(str(pictures), images=4)
    assert [item.label for item in few.items(0)] == ["blue", "green", "red", "red"]
    assert few.digest != open_source(str(pictures)).digest
    tars = open_source(str(shards(tmp_path / "tars", files)), images=4)
    assert sum(tars.counts) == 4


def test_vizkits_own_sets_and_zips(pictures, tmp_path):
    import shutil

    assert open_source("digits", images=6).images == 6
    assert open_source("insects", "train", images=3, size_px=64).read(0).shape == (64, 64, 3)
    packed = shutil.make_archive(str(tmp_path / "photos"), "zip", pictures)
    assert read(open_source(packed)) == read(open_source(str(pictures)))


def test_side_by_side_they_have_no_labels(pictures):
    assert {item.label for item in open_source(str(pictures / "red")).items(0)} == {None}


def test_what_cannot_be_a_source(files, tmp_path):
    (tmp_path / "none").mkdir()
    (tmp_path / "bad.tar").write_bytes(b"x" * 2000)
    (tmp_path / "bad.parquet").write_bytes(b"x" * 2000)
    parquet.write_table(pyarrow.table({"words": ["a"]}), tmp_path / "words.parquet")
    (tmp_path / "a.tar.gz").write_bytes(b"")
    for name, words in (
        ("none", "no images"),
        ("bad.tar", "damaged or no tar"),
        ("bad.parquet", "cannot be read as Parquet"),
        ("words.parquet", "no column of images .* it has words"),
        ("a.tar.gz", "unpack it to .tar"),
        ("gone", "No set and no folder"),
        ("no*.tar", "No set and no folder"),
    ):
        with pytest.raises(DatasetError, match=words):
            open_source(str(tmp_path / name))


def test_a_table_that_would_fill_the_memory_is_not_read(files, tmp_path, monkeypatch):
    large = 30 << 20
    parquet.write_table(pyarrow.table({"image": [bytes(large)]}), tmp_path / "zeros.parquet", compression="zstd")
    equal = pyarrow.table({"image": pyarrow.array([b"x"] * 100), "label": pyarrow.array(np.zeros(100, np.int32))})
    parquet.write_table(equal, tmp_path / "equal.parquet")
    assert max((tmp_path / name).stat().st_size for name in ("zeros.parquet", "equal.parquet")) < 2**18
    for name, most in (("zeros", large - 1), ("equal", 4 * 200 - 1)):
        file = str(tmp_path / f"{name}.parquet")
        with monkeypatch.context() as at:
            at.setattr(tables, "MOST_UNPACKED", most)
            at.setattr(ParquetFile, "read_row_group", None)
            with pytest.raises(DatasetError, match=rf"A row group of {name}.parquet would take .*; divide it\.$"):
                open_source(file)
        monkeypatch.setattr(tables, "MOST_UNPACKED", most + 2**12)
        assert len(open_source(file).items(0)) == (1 if name == "zeros" else 100)


@pytest.mark.product
@pytest.mark.parametrize("nested", [False, True])
def test_an_image_that_stands_there_often_is_in_memory_once(files, tmp_path, nested):
    many = open_source(str(table(tmp_path / "many.parquet", [("a.png", "red", bytes(2**18))] * 200, 200, nested)))
    assert many.read(many.items(0)[150].where) == bytes(2**18)
    held = source._row_group(*many.items(0)[150].where[:2], many.column)
    assert held.nbytes < 2**20


def test_a_tar_that_vanishes_is_a_sentence(files, tmp_path):
    tars = shards(tmp_path / "tars", files)
    given = open_source(str(tars))
    tars.rename(tmp_path / "away")
    with pytest.raises(DatasetError, match="has vanished"):
        given.read(given.items(0)[0].where)


class Feature:
    def int2str(self, number):
        return ("blue", "green", "red")[number]


class Stream:
    """As an IterableDataset of the library `datasets`, of two shards."""

    info = type("Info", (), {"splits": None})
    features = {"image": None, "label": Feature()}  # noqa: RUF012
    num_shards = 2

    def __init__(self, rows):
        self.rows = rows

    def cast_column(self, *_):
        return self

    def shard(self, number, index):
        return Stream(self.rows[index::number])

    def take(self, number):
        return Stream(self.rows[:number])

    def __iter__(self):
        return iter(self.rows)


@pytest.mark.parametrize("images, parts", [(None, 2), (5, 1)])
def test_a_stream_is_read_as_it_comes(pictures, files, tmp_path, monkeypatch, images, parts):
    labels = ("blue", "green", "red")
    rows = [{"image": {"bytes": content}, "label": labels.index(label)} for _, label, content in files]
    library = type(sys)("datasets")
    library.load_dataset = lambda name, split, streaming: Stream(rows)
    library.Image = lambda decode: decode
    monkeypatch.setitem(sys.modules, "datasets", library)
    run(open_source("hf:owner/name", images=images), tmp_path / "rows")
    found = opened(tmp_path / "rows").table
    assert (len(found), len([*(tmp_path / "rows").glob("*.parquet")])) == (images or 12, parts)
    assert [row["truth"] is not None for row in found.to_pylist()].count(False) == sum(
        row["error"] is not None for row in found.to_pylist()
    )


def test_without_the_library_it_is_a_sentence(monkeypatch, capsys):
    from vizkit.__main__ import main

    monkeypatch.setitem(sys.modules, "datasets", None)
    assert main(["explain", "hf:owner/name", "--model", "bundled:digits_vit", "-o", "rows", "--device", "cpu"]) == 2
    assert "vizkit[transformers]" in capsys.readouterr().err
