"""Translation before transformers: a recurrent network reads the source, another one writes the target from its last
state (Sutskever et al. 2014, arXiv 1409.3215), or looks back at all of its states (Bahdanau et al. 2015, arXiv
1409.0473).

    source ─→ Embedding ─→ cell, token after token ─→ memory (a state for every token), last state
                                                                                          ↓
    target so far ─→ Embedding ─→ cell, token after token ─→ (with the memory seen by attention) ─→ Linear ─→ logits
"""

from dataclasses import dataclass, replace
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from vizkit.models.networks.sequence_parts import Ids, SourceIds
from vizkit.vocabulary import PAD

Cell = Literal["rnn", "lstm"]
Hidden = Float[Tensor, "text hidden"]
Memory = Float[Tensor, "text source hidden"]
States = Float[Tensor, "text token hidden"]


@dataclass(frozen=True)
class RecurrentState:
    """A generation so far is one vector, of an LSTM two: `hidden`, and the `cell` that only the gates change.

    `memory`: the encoder's states, and `memory_keys` their keys; None without attention. `readable`: no filling.
    """

    hidden: Hidden
    cell: Hidden | None
    memory: Memory | None
    memory_keys: Memory | None
    readable: Tensor

    def rows(self, indices: Int[Tensor, " row"]) -> "RecurrentState":
        """The state of these texts of the batch, for beams."""
        optional = (self.cell, self.memory, self.memory_keys)
        cell, memory, keys = (None if each is None else each[indices] for each in optional)
        return RecurrentState(self.hidden[indices], cell, memory, keys, self.readable[indices])


class AdditiveAttention(nn.Module):
    """softmax over the source of vᵀ tanh(W q + U k): what a small network makes of the query and a key (Bahdanau et
    al. 2015, § 3.1 and appendix A.1.2)."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.query, self.key = nn.Linear(dim, dim), nn.Linear(dim, dim, bias=False)
        self.score = nn.Linear(dim, 1, bias=False)

    def forward(self, query: States, keys: Memory, values: Memory, readable: Tensor) -> States:
        """`query`: (text, query, dim); `keys` have gone through `self.key`; `readable`: (text, key)."""
        together = (self.query(query)[:, :, None] + keys[:, None]).tanh()  # text query key dim
        scores = self.score(together).squeeze(-1).masked_fill(~readable[:, None], float("-inf"))
        return scores.softmax(-1) @ values


class Seq2SeqRecurrent(nn.Module):
    """Source and target so far to the logits of the next words. `cell`: a plain "rnn", h = tanh(W h + U x + b), or an
    "lstm". `attention`: whether the writer looks back at every state of the reader."""

    def __init__(
        self, words: int, dim: int = 64, hidden: int = 128, cell: Cell = "lstm", attention: bool = False
    ) -> None:
        super().__init__()
        self.sizes = {"dim": dim, "hidden": hidden, "cell": cell, "attention": attention}
        self.cell: Cell = cell
        kind = {"rnn": nn.RNN, "lstm": nn.LSTM}[cell]
        self.source, self.target = nn.Embedding(words, dim), nn.Embedding(words, dim)
        self.encoder, self.decoder = (kind(dim, hidden, batch_first=True) for _ in range(2))
        self.attention = AdditiveAttention(hidden) if attention else None
        self.combine = nn.Linear(2 * hidden, hidden) if attention else None
        self.head = nn.Linear(hidden, words)

    def read(self, source_ids: SourceIds) -> tuple[Memory, Hidden, Hidden | None]:
        """(a state for every token, the last state, the last cell); the filling of shorter texts is not read."""
        lengths = (source_ids != PAD).sum(1).cpu()
        if int(lengths.min()) == source_ids.shape[1]:  # a packed text has a gradient that takes n² time
            memory, last = self.encoder(self.source(source_ids))
        else:
            packed = pack_padded_sequence(self.source(source_ids), lengths, batch_first=True, enforce_sorted=False)
            states, last = self.encoder(packed)
            memory, _ = pad_packed_sequence(states, batch_first=True, total_length=source_ids.shape[1])
        hidden, cell = last if self.cell == "lstm" else (last, None)
        return memory, hidden[0], None if cell is None else cell[0]

    def encode(self, source_ids: SourceIds) -> Memory:
        """The reader's state after every token of the source."""
        return self.read(source_ids)[0]

    def start(self, source_ids: SourceIds) -> RecurrentState:
        """Before the first word: the source is read once."""
        memory, hidden, cell = self.read(source_ids)
        if self.attention is None:
            return RecurrentState(hidden, cell, None, None, source_ids != PAD)
        return RecurrentState(hidden, cell, memory, self.attention.key(memory), source_ids != PAD)

    def forward(self, source_ids: SourceIds, target_ids: Ids) -> Float[Tensor, "text token word"]:
        """`target_ids` begin with BEGIN; the logits at a place are of the word that follows it."""
        return self._write(target_ids, self.start(source_ids))[0]

    def step(
        self, token_ids: Int[Tensor, " text"], state: RecurrentState
    ) -> tuple[Float[Tensor, "text word"], RecurrentState]:
        """One more word of every text; gives the logits of the next."""
        logits, after = self._write(token_ids[:, None], state)
        return logits[:, 0], after

    def _write(self, target_ids: Ids, state: RecurrentState) -> tuple[Float[Tensor, "text token word"], RecurrentState]:
        before = state.hidden[None].contiguous()
        given = before if state.cell is None else (before, state.cell[None].contiguous())
        out, last = self.decoder(self.target(target_ids), given)
        hidden, cell = last if self.cell == "lstm" else (last, None)
        after = replace(state, hidden=hidden[0], cell=None if cell is None else cell[0])
        if self.attention is not None and self.combine is not None:
            seen = self.attention(out, state.memory_keys, state.memory, state.readable)
            # The state and what it saw, together (Luong et al. 2015, arXiv 1508.04025, eq. 5): all places at once.
            out = self.combine(torch.cat([out, seen], -1)).tanh()
        return self.head(out), after
