"""Runs with damaged files, a full disk, changed data, or two processes that want them: one sentence each."""

import contextlib
import errno
import os
import shutil
import signal
import subprocess

import pytest
import torch
from PIL import Image

import vizkit
from tests.training.test_training import FIELDS, QUICK
from vizkit.models import Loaded
from vizkit.traces import TraceError
from vizkit.training.following import follow
from vizkit.training.runs import saving
from vizkit.training.runs.folder import RunFolder
from vizkit.work_folder import WorkError


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Two of four epochs are done."""
    run = RunFolder(tmp_path_factory.mktemp("runs") / "whole")
    recipe = QUICK.but({"epochs": 4})
    run.create(recipe)
    with pytest.MonkeyPatch.context() as patch:
        save = saving.save_state

        def once(run, epochs, *rest):
            save(run, epochs, *rest)
            if epochs == 2:
                raise KeyError("enough")

        patch.setattr(saving, "save_state", once)
        with pytest.raises(KeyError):
            follow(run, recipe, device="cpu")
    return run


@pytest.fixture
def run(whole, tmp_path):
    shutil.copytree(whole.path, tmp_path / "run")
    return RunFolder(tmp_path / "run")


def cut(file):
    file.write_bytes(file.read_bytes()[:-200])


def garbage(file):
    file.write_bytes(b"\xff\x00garbage\n" * 50)


def flipped(file):
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 255
    file.write_bytes(content)


# ---- damaged files ---------------------------------------------------------------------------------------------------
@pytest.mark.product
@pytest.mark.parametrize(
    "file, damage, words",
    [
        ("last.pt", cut, "last.pt of run is damaged"),
        ("last.pt", garbage, "last.pt of run is damaged"),
        ("last.pt", flipped, "last.pt of run is damaged"),
        ("last.pt", os.unlink, "last.pt of run is missing"),
        ("metrics.jsonl", garbage, "metrics.jsonl of run is damaged: 0 of 2 epochs can be read"),
        ("metrics.jsonl", cut, "metrics.jsonl of run is damaged: 1 of 2 epochs can be read"),
        ("metrics.jsonl", lambda file: file.write_text('{"epoch": 1}\n7\n'), "0 of 2 epochs can be read"),
    ],
)
def test_a_damaged_file_is_a_sentence_and_the_status_is_true(run, file, damage, words):
    kept = {each.name: each.read_bytes() for each in run.path.iterdir() if each.is_file()}
    damage(run.path / file)
    with pytest.raises(WorkError, match=words) as said:
        follow(run, run.recipe, device="cpu")
    assert str(said.value).endswith(".")
    assert (run.status["state"], run.status["message"]) == ("failed", str(said.value))
    (run.path / file).write_bytes(kept[file])  # a whole copy, put back
    follow(run, run.recipe, device="cpu")
    assert run.status["state"] == "done"


@pytest.mark.product
@pytest.mark.parametrize("damage", [cut, garbage])
def test_damaged_weights_of_the_best_epoch_are_a_sentence(run, monkeypatch, damage):
    load = saving.load_best

    def damaged(run, model):
        damage(run.path / "model.safetensors")
        load(run, model)

    monkeypatch.setattr(saving, "load_best", damaged)
    with pytest.raises(WorkError, match=r"model\.safetensors of run is damaged"):
        follow(run, run.recipe, device="cpu")
    assert run.status["state"] == "failed"


@pytest.mark.rest
def test_half_a_line_and_a_damaged_status_do_not_stop_a_run(run):
    with (run.path / "metrics.jsonl").open("a") as file:
        file.write('{"epoch": 3, "train_lo')
    (run.path / "status.json").write_bytes(b"\xff{")
    follow(run, run.recipe, device="cpu")
    assert [line["epoch"] for line in run.metrics()] == [1, 2, 3, 4]
    assert run.status["state"] == "done"


def test_resuming_a_damaged_recipe_is_one_sentence(run, capsys):
    from vizkit.__main__ import main

    for content in (b"{", b"\xff\xfe", b"[" * 99_999):
        (run.path / "recipe.json").write_bytes(content)
        assert main(["train", "--resume", str(run.path)]) == 2
        assert capsys.readouterr().err == "vizkit: The recipe is not valid JSON.\n"


# ---- two processes ---------------------------------------------------------------------------------------------------
def test_a_second_resume_is_refused_and_changes_nothing(run, capsys):
    from vizkit.__main__ import main

    before = {file.name: file.read_bytes() for file in run.path.iterdir() if file.is_file()}
    with run.locked():
        assert main(["train", "--resume", str(run.path), "--quiet", "--device", "cpu"]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert said.startswith("vizkit: run is at work in another process already;")
    assert {file.name: file.read_bytes() for file in run.path.iterdir() if file.is_file()} == before


def test_another_recipe_in_the_folder_is_not_trained(run):
    with pytest.raises(WorkError, match="Another run has begun"):
        follow(run, run.recipe.but({"seed": 5}), device="cpu")


# ---- a full disk, too little memory ----------------------------------------------------------------------------------
@pytest.mark.rest
def test_a_full_disk_stops_with_a_sentence_and_the_run_goes_on_later(run, monkeypatch, capsys):
    from vizkit.__main__ import main

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(torch, "save", full)
        assert main(["train", "--resume", str(run.path), "--quiet", "--device", "cpu"]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert "Stopped: disk full" in said
    assert run.status["state"] == "stopped"
    assert "disk full" in run.status["message"]
    follow(run, run.recipe, device="cpu")
    assert [line["epoch"] for line in run.metrics()] == [1, 2, 3, 4]


@pytest.mark.rest
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may mount a small disk")
def test_a_disk_that_is_really_full_is_told(run, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=800k", "tmpfs", disk]).returncode:
        pytest.skip("no small disk can be mounted here")
    try:
        shutil.copytree(run.path, disk / "run")
        small = RunFolder(disk / "run")
        with (disk / "ballast").open("wb", buffering=0) as ballast, contextlib.suppress(OSError):
            while True:
                ballast.write(bytes(4096))
        with pytest.raises(WorkError, match="disk full"):
            follow(small, small.recipe, device="cpu")
        assert small.status["state"] == "stopped"
        assert small.status["message"].startswith("Stopped: disk full.")
        assert len(small.metrics()) == 2
        assert [file.name for file in small.path.iterdir() if file.name.startswith(".")] == []
        (disk / "ballast").unlink()
        follow(small, small.recipe, device="cpu")
        assert small.status["state"] == "done"
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)


def test_too_little_memory_says_what_to_change(run, monkeypatch):
    def short(*_):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")

    monkeypatch.setattr("vizkit.training.updates.mixed_loss", short)
    with pytest.raises(
        WorkError, match="memory of the GPU does not suffice: raise accumulate, or choose a smaller batch"
    ):
        follow(run, run.recipe, device="cpu")
    assert run.status["state"] == "failed"
    assert len(run.metrics()) == 2


def test_too_little_memory_to_record_or_to_evaluate_is_a_sentence(digits, photo, tmp_path, monkeypatch):
    from vizkit.datasets.opening import open_set
    from vizkit.evaluation.answers import evaluate
    from vizkit.evaluation.classes import EvaluationError

    first = digits.model.patch_embed if hasattr(digits.model, "patch_embed") else digits.model

    def short(*_):
        raise torch.OutOfMemoryError("CUDA out of memory.")

    hook = first.register_forward_pre_hook(short)
    fresh = Loaded(digits.name, digits.model, digits.device, digits.preprocessing, digits.labels)
    try:
        with pytest.raises(TraceError, match="keep fewer layers, some rows only or the mean of the heads"):
            vizkit.trace(fresh, photo)
        with pytest.raises(EvaluationError, match="needs more memory than the GPU has for an image: choose"):
            evaluate(fresh, open_set("digits", "test", images=8))
    finally:
        hook.remove()


# ---- changed data ----------------------------------------------------------------------------------------------------
def test_changed_pictures_are_noticed_when_a_run_goes_on(tmp_path):
    for label in ("one", "two"):
        for number in range(12):
            file = tmp_path / "photos" / label / f"{number}.png"
            file.parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (32, 32), (20 * number, 0, 0)).save(file)
    run = RunFolder(tmp_path / "run")
    recipe = QUICK.but({"data": str(tmp_path / "photos"), "images": 0, "epochs": 2, "batch": 4})
    run.create(recipe)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(saving, "load_best", lambda *_: (_ for _ in ()).throw(KeyError("enough")))
        with pytest.raises(KeyError):
            follow(run, recipe, device="cpu")
    for number in range(12, 30):
        Image.new("RGB", (32, 32), (0, number, 0)).save(tmp_path / "photos" / "two" / f"{number}.png")
    with pytest.raises(WorkError, match=r"have changed since run began: put them back, or .* --changed-data\.$"):
        follow(run, recipe, device="cpu")
    assert run.status["state"] == "failed"
    follow(run, recipe, device="cpu", changed_data=True)
    assert run.status["state"] == "done"


# ---- asked to stop before the first step -----------------------------------------------------------------------------
def test_asked_to_stop_while_preparing_it_is_stopped(tmp_path, monkeypatch):
    from vizkit.__main__ import main

    monkeypatch.setattr("vizkit.training.loop.set_up", lambda *_: os.kill(os.getpid(), signal.SIGTERM))
    usual = signal.getsignal(signal.SIGTERM)
    assert main(["train", *FIELDS, "-o", str(tmp_path / "run")]) == 0
    assert RunFolder(tmp_path / "run").status["state"] == "stopped"
    assert signal.getsignal(signal.SIGTERM) is usual


def test_asked_to_stop_while_an_evaluation_prepares_it_is_stopped(tmp_path, monkeypatch):
    from vizkit.__main__ import main
    from vizkit.evaluation.job import JobFolder

    monkeypatch.setattr("vizkit.load", lambda *_, **__: os.kill(os.getpid(), signal.SIGTERM))
    folder = tmp_path / "job"
    assert main(["evaluate", "digits", "--model", "bundled:digits_vit", "--folder", str(folder)]) == 130
    assert JobFolder(folder).status["state"] == "stopped"
