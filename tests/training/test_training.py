"""The training loop on handwritten digits: order and augmentation from seeds alone, resuming, failing, freezing."""

import json
import os
import time

import numpy as np
import pytest
import torch

import vizkit
from tests.launching import launched, launched_on_two_nodes
from vizkit.__main__ import main
from vizkit.image import Preprocessing
from vizkit.training import architectures, optimizing
from vizkit.training.loop import train
from vizkit.training.pictures import augmentation
from vizkit.training.pictures.batches import fitted, normalised
from vizkit.training.recipe import Recipe, RecipeError
from vizkit.training.runs.folder import RunFolder, runs

TINY_VIT = {"img_size": 32, "patch_size": 8, "embed_dim": 16, "depth": 2, "num_heads": 2}
QUICK = Recipe(data="digits", images=96, model="vit_tiny_patch16_224", model_args=TINY_VIT, epochs=2, batch=32)


def followed(path, recipe=QUICK):
    run = RunFolder(path)
    run.create(recipe)
    train(run, recipe, device="cpu")
    return run


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return followed(tmp_path_factory.mktemp("runs") / "quick")


# ---- batches ---------------------------------------------------------------------------------------------------------
def test_turning_a_batch_keeps_a_disc_and_moves_a_bar():
    y, x = torch.meshgrid(torch.arange(33) - 16, torch.arange(33) - 16, indexing="ij")
    disc = ((x**2 + y**2) < 64).float().expand(4, 3, 33, 33)
    bar = (x.abs() < 2).float().expand(4, 3, 33, 33)
    recipe = QUICK.but({"turn_deg": 90.0, "flip": 0.5})
    for picture, kept in ((disc, True), (bar, False)):
        draw = torch.Generator().manual_seed(2)
        turned = augmentation.batch_changes(picture, recipe, draw, slice(0, 4), 4)
        areas = turned.sum((1, 2, 3)) / picture.sum((1, 2, 3))
        assert turned.shape == picture.shape
        if kept:  # size changes by at most 15 % each way
            assert ((areas > 0.7) & (areas < 1.4)).all()
        else:
            assert not torch.allclose(turned, picture, atol=0.2)


def test_a_turned_digit_is_made_of_squares_again():
    pictures, recipe = torch.rand(5, 3, 32, 32), QUICK.but({"turn_deg": 15.0, "square_px": 4})
    found = augmentation.batch_changes(pictures, recipe, torch.Generator().manual_seed(0), slice(0, 5), 5)
    squares = found.unflatten(3, (8, 4)).unflatten(2, (8, 4))
    assert torch.equal(squares, squares[..., :1, :, :1].expand_as(squares))
    smooth = augmentation.batch_changes(
        pictures, recipe.but({"square_px": 1}), torch.Generator().manual_seed(0), slice(0, 5), 5
    )
    assert torch.allclose(
        squares[..., 0, :, 0], smooth.unflatten(3, (8, 4)).unflatten(2, (8, 4)).mean((3, 5)), atol=1e-6
    )


def test_a_batch_is_normalised_as_the_app_does_it(photo):
    needs = Preprocessing((32, 32), (0.4, 0.5, 0.6), (0.2, 0.3, 0.25), crop_pct=0.9)
    batch = torch.from_numpy(fitted(photo, needs))[None]
    found = normalised(batch, needs, torch.device("cpu"))[0]
    expected = torch.from_numpy(vizkit.image.prepare(photo, needs)[0])
    assert float((found - expected).abs().max()) < 0.5 / 255 / 0.2 + 1e-6  # a fitted picture has 8 bits


# ---- runs ------------------------------------------------------------------------------------------------------------
def test_a_finished_run_is_a_model_with_a_story(finished):
    assert finished.status["state"] == "done"
    assert [line["epoch"] for line in finished.metrics()] == [1, 2]
    loaded = vizkit.load(str(finished.path))
    assert loaded.labels == tuple("0123456789")
    assert loaded.preprocessing.size_hw == (32, 32)
    card = (finished.path / "card.md").read_text()
    assert "--data digits" in card
    assert f"{100 * finished.read('result.json')['test_accuracy']:.1f} %" in card
    assert finished.read("versions.json")["torch"] == torch.__version__.partition("+")[0]
    assert len(finished.read("samples.json")) == 12
    assert [run.name for run in runs(finished.path.parent)] == ["quick"]
    files = {"config.json", "model.safetensors", "last.pt", "samples.json", "result.json", "card.md"}
    files |= {"recipe.json", "versions.json", "status.json", "metrics.jsonl", "checkpoints", "lock"}
    assert {file.name for file in finished.path.iterdir()} == files
    assert oct((finished.path / "model.safetensors").stat().st_mode)[-3:] == "644"


def test_the_loop_learns(tmp_path):
    recipe = QUICK.but(
        {"images": 480, "epochs": 6, "lr": 3e-3, "flip": 0.0, "model_args": {**TINY_VIT, "embed_dim": 32}}
    )
    lines = followed(tmp_path / "run", recipe).metrics()
    assert lines[-1]["train_loss"] < 0.8 * lines[0]["train_loss"]
    assert lines[-1]["val_accuracy"] > 0.4


@pytest.mark.rest
def test_one_process_trains_in_one_precision_after_another(finished, tmp_path):
    halves = followed(tmp_path / "halves", QUICK.but({"precision": "bf16"}))
    assert halves.status["state"] == "done"
    again = followed(tmp_path / "again")
    assert [line["train_loss"] for line in again.metrics()] == [line["train_loss"] for line in finished.metrics()]
    assert halves.metrics() != again.metrics()


def test_a_run_in_two_parts_equals_a_run_in_one(finished, tmp_path, monkeypatch):
    run = RunFolder(tmp_path / "run")
    run.create(QUICK)
    batch_changes, steps = augmentation.batch_changes, iter(range(9))

    def failing(*arguments):
        if next(steps) == 4:  # three steps an epoch
            raise KeyError("in the second epoch")
        return batch_changes(*arguments)

    monkeypatch.setattr(augmentation, "batch_changes", failing)
    with pytest.raises(KeyError, match="second epoch"):
        train(run, QUICK, device="cpu")
    monkeypatch.undo()
    run.append({"epoch": 2, "torn": True})  # as if killed between the line and the state
    train(run, QUICK, device="cpu")
    for a, b in zip(run.metrics(), finished.metrics(), strict=True):
        assert {k: a[k] for k in ("train_loss", "val_loss", "val_accuracy", "rate")} == pytest.approx(
            {k: b[k] for k in ("train_loss", "val_loss", "val_accuracy", "rate")}, rel=1e-6
        )


def test_no_number_stops_with_a_sentence_and_keeps_the_best(tmp_path):
    recipe = QUICK.but({"optimizer": "sgd", "lr": 1.0, "clip_norm": 0.0, "warmup_epochs": 1.0, "min_lr": 0.0})
    run = RunFolder(tmp_path / "run")
    run.create(recipe)
    with pytest.MonkeyPatch.context() as patch:  # a sane first epoch
        patch.setattr("vizkit.training.loop.rate", lambda r, step, steps, _: 1e-3 if step < steps else 1e11)
        train(run, recipe, device="cpu")
    assert run.status["state"] == "failed"
    assert "learning rate" in run.status["message"]
    assert len(run.metrics()) == 1
    assert vizkit.load(str(run.path)).trained


def test_only_the_head_learns(tmp_path):
    run = followed(tmp_path / "run", QUICK.but({"train_blocks": 0, "epochs": 1, "warmup_epochs": 0.0}))
    before = architectures.build(QUICK, tuple("0123456789")).state_dict()
    after = vizkit.load(str(run.path)).model.state_dict()
    assert {name for name in before if not torch.equal(before[name], after[name])} == {"head.weight", "head.bias"}


@pytest.mark.parametrize("model", ["test_vit", "test_resnet", "swin_tiny_patch4_window7_224", "convnext_atto"])
def test_the_last_blocks_and_the_head_learn(model):
    import timm

    net = timm.create_model(model, num_classes=3)
    optimizing.choose_trainable(net, 1)
    learning = {name for name, p in net.named_parameters() if p.requires_grad}
    frozen = {name for name, p in net.named_parameters() if not p.requires_grad}
    assert learning > optimizing.head_names(net)
    assert frozen
    optimizing.set_training(net)
    assert not next(m for m in net.modules() if isinstance(m, torch.nn.Conv2d)).training


@pytest.mark.product
@pytest.mark.parametrize(
    "changes",
    [
        {"mixup": 0.8, "cutmix": 1.0, "smoothing": 0.1},
        {"randaugment": "rand-m9-mstd0.5-inc1", "crop": 0.3, "erasing": 0.5, "repeats": 2},
        {"ema": 0.9, "optimizer": "sgd", "schedule": "plateau", "stop_patience": 1},
        {"optimizer": "muon", "patch_drop": 0.5, "drop_path": 0.1, "turn_deg": 20.0},
        {"teacher": "bundled:digits_cnn", "distillation": "soft"},
        {"teacher": "bundled:digits_cnn", "distillation": "hard", "model": "deit_tiny_distilled_patch16_224"},
        {"model": "digits_cnn", "model_args": {}},
    ],
    ids=lambda changes: "-".join(changes),
)
def test_every_aid_runs(tmp_path, changes):
    run = followed(
        tmp_path / "run", QUICK.but({"images": 32, "epochs": 1, "warmup_epochs": 0.0, "batch": 16, **changes})
    )
    assert run.status["state"] == "done"
    assert np.isfinite(run.metrics()[0]["train_loss"])


@pytest.mark.rest
@pytest.mark.parametrize(
    "changes, word",
    [
        ({"model": "no_such_model"}, "no_such_model"),
        ({"data": "nowhere"}, "nowhere"),
        ({"teacher": "bundled:insects_cnn", "distillation": "hard"}, "teacher|classes|pixels|bundled"),
        ({"model_args": {"depth": -1.5}}, "cannot be made"),
    ],
)
def test_what_cannot_be_done_is_said_before_the_first_step(tmp_path, changes, word):
    with pytest.raises(ValueError, match=word):
        followed(tmp_path / "run", QUICK.but(changes))
    run = followed(tmp_path / "run")  # the same folder can be used for the corrected recipe
    assert run.status["state"] == "done"


def test_a_used_folder_is_refused(finished):
    with pytest.raises(RecipeError, match="not empty"):
        finished.create(QUICK)


# ---- the command line ------------------------------------------------------------------------------------------------
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
FIELDS = ["--data", "digits", "--images", "96", "--model", "vit_tiny_patch16_224", "--batch", "32"]
FIELDS += ["--model-args", json.dumps(TINY_VIT), "--quiet", "--device", "cpu"]
SAME = ("train_loss", "val_loss", "val_accuracy", "rate")


@pytest.mark.rest
def test_killed_twice_and_resumed_the_curve_is_the_same(tmp_path):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    fields = [*FIELDS, "--epochs", "14", "--drop-path", "0.2", "--turn-deg", "9"]
    assert main(["train", *fields, "-o", str(whole)]) == 0
    given = [*fields, "-o", killed]
    for finished_epochs in (3, 8):
        with launched(["train", *given], ENVIRONMENT) as process:
            while len(RunFolder(killed).metrics()) < finished_epochs and process.is_alive():
                time.sleep(0.01)
        assert len(RunFolder(killed).metrics()) < 14, "it finished before it could be killed"
        given = ["--resume", killed, "--quiet", "--device", "cpu"]
    assert main(["train", *map(str, given)]) == 0
    expected, found = RunFolder(whole).metrics(), RunFolder(killed).metrics()
    assert len(found) == len(expected) == 14
    for a, b in zip(found, expected, strict=True):
        assert [a[key] for key in SAME] == pytest.approx([b[key] for key in SAME], rel=1e-6)
    assert RunFolder(killed).read("result.json") == pytest.approx(RunFolder(whole).read("result.json"), rel=1e-6)


@pytest.mark.rest  # of two in one process: test_same_run.py
def test_two_nodes_train_the_model_of_one_process(finished, tmp_path):
    output = tmp_path / "two"
    nodes = launched_on_two_nodes(["train", *FIELDS, "--epochs", "2", "-o", output], ENVIRONMENT)
    for node in nodes:
        assert node.returncode == 0, node.stderr
    run = RunFolder(output)
    assert run.read("versions.json")["processes"] == 2
    for a, b in zip(run.metrics(), finished.metrics(), strict=True):
        assert [a[key] for key in SAME] == pytest.approx([b[key] for key in SAME], rel=1e-4)
    one, two = (vizkit.load(str(each.path)).model.state_dict() for each in (finished, run))
    assert max(float((one[name] - two[name]).abs().max()) for name in one) < 1e-4


def test_asked_to_stop_it_finishes_its_step_and_can_go_on(tmp_path):
    output = tmp_path / "run"
    with launched(["train", *FIELDS, "--epochs", "400", "-o", output], ENVIRONMENT) as process:
        while not RunFolder(output).metrics() and process.is_alive():
            time.sleep(0.01)
        process.terminate()
        process.join(10)
        assert process.exitcode == 0
    assert RunFolder(output).status["state"] == "stopped"
    assert RunFolder(output).has_model


@pytest.mark.parametrize(
    "arguments, word",
    [
        (["--recipe", "best", "-o", "x"], "quick"),
        (["--resume", "nowhere"], "recipe.json"),
        (["--epochs", "0", "-o", "x"], "Epochs"),
        (["--model-args", "{", "-o", "x"], "JSON"),
        ([], "Give the new run's folder after -o"),
    ],
)
def test_the_command_refuses_in_one_sentence(tmp_path, monkeypatch, capsys, arguments, word):
    monkeypatch.chdir(tmp_path)
    try:
        code = main(["train", *arguments])
    except SystemExit as end:
        code = end.code
    said = capsys.readouterr().err
    assert (code, said.count("\n")) == (2, 1)
    assert word in said
    assert not list(tmp_path.iterdir())
