"""Gates and states against torch's own cells."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from tests.drawn import noise
from vizkit.analysis.sequences.gates import Gates, lstm_gates, memory_left, rnn_states


def vectors(count=9):
    return noise(count, 5, seed=1)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("begun", [True, False])
def test_gates_give_the_states_of_torchs_lstm(bias, begun):
    torch.manual_seed(0)
    lstm = nn.LSTM(5, 7, bias=bias, batch_first=True)
    start = (torch.randn(7), torch.randn(7)) if begun else (None, None)
    gates = lstm_gates(lstm, vectors(), *start)
    states, (_, cell) = lstm(vectors()[None], (start[0][None, None], start[1][None, None]) if begun else None)
    assert_close(gates.hidden, states[0], rtol=0, atol=1e-5)
    assert_close(gates.cell[-1], cell[0, 0], rtol=0, atol=1e-5)
    for gate in (gates.input, gates.forget, gates.output):
        assert bool(((gate > 0) & (gate < 1)).all())


def test_states_of_torchs_rnn():
    torch.manual_seed(0)
    rnn, begin = nn.RNN(5, 7, batch_first=True), torch.randn(7)
    states, _ = rnn(vectors()[None], begin[None, None])
    assert_close(rnn_states(rnn, vectors(), begin), states[0], rtol=0, atol=1e-5)


def test_what_is_left_is_the_gradient_along_the_cell():
    """∂c_T/∂c_t with all gates held: the product of the forget gates after t."""
    forget = torch.tensor([[0.5], [0.25], [0.1]])
    gates = Gates(*(torch.ones(3, 1),) * 1, forget, *(torch.ones(3, 1),) * 4)
    assert memory_left(gates).flatten().tolist() == pytest.approx([0.025, 0.1, 1.0])


def test_other_cells_are_refused():
    for options in ({"num_layers": 2}, {"bidirectional": True}):
        with pytest.raises(ValueError, match="one layer"):
            lstm_gates(nn.LSTM(5, 7, **options), vectors())
        with pytest.raises(ValueError, match="one layer"):
            rnn_states(nn.RNN(5, 7, **options), vectors())
    with pytest.raises(ValueError, match="projection"):
        lstm_gates(nn.LSTM(5, 7, proj_size=3), vectors())
    with pytest.raises(ValueError, match="tanh"):
        rnn_states(nn.RNN(5, 7, nonlinearity="relu"), vectors())
