"""Each aid of a recipe does what it is named after: runs of one or a few steps, watched at what the model is shown and
at the weights that come of it."""

from dataclasses import replace

import pytest
import safetensors.torch
import torch
import torch.nn.functional as F
from accelerate import Accelerator
from torch.testing import assert_close

from vizkit.training import architectures, loop
from vizkit.training.evaluating import evaluate
from vizkit.training.pictures.batches import Fitted, normalised
from vizkit.training.recipe import Recipe
from vizkit.training.run_setup import set_up
from vizkit.training.runs.folder import RunFolder

TINY_VIT = {"img_size": 32, "patch_size": 8, "embed_dim": 16, "depth": 2, "num_heads": 2}
LABELS, CPU = tuple("0123456789"), torch.device("cpu")
# One step over all images, and nothing that changes a picture or the gradient but what a test asks for.
ONE_STEP = Recipe(
    data="digits",
    images=32,
    batch=32,
    model="vit_tiny_patch16_224",
    model_args=TINY_VIT,
    epochs=1,
    schedule="constant",
    warmup_epochs=0.0,
    flip=0.0,
    clip_norm=0.0,
    weight_decay=0.0,
)
SGD = ONE_STEP.but({"optimizer": "sgd", "momentum": 0.5, "lr": 0.25})


def followed(path, recipe):
    run = RunFolder(path)
    run.create(recipe)
    loop.train(run, recipe, device="cpu")
    assert run.status["state"] == "done"
    return run


def state(run, part="model"):
    return torch.load(run.path / "last.pt", weights_only=True)[part]


def kept(run):
    return safetensors.torch.load_file(run.path / "model.safetensors")


def equal(a, b):
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def step(run):
    """What a run of one step added to each parameter."""
    before = architectures.build(run.recipe, LABELS).state_dict()
    return {name: after - before[name] for name, after in state(run).items()}


def norm(changes):
    return float(torch.cat([change.flatten() for change in changes.values()]).norm())


@pytest.fixture
def shown(monkeypatch):
    """Follow a recipe and give the run, and what the model was shown: in training, and in evaluation."""
    start = architectures.start

    def watched(path, recipe):
        batches = {True: [], False: []}

        def started(*setup):
            model, knows = start(*setup)
            model.register_forward_pre_hook(lambda net, inputs: batches[net.training].append(inputs[0].clone()))
            return model, knows

        monkeypatch.setattr(architectures, "start", started)
        run = followed(path, recipe)
        monkeypatch.setattr(architectures, "start", start)
        return run, torch.cat(batches[True]), torch.cat(batches[False])

    return watched


def test_the_moving_average_is_what_is_validated_and_kept(tmp_path):
    run = followed(tmp_path / "run", SGD.but({"ema": 0.9, "images": 96, "lr": 0.5}))
    average = {name.removeprefix("module."): value for name, value in state(run, "ema").items()}
    assert equal(kept(run), average)
    assert not equal(average, state(run))
    setup, losses = set_up(run.recipe, CPU), []
    images = Fitted(setup.sets["val"], setup.needs)
    for weights in (average, state(run)):
        setup.model.load_state_dict(weights)
        losses.append(evaluate(setup.model, images, setup.needs, Accelerator(cpu=True), 0).loss)
    assert run.metrics()[0]["val_loss"] == pytest.approx(losses[0], rel=1e-6)
    assert losses[1] != pytest.approx(losses[0], rel=1e-4)


@pytest.mark.product
@pytest.mark.parametrize(
    "accuracies, best", [((0.3, 0.5, 0.4), 1), ((0.5, 0.3, 0.4), 0), ((0.3, 0.4, 0.5), 2), ((0.5, 0.5, 0.5), 0)]
)
def test_only_an_epoch_better_than_all_before_is_kept(tmp_path, monkeypatch, accuracies, best):
    weights, said = [], iter((*accuracies, 0.0))  # the last one is the test

    def judged(model, *setup):
        weights.append({name: value.clone() for name, value in model.state_dict().items()})
        return replace(evaluate(model, *setup), accuracy=next(said))

    monkeypatch.setattr(loop, "evaluate", judged)
    run = followed(tmp_path / "run", SGD.but({"epochs": 3}))
    assert [equal(kept(run), each) for each in weights[:3]] == [epoch == best for epoch in range(3)]
    assert equal(weights[3], weights[best])  # and is what the test judges


@pytest.mark.rest
def test_erasing_puts_noise_into_a_rectangle_of_each_training_picture(tmp_path, shown):
    _, plain, judged = shown(tmp_path / "plain", ONE_STEP)
    _, erased, judged_too = shown(tmp_path / "erased", ONE_STEP.but({"erasing": 1.0}))
    assert torch.equal(judged, judged_too)
    for before, after in zip(plain, erased, strict=True):
        changed = (before != after).any(0)
        rows, columns = changed.any(1).nonzero().flatten(), changed.any(0).nonzero().flatten()
        assert changed[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1].all()
        assert 0.01 < changed.float().mean() < 0.4
        assert after[:, changed].std() > 0.5


@pytest.mark.rest
def test_mixup_shows_two_pictures_at_once_and_asks_for_both_labels(tmp_path, shown):
    recipe = ONE_STEP.but({"mixup": 1.0, "smoothing": 0.1, "seed": 3})
    _, plain, judged = shown(tmp_path / "plain", recipe.but({"mixup": 0.0}))
    run, mixed, judged_too = shown(tmp_path / "mixed", recipe)
    assert torch.equal(judged, judged_too)
    setup = set_up(recipe, CPU)
    images = Fitted(setup.sets["train"], setup.needs)
    pictures, labels = zip(*(images[i, 0] for i in range(32)), strict=True)
    same = (normalised(torch.stack(pictures), setup.needs, CPU)[None] == plain[:, None]).all((2, 3, 4))
    assert same.sum(1).tolist() == [1] * 32
    asked = F.one_hot(torch.tensor(labels), 10)[same.int().argmax(1)]
    targets = []
    for own, seen in enumerate(mixed):
        apart = plain - plain[own]  # seen = own + (1 − λ) · (other − own), for one of the others
        share = ((seen - plain[own]) * apart).sum((1, 2, 3)) / apart.square().sum((1, 2, 3)).clamp(min=1e-9)
        missed = (plain[own] + share[:, None, None, None] * apart - seen).abs().amax((1, 2, 3))
        other = int(missed.argmin())
        assert missed[other] < 1e-5
        assert 0.01 < share[other] < 0.99
        targets.append((1 - share[other]) * asked[own] + share[other] * asked[other])
    with torch.no_grad():
        loss = F.cross_entropy(setup.model.eval()(mixed), 0.9 * torch.stack(targets) + 0.01)
    assert run.metrics()[0]["train_loss"] == pytest.approx(float(loss), rel=1e-5)


@pytest.mark.rest
def test_clipping_bounds_the_length_of_a_step(tmp_path):
    free = norm(step(followed(tmp_path / "free", SGD)))
    clipped = norm(step(followed(tmp_path / "clipped", SGD.but({"clip_norm": 0.01}))))
    loose = norm(step(followed(tmp_path / "loose", SGD.but({"clip_norm": 1000.0}))))
    assert clipped == pytest.approx(
        0.25 * 1.5 * 0.01, rel=1e-3
    )  # rate × (1 + momentum of Nesterov's first step) × norm
    assert free == pytest.approx(loose, rel=1e-6)
    assert free > 10 * clipped


@pytest.mark.rest  # of the optimizer alone: test_optimizing.py
def test_weight_decay_shrinks_matrices_and_spares_the_rest(tmp_path):
    adam = ONE_STEP.but({"optimizer": "adamw", "lr": 0.01})
    plain = step(followed(tmp_path / "plain", adam))
    decayed = step(followed(tmp_path / "decayed", adam.but({"weight_decay": 0.5})))
    before = architectures.build(adam, LABELS).state_dict()
    spared = {name for name in before if before[name].ndim < 2} | {"pos_embed", "cls_token"}
    for name, change in plain.items():
        expected = torch.zeros(()) if name in spared else -0.01 * 0.5 * before[name]
        assert_close(decayed[name] - change, expected.expand_as(change), rtol=0, atol=1e-6)
    assert float(before["blocks.0.attn.qkv.weight"].abs().max()) > 0.01  # so that there is something to shrink
