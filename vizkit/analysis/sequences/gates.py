"""A recurrent network step by step: the gates of an LSTM, its cell and its state, from its own weights.

Hochreiter & Schmidhuber 1997 with the forget gate of Gers et al. 2000, as `torch.nn.LSTM` writes it:
i, f, o = σ(W x_t + U h_{t−1} + b), g = tanh(…), c_t = f ⊙ c_{t−1} + i ⊙ g, h_t = o ⊙ tanh(c_t).
"""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

OverTime = Float[Tensor, "token hidden"]


@dataclass(frozen=True)
class Gates:
    """After every token: what is let in, kept and shown (0 to 1), what would be written (−1 to 1), cell and state."""

    input: OverTime
    forget: OverTime
    output: OverTime
    candidate: OverTime
    cell: OverTime
    hidden: OverTime


@torch.no_grad()
def lstm_gates(
    lstm: nn.LSTM,
    vectors: Float[Tensor, "token dim"],
    hidden: Float[Tensor, " hidden"] | None = None,
    cell: Float[Tensor, " hidden"] | None = None,
) -> Gates:
    """What an LSTM of one layer and one direction does with some vectors. `hidden`, `cell`: what it begins with, 0 if
    None. ValueError for an LSTM of several layers, two directions or with a projection."""
    if lstm.num_layers != 1 or lstm.bidirectional or lstm.proj_size:
        raise ValueError("Gates are shown of an LSTM with one layer, one direction and no projection.")
    state = vectors.new_zeros(lstm.hidden_size) if hidden is None else hidden
    carried = vectors.new_zeros(lstm.hidden_size) if cell is None else cell
    recurrent: Any = lstm.weight_hh_l0
    rows = []
    for given in _given(lstm, vectors):
        into, keep, new, show = (given + recurrent @ state).chunk(4)
        into, keep, new, show = into.sigmoid(), keep.sigmoid(), new.tanh(), show.sigmoid()
        carried = keep * carried + into * new
        state = show * carried.tanh()
        rows.append((into, keep, show, new, carried, state))
    return Gates(*(torch.stack(column) for column in zip(*rows, strict=True)))


@torch.no_grad()
def rnn_states(
    rnn: nn.RNN, vectors: Float[Tensor, "token dim"], hidden: Float[Tensor, " hidden"] | None = None
) -> OverTime:
    """h_t = tanh(W x_t + U h_{t−1} + b) of a plain RNN of one layer and one direction."""
    if rnn.num_layers != 1 or rnn.bidirectional or rnn.nonlinearity != "tanh":
        raise ValueError("States are shown of an RNN with one layer, one direction and tanh.")
    state = vectors.new_zeros(rnn.hidden_size) if hidden is None else hidden
    recurrent: Any = rnn.weight_hh_l0
    states = []
    for given in _given(rnn, vectors):
        state = (given + recurrent @ state).tanh()
        states.append(state)
    return torch.stack(states)


def _given(cell: Any, vectors: Float[Tensor, "token dim"]) -> Float[Tensor, "token gates"]:
    """W x_t + b of every token; the two biases of torch are one."""
    given = vectors @ cell.weight_ih_l0.T
    return given + cell.bias_ih_l0 + cell.bias_hh_l0 if cell.bias else given


def memory_left(gates: Gates) -> Float[Tensor, "token hidden"]:
    """How much of what was written into the cell at a token is still there at the end, 0 to 1: the product of all later
    forget gates. The cell's path back is nothing but this product."""
    later = torch.cat([gates.forget[1:], torch.ones_like(gates.forget[:1])])
    return later.flip(0).cumprod(0).flip(0)
