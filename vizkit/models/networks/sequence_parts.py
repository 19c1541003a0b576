"""The parts of the original transformer (Vaswani et al. 2017, arXiv 1706.03762, § 3), as in `vit_from_parts` but for
what translation needs: keys from another text, masks, and a norm after each part.
"""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from vizkit.models.networks.positions import sinusoids
from vizkit.models.networks.vit_from_parts import MLP, MultiHeadSelfAttention
from vizkit.vocabulary import PAD

Ids = Int[Tensor, "text token"]
SourceIds = Int[Tensor, "text source"]
Stream = Float[Tensor, "text token dim"]
ByHead = Float[Tensor, "text head token d_k"]
Allowed = Bool[Tensor, "_text 1 _query _key"]
"""Which keys a query may look at; broadcast over texts and heads."""


def causal(queries: int, keys: int, device: torch.device | None = None) -> Allowed:
    """A query sees the keys up to its own place; the queries are the last of the places (GPT, the decoder)."""
    return torch.ones(queries, keys, dtype=torch.bool, device=device).tril(keys - queries)[None, None]


def no_pads(ids: Ids) -> Allowed:
    """Everything but the filling of shorter texts."""
    return (ids != PAD)[:, None, None]


@dataclass(frozen=True)
class KeysValues:
    """Of the tokens so far, so that a generated word needs its own row only (the "KV cache")."""

    key: ByHead
    value: ByHead

    def rows(self, indices: Int[Tensor, " row"]) -> "KeysValues":
        """Of these texts of the batch."""
        return replace(self, key=self.key[indices], value=self.value[indices])

    def and_then(self, later: "KeysValues") -> "KeysValues":
        """With the tokens that come after."""
        return KeysValues(torch.cat([self.key, later.key], 2), torch.cat([self.value, later.value], 2))


class Embedding(nn.Module):
    """√d · (a word's vector) + the sines and cosines of its place (ibid., §§ 3.4 and 3.5)."""

    positions: Tensor

    def __init__(self, words: int, dim: int, max_length: int) -> None:
        super().__init__()
        self.words = nn.Embedding(words, dim)
        nn.init.normal_(self.words.weight, std=dim**-0.5)  # times √d: as large as the sines
        self.register_buffer("positions", sinusoids(max_length, dim), persistent=False)

    def forward(self, ids: Ids, first: int = 0) -> Stream:
        """`first`: the place of the first token. ValueError for a text longer than the table of positions."""
        last = first + ids.shape[1]
        if last > len(self.positions):
            raise ValueError(f"This model reads texts of up to {len(self.positions)} tokens; this one has {last}.")
        scaled = self.words(ids) * self.words.embedding_dim**0.5
        return scaled + self.positions[first:last]


class MultiHeadAttention(MultiHeadSelfAttention):
    """softmax(Q Kᵀ / √d_k + mask) V, the queries of one text, the keys and values of the same or of another."""

    def keys_values(self, context: Stream) -> KeysValues:
        return KeysValues(self.by_head(self.key(context)), self.by_head(self.value(context)))

    def forward(self, x: Stream, context: KeysValues, allowed: Allowed) -> Stream:  # pyright: ignore[reportIncompatibleMethodOverride]
        scores = (self.by_head(self.query(x)) @ context.key.transpose(-2, -1)) * self.d_k**-0.5
        # Before the softmax: weights set to 0 after it would leave rows that no longer sum to 1.
        weights = scores.masked_fill(~allowed, float("-inf")).softmax(-1)
        mixed = weights @ context.value
        return self.out(mixed.transpose(1, 2).flatten(2))


class FeedForward(MLP):
    """W₂ · max(0, W₁ x + b₁) + b₂ (ibid., eq. 2)."""

    activation = staticmethod(nn.functional.relu)


class EncoderLayer(nn.Module):
    """Y = LN(X + MHA(X)), then LN(Y + FFN(Y)): "Add & Norm" after each part ("post-norm")."""

    attention = MultiHeadAttention

    def __init__(self, dim: int, heads: int, hidden: int) -> None:
        super().__init__()
        self.attn, self.norm1 = self.attention(dim, heads), nn.LayerNorm(dim)
        self.ffn, self.norm2 = FeedForward(dim, hidden), nn.LayerNorm(dim)

    def forward(self, x: Stream, allowed: Allowed, before: KeysValues | None = None) -> tuple[Stream, KeysValues]:
        """`before`: of earlier tokens of the same text. Gives theirs and this text's, too."""
        seen = self.attn.keys_values(x)
        seen = before.and_then(seen) if before else seen
        x = self.norm1(x + self.attn(x, seen, allowed))
        return self.norm2(x + self.ffn(x)), seen


class DecoderLayer(nn.Module):
    """Masked self-attention, cross-attention (queries from here, keys and values from the encoder), FFN; Add & Norm
    after each."""

    attention = MultiHeadAttention

    def __init__(self, dim: int, heads: int, hidden: int) -> None:
        super().__init__()
        self.attn, self.norm1 = self.attention(dim, heads), nn.LayerNorm(dim)
        self.cross, self.norm2 = self.attention(dim, heads), nn.LayerNorm(dim)
        self.ffn, self.norm3 = FeedForward(dim, hidden), nn.LayerNorm(dim)

    def forward(
        self, x: Stream, allowed: Allowed, memory: KeysValues, readable: Allowed, before: KeysValues | None = None
    ) -> tuple[Stream, KeysValues]:
        """`memory`: keys and values of the encoder's output; `readable`: which of its tokens are no filling."""
        seen = self.attn.keys_values(x)
        seen = before.and_then(seen) if before else seen
        x = self.norm1(x + self.attn(x, seen, allowed))
        x = self.norm2(x + self.cross(x, memory, readable))
        return self.norm3(x + self.ffn(x)), seen
