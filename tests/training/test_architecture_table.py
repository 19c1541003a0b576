"""The honest table: which runs it compares, and what it measures."""

import pytest
import torch
from torch import nn

from benchmarks.architectures import BATCH, accuracy
from vizkit.models.probes.cost import kept_learning
from vizkit.models.probes.multiply_adds import work_of
from vizkit.training.architectures import OURS
from vizkit.training.experiments.architectures import SIZES, VARIANTS, plan, worths
from vizkit.training.recipe import Recipe, RecipeError
from vizkit.training.runs.folder import RunFolder

DIGITS = SIZES["digits"]


def finish(folder, model, seed, test=0.9, **changes):
    run = RunFolder(folder / f"{model}-{seed}")
    run.create(Recipe(data="digits", model=model, seed=seed).but(changes))
    said = {"train_loss": 1.0, "train_accuracy": 0.5, "val_loss": 1.0, "rate": 1e-3, "images_per_s": 9.0}
    run.append({**said, "epoch": 1, "val_accuracy": test - 0.1, "seconds": 30.0})
    run.append({**said, "epoch": 2, "val_accuracy": test, "seconds": 60.0})
    run.write("result.json", {"test_accuracy": test})
    return run


def test_only_finished_runs_of_one_recipe_are_compared(tmp_path):
    begun = RunFolder(tmp_path / "begun")
    begun.create(Recipe(data="digits", model="digits_dual", seed=2))
    folders = [
        finish(tmp_path, "digits_dual", 1, 0.8),
        finish(tmp_path, "digits_dual", 0, 0.9),
        finish(tmp_path, "digits_gradual", 0),
        finish(tmp_path, "digits_cnn", 0, epochs=3),  # another model is none of this
        begun,
    ]
    dual, gradual = worths(DIGITS, folders)
    assert [run.recipe.seed for run in dual.runs] == [0, 1]
    assert (dual.variant, dual.words, gradual.variant) == ("dual", "dual-scale, α learned", "gradual")
    assert (dual.mean, dual.deviation, gradual.deviation) == (pytest.approx(0.85), pytest.approx(0.0707107), None)
    assert dual.minutes == [1.5, 1.5]
    assert dual.validation() == {1: pytest.approx([0.8, 0.7]), 2: pytest.approx([0.9, 0.8])}
    assert accuracy(dual) == ("85.0 ± 7.1", "90.0 80.0")
    folders.append(finish(tmp_path, "digits_vit_fine", 0, epochs=3))
    with pytest.raises(RecipeError, match="no fair comparison: its epochs differ"):
        worths(DIGITS, folders)


def test_every_variant_can_be_trained_and_differs_in_model_and_seed_only():
    for size in SIZES.values():
        recipes = plan(size, (0, 1))
        assert len(recipes) == 2 * len(VARIANTS)
        assert {recipe.model for recipe in recipes.values()} <= set(OURS)
        alike = size.recipe.but({"model": "", "seed": 0})
        assert all(recipe.but({"model": "", "seed": 0}) == alike for recipe in recipes.values())
        assert {recipe.image_size or OURS[recipe.model][2] for recipe in recipes.values()} == {size.side_px}


def test_what_is_kept_and_what_it_costs():
    """A linear layer keeps its input; squaring keeps its own."""
    layer, x = nn.Linear(8, 16, bias=False), torch.randn(BATCH, 8)
    assert kept_learning(layer, x) == (8 + 16) * BATCH * 4
    assert work_of(layer, (1, 8)).total[""] == 8 * 16  # of one image
