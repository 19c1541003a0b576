"""What a network that enlarges may learn from beside the mean absolute error: each loss by hand and by its gradient."""

import copy

import pytest
import torch
from torch import nn

from vizkit.training.loop import train
from vizkit.training.recipe import Recipe, RecipeError
from vizkit.training.runs.folder import RunFolder
from vizkit.training.super_resolution import task as tasks
from vizkit.training.super_resolution.losses import PENALTY, Adversary, Critic, Perceptual, gradient_penalty
from vizkit.training.super_resolution.task import enlarging_task

SIZES = {"widths": [4, 4, 4], "blocks": [1, 1, 1], "textures": [4, 4, 4]}
TINY = Recipe(model="ttsr_small", model_args=SIZES, images=24, epochs=1, batch=12)
CPU = torch.device("cpu")


@pytest.fixture
def pictures():
    """(enlarged, truth), the first with a gradient."""
    draw = torch.Generator().manual_seed(0)
    enlarged, truth = torch.rand(2, 2, 3, 32, 40, generator=draw)
    return enlarged.requires_grad_(), truth


def gradient(loss, pixels):
    return torch.autograd.grad(loss, pixels)[0]


def test_without_more_it_is_the_mean_absolute_error_bit_for_bit(pictures):
    enlarged, truth = pictures
    task = enlarging_task(TINY)
    assert task.perceptual is None
    assert task.adversary is None
    assert task.parts == {}
    loss, _, count = task.loss(enlarged, truth)
    assert loss.item() == (enlarged - truth).abs().mean().item()
    assert count == 2
    assert torch.equal(gradient(loss, enlarged), (enlarged - truth).detach().sign() / enlarged.numel())


def test_features_are_nothing_apart_only_in_equal_pictures(pictures):
    enlarged, truth = pictures
    perceptual = Perceptual(CPU)
    assert perceptual(truth, truth) == 0
    loss = perceptual(enlarged, truth)
    down = enlarged.detach() - 1e-3 * gradient(loss, enlarged).sign()
    assert 0 < perceptual(down, truth) < loss
    assert not any(weights.requires_grad for weights in perceptual.network.parameters())


def test_features_are_those_of_the_bundled_network_at_its_own_scale(pictures):
    _, truth = pictures
    perceptual = Perceptual(CPU)
    expected = perceptual.network.stages[1](perceptual.network.stages[0](perceptual.network.stem(2 * truth - 1)))
    assert torch.allclose(perceptual.features(truth), expected, atol=1e-5)
    assert expected.shape == (2, 64, 4, 5)


class Linear(nn.Module):
    """D(x) = slope · Σ x, whose gradient has the length slope · √n."""

    def __init__(self, slope):
        super().__init__()
        self.slope = nn.Parameter(torch.tensor(slope))

    def forward(self, pixels):
        return self.slope * pixels.sum((1, 2, 3))


@pytest.mark.parametrize("slope, penalty", [(1.0, 25.0), (1 / 6, 0.0), (0.0, 1.0)])  # √(3 · 3 · 4) = 6
def test_the_gradient_penalty_by_hand(slope, penalty):
    first, second = torch.rand(2, 5, 3, 3, 4)
    critic = Linear(slope)
    found = gradient_penalty(critic, first, second)
    assert found.item() == pytest.approx(penalty, abs=1e-5)
    if slope == 1.0:
        assert gradient(found, critic.slope).item() == pytest.approx(2 * 5 * 6, rel=1e-4)  # d(6 s − 1)² / ds


def test_a_critic_judges_every_picture_alone(pictures):
    critic, pixels = Critic(), pictures[1]
    assert torch.allclose(critic(pixels)[1:], critic(pixels[1:]), atol=1e-6)


@pytest.mark.rest
def test_the_critic_learns_to_tell_them_apart_and_the_network_hears_of_it(pictures):
    enlarged, truth = pictures
    torch.manual_seed(0)
    adversary = Adversary(CPU)
    begin = {name: weights.clone() for name, weights in adversary.critic.named_parameters()}
    for _ in range(30):
        adversary.learn(0.5 + 0.1 * enlarged, truth)
    same = [name for name, weights in adversary.critic.named_parameters() if torch.equal(begin[name], weights)]
    assert same == ["layers.8.bias"]  # a constant falls out of D(truth) − D(enlarged)
    dull = (0.5 + 0.1 * enlarged).detach().requires_grad_()
    judged = adversary(dull)
    assert -judged.item() == pytest.approx(adversary.critic(dull).mean().item(), abs=1e-6)
    assert adversary.critic(truth).mean() > adversary.critic(dull).mean()
    slope = gradient(judged, dull)
    expected = -gradient(adversary.critic(dull).mean(), dull)
    assert torch.allclose(slope, expected, atol=1e-7)
    adversary.optimizer.zero_grad()
    adversary(dull).backward()
    assert all(weights.grad is None for weights in adversary.critic.parameters())  # it does not help the network
    assert gradient_penalty(adversary.critic, dull, truth).item() < 1.0  # what PENALTY is for
    assert PENALTY == 10


@pytest.mark.parametrize("name", ["perceptual", "adversarial"])
def test_each_is_added_with_its_weight(pictures, name):
    enlarged, truth = pictures
    plain = gradient((enlarged - truth).abs().mean(), enlarged)
    added = []
    for weight in (0.5, 1.0):
        torch.manual_seed(0)
        task = enlarging_task(TINY.but({name: weight}))
        torch.manual_seed(1)  # of the penalty's places
        loss, _, _ = task.loss(enlarged, truth)
        added.append(gradient(loss, enlarged) - plain)
    assert added[0].abs().max() > 0
    assert torch.allclose(2 * added[0], added[1], atol=1e-6)


def test_a_critic_that_was_saved_goes_on_as_if_nothing_had_been(pictures):
    enlarged, truth = pictures
    first, second = Adversary(CPU), Adversary(CPU)
    first.learn(enlarged, truth)
    second.load_state_dict(copy.deepcopy(first.state_dict()))
    for each in (first, second):
        torch.manual_seed(1)
        each.learn(enlarged, truth)
    pairs = zip(first.critic.parameters(), second.critic.parameters(), strict=True)
    assert all(torch.equal(one, other) for one, other in pairs)


@pytest.mark.rest
def test_a_run_with_all_losses_saves_its_critic(tmp_path, monkeypatch):
    monkeypatch.setattr(tasks, "COUNTS", {"train": 24, "val": 24, "test": 24})
    recipe = TINY.but({"epochs": 2, "perceptual": 0.01, "adversarial": 0.001})
    whole = RunFolder(tmp_path / "whole")
    whole.create(recipe)
    train(whole, recipe, device="cpu")
    assert whole.status["state"] == "done"
    plain = RunFolder(tmp_path / "plain")
    plain.create(TINY)
    train(plain, TINY, device="cpu")
    assert plain.metrics()[0]["train_loss"] != whole.metrics()[0]["train_loss"]
    state = torch.load(whole.path / "last.pt", weights_only=True)
    assert set(state["critic"]) == {"critic", "optimizer"}
    assert state["critic"]["optimizer"]["state"][0]["step"] == 2 * 2 * 2  # epochs × steps × CRITIC_STEPS


@pytest.mark.parametrize(
    "changes, word",
    [
        ({"model": "small_vit", "perceptual": 0.1}, "for networks that enlarge"),
        ({"model": "seq2seq_lstm", "adversarial": 0.1}, "for networks that enlarge"),
        ({"adversarial": -1.0}, "0 or more"),
    ],
)
def test_what_does_not_fit_is_said(changes, word):
    with pytest.raises(RecipeError, match=word):
        TINY.but({"model_args": {}} | changes)


def test_a_critic_in_several_processes_is_refused(monkeypatch):
    monkeypatch.setattr(tasks, "PartialState", lambda: type("State", (), {"num_processes": 2}))
    with pytest.raises(RecipeError, match="one process"):
        enlarging_task(TINY.but({"adversarial": 0.1}))
