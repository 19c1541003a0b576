"""What temperature does to a softmax, and the probabilities beside a model's first choice: dark knowledge.

softmax(z / T): Hinton, Vinyals & Dean 2015 (arXiv 1503.02531), eq. 1. Everything in float64, from logarithms, so that
logits of ±10⁴ at T = 0.05 give neither NaN nor infinity. T → 0 is the first choice alone (tied ones share it),
T → ∞ all labels alike. The order of the labels is the same at every T.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Float64, Int
from torch import Tensor

from vizkit.traces import NotApplicable

LOWEST, HIGHEST = 0.05, 100.0  # the temperatures that are looked at

LogProbabilities = Float64[Tensor, "*image label"]


def log_probabilities(logits: Float[Tensor, "*image label"], temperature: float) -> LogProbabilities:
    """log softmax(z / T), in nats, ≤ 0. T > 0."""
    if not 0 < temperature < math.inf:
        raise ValueError(f"A temperature is a number above 0, not {temperature}.")
    return (logits.double() / temperature).log_softmax(-1)


def probabilities(logits: Float[Tensor, "*image label"], temperature: float) -> LogProbabilities:
    """softmax(z / T): 0 to 1, together 1."""
    return log_probabilities(logits, temperature).exp()


def entropy(log_p: LogProbabilities) -> Float64[Tensor, "*image"]:
    """−Σ p log p in nats, 0 (sure) to log n (all alike). What is too unlikely for a float counts as 0 · log 0 = 0."""
    return -(log_p.exp() * log_p).sum(-1).clamp(max=0.0)


def entropy_share(log_p: LogProbabilities) -> Float64[Tensor, "*image"]:
    """Entropy as a share of its largest value log n, 0 to 1. NotApplicable for a single label."""
    labels = log_p.shape[-1]
    if labels < 2:
        raise NotApplicable("With a single class there is nothing to choose between; a softmax needs two or more.")
    return entropy(log_p) / math.log(labels)


@dataclass(frozen=True)
class Softened:
    """One softmax at one temperature. `entropy_share`: of log n, 0 to 1."""

    probabilities: Float64[Tensor, " label"]
    entropy_share: float

    def of(self, labels: Sequence[int]) -> list[float]:
        """The probabilities of these labels and, where there are others, of all others together."""
        named = torch.zeros(len(self.probabilities), dtype=torch.bool)
        named[list(labels)] = True
        others = [float(self.probabilities[~named].sum())] if not named.all() else []
        return self.probabilities[list(labels)].tolist() + others


def softened(logits: Float[Tensor, " label"], temperature: float) -> Softened:
    log_p = log_probabilities(logits, temperature)
    return Softened(log_p.exp(), float(entropy_share(log_p)))


def ranking(logits: Float[Tensor, " label"]) -> Int[Tensor, " label"]:
    """Labels from the likeliest to the least likely, the same at every temperature; of tied ones the first first."""
    return logits.sort(descending=True, stable=True).indices


@dataclass(frozen=True)
class DarkKnowledge:
    """What is left when the first choice is set aside: the other labels, likeliest first, and their shares of what is
    left, together 1. `left`: what all of them had together before."""

    top: int
    labels: Int[Tensor, " other"]
    shares: Float64[Tensor, " other"]
    left: float


def dark_knowledge(logits: Float[Tensor, " label"], temperature: float) -> DarkKnowledge:
    """The ranking beside the first choice at T.

    p_i / (1 − p_top) is the softmax of the other logits alone, which has digits left where 1 − p_top has none.
    """
    if len(logits) < 2:
        raise NotApplicable("With a single class there is no dark knowledge; a softmax needs two or more.")
    order = ranking(logits)
    log_p = log_probabilities(logits, temperature)
    rest = order[1:]
    return DarkKnowledge(
        int(order[0]), rest, probabilities(logits[rest], temperature), float(log_p[rest].logsumexp(0).exp())
    )


def temperatures(steps: int = 161, lowest: float = LOWEST) -> Float64[Tensor, " temperature"]:
    """From `lowest` to 100, evenly on a logarithmic axis."""
    return torch.logspace(math.log10(lowest), math.log10(HIGHEST), steps, dtype=torch.float64)


def along(
    logits: Float[Tensor, "*image label"], at: Float64[Tensor, " temperature"]
) -> Float64[Tensor, "*image temperature label"]:
    """log softmax(z / T) at every temperature."""
    return (logits.double()[..., None, :] / at[:, None]).log_softmax(-1)
