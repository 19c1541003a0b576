"""What the cells of a recurrent translator are given: the vectors of the words, and the state to begin with."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from vizkit.models.networks.sequence_recurrent import Seq2SeqRecurrent
from vizkit.models.sequences.loaded import SequenceModel
from vizkit.traces import NotApplicable


@dataclass(frozen=True)
class Given:
    """`network`: an `nn.LSTM` or `nn.RNN` of one layer; `hidden` and, of an LSTM, `cell`: where it begins."""

    network: nn.RNNBase
    vectors: Float[Tensor, "token dim"]
    hidden: Float[Tensor, " hidden"]
    cell: Float[Tensor, " hidden"] | None


@torch.no_grad()
def given_to_cells(model: SequenceModel, source: Sequence[str], target: Sequence[str]) -> tuple[Given, Given]:
    """Of the reader, which begins with zeros, and of the writer, which begins with the reader's last state and reads
    [BEGIN] and the target. For `analysis.sequences.gates`. NotApplicable for a model without recurrence."""
    network = model.model
    if not isinstance(network, Seq2SeqRecurrent):
        raise NotApplicable(f"{model.name} has no state that is carried from word to word.")
    read = model.tensor(model.source_ids(source))
    written = model.tensor(model.target_ids(target))
    after = network.start(read)
    zeros = torch.zeros_like(after.hidden[0])
    lstm = after.cell is not None
    reader = Given(network.encoder, network.source(read)[0], zeros, zeros if lstm else None)
    carried = None if after.cell is None else after.cell[0]
    return reader, Given(network.decoder, network.target(written)[0], after.hidden[0], carried)
