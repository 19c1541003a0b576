"""A file is whole or as it was."""

import threading

import pytest

from vizkit.writing import write


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
