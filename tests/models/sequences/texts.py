"""Models of texts with random weights from seeds, for tests."""

import torch

from vizkit.models.networks.sequence_models import build
from vizkit.models.sequences import SequenceModel
from vizkit.vocabulary import SPECIAL, Vocabulary

VOCABULARY = Vocabulary((*SPECIAL, *"abcdefgh"))
TASKS = {
    "seq2seq_transformer": "translate",
    "seq2seq_rnn": "translate",
    "seq2seq_lstm": "translate",
    "seq2seq_lstm_attention": "translate",
    "masked_lm": "masked",
    "causal_lm": "causal",
}
TRANSFORMER = {"dim": 16, "depth": 2, "heads": 4, "hidden": 24, "max_length": 12}
RECURRENT = {"dim": 12, "hidden": 20}


def made(name, seed=0):
    torch.manual_seed(seed)
    recurrent = name.startswith("seq2seq") and "transformer" not in name
    network = build(name, len(VOCABULARY), RECURRENT if recurrent else TRANSFORMER).eval().requires_grad_(False)
    length = None if recurrent else TRANSFORMER["max_length"]
    return SequenceModel(name, network, VOCABULARY, TASKS[name], "copy", torch.device("cpu"), max_length=length)
