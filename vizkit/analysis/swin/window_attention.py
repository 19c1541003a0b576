"""Window attention with and without the relative position bias, and what padding takes from it.

Liu et al. 2021 (arXiv 2103.14030), eq. 4: softmax(QKᵀ/√d + B). Softmax has no parts that add up, so "content alone" and
"bias alone" are what the layer would look at if the other were zero, not shares of what it looks at.
"""

from dataclasses import dataclass

from jaxtyping import Bool, Float, Int
from torch import Tensor

from vizkit.traces import PADDING, NotApplicable

Weights = Float[Tensor, "window head query key"]


@dataclass(frozen=True)
class Sides:
    """Weights after softmax, rows sum to 1: of content and bias together, of content alone, of the bias alone."""

    both: Weights
    content: Weights
    bias: Weights


def sides(
    content: Weights, relative: Float[Tensor, "head query key"], masked: Bool[Tensor, "window query key"]
) -> Sides:
    """Softmax over what is left of the scores; masked pairs get exactly 0 in all three."""

    def weights(scores: Tensor) -> Tensor:
        return scores.masked_fill(masked[:, None], float("-inf")).softmax(-1)

    return Sides(weights(content + relative), weights(content), weights(relative.expand_as(content)))


def moved(one: Weights, other: Weights, ids: Int[Tensor, "window token"]) -> Float[Tensor, " head"]:
    """Share of the attention that lies elsewhere, mean over all queries that are tokens: ½ Σ_j |a_j − b_j|, 0 to 1."""
    is_token = ids != PADDING
    differs = (one - other).abs().sum(-1) / 2  # window head query
    return (differs * is_token[:, None]).sum((0, 2)) / is_token.sum()


def moved_at(one: Weights, other: Weights, at: tuple[int, int]) -> Float[Tensor, " head"]:
    """The same of one query: its window, and its place there."""
    window, query = at
    return (one - other)[window, :, query].abs().sum(-1) / 2


def regions(masked: Bool[Tensor, "window query key"]) -> Int[Tensor, "window token"]:
    """A number for each token of a window, the same for two that may see each other: the first token that it sees."""
    return (~masked).int().argmax(-1)


def lost_to_padding(weights: Weights, ids: Int[Tensor, "window token"]) -> Float[Tensor, "window token"]:
    """Each token's weight on padding, mean over heads, 0 to 1; NaN for padding itself, which is no query.

    NotApplicable where there is no padding: the window divides the grid.
    """
    padded = ids == PADDING
    if not bool(padded.any()):
        raise NotApplicable("The windows divide this grid, so nothing is padded.")
    share = (weights * padded[:, None, None]).sum(-1).mean(1)
    return share.masked_fill(padded, float("nan"))
