"""A file is whole or as it was."""

import csv
import io
import re
import threading
from pathlib import Path

import pytest

import vizkit
from vizkit.writing import csv_lines, csv_of, csv_rows, write


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


def test_nothing_else_writes_csv():
    """Every table goes through that one function."""
    root = Path(vizkit.__file__).parent
    writers = re.compile(r"csv\.(writer|DictWriter)|to_csv")
    assert [path.name for path in root.rglob("*.py") if writers.search(path.read_text("utf-8"))] == ["writing.py"]
