"""The honest table: which runs it compares, and what it measures."""

import json

import pytest
import torch
from torch import nn

from benchmarks.architectures import BATCH, VARIANTS, finished, kept_bytes, multiply_adds
from vizkit.training.architectures import OURS
from vizkit.training.recipe import Recipe
from vizkit.training.run_folder import RunFolder


def finish(folder, model, seed, **changes):
    run = RunFolder(folder / f"{model}-{seed}")
    run.create(Recipe(data="digits", model=model, seed=seed).but(changes))
    run.write("result.json", {"test_accuracy": 0.9})


def test_only_finished_runs_of_one_recipe_are_compared(tmp_path):
    finish(tmp_path, "digits_dual", 1)
    finish(tmp_path, "digits_dual", 0)
    finish(tmp_path, "digits_gradual", 0)
    finish(tmp_path, "digits_cnn", 0, epochs=3)  # another model is none of this
    RunFolder(tmp_path / "begun").create(Recipe(data="digits", model="digits_dual", seed=2))
    found = finished(tmp_path)
    assert {name: [run.recipe.seed for run in runs] for name, runs in found.items() if runs} == {
        "digits_dual": [0, 1],
        "digits_gradual": [0],
    }
    finish(tmp_path, "digits_vit_fine", 0, epochs=3)
    with pytest.raises(SystemExit, match="no fair comparison: its epochs differ"):
        finished(tmp_path)


def test_every_variant_can_be_trained():
    assert set(VARIANTS) < set(OURS)
    assert json.dumps(VARIANTS)


def test_what_is_kept_and_what_it_costs():
    """A linear layer keeps its input; squaring keeps its own."""
    layer, x = nn.Linear(8, 16, bias=False), torch.randn(BATCH, 8)
    assert kept_bytes(layer, x) == (8 + 16) * BATCH * 4
    assert multiply_adds(layer, x) == 8 * 16  # of one image
