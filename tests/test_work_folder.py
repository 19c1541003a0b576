"""A folder in which one process works: the lock, the status, and what is said when something runs short."""

import errno
import json
import os
import resource
import subprocess
import sys
import time

import numpy as np
import pytest
import safetensors.torch
import torch

from tests.training.test_training import ENVIRONMENT
from vizkit import shortage, writing
from vizkit.evaluation.classes import EvaluationError
from vizkit.evaluation.job import JobFolder
from vizkit.training.recipe import Recipe, RecipeError
from vizkit.training.runs.folder import RunFolder
from vizkit.work_folder import HEARD_S, WorkError, WorkFolder

FULL = OSError(errno.ENOSPC, "No space left on device")
LOCKING = """
import pathlib, sys
from vizkit.work_folder import WorkFolder
with WorkFolder(pathlib.Path(sys.argv[1])).locked():
    print("locked", flush=True)
    sys.stdin.read()
"""


WRITING = """
import pathlib, sys, time
from vizkit.writing import write
def half(path):
    path.write_text("half")
    path.with_name(".tmpAbCdEf").write_text("half")
    print("half", flush=True)
    time.sleep(60)
write(pathlib.Path(sys.argv[1]) / "model.safetensors", half)
"""


# ---- the lock --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", [WorkFolder, RunFolder, JobFolder])
def test_one_process_works_in_a_folder_and_its_end_frees_it(tmp_path, kind):
    folder = kind(tmp_path)
    with subprocess.Popen(
        [sys.executable, "-c", LOCKING, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENVIRONMENT
    ) as process:
        assert process.stdout.readline() == b"locked\n"
        words = r"is at work in another process already; wait for its end, or stop it\.$"
        with pytest.raises(WorkError, match=words), folder.locked():
            pass
        process.kill()
    with folder.locked(), pytest.raises(WorkError), folder.locked():
        pass
    with folder.locked():
        pass


def test_what_a_killed_process_had_half_written_is_cleared_away(tmp_path):
    """Also what a library put beside the file that it was to write, as safetensors does; and nothing else."""
    (tmp_path / f".{'0123abcd' * 4}.part.pt").write_text("half, of an older version")
    others = {".notes.part.txt", ".part", ".tmpXyZ123", "my.part"}
    for name in others:
        (tmp_path / name).write_text("of somebody else")
    with subprocess.Popen(
        [sys.executable, "-c", WRITING, tmp_path], stdout=subprocess.PIPE, env=ENVIRONMENT
    ) as process:
        assert process.stdout.readline() == b"half\n"
        process.kill()
    (left,) = tmp_path.glob(".*.part")
    assert sorted(file.name for file in left.iterdir()) == [".tmpAbCdEf", "model.safetensors"]
    with WorkFolder(tmp_path).locked():
        assert {file.name for file in tmp_path.iterdir()} == others | {"lock"}


def test_a_run_begins_again_where_one_was_killed_before_its_first_epoch(tmp_path):
    run = RunFolder(tmp_path)
    (tmp_path / f".{'0123abcd' * 4}.part").mkdir()
    run.create(Recipe())
    assert {file.name for file in tmp_path.iterdir()} == {"recipe.json", "lock"}
    (tmp_path / "notes.txt").write_text("of somebody")
    with pytest.raises(RecipeError, match="is not empty"):
        run.create(Recipe())


# ---- the status ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{torn",
        b"\xff\xfe\x00",
        b"[1, 2]",
        b"7",
        b'{"state": 5}',
        b"[" * 99_999,
        b'{"state": "running", "step": "many"}',
        b'{"message": null}',
    ],
)
def test_a_damaged_status_says_nothing(tmp_path, content):
    folder = WorkFolder(tmp_path)
    (tmp_path / "status.json").write_bytes(content)
    assert folder.status == {}
    assert not folder.at_work
    folder.say(state="running", step=2)
    assert folder.status["step"] == 2
    assert folder.at_work


def test_other_processes_of_a_launcher_neither_speak_nor_lock(tmp_path, monkeypatch):
    folder = WorkFolder(tmp_path)
    with folder.locked():
        monkeypatch.setenv("RANK", "1")
        folder.say(state="running")
        with folder.locked():
            assert folder.status == {}


# ---- what runs short -------------------------------------------------------------------------------------------------
def test_a_full_disk_is_told_as_stopped_even_where_nothing_more_can_be_written(tmp_path, monkeypatch):
    folder = WorkFolder(tmp_path)
    folder.say(
        state="running", message="A status that is longer than the last word, so that what is left over shows. " * 3
    )

    def full(*_):
        raise FULL

    monkeypatch.setattr("vizkit.work_folder.write", full)
    words = r"^Stopped: disk full\. Make room, then start it again; it goes on\.$"
    with pytest.raises(WorkError, match=words), folder.reporting("it goes on", "smaller"):
        folder.say(state="running")
    assert folder.status["state"] == "stopped"
    assert folder.status["message"].startswith("Stopped: disk full.")
    wrapped = EvaluationError("The answers cannot be kept.")
    wrapped.__cause__ = FULL
    with pytest.raises(WorkError, match="disk full"), folder.reporting("it goes on", "smaller"):
        raise wrapped


@pytest.mark.parametrize(
    "error, words",
    [
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB."), "The memory of the GPU does not"),
        (MemoryError(), "The memory of this machine does not suffice: a smaller batch."),
        (PermissionError(13, "Permission denied", "x.json"), "Permission denied: x.json."),
        (EvaluationError("No image."), "No image."),
    ],
)
def test_errors_are_told_in_a_sentence(tmp_path, error, words):
    with (
        pytest.raises(ValueError, match=f"^{words}") as raised,
        WorkFolder(tmp_path).reporting("on", "a smaller batch"),
    ):
        raise error
    assert WorkFolder(tmp_path).status["state"] == "failed"
    assert WorkFolder(tmp_path).status["message"] == str(raised.value)


def test_a_mistake_of_the_program_is_not_hidden(tmp_path):
    with pytest.raises(KeyError), WorkFolder(tmp_path).reporting("on", "smaller"):
        raise KeyError("no such thing")
    assert WorkFolder(tmp_path).status == {}


def test_memory_that_really_does_not_suffice_is_recognised():
    with pytest.raises(RuntimeError) as refused:
        torch.empty(10**15)
    assert shortage.memory_short(refused.value) == "this machine"
    with pytest.raises(MemoryError) as refused:
        np.empty(10**15)
    assert shortage.memory_short(refused.value) == "this machine"
    assert shortage.memory_short(RuntimeError("mat1 and mat2 shapes cannot be multiplied")) == ""


@pytest.fixture
def small_files():
    """No file of this process may grow beyond 100 kB, as on a full disk."""
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, usual[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, usual)


WRITERS = {
    "torch": lambda path: torch.save({"a": torch.zeros(10**6)}, path),
    "safetensors": lambda path: safetensors.torch.save_file({"a": torch.zeros(10**6)}, path),
    "numpy": lambda path: np.save(path, np.zeros(10**6)),
    "npz": lambda path: np.savez(path, a=np.zeros(10**6)),
    "bytes": b"0" * 10**6,
}


@pytest.mark.usefixtures("small_files")
@pytest.mark.parametrize("writer", WRITERS)
def test_every_writer_of_a_full_disk_is_told_by_the_system(tmp_path, writer):
    """torch raises a RuntimeError, safetensors an error of its own, numpy an OSError without a number."""
    with pytest.raises((OSError, safetensors.SafetensorError)) as full:
        writing.write(tmp_path / ("file.npy" if writer == "numpy" else "file.npz"), WRITERS[writer])
    assert shortage.disk_full(full.value)
    assert list(tmp_path.iterdir()) == []


def test_an_error_of_a_writer_that_has_room_stays_what_it_is(tmp_path):
    def broken(path):
        path.write_text("half")
        raise RuntimeError("shapes differ")

    with pytest.raises(RuntimeError, match="shapes differ"):
        writing.write(tmp_path / "file", broken)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_whole_but_through_one_function():
    """A second way to write would have names of its own that two processes share, and no fsync."""
    root = os.path.dirname(writing.__file__)
    found = subprocess.run(
        ["grep", "-rlE", r"os\.replace\(|\.rename\(|os\.rename", root, "--include=*.py"], capture_output=True, text=True
    )
    names = {os.path.relpath(line, root) for line in found.stdout.split()}
    folders = {
        os.path.join("datasets", "cache.py"),
        os.path.join("training", "runs", "bin.py"),
    }  # these rename whole ones
    assert names == {"writing.py", *folders}


def test_json_of_a_status_is_plain(tmp_path):
    WorkFolder(tmp_path).say(state="running", message="größe")
    assert json.loads((tmp_path / "status.json").read_text())["message"] == "größe"


def test_work_on_another_machine_goes_by_its_last_word(tmp_path):
    """Servers on two machines share a folder of runs: a number of a process of the other one says nothing here."""
    folder = WorkFolder(tmp_path)
    folder.say(state="running")
    status = folder.status
    assert folder.at_work
    folder.write("status.json", {**status, "host": "another", "pid": 2**22 + 1, "updated": time.time() - HEARD_S / 2})
    assert folder.at_work
    folder.write("status.json", {**status, "host": "another", "updated": time.time() - 2 * HEARD_S})
    assert not folder.at_work
