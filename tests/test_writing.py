"""A file is whole or as it was."""

import csv
import io
import math
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import vizkit
from vizkit.writing import csv_lines, csv_of, csv_rows, read_record, write, write_record


def test_bytes_text_and_a_function_are_written(tmp_path):
    write(tmp_path / "a.bin", b"\x00\x01")
    write(tmp_path / "a.txt", "größe")
    write(tmp_path / "a.csv", lambda path: path.write_text("1,2"))
    assert (tmp_path / "a.bin").read_bytes() == b"\x00\x01"
    assert (tmp_path / "a.txt").read_text("utf-8") == "größe"
    assert (tmp_path / "a.csv").read_text() == "1,2"
    assert len(list(tmp_path.iterdir())) == 3


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    write(tmp_path / "kept.json", "old")

    def full(path):
        path.write_text("half of it")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        write(tmp_path / "kept.json", full)
    assert [file.name for file in tmp_path.iterdir()] == ["kept.json"]
    assert (tmp_path / "kept.json").read_text() == "old"


def test_writers_at_once_never_mix(tmp_path):
    path, whole = tmp_path / "one", [letter * 200_000 for letter in "abcd"]
    threads = [threading.Thread(target=lambda text=text: [write(path, text) for _ in range(20)]) for text in whole]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        if path.exists():
            assert path.read_text() in whole
    for thread in threads:
        thread.join()
    assert [file.name for file in tmp_path.iterdir()] == ["one"]


HIDDEN = ["", " ", "\t", "\r", "\n", "\r\n", "\xa0", "\u3000", "\u200b", "\ufeff", " \n\t "]
FORMULAS = [f"{hidden}{sign}cmd|'/c'!A1" for hidden in HIDDEN for sign in "=+-@＝＋－＠"]
PLAIN = ["a=1", "-1", "+2.5", "-1e-05", "3 − 4", "", "größe", 'say "a, b"', "two\nlines", "half\rturn", 1, 0.5, None]


@pytest.mark.parametrize("table", [lambda *row: csv_lines([row]), lambda a, b: csv_rows([{"a": a, "b": b}])])
def test_no_cell_is_a_formula_and_every_cell_is_one(table):
    """The reader is another: Python's, which takes a carriage return that is not quoted for the end of a line."""
    for cell in (*FORMULAS, *PLAIN):
        *_, last = csv.reader(io.StringIO(table("x", cell), newline=""))
        expected = "" if cell is None else str(cell)
        assert last == ["x", f"'{expected}" if cell in FORMULAS else expected]


@pytest.mark.parametrize("formula", FORMULAS)
def test_nor_is_the_name_of_a_column(formula):
    for table in (csv_rows([{formula: 1.0}]), csv_of({formula: [1.0]}), csv_lines([[formula], [1.0]])):
        assert [*csv.reader(io.StringIO(table, newline=""))] == [[f"'{formula}"], ["1"]]


def test_half_a_character_can_be_written():
    assert csv_lines([["a\ud800"]]).encode() == b"a?\n"


@dataclass(frozen=True, eq=False)
class Leaf:
    """What a record may hold."""

    values: np.ndarray
    name: str
    size_hw: tuple[int, int]
    share: float | None = None


@dataclass(frozen=True, eq=False)
class Tree:
    """A record."""

    leaves: tuple[Leaf, ...]
    named: Mapping[str, Leaf]
    words: tuple[tuple[str, ...], ...]
    asked: Mapping[str, Any]
    one: Leaf


def test_a_record_comes_back_as_it_was(tmp_path):
    shared = np.arange(5, dtype=np.float32)
    leaf = Leaf(shared, "größe", (3, 5), float("nan"))
    tree = Tree((leaf, Leaf(np.array([], int), "", (1, 2))), {"a": leaf}, (("x",), ()), {"n": 1, "none": None}, leaf)
    write_record(tmp_path / "folder" / "tree.npz", tree)
    again = read_record(tmp_path / "folder" / "tree.npz", Tree)
    assert isinstance(again.leaves[0], Leaf)
    assert [(each.name, each.size_hw) for each in (*again.leaves, again.one)] == [
        ("größe", (3, 5)),
        ("", (1, 2)),
        ("größe", (3, 5)),
    ]
    assert (again.words, again.asked, again.leaves[1].share) == ((("x",), ()), {"n": 1, "none": None}, None)
    assert math.isnan(again.one.share or 0)
    for each in (again.leaves[0], again.named["a"], again.one):
        assert_array_equal(each.values, shared)
        assert each.values.dtype == np.float32
    assert again.leaves[1].values.dtype == int
    with np.load(tmp_path / "folder" / "tree.npz") as file:  # what three leaves share is there once
        assert sorted(file.files) == ["facts", "leaves.0.values", "leaves.1.values"]


def test_a_record_of_another_class_is_refused(tmp_path):
    write_record(tmp_path / "a.npz", Leaf(np.zeros(1), "", (1, 1)))
    for wrong in ("a.npz", "none.npz", "torn.npz"):
        (tmp_path / "torn.npz").write_bytes(b"torn")
        with pytest.raises((OSError, ValueError, KeyError, TypeError)):
            read_record(tmp_path / wrong, Tree)


def test_nothing_else_writes_csv():
    """Every table goes through that one function."""
    root = Path(vizkit.__file__).parent
    writers = re.compile(r"csv\.(writer|DictWriter)|to_csv")
    assert [path.name for path in root.rglob("*.py") if writers.search(path.read_text("utf-8"))] == ["writing.py"]
