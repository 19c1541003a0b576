"""Networks that enlarge in the training loop: what they are shown, what is saved, how they are judged."""

import pytest
import torch
from accelerate import Accelerator
from torch import nn
from torchmetrics.functional.image import peak_signal_noise_ratio

from vizkit.analysis.super_resolution.quality import luminance, psnr
from vizkit.datasets.image_set import DatasetError
from vizkit.datasets.pairs.drawn import DrawnPairs
from vizkit.models.networks.super_resolution.parts import bicubic
from vizkit.models.networks.super_resolution.ttsr import NETWORKS
from vizkit.training.loop import train
from vizkit.training.recipe import TASK_OF, Recipe, RecipeError
from vizkit.training.runs.folder import RunFolder
from vizkit.training.super_resolution import task as tasks
from vizkit.training.super_resolution.recipes import ENLARGING
from vizkit.training.super_resolution.task import Shown, enlarging_task, pixels_of
from vizkit.work_folder import steps_in

SIZES = {"widths": [4, 4, 4], "blocks": [1, 1, 1], "textures": [4, 4, 4]}
TINY = Recipe(model="ttsr_small", model_args=SIZES, images=24, epochs=1, batch=12)


def test_recipes_name_the_networks():
    assert {recipe.model for _, recipe in ENLARGING.values()} == set(NETWORKS)
    assert {TASK_OF[name] for name in NETWORKS} == {"enlarge"}


def test_psnr_is_that_of_torchmetrics_on_luminance():
    draw = torch.Generator().manual_seed(0)
    first, second = torch.rand(2, 1, 3, 11, 13, generator=draw)
    expected = peak_signal_noise_ratio(luminance(first), luminance(second), data_range=1.0)
    assert float(psnr(first, second)) == pytest.approx(float(expected), abs=1e-4)
    assert float(luminance(torch.ones(1, 3, 1, 1))) == pytest.approx(235 / 255, abs=1e-4)
    assert float(luminance(torch.zeros(1, 3, 1, 1))) == pytest.approx(16 / 255, abs=1e-4)


class Bicubic(nn.Module):
    def forward(self, small, reference):
        return bicubic(small, (96, 96))


def test_a_score_knows_who_is_better_than_bicubic():
    task = enlarging_task(TINY)
    data = Shown(DrawnPairs("test", 24), lambda done: None)
    score = task.score(Bicubic(), data, Accelerator(cpu=True), 0)
    assert score.accuracy == 0.0
    assert score.images == 24
    (small, _), truth = data.__getitems__([(index, 0) for index in range(24)])
    device = torch.device("cpu")
    assert score.psnr == pytest.approx(
        float(psnr(bicubic(pixels_of(small, device), (96, 96)), pixels_of(truth, device)).mean()), abs=1e-3
    )


def test_a_run_learns_saves_and_tells_its_story(tmp_path, monkeypatch):
    monkeypatch.setattr(tasks, "COUNTS", {"train": 24, "val": 24, "test": 24})
    run = RunFolder(tmp_path / "run")
    run.create(TINY)
    train(run, TINY, device="cpu")
    assert run.status["state"] == "done"
    assert "dB" in run.status["message"]
    assert run.metrics()[0]["val_psnr"] > 20
    assert run.read("config.json")["architecture"] == "ttsr_small"
    assert steps_in(run.path) == [1, 2]
    card = (run.path / "card.md").read_text()
    assert f"{run.read('result.json')['test_psnr']:.2f} dB on 24 pairs" in card


@pytest.mark.parametrize(
    "changes, word",
    [
        ({"mixup": 0.2}, "mixup"),
        ({"data": "digits"}, "drawn insects, or"),
        ({"data": "no/such"}, "No set and no folder"),
        ({"model_args": {"depth": 3}}, "model arguments"),
    ],
)
def test_what_does_not_fit_is_said(changes, word):
    with pytest.raises((RecipeError, DatasetError), match=word):
        enlarging_task(TINY.but(changes))
