"""Runs at an address of fsspec: the rows of a folder, each file whole or not there, and one sentence where it fails."""

import errno
import os
import shutil

import fsspec
import pytest

from tests.explanations.working import contents, photos, run
from vizkit.__main__ import main
from vizkit.explanations import opened
from vizkit.explanations.parts import Run, RunError
from vizkit.explanations.place import Address, place_of, read_text, write
from vizkit.explanations.table import is_run

DIGITS = ["--model", "bundled:digits_vit", "--device", "cpu"]


@pytest.fixture
def stored():
    """A store in memory, empty before and after."""
    store = fsspec.filesystem("memory")
    yield store
    store.store.clear()
    store.pseudo_dirs[:] = [""]


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    return photos(tmp_path_factory.mktemp("many") / "photos", 11)


def there(store, folder):
    return {path.rpartition("/")[2]: store.cat_file(path) for path in store.ls(folder, detail=False)}


def test_the_same_rows_as_in_a_folder(pictures, tmp_path, stored):
    run(pictures, tmp_path / "rows")
    run(pictures, place_of("memory://bucket/rows"))
    found = there(stored, "/bucket/rows")
    assert {name: found[name] for name in contents(tmp_path / "rows")} == contents(tmp_path / "rows")
    assert {*found} == {*contents(tmp_path / "rows"), "_manifest.json"}  # no lock, nothing that was begun
    assert opened("memory://bucket/rows").table.equals(opened(tmp_path / "rows").table)


def test_what_fails_on_the_way_leaves_nothing_and_goes_on(pictures, stored, monkeypatch):
    """A part that is half written is not there; the same settings go on, others do not."""
    folder, moved = place_of("memory://bucket/rows"), type(stored).mv

    def full(self, source, target, **more):
        if target.endswith("part-00001.parquet"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return moved(self, source, target, **more)

    with monkeypatch.context() as patch:
        patch.setattr(type(stored), "mv", full)
        with pytest.raises(OSError, match="No space"):
            run(pictures, folder)
    assert {*there(stored, "/bucket/rows")} == {"_manifest.json", "part-00000.parquet"}
    run(pictures, folder)
    whole = there(stored, "/bucket/rows")
    assert len(whole) == 4
    stored.pipe_file("/bucket/rows/part-00000.parquet", whole["part-00000.parquet"][:-20])  # damaged: made again
    run(pictures, folder)
    assert there(stored, "/bucket/rows") == whole
    with pytest.raises(RunError, match="begun with other settings"):
        Run.begin(folder, {"pictures": "others"}, (4, 4, 4))
    stored.pipe_file("/bucket/novel/one.txt", b"words")
    with pytest.raises(RunError, match="holds other things"):
        Run.begin(place_of("memory://bucket/novel"), {}, (4,))


def test_an_address_of_this_machine_is_a_folder(tmp_path):
    assert place_of(f"file://{tmp_path}/maps") == tmp_path / "maps"
    assert place_of("maps") == place_of("./maps")
    address = place_of("memory://bucket/maps/")
    assert isinstance(address, Address)
    assert ((address / "a.parquet").name, (address / "a.parquet").suffix, address.iterdir()) == (
        "a.parquet",
        ".parquet",
        [],
    )
    write(address / "a", "words")
    assert read_text(address / "a") == "words"
    (address / "a").unlink()


def test_commands_write_and_read_an_address(pictures, tmp_path, stored, capsys):
    given = ["explain", str(pictures), *DIGITS, "--batch", "1", "-o"]
    assert main([*given, "memory://bucket/maps"]) == 0
    assert main([*given, str(tmp_path / "maps")]) == 0
    assert opened("memory://bucket/maps").table.equals(opened(tmp_path / "maps").table)
    assert is_run(tmp_path / "maps")
    capsys.readouterr()
    assert main(["explained", "memory://bucket/maps", "-o", str(tmp_path / "one.csv")]) == 0
    assert main(["explained", str(tmp_path / "maps"), "-o", str(tmp_path / "two.csv")]) == 0
    assert (tmp_path / "one.csv").read_text() == (tmp_path / "two.csv").read_text()
    assert main(["explained", str(tmp_path / "maps"), "--less", "memory://bucket/maps"]) == 0
    assert "rank correlation of their maps 1.00" in capsys.readouterr().out
    key = opened(tmp_path / "maps").table["key"][0].as_py()
    assert main(["explained", "memory://bucket/maps", key, "-o", str(tmp_path / "one.png")]) == 0
    shutil.move(pictures / key, pictures / f"{key}.moved")
    shutil.copy(pictures / "red/3.png", pictures / key)
    try:
        assert main(["explained", "memory://bucket/maps", key, "-o", str(tmp_path / "two.png")]) == 2
        assert "has changed since it was explained" in capsys.readouterr().err
    finally:
        shutil.move(pictures / f"{key}.moved", pictures / key)


@pytest.mark.parametrize("address", ["nothing://bucket/maps", "s3://bucket/maps", "http://127.0.0.1:9/maps"])
def test_an_address_that_cannot_be_used_is_a_sentence(pictures, address, capsys):
    assert main(["explain", str(pictures), *DIGITS, "-o", address]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"vizkit: {address} cannot be opened: ")
    assert said.count("\n") == 1
    assert main(["explained", "memory://bucket/none"]) == 2
    assert "holds no explanations of many images" in capsys.readouterr().err
