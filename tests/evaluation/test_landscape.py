"""The loss around a checkpoint: directions as long as the model's filters, a path's components by hand, the proof."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

import vizkit
from tests.training.test_training import followed
from vizkit.analysis.remarks.evaluation import around, on_the_path
from vizkit.evaluation.inside import landscape as module
from vizkit.evaluation.inside.landscape import PATH, RANDOM, axis, components, filter_normalised, walk_shares
from vizkit.figure.palette import DARK, LIGHT
from vizkit.figure.saved.panel import panel_of
from vizkit.figure.training.landscape import surface
from vizkit.image import prepare
from vizkit.traces import NotApplicable
from vizkit.training.recipe import Recipe
from vizkit.training.runs.folder import RunFolder
from vizkit.views import bundled
from vizkit.views.blocks import Proof
from vizkit.views.settled import flat
from vizkit.views.subject import Subject, no_model, no_picture
from vizkit.views.train.landscape import LossLandscape
from vizkit.work_folder import steps_in

RUN = RunFolder(bundled.RECORDED_FOLDER)


@pytest.fixture(autouse=True)
def few(tmp_path, monkeypatch):
    monkeypatch.setenv("VIZKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(module, "IMAGES", 20)
    monkeypatch.setattr(module, "CELLS", 4)


def made(plane, run=RUN):
    return module.landscape(run, plane, lambda done, total: None)


def test_every_filter_of_a_direction_is_as_long_as_the_models_own_and_biases_stay():
    weights = module.weights_of(vizkit.load(f"{RUN.path}@990"))
    found = filter_normalised(weights, seed=0)
    for name, weight in weights.items():
        own, new = weight.numpy(), found[name].numpy()
        if weight.ndim < 2:
            assert not new.any(), name
            continue
        own, new = (each[0] if name in ("pos_embed", "cls_token") else each for each in (own, new))
        for filter, drawn in zip(own, new, strict=True):
            assert np.linalg.norm(drawn) == pytest.approx(np.linalg.norm(filter), rel=1e-5), name
    again, other = (filter_normalised(weights, seed)["head.weight"] for seed in (0, 1))
    assert torch.equal(again, found["head.weight"])
    assert not torch.equal(other, again)
    assert not filter_normalised({"dead": torch.zeros(2, 3)}, 0)["dead"].any()


def test_the_centre_is_the_loss_of_the_checkpoint_on_these_images():
    found = made(RANDOM)
    assert found.holds
    loaded = vizkit.load(f"{RUN.path}@990")
    whole = vizkit.datasets.opening.open_set("digits", "test", size_px=32, seed=RUN.recipe.data_seed)
    taken = [np.flatnonzero(whole.targets == label)[:2] for label in range(10)]
    losses = []
    for row in np.concatenate(taken).tolist():
        rgb, target = whole[row]
        with torch.no_grad():
            logits = loaded.model(torch.from_numpy(prepare(rgb, loaded.preprocessing)[0])[None])
        losses.append(-float(logits.log_softmax(-1)[0, target]))
    assert found.centre == pytest.approx(np.mean(losses), abs=1e-6)
    assert found.loss.shape == (5, 5)
    assert found.x.tolist() == found.y.tolist() == [-1, -0.5, 0, 0.5, 1]


def test_a_place_of_the_surface_is_the_model_with_its_weights_moved():
    found = made(RANDOM)
    loaded = vizkit.load(f"{RUN.path}@990")
    weights = module.weights_of(loaded)
    one, other = (filter_normalised(weights, seed) for seed in range(2))
    few = module.FewPictures(module.balanced(RUN, loaded, module.IMAGES), loaded)
    pixels, targets = next(few.labelled(module.IMAGES))
    with torch.no_grad():
        for name, weight in loaded.model.named_parameters():
            weight += 0.5 * one[name] - 1.0 * other[name]
    assert found.loss[0, 3] == pytest.approx(module.mean_loss(loaded, loaded.model, pixels, targets), abs=1e-5)


def test_the_proof_fails_where_the_surface_is_around_another_place(monkeypatch):
    own = module.moved
    monkeypatch.setattr(module, "moved", lambda weights, along, far: own(weights, along, (far[0] + 0.01, far[1])))
    shown = flat(LossLandscape().show(Subject(no_model, no_picture())))
    (proof,) = (block for block in shown if isinstance(block, Proof))
    assert not proof.holds
    assert "not the same, so this surface is not around it" in proof.words
    assert not replace(made(RANDOM), asked=0.0).holds


def test_components_of_a_path_by_hand():
    """A rectangle of 6 × 2: squares of 4 · 9 and 4 · 1."""
    found, shares = components(np.array([[0.0, 0, 5], [6, 0, 5], [6, 2, 5], [0, 2, 5]]))
    assert_allclose(np.abs(found), [[1, 0, 0], [0, 1, 0]], atol=1e-12)
    assert_allclose(shares, [0.9, 0.1])
    with pytest.raises(NotApplicable, match="lie on a line"):
        components(np.array([[0.0, 0], [1, 1], [3, 3]]))


def test_what_a_random_walk_would_explain_is_known_exactly():
    """Of equal steps the spread is 1 / (2 - 2 cos(pi k / n)); of many steps the first part is 6 / pi²."""
    k = np.arange(1, 12)
    spread = 1 / (2 - 2 * np.cos(np.pi * k / 12))
    assert_allclose(walk_shares(np.full(11, 0.3)), spread[:2] / spread.sum())
    assert walk_shares(np.ones(999))[0] == pytest.approx(6 / np.pi**2, abs=1e-3)
    lengths = np.array([1.0, 2, 3, 1, 0.5])
    drawn = np.random.default_rng(0).normal(size=(5, 20_000)) * lengths[:, None]
    _, shares = components(np.cumsum([np.zeros(20_000), *drawn], axis=0))
    assert_allclose(walk_shares(lengths), shares, atol=0.01)


def test_the_path_lies_on_the_coordinates_of_its_checkpoints():
    found, steps = made(PATH), steps_in(RUN.path)
    every = np.stack([module._flat(module.weights_of(vizkit.load(f"{RUN.path}@{step}"))) for step in steps])
    directions, shares = components(every)
    assert_allclose(found.path, (every - every[-1]) @ directions.T, atol=1e-9)
    assert found.path[-1].tolist() == [0, 0]
    assert found.holds
    assert_allclose(found.shares, shares)
    spread = ((found.path - found.path.mean(0)) ** 2).sum(0) / ((every - every.mean(0)) ** 2).sum()
    assert_allclose(found.shares, spread)
    for at, along in enumerate((found.x, found.y)):
        assert along[0] < found.path[:, at].min()
        assert found.path[:, at].max() < along[-1]
        assert 0 in along
    assert_allclose(np.diff(found.x)[0], np.diff(found.y)[0])  # a cell is a square


def test_an_axis_has_the_checkpoint_itself():
    assert axis(-1.0, 1.0, 0.5).tolist() == [-1, -0.5, 0, 0.5, 1]
    assert axis(-3.0, 0.7, 0.925).tolist() == pytest.approx([-3.7, -2.775, -1.85, -0.925, 0, 0.925])


def test_a_saved_map_has_the_path_in_its_cells():
    loss = np.arange(6.0).reshape(2, 3)
    figure = surface(
        loss, np.array([-2.0, 0, 2]), np.array([0.0, 4]), ("a", "b"), np.array([[-2.0, 4], [0, 0]]), [1, 9]
    )
    assert figure.layout.yaxis.scaleanchor == "x"
    panel = panel_of(figure)
    assert panel.cells == ((3, 4, 5), (0, 1, 2))
    assert [(line.x, line.y) for line in panel.lines] == [((0, 1), (0, 1))]
    _, outline, path = figure.data
    frames = figure.layout.shapes
    assert panel.boxes == ((0.5, 0.5, 1.5, 1.5),) * len(frames), "the cell of the checkpoint"
    assert {frame.line.color for frame in frames} == {DARK, LIGHT}
    assert (outline.line.color, path.line.color) == (DARK, LIGHT), "seen on dark cells and on bright ones"
    assert outline.line.width > path.line.width
    assert (panel.x, panel.y) == ("a, from -2 to 2", "b, from 4 to 0")


def test_the_lowest_loss_has_a_colour_of_its_own():
    loss = 1 + np.arange(121.0).reshape(11, 11)
    drawn = surface(loss, np.arange(-5.0, 6), np.arange(-5.0, 6), ("a", "b"), np.zeros((0, 2)), []).data[0]
    assert drawn.zmin == 1
    assert drawn.zmax < 121


def test_the_sentences_are_the_surfaces_own():
    x = np.array([-1.0, 0, 1])
    loss = np.array([[9.0, 4, 9], [3, 1, 5], [9, 2, 0.5]])
    assert around("mine", loss, x, x, 100) == (
        "The loss of mine on 100 test images is 1 at its last checkpoint and 2 to 5 nats at a distance of one filter "
        "norm; the lowest on this plane is 0.5."
    )
    assert "nowhere on this plane is it lower" in around("mine", np.maximum(loss, 1), x, x, 100)
    said = on_the_path("mine", 14, 1.0, 0.5, np.array([0.71, 0.2]), np.array([0.66, 0.2]))
    assert said == (
        "The loss of mine on test images is 1 nats at its last checkpoint and 0.5 at the lowest place of this plane: "
        "the run ended beside it. The first component explains 71 % of how 14 checkpoints spread; of a random walk "
        "with steps as long as theirs, in random directions, it would explain 66 %: so the shape of the path proves "
        "little."
    )
    assert "nowhere lower" in on_the_path("mine", 14, 1.0, 1.0, np.array([0.9, 0.05]), np.array([0.66, 0.2]))
    assert on_the_path("mine", 14, 1.0, 1.0, np.array([0.9, 0]), np.array([0.6, 0])).endswith(
        "straighter than chance alone."
    )


def test_it_is_computed_once_for_the_same_files_and_plane(monkeypatch):
    asked, own = [], module._made
    monkeypatch.setattr(module, "_made", lambda *given: asked.append(given[2]) or own(*given))
    first, again = made(RANDOM), made(RANDOM)
    assert np.array_equal(first.loss, again.loss)
    made(PATH)
    assert asked == [RANDOM, PATH]


def test_what_has_no_surface_is_a_sentence(tmp_path, monkeypatch):
    run = followed(
        tmp_path / "run", Recipe(data="digits", images=32, model="digits_vit", epochs=1, batch=32, warmup_epochs=0.0)
    )
    with pytest.raises(NotApplicable, match="has kept fewer than three checkpoints"):
        made(PATH, run)
    with pytest.raises(NotApplicable, match="There is no run 'none' here"):
        list(LossLandscape(run="none").show(Subject(no_model, no_picture())))
    own = module.load

    def with_norm(name):
        loaded = own(name)
        loaded.model.more = torch.nn.BatchNorm2d(3)
        return loaded

    monkeypatch.setattr(module, "load", with_norm)
    with pytest.raises(NotApplicable, match="digits_small has BatchNorm, whose statistics"):
        made(RANDOM)
