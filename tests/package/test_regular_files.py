"""A path that leads to a pipe, a device or a socket is a sentence at every door, and keeps nobody waiting."""

import json
import os
import re
import socket
from concurrent.futures import Future
from pathlib import Path
from threading import Thread

import pytest

from vizkit.commands.report import report
from vizkit.datasets.opening import open_set
from vizkit.explanations.source import open_source
from vizkit.explanations.table import opened
from vizkit.image import open_image
from vizkit.lessons.shelf import read_file
from vizkit.models import ModelError, load
from vizkit.models.sequences.opening import open_sequence
from vizkit.saving import open_npz
from vizkit.training.runs.folder import RunFolder
from vizkit.writing import is_regular, open_file, read_text

DOORS = {  # what is called at a folder in which everything is a pipe → what the sentence says
    "weights": (lambda at: load(at / "a.pth"), "a.pth is no checkpoint: it is a pipe or a device"),
    "weights by another name": (lambda at: load(str(at / "a")), "a cannot be opened: it is a pipe or a device"),
    "a device": (lambda at: load("/dev/zero"), "zero cannot be opened: it is a pipe or a device"),
    "a folder of a model": (load, "is no run folder"),
    "an adapter": (lambda at: load(at / "adapter"), "an adapter without its weights"),
    "a model of texts": (open_sequence, "is no run folder"),
    "an image": (lambda at: open_image(at / "a.png"), "leads to no file"),
    "an image of a device": (lambda at: open_image("/dev/zero"), "leads to no file"),
    "a data set": (lambda at: open_set(at / "a.zip", "test"), "no set of images: it is a pipe or a device"),
    "many images": (lambda at: open_source(str(at / "a.tar")), "a.tar cannot be read: it is a pipe or a device"),
    "rows of images": (lambda at: open_source(str(at / "a.parquet")), "parquet cannot be read: it is a pipe"),
    "explanations": (opened, "holds no explanations"),
    "a trace": (lambda at: open_npz(at / "a.npz"), "no trace"),
    "a lesson": (lambda at: read_file(at / "a.md"), "it is a pipe or a device"),
    "a run": (lambda at: RunFolder(at).recipe, "it has no recipe.json"),
    "a replay": (lambda at: report(at / "replay.json", output=at / "out"), "it is a pipe or a device"),
}


@pytest.fixture(scope="module")
def pipes(tmp_path_factory):
    place = tmp_path_factory.mktemp("pipes")
    named = "a a.pth a.png a.zip a.tar a.parquet a.npz a.md config.json model.safetensors preprocessor_config.json"
    for name in (*named.split(), "manifest.json", "recipe.json", "replay.json", "tokenizer.json"):
        os.mkfifo(place / name)
    (place / "adapter").mkdir()
    (place / "adapter" / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA", "lora_alpha": 1}))
    os.mkfifo(place / "adapter" / "adapter_model.safetensors")
    return place


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes on this system")
@pytest.mark.parametrize("door", DOORS)
def test_no_door_waits_for_a_pipe(pipes, door):
    call, words = DOORS[door]
    outcome = Future()

    def run():
        try:
            outcome.set_result(call(pipes))
        except BaseException as error:
            outcome.set_exception(error)

    Thread(target=run, daemon=True).start()  # one that waits is left behind
    with pytest.raises((ValueError, OSError), match=words):
        outcome.result(timeout=120)


def test_a_socket_is_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # names of sockets are short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("a.pth")
        assert not is_regular("a.pth")
        with pytest.raises(OSError, match="pipe or a device"):
            open_file("a.pth")
        with pytest.raises(ModelError, match=r"a\.pth.*pipe or a device"):
            load(Path("a.pth"))


@pytest.mark.parametrize("suffix", ["onnx", "h5", "npz", "gguf", "tflite", "pb", "mlmodel", "msgpack", "pkl", "json"])
@pytest.mark.parametrize("kind", [str, Path])
def test_files_of_other_kinds_are_called_so(tmp_path, monkeypatch, suffix, kind):
    (tmp_path / f"model.{suffix}").write_bytes(b"\x89HDF")
    monkeypatch.chdir(tmp_path)
    for path in (tmp_path / f"model.{suffix}", Path(f"model.{suffix}")):
        with pytest.raises(ModelError, match=rf"model\.{suffix}: this kind of file cannot be opened"):
            load(kind(path))
    with pytest.raises(ModelError, match="There is no folder"):
        load(str(tmp_path / f"other.{suffix}"))


def test_text_of_a_file(tmp_path):
    (tmp_path / "a").write_bytes("ä\r\nb".encode())
    assert read_text(tmp_path / "a") == "ä\nb"
    with pytest.raises(FileNotFoundError):
        read_text(tmp_path / "b")
    with pytest.raises(OSError, match=re.escape(os.strerror(21))):
        read_text(tmp_path)
