"""Models of texts: open one, translate or continue a text, get a Trace."""

from vizkit.models.sequences.generating import beam, continue_with, greedy, predictions
from vizkit.models.sequences.loaded import SequenceModel
from vizkit.models.sequences.opening import bundled_sequences, open_sequence
from vizkit.models.sequences.tracing import trace_pair, trace_text

__all__ = [
    "SequenceModel",
    "beam",
    "bundled_sequences",
    "continue_with",
    "greedy",
    "open_sequence",
    "predictions",
    "trace_pair",
    "trace_text",
]
