"""Networks that find things in the training loop: what they are shown, what they learn from, how they are judged."""

import numpy as np
import pytest
import torch
from accelerate import Accelerator
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from torch.testing import assert_close

from vizkit.datasets.scenes import opening
from vizkit.datasets.scenes.drawing import boxes_of, draw_scene
from vizkit.models.detection.building import NETWORKS
from vizkit.models.detection.opening import open_detector
from vizkit.models.networks.detr import Answers, Learning
from vizkit.models.sources.hub import ModelError
from vizkit.training.detection.batches import NOTHING, Scenes, shares, things_of, turned
from vizkit.training.detection.recipes import DETECTING
from vizkit.training.detection.task import detecting_task
from vizkit.training.loop import train
from vizkit.training.recipe import TASK_OF, Recipe, RecipeError
from vizkit.training.runs.folder import RunFolder
from vizkit.work_folder import steps_in

SIZES = {"dim": 16, "heads": 2, "hidden": 16, "encoder_depth": 1, "decoder_depth": 2, "queries": 6, "groups": 2}
TINY = Recipe(data="scenes", model="detr_small", model_args=SIZES, image_size=64, images=24, epochs=1, batch=12)


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(opening, "COUNTS", {"train": 24, "val": 12, "test": 12})


def test_recipes_name_the_networks():
    assert {recipe.model for _, recipe in DETECTING.values() if recipe.task == "detect"} <= set(NETWORKS)
    assert {TASK_OF[name] for name in NETWORKS} == {"detect"}


@given(
    height=st.sampled_from([7, 11, 23]),
    width=st.sampled_from([5, 13, 17]),
    flip=st.booleans(),
    quarters=st.integers(0, 3),
    seed=st.integers(0, 99),
)
def test_boxes_turn_with_their_picture(height, width, flip, quarters, seed):
    draw = np.random.default_rng(seed)
    left, top = int(draw.integers(width - 2)), int(draw.integers(height - 2))
    right, bottom = int(draw.integers(left + 1, width + 1)), int(draw.integers(top + 1, height + 1))
    picture = np.zeros((height, width, 3), np.uint8)
    picture[top:bottom, left:right] = 1
    rows = np.concatenate([[[3]], shares(np.array([[left, top, right, bottom]], float), (height, width))], 1)
    changed, boxes = turned(picture, rows, flip, quarters)
    expected = shares(boxes_of(np.ascontiguousarray(changed[..., 0]), 1), changed.shape[:2])
    assert_allclose(boxes[:, 1:], expected, atol=1e-12)
    assert boxes[0, 0] == 3


def test_pictures_with_fewer_things_are_filled_up():
    data = Scenes(opening.open_boxes("scenes", "val", size_px=64), detecting_task(TINY).needs, lambda done: None)
    pictures, rows = data.__getitems__([(index, 0) for index in range(len(data))])
    assert pictures.shape == (12, 64, 64, 3)
    for index, things in enumerate(things_of(rows)):
        scene = draw_scene(index, split="val", size_px=64)
        assert things.labels.tolist() == scene.labels.tolist()
        assert_allclose(things.boxes_cxcywh, shares(scene.boxes_xyxy, (64, 64)), atol=1e-6)
    assert (rows[:, :, 0] == NOTHING).any()


def test_the_loss_is_zero_for_whoever_knows_the_answer():
    task = detecting_task(TINY.but({"model_args": SIZES | {"dense": False}}))
    data = task.data("val", lambda done: None)
    (_,), truth = task.shown(*data.__getitems__([(0, 0), (1, 0), (2, 0)]), (0, 0), np.arange(3), 3)  # type: ignore[attr-defined]
    logits, boxes = torch.full((3, 12, 13), -30.0), torch.full((3, 12, 4), 0.5)
    logits[..., -1] = 30.0
    for image, things in enumerate(truth):
        for place, (label, box) in enumerate(zip(things.labels, things.boxes_cxcywh, strict=True)):
            for first in (0, 6):  # of both groups
                logits[image, first + place, -1], logits[image, first + place, label] = -30.0, 30.0
                boxes[image, first + place] = box
    learned = Learning([Answers(logits, boxes)], None, (4, 4))
    loss, right, things = task.loss(learned, truth)
    assert float(loss) < 1e-5
    assert int(right) == things == 2 * sum(len(each.labels) for each in truth) > 0
    logits[:, 6:] = 0  # the second group knows nothing
    assert float(task.loss(learned, truth)[0]) > 0.5


def test_all_parts_learn():
    task = detecting_task(TINY)
    model = task.model.train()
    batch = task.data("train", lambda done: None).__getitems__([(index, index) for index in range(8)])  # type: ignore[attr-defined]
    (pixels,), truth = task.shown(*batch, (0, 0), np.arange(8), 8)
    task.loss(model(pixels), truth)[0].backward()
    assert not [name for name, parameter in model.named_parameters() if parameter.grad is None]
    norms = [each for each in model.backbone.modules() if isinstance(each, torch.nn.BatchNorm2d)]
    assert norms
    assert not any(each.training for each in norms)


def test_a_group_knows_nothing_of_the_other():
    torch.manual_seed(0)
    model = detecting_task(TINY).model.train()
    pixels = torch.randn(1, 3, 64, 64)
    before = model(pixels).layers[-1].logits
    with torch.no_grad():
        model.queries.weight[6:] += 1
    after = model(pixels).layers[-1].logits
    assert_close(after[:, :6], before[:, :6])
    assert not torch.allclose(after[:, 6:], before[:, 6:])
    assert_close(model.eval()(pixels).logits, after[:, :6])


def test_a_run_learns_saves_tells_its_story_and_opens_again(tmp_path):
    run = RunFolder(tmp_path / "run")
    run.create(TINY)
    train(run, TINY, device="cpu")
    assert run.status["state"] == "done", run.status
    assert 0 <= run.metrics()[0]["val_ap50"] <= 1
    assert f"AP50 {run.read('result.json')['test_ap50']:.3f}" in (run.path / "card.md").read_text()
    assert steps_in(run.path) == [1, 2]
    detector = open_detector(run.path)
    assert len(detector.labels) == 12
    assert detector.queries == 6
    task = detecting_task(TINY)
    tested = task.score(detector.model, task.data("test", lambda done: None), Accelerator(cpu=True), 0)
    assert tested.ap50 == pytest.approx(run.read("result.json")["test_ap50"], abs=1e-6)
    (run.path / "config.json").write_text(
        (run.path / "config.json").read_text().replace('"queries": 6', '"queries": 7')
    )
    with pytest.raises(ModelError, match="another network"):
        open_detector(run.path)


@pytest.mark.parametrize(
    "changes, word",
    [
        ({"mixup": 0.2}, "mixup"),
        ({"model_args": {"depth": 3}}, "model arguments"),
        ({"model_args": {"backbone": "hf-hub:somebody/cnn"}}, "no name of timm"),
        ({"images": 10_000_000}, "set images to"),
    ],
)
def test_what_does_not_fit_is_said(changes, word):
    with pytest.raises(RecipeError, match=word):
        detecting_task(TINY.but(changes))
