"""Checkpoints of a run: which steps stay, that nothing of the run depends on them, that a killed run has the same."""

import json
import math
import os
import time
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file

import vizkit
from tests.launching import launched
from tests.training.test_training import ENVIRONMENT, FIELDS, QUICK, SAME, followed
from vizkit.__main__ import main
from vizkit.models import ModelError
from vizkit.models.by_name import named
from vizkit.training import loop
from vizkit.training.loop import train
from vizkit.training.recipe import Recipe, RecipeError
from vizkit.training.runs import saving
from vizkit.training.runs.checkpoints import due, kept
from vizkit.training.runs.folder import RunFolder
from vizkit.ui.session import model_names
from vizkit.work_folder import NOTES, file_of, parted, said, steps_in

EMA = QUICK.but({"epochs": 3, "ema": 0.9, "drop_path": 0.2})


def files(run):
    return {step: file_of(run.path, step).read_bytes() for step in steps_in(run.path)}


def notes(file):
    with safe_open(file, framework="pt") as opened:
        return json.loads(opened.metadata()[NOTES])


# ---- which steps stay ------------------------------------------------------------------------------------------------
def test_powers_of_two_and_ends_of_epochs_are_due():
    assert due([3, 6, 9]) == [1, 2, 3, 4, 6, 8, 9]
    assert due([]) == []


@pytest.mark.parametrize("most", [1, 2, 3, 5, 20])
def test_first_and_last_stay_and_the_rest_is_spread_on_a_logarithmic_scale(most):
    steps = due(range(100, 6001, 100))
    stay = kept(steps, most)
    assert len(stay) == most
    assert stay[-1] == 6000
    assert most == 1 or stay[0] == 1
    if most == 20:
        gaps = [math.log2(b / a) for a, b in pairwise(stay)]
        assert max(gaps) <= 1
        assert sorted(gaps)[10] > 0.4  # even: 12.6 doublings in 19 gaps


def test_what_has_gone_never_comes_back():
    """So the set after an epoch follows from the run's length alone, however often it was begun anew."""
    steps = due(range(7, 400, 7))
    for end in range(1, len(steps)):
        assert set(kept(steps[: end + 1], 6)) <= {*kept(steps[:end], 6), steps[end]}


def test_a_source_names_a_run_and_a_step():
    assert parted("runs/mine@512") == ("runs/mine", 512)
    for other in (
        "runs/mine",
        "mine@0",
        "mine@-1",
        "mine@../x",
        "mine@5 12",
        "@5",
        "mine@٥",
        "a@1@",
        "mine@" + "9" * 13,
    ):
        assert parted(other) == (other, None)


# ---- a run -----------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return followed(tmp_path_factory.mktemp("runs") / "run", EMA)


def test_not_one_number_of_a_run_depends_on_its_checkpoints(run, tmp_path):
    without = followed(tmp_path / "run", EMA.but({"checkpoints": 0}))
    assert steps_in(without.path) == []
    numbers = [[{key: line[key] for key in SAME} for line in each.metrics()] for each in (run, without)]
    assert numbers[0] == numbers[1]
    weights = [(each.path / "model.safetensors").read_bytes() for each in (run, without)]
    assert weights[0] == weights[1]
    one, other = (torch.load(each.path / "last.pt", weights_only=True)["model"] for each in (run, without))
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_a_checkpoint_is_the_moving_average_of_its_step_in_half_precision(run):
    assert steps_in(run.path) == [1, 2, 3, 4, 6, 8, 9]
    last, state = file_of(run.path, 9), torch.load(run.path / "last.pt", weights_only=True)
    assert notes(last) == {"step": 9, "epoch": 3, "weights": "ema"}
    assert notes(file_of(run.path, 4))["epoch"] == 1
    saved = load_file(last)
    for name, value in saved.items():
        assert torch.equal(value, state["ema"][f"module.{name}"].half())
    assert any(not torch.equal(value, state["model"][name].half()) for name, value in saved.items())


def test_what_half_precision_cannot_hold_stays_whole(tmp_path):
    model = torch.nn.BatchNorm1d(2)
    model.running_var.fill_(1e6)
    saving.save_checkpoint(RunFolder(tmp_path), model, 1, 0, "live")
    saved = load_file(file_of(tmp_path, 1))
    assert saved["running_var"].tolist() == [1e6, 1e6]
    assert saved["weight"].dtype == torch.float16
    assert saved["num_batches_tracked"].dtype == torch.int64


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return followed(tmp_path_factory.mktemp("runs") / "whole", QUICK.but({"epochs": 5, "checkpoints": 4}))


def test_live_weights_are_called_so_and_a_budget_holds(whole):
    assert steps_in(whole.path) == kept(due(range(3, 16, 3)), 4)
    assert notes(file_of(whole.path, 15))["weights"] == "live"


@pytest.mark.parametrize("at", ["keep", "save_state", "thin"])
def test_ended_at_any_place_between_epochs_it_goes_on_without_gap_or_double(whole, tmp_path, monkeypatch, at):
    recipe, broken = whole.recipe, RunFolder(tmp_path / "broken")
    broken.create(recipe)
    where, calls = {"keep": loop.Loop, "save_state": saving, "thin": loop}[at], []

    def ends(*given):
        calls.append(given)
        if len(calls) == 4:
            raise KeyError(at)
        return own(*given)

    own = getattr(where, at)
    monkeypatch.setattr(where, at, ends)
    with pytest.raises(KeyError):
        train(broken, recipe, device="cpu")
    monkeypatch.undo()
    train(broken, recipe, device="cpu")
    assert files(broken) == files(whole)


@pytest.mark.rest
def test_killed_five_times_and_resumed_the_checkpoints_are_the_same_bit_for_bit(tmp_path):
    whole, killed = RunFolder(tmp_path / "whole"), RunFolder(tmp_path / "killed")
    fields = [*FIELDS, "--epochs", "20", "--drop-path", "0.2", "--checkpoints", "6"]
    assert main(["train", *fields, "-o", str(whole.path)]) == 0
    given = [*fields, "-o", killed.path]
    for finished in (2, 4, 6, 8, 10):
        with launched(["train", *given], ENVIRONMENT) as process:
            while len(killed.metrics()) < finished and process.is_alive():
                time.sleep(0.005)
        given = ["--resume", killed.path, "--quiet", "--device", "cpu"]
    assert 10 <= len(killed.metrics()) < 20, "it finished before it could be killed"
    assert main(["train", *map(str, given)]) == 0
    assert len(files(whole)) == 6
    assert steps_in(killed.path) == steps_in(whole.path)
    assert files(killed) == files(whole)


def test_a_number_of_checkpoints_is_from_0():
    with pytest.raises(RecipeError, match="checkpoints are 0 or more"):
        Recipe(checkpoints=-1)


# ---- a checkpoint is a model -----------------------------------------------------------------------------------------
def test_a_step_of_a_run_opens_as_any_model_and_says_what_it_is(run, photo):
    opened = vizkit.load(f"{run.path}@4")
    assert opened.name == "run@4"
    assert opened.then == "step 4, moving average (EMA) in half precision"
    assert opened.source == f"run folder, {opened.then}"
    saved = load_file(file_of(run.path, 4))
    assert all(torch.equal(value, saved[name].float()) for name, value in opened.model.state_dict().items())
    assert vizkit.trace(opened, photo).check.failure is None
    assert vizkit.load(run.path).then == ""
    assert vizkit.load(Path(f"{run.path}@4"), image_size=64).preprocessing.size_hw == (64, 64)


@pytest.mark.parametrize(
    "source, sentence",
    [
        ("run@5", r"^run has no checkpoint of step 5: the nearest are 4 and 6\.$"),
        ("none@5", "There is no run 'none' here whose step 5 could be opened"),
        ("run@05", "There is no folder 'run@05' here"),
        ("run@../last", "There is no folder"),
        ("run@5\n", "There is no folder"),
    ],
)
def test_a_step_that_is_not_there_is_a_sentence(run, source, sentence):
    with pytest.raises(ModelError, match=sentence):
        vizkit.load(f"{run.path.parent}/{source}")


def test_a_bundled_model_without_checkpoints_says_so():
    with pytest.raises(ModelError, match="digits_mlp has no checkpoint of step 8: it kept none"):
        vizkit.load("bundled:digits_mlp@8")
    with pytest.raises(ModelError, match="it kept none"):
        named("bundled:digits_mlp@8")
    with pytest.raises(ModelError, match="Type a timm name"):
        named("runs/mine@8")


@pytest.mark.parametrize("kind", ["cut", "other", "pipe"])
def test_a_file_that_is_no_checkpoint_of_the_run_is_refused(run, tmp_path, kind):
    (folder := tmp_path / "copy").mkdir()
    for name in ("config.json", "model.safetensors"):
        (folder / name).write_bytes((run.path / name).read_bytes())
    (file := file_of(folder, 4)).parent.mkdir()
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "cut":
        file.write_bytes(file_of(run.path, 4).read_bytes()[:-100])
    else:
        saving.save_checkpoint(RunFolder(folder), torch.nn.Linear(3, 3), 4, 1, "live")
    with pytest.raises(ModelError) as refused:
        vizkit.load(f"{folder}@4")
    assert str(refused.value).count(".") <= 2


def test_notes_of_strangers_are_no_words_of_ours():
    for notes in ("", "[", "[" * 10**5, "3", '{"weights": ["ema"]}', '{"weights": "<b>"}'):
        assert said(4, notes) == "step 4, weights in half precision"


def test_the_command_shows_a_step(run, tmp_path, capsys):
    given = ["show", "rollout", "sample:digit 3", "--model", f"{run.path}@8", "-o", str(tmp_path / "out.npz")]
    assert main(given) == 0
    assert "run@8 (run folder, step 8, moving average (EMA) in half precision" in capsys.readouterr().out


def test_the_sidebar_opens_a_step_of_a_run_that_is_here(run, monkeypatch):
    monkeypatch.setenv("VIZKIT_RUNS", str(run.path.parent))
    assert model_names.opened_of("run:run@4") == (f"{run.path}@4", file_of(run.path, 4))
    assert model_names.opened_of("run:run") == (str(run.path), run.path / "model.safetensors")
    for hostile in ("run:../runs/run@4", "run:run@x", f"run:{run.path}@4", "run:@4", "run:run/../run@4"):
        assert model_names.opened_of(hostile) is None
