"""Transformers on texts: the encoder–decoder of Vaswani et al. 2017 (arXiv 1706.03762), and the encoder alone as a
language model, unmasked (BERT, Devlin et al. 2019, arXiv 1810.04805) or causal (GPT, Radford et al. 2018).

    source ─→ Embedding ─→ EncoderLayer × depth ─→ memory
                                                     ↓ keys, values
    target so far ─→ Embedding ─→ DecoderLayer × depth ─→ Linear ─→ logits of the next word
"""

from dataclasses import dataclass
from typing import Any

from jaxtyping import Float, Int
from torch import Tensor, nn

from vizkit.models.networks.sequence_parts import (
    Allowed,
    DecoderLayer,
    Embedding,
    EncoderLayer,
    Ids,
    KeysValues,
    SourceIds,
    causal,
    no_pads,
)

Logits = Float[Tensor, "text token word"]
Memory = Float[Tensor, "text source dim"]


@dataclass(frozen=True)
class State:
    """A generation after `length` tokens: the layers' keys and values of these, and of the source where there is one.

    `readable`: which tokens of the source (of a language model: of the text so far) are no filling.
    """

    length: int
    seen: tuple[KeysValues, ...]
    memory: tuple[KeysValues, ...]
    readable: Allowed

    def rows(self, indices: Int[Tensor, " row"]) -> "State":
        """The state of these texts of the batch, for beams."""
        seen, memory = (tuple(each.rows(indices) for each in all_) for all_ in (self.seen, self.memory))
        return State(self.length, seen, memory, self.readable[indices])


class Seq2SeqTransformer(nn.Module):
    """Source and target so far to the logits of the next words. `depth` layers in the encoder and in the decoder."""

    decoder: Any  # a list of `DecoderLayer`

    def __init__(
        self, words: int, dim: int = 64, depth: int = 2, heads: int = 4, hidden: int = 128, max_length: int = 96
    ) -> None:
        super().__init__()
        self.sizes = {"dim": dim, "depth": depth, "heads": heads, "hidden": hidden, "max_length": max_length}
        self.source, self.target = Embedding(words, dim, max_length), Embedding(words, dim, max_length)
        self.encoder = nn.ModuleList(EncoderLayer(dim, heads, hidden) for _ in range(depth))
        self.decoder = nn.ModuleList(DecoderLayer(dim, heads, hidden) for _ in range(depth))
        self.head = nn.Linear(dim, words)

    def encode(self, source_ids: SourceIds) -> Memory:
        """The encoder's output, where every token of the source has seen all the others."""
        x, allowed = self.source(source_ids), no_pads(source_ids)
        for layer in self.encoder:
            x, _ = layer(x, allowed)
        return x

    def forward(self, source_ids: SourceIds, target_ids: Ids) -> Logits:
        """`target_ids` begin with BEGIN; the logits at a place are of the word that follows it, all places at once."""
        memory, readable = self.encode(source_ids), no_pads(source_ids)
        x, allowed = self.target(target_ids), causal(target_ids.shape[1], target_ids.shape[1], target_ids.device)
        for layer in self.decoder:
            x, _ = layer(x, allowed, layer.cross.keys_values(memory), readable)
        return self.head(x)

    def start(self, source_ids: SourceIds) -> State:
        """Before the first word: the source is read once."""
        memory = self.encode(source_ids)
        contexts = tuple(layer.cross.keys_values(memory) for layer in self.decoder)
        return State(0, (), contexts, no_pads(source_ids))

    def step(self, token_ids: Int[Tensor, " text"], state: State) -> tuple[Float[Tensor, "text word"], State]:
        """One more word of every text; gives the logits of the next."""
        x = self.target(token_ids[:, None], state.length)
        allowed = causal(1, state.length + 1, x.device)
        seen = []
        for i, layer in enumerate(self.decoder):
            before = state.seen[i] if state.seen else None
            x, now = layer(x, allowed, state.memory[i], state.readable, before)
            seen.append(now)
        return self.head(x)[:, 0], State(state.length + 1, tuple(seen), state.memory, state.readable)


class LanguageModel(nn.Module):
    """An encoder whose output is read as words: those behind [MASK], or, `causal`, the next ones."""

    def __init__(
        self,
        words: int,
        dim: int = 64,
        depth: int = 3,
        heads: int = 4,
        hidden: int = 256,
        max_length: int = 96,
        causal: bool = False,
    ) -> None:
        super().__init__()
        self.sizes = {
            "dim": dim,
            "depth": depth,
            "heads": heads,
            "hidden": hidden,
            "max_length": max_length,
            "causal": causal,
        }
        self.causal = causal
        self.source = Embedding(words, dim, max_length)
        self.encoder = nn.ModuleList(EncoderLayer(dim, heads, hidden) for _ in range(depth))
        self.head = nn.Linear(dim, words)

    def forward(self, ids: Ids) -> Logits:
        """At every place the logits of the word there; of a causal model those of the word after it."""
        x, allowed = self.source(ids), no_pads(ids)
        if self.causal:
            allowed = allowed & causal(ids.shape[1], ids.shape[1], ids.device)
        for layer in self.encoder:
            x, _ = layer(x, allowed)
        return self.head(x)

    def start(self, ids: Ids) -> State:
        """Nothing is read yet; only the number of texts counts. ValueError of a model that is not causal."""
        if not self.causal:
            raise ValueError("A model that sees the words to come cannot write them one after another.")
        return State(0, (), (), no_pads(ids[:, :0]))

    def step(self, token_ids: Int[Tensor, " text"], state: State) -> tuple[Float[Tensor, "text word"], State]:
        """One more word of every text, no filling; gives the logits of the next."""
        x = self.source(token_ids[:, None], state.length)
        allowed = causal(1, state.length + 1, x.device)
        seen = []
        for i, layer in enumerate(self.encoder):
            x, now = layer(x, allowed, state.seen[i] if state.seen else None)
            seen.append(now)
        return self.head(x)[:, 0], State(state.length + 1, tuple(seen), (), state.readable)
