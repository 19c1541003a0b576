"""The mask head in the training loop: its targets, its loss, its run."""

import json
import shutil

import numpy as np
import pytest
import torch

from vizkit.datasets.scenes import opening
from vizkit.datasets.scenes.drawing import draw_scene
from vizkit.models.detection.opening_masks import open_masks
from vizkit.models.sources.hub import ModelError
from vizkit.training.detection.mask_task import mask_iou, mask_loss, mask_task
from vizkit.training.detection.masked_scenes import BOX, MaskedScenes, masks_of
from vizkit.training.detection.recipes import DETECTING
from vizkit.training.detection.task import detecting_task
from vizkit.training.loop import train
from vizkit.training.recipe import TASK_OF, Recipe, RecipeError
from vizkit.training.runs.folder import RunFolder

SIZES = {"dim": 16, "heads": 2, "hidden": 16, "encoder_depth": 1, "decoder_depth": 1, "queries": 6, "groups": 1}


@pytest.fixture(scope="module", autouse=True)
def few():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(opening, "COUNTS", {"train": 8, "val": 6, "test": 6})
        yield


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """A run folder of a network that finds, as it was before it learned."""
    recipe = Recipe(data="scenes", model="detr_small", model_args=SIZES, image_size=64, images=8)
    task = detecting_task(recipe)
    run = RunFolder(tmp_path_factory.mktemp("runs") / "found")
    run.create(recipe)
    task.save(run, task.model)
    return run.path


@pytest.fixture(scope="module")
def recipe(found):
    return Recipe(
        data="scenes",
        model="detr_masks",
        model_args={"of": str(found), "heads": 2, "width": 32},
        images=8,
        epochs=1,
        batch=4,
    )


def test_the_recipe_names_its_task():
    assert TASK_OF[DETECTING["detr-masks"][1].model] == "masks"


def test_masks_turn_with_their_picture():
    scenes = opening.open_boxes("scenes", "val", size_px=64)
    plain, mirrored = (MaskedScenes(scenes, 64, lambda done: None, mirrors) for mirrors in (0.0, 1.0))
    for index in range(len(scenes)):
        pictures, rows = mirrored.__getitems__([(index, index)])
        _, still = plain.__getitems__([(index, 0)])
        things = int((rows[0, :, 0] >= 0).sum())
        assert things == len(draw_scene(index, split="val", size_px=64).labels)
        for row, own in zip(rows[0, :things], still[0, :things], strict=True):
            mask = row[BOX:].view(16, 16)
            assert float(mask.sum()) == float(own[BOX:].sum())  # the same pixels, elsewhere
            y, x = (where.float().mean() / 16 + 1 / 32 for where in torch.nonzero(mask, as_tuple=True))
            middle, size = row[1:3], row[3:5]
            assert ((torch.stack([x, y]) - middle).abs() <= size / 2 + 1 / 16).all()
        assert pictures.shape == (1, 64, 64, 3)


def test_a_cell_is_of_a_thing_that_fills_half_of_it():
    instances = np.zeros((4, 8), np.uint8)
    instances[:2, :4], instances[0, 4:] = 1, 2
    assert masks_of(instances, 2).tolist() == [[[1, 0]], [[0, 0]]]
    assert masks_of(instances, 0).shape == (0, 1, 2)


def test_the_loss_is_zero_for_whoever_knows_the_masks():
    masks = (torch.arange(32).view(2, 4, 4) % 3 == 0).float()
    right = (masks * 2 - 1) * 30
    assert float(mask_loss(right, masks)) < 1e-5 < 0.5 < float(mask_loss(-right, masks))
    assert mask_iou(right, masks).tolist() == [1, 1]
    assert mask_iou(-right, masks).tolist() == [0, 0]
    assert float(mask_loss(torch.zeros(0, 4, 4, requires_grad=True), torch.zeros(0, 4, 4)).detach()) == 0


def test_only_the_head_learns_and_a_run_opens_beside_its_network(recipe, found):
    before = (found / "model.safetensors").read_bytes()
    run = RunFolder(found / "masks")
    run.create(recipe)
    train(run, recipe, device="cpu")
    assert run.status["state"] == "done", run.status
    result = run.read("result.json")
    assert {"test_pq", "test_iou"} <= set(result)
    assert f"panoptic quality {result['test_pq']:.3f}" in (run.path / "card.md").read_text()
    assert (found / "model.safetensors").read_bytes() == before
    head = open_masks(found)
    assert head.sizes["width"] == 32
    other = found.parent / "other"
    shutil.copytree(found, other)
    about = json.loads((other / "masks" / "config.json").read_text()) | {"of": ""}
    (other / "masks" / "config.json").write_text(json.dumps(about))
    with pytest.raises(ModelError, match="other weights"):
        open_masks(other)


@pytest.mark.parametrize(
    "changes, word",
    [
        ({"data": "folder"}, "boxes alone"),
        ({"image_size": 96}, "set image_size"),
    ],
)
def test_what_does_not_fit_is_said(recipe, changes, word):
    with pytest.raises(RecipeError, match=word):
        mask_task(recipe.but(changes))
    with pytest.raises(RecipeError, match="cannot be made"):
        mask_task(recipe.but({"model_args": recipe.model_args | {"width": 7}}))
