"""The networks on texts by name, with the sizes at which the four that translate have as many parameters."""

from collections.abc import Mapping
from typing import Any

from torch import nn

from vizkit.models.networks.sequence_recurrent import Seq2SeqRecurrent
from vizkit.models.networks.sequence_transformer import LanguageModel, Seq2SeqTransformer

NETWORKS: dict[str, tuple[type[nn.Module], dict[str, Any]]] = {
    "seq2seq_transformer": (Seq2SeqTransformer, {}),
    "seq2seq_rnn": (Seq2SeqRecurrent, {"hidden": 240, "cell": "rnn", "attention": False}),
    "seq2seq_lstm": (Seq2SeqRecurrent, {"hidden": 112, "cell": "lstm", "attention": False}),
    "seq2seq_lstm_attention": (Seq2SeqRecurrent, {"hidden": 96, "cell": "lstm", "attention": True}),
    "masked_lm": (LanguageModel, {"causal": False}),
    "causal_lm": (LanguageModel, {"causal": True}),
}


def build(name: str, words: int, sizes: Mapping[str, Any] | None = None) -> nn.Module:
    """A network by its name in NETWORKS with new weights, for a vocabulary of so many words.

    `sizes`: others than the usual. KeyError for a name, TypeError for a size that there is not.
    """
    network, usual = NETWORKS[name]
    return network(words, **{**usual, **(sizes or {})})
