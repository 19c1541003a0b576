"""Which keys a query may look at, and why the scores are masked and not the weights.

Vaswani et al. 2017 (arXiv 1706.03762), § 3.2.3: "masking out (setting to −∞) all values in the input of the softmax".
Set to 0 after the softmax, the weights that are left no longer sum to 1.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from vizkit.analysis.attention.walkthrough import softmax

Kind = Literal["none", "causal", "cross", "BERT"]
MASKS: dict[Kind, str] = {
    "none": "Every word looks at every word: the encoder.",
    "causal": "A word looks at itself and at what came before: the decoder, and GPT.",
    "cross": "A word of the target looks at every word of the source.",
    "BERT": "Nothing is hidden from anybody; words are replaced by [MASK] before the model reads them.",
}


def allowed(kind: Kind, queries: int, keys: int) -> Bool[Tensor, "query key"]:
    """Whether a query may look at a key. The queries of "causal" are the last of the keys."""
    everything = torch.ones(queries, keys, dtype=torch.bool)
    return everything.tril(keys - queries) if kind == "causal" else everything


@dataclass(frozen=True)
class Masked:
    """`before`: the scores masked, rows sum to 1. `after`: the weights masked, rows sum to `kept`, 0 to 1."""

    before: Float[Tensor, "*head query key"]
    after: Float[Tensor, "*head query key"]
    kept: Float[Tensor, "*head query"]


def masked(weights: Float[Tensor, "*head query key"], looks: Bool[Tensor, "query key"]) -> Masked:
    """Weights that were made without a mask, masked in both ways.

    log w are the scores up to a constant for each row, which the softmax ignores. A row that may look nowhere is 0.
    """
    before = softmax(weights.log().masked_fill(~looks, float("-inf")))
    after = weights.masked_fill(~looks, 0.0)
    return Masked(before, after, after.sum(-1))
