"""Curves of several runs: smoothing, axes and what differs, worked out by hand."""

import pytest

from vizkit.training.pictures.batches import Batches
from vizkit.training.recipe import Recipe
from vizkit.training.runs.command_line import command, data_name, portable
from vizkit.training.runs.comparing import along, differing, smoothed, steps_an_epoch

EPOCHS = [{"epoch": 1, "seconds": 30.0}, {"epoch": 2, "seconds": 90.0}]


def test_smoothing_is_a_corrected_moving_average():
    # s: .5, .25 + 1 = 1.25, .625 + 2 = 2.625; divided by 1 − .5, 1 − .25, 1 − .125
    assert smoothed([1, 2, 4], 0.5) == pytest.approx([1, 5 / 3, 3])
    assert smoothed([1, 2, 4], 0.0) == [1, 2, 4]
    assert smoothed([3, 3, 3], 0.9) == pytest.approx([3, 3, 3])
    assert smoothed([], 0.5) == []


def test_epochs_lie_by_number_step_or_minute():
    assert along(EPOCHS, "epoch") == [1, 2]
    assert along(EPOCHS, "minutes") == [0.5, 2.0]
    assert along(EPOCHS, "step") == []
    assert along(EPOCHS, "step", 7) == [7, 14]
    assert along([{**EPOCHS[0], "steps": 5}, EPOCHS[1]], "step", 7) == [5, 12]


@pytest.mark.parametrize("changes", [{}, {"batch": 7}, {"mixup": 0.2, "batch": 10}, {"passes": 3}, {"batch": 999}])
def test_steps_are_those_of_the_loop(changes):
    recipe = Recipe(images=101).but(changes)
    assert steps_an_epoch(recipe, 101) == Batches(101, recipe).steps
    assert steps_an_epoch(recipe, 0) == 0


def test_only_what_differs_is_listed():
    first, second = Recipe(data="/home/a/bees", lr=1e-3), Recipe(data="/srv/bees", lr=3e-3, seed=1)
    assert differing({"a": first, "b": second, "c": first}) == {"lr": [1e-3, 3e-3, 1e-3], "seed": [0, 1, 0]}
    assert differing({"a": first}) == {}
    assert differing({}) == {}
    assert data_name("torchvision:pets") == "torchvision:pets"
    assert data_name("/home/a/bees.zip") == "bees.zip"


def test_a_command_for_others_names_no_folder_of_this_machine():
    recipe = Recipe(
        data="/srv/cache/ab12/my_photos.zip", model="/srv/runs/first", teacher="bundled:digits_vit", distillation="hard"
    )
    assert portable(recipe).but({"data": recipe.data, "model": recipe.model}) == recipe
    assert "/srv" not in command(portable(recipe), "runs/x")
    assert "--data my_photos.zip --model runs/first" in command(portable(recipe), "runs/x")
    assert portable(Recipe()) == Recipe()
    opened = recipe.but({"model": f"/srv/cache/uploads/{'ab' * 32}/vit_tiny-48f3fa29"})
    assert "--model vit_tiny-48f3fa29 " in command(portable(opened), "runs/x")
