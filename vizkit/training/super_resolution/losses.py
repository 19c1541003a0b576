"""What TTSR may learn from beside the mean absolute error (Yang et al. 2020, section 3.4): features, and a critic."""

from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.func import functional_call

import vizkit

FEATURES, DEPTH = "bundled:insects_cnn", 2
"""The paper takes VGG-19's; these are at hand without a network. After its stem the second of three stages, whose
places are 8 pixels apart."""
PENALTY = 10.0
"""Of the gradient penalty, as in Gulrajani et al. 2017."""
CRITIC_STEPS = 2
"""Steps of the critic for each of the network; they keep it ahead, and five, as in Gulrajani et al., take longer."""

Pixels = Float[Tensor, "_picture 3 _row _column"]


class Perceptual:
    """1/V ‖φ(enlarged) − φ(truth)‖², φ being features of a network that tells pictures apart (Johnson et al. 2016)."""

    def __init__(self, device: torch.device) -> None:
        loaded = vizkit.load(FEATURES, device=device)
        self.network = loaded.model.eval().requires_grad_(False)
        self.mean, self.std = (
            torch.tensor(each, device=device)[:, None, None]
            for each in (loaded.preprocessing.mean, loaded.preprocessing.std)
        )

    def features(self, pixels: Pixels) -> Float[Tensor, "picture channel row column"]:
        normalised = (pixels - self.mean) / self.std
        return self.network.forward_intermediates(normalised, indices=[DEPTH], intermediates_only=True)[0]  # type: ignore[operator]

    def __call__(self, enlarged: Pixels, truth: Pixels) -> Float[Tensor, ""]:
        return (self.features(enlarged) - self.features(truth)).square().mean()


class Critic(nn.Module):
    """One number for each picture, the higher the more it looks like a true one. Without batch norm, which would let a
    picture's gradient depend on the others."""

    def __init__(self, widths: tuple[int, ...] = (16, 32, 64, 64)) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for before, after in zip((3, *widths), widths, strict=False):
            layers += [nn.Conv2d(before, after, 3, stride=2, padding=1), nn.LeakyReLU(0.2)]
        self.layers = nn.Sequential(*layers, nn.Conv2d(widths[-1], 1, 1))

    def forward(self, pixels: Pixels) -> Float[Tensor, " picture"]:
        return self.layers(4 * pixels - 2).mean((1, 2, 3))


def gradient_penalty(critic: nn.Module, enlarged: Pixels, truth: Pixels) -> Float[Tensor, ""]:
    """mean (‖∇D(x)‖ − 1)², x anywhere between a picture and its truth (Gulrajani et al. 2017)."""
    share = torch.rand(len(truth), 1, 1, 1, device=truth.device)
    between = (share * truth + (1 - share) * enlarged).requires_grad_()
    (slope,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
    return (slope.flatten(1).norm(dim=1) - 1).square().mean()


class Adversary:
    """A critic that learns beside the network (WGAN-GP), and what it makes the network lose: −D(enlarged)."""

    def __init__(self, device: torch.device) -> None:
        self.critic = Critic().to(device)
        self.optimizer = torch.optim.Adam(self.critic.parameters(), lr=1e-4, betas=(0.0, 0.9))

    def learn(self, enlarged: Pixels, truth: Pixels) -> None:
        """Some steps towards higher numbers for the truth, lower ones for what the network made of it."""
        made = enlarged.detach()
        for _ in range(CRITIC_STEPS):
            loss = self.critic(made).mean() - self.critic(truth).mean()
            loss = loss + PENALTY * gradient_penalty(self.critic, made, truth)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

    def __call__(self, enlarged: Pixels) -> Float[Tensor, ""]:
        """The gradient goes to the pixels alone, not to the critic."""
        fixed = {name: weights.detach() for name, weights in self.critic.named_parameters()}
        return -functional_call(self.critic, fixed, (enlarged,)).mean()

    def state_dict(self) -> dict[str, Any]:
        return {"critic": self.critic.state_dict(), "optimizer": self.optimizer.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.critic.load_state_dict(state["critic"])
        self.optimizer.load_state_dict(state["optimizer"])
