"""Files that commands write: refused before the work where they cannot be written, and in a sentence after it."""

import errno
import os
from pathlib import Path

import pytest
from PIL import Image

from tests.drawn import noisy_picture
from vizkit.__main__ import main
from vizkit.commands.output import refuse_output, write_output


def test_a_name_is_refused_before_the_work(tmp_path):
    refuse_output(None)
    refuse_output(tmp_path / "a.JSON", (".json", ".csv"))
    refuse_output(tmp_path / "a.md")
    for output, words in (
        (tmp_path, "a file in a folder that exists"),
        (tmp_path / "no" / "a.json", "a file in a folder that exists"),
        (tmp_path / "a.png", "ends in .json or .csv"),
    ):
        with pytest.raises(ValueError, match=words):
            refuse_output(output, (".json", ".csv"))


def test_a_full_disk_gets_a_sentence_and_leaves_what_was_there(tmp_path, monkeypatch):
    output = tmp_path / "table.csv"
    output.write_text("of last week")

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(ValueError, match=r"table\.csv cannot be written: No space left on device\.$"):
            write_output(output, "of today")
    assert [file.read_text() for file in tmp_path.iterdir()] == ["of last week"]
    write_output(output, "of today")
    assert output.read_text() == "of today"


@pytest.mark.parametrize(
    "given",
    [
        ["cka", "bundled:digits_vit", "--data", "digits", "--images", "8", "--batch", "4", "-o", "all.csv"],
        ["receptive-field", "bundled:digits_cnn", "-o", "all.csv"],
        ["shift", "--model", "bundled:digits_cnn", "--images", "4", "--most-px", "1", "-o", "all.json"],
        ["translate", "21 nov 2026", "-o", "all.npz"],
    ],
)
def test_commands_say_it_so(given, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError(errno.ENOSPC, "No space left")))
    assert main(given) == 2
    assert capsys.readouterr().err.splitlines()[-1] == f"vizkit: {given[-1]} cannot be written: No space left."
    assert not [*tmp_path.iterdir()]


CKA = ["cka", "bundled:digits_vit", "--data", "digits", "--images", "8", "--batch", "4"]


@pytest.mark.product
@pytest.mark.parametrize(
    "given, name, first",
    [
        (CKA, "all.CSV", b"layer,"),
        (CKA, "all.NPZ", b"PK"),
        (["heads", "bundled:digits_vit", "--data", "digits", "--images", "3"], "all.CSV", b"layer,head,"),
        (["shift", "--model", "bundled:digits_cnn", "--images", "4", "--most-px", "1"], "all.JSON", b"{"),
        (["show", "steer", "p.png", "--model", "bundled:digits_vit", "--towards", "3"], "all.NPZ", b"PK"),
        (["show", "patching", "p.png", "--model", "bundled:digits_vit"], "all.NPZ", b"PK"),
    ],
)
def test_an_ending_in_capitals_is_the_same_kind_of_file(given, name, first, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Image.fromarray(noisy_picture(32, 32)).save("p.png")
    assert main([*given, "--device", "cpu", "-o", name]) == 0
    assert Path(name).read_bytes().startswith(first)
    assert {path.name for path in tmp_path.iterdir()} == {"p.png", name}


@pytest.mark.parametrize(
    "command, words", [("explained", "OUT.png, the maps over the image"), ("receptive-field", "A table to write.")]
)
def test_what_is_written_stands_in_the_help(command, words, capsys):
    assert main([command, "--help"]) == 0
    assert words in capsys.readouterr().out
