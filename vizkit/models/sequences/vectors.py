"""The table of a model of texts: a vector for every word of its vocabulary."""

from typing import Any

from jaxtyping import Float
from torch import Tensor

from vizkit.models.sequences.loaded import SequenceModel
from vizkit.traces import NotApplicable

__all__ = ["word_vectors"]


def word_vectors(model: SequenceModel) -> Float[Tensor, "word channel"]:
    """Of the words that are read, before √d and positions, on the CPU. NotApplicable where no such table is known."""
    source: Any = getattr(model.model, "source", None)
    table = getattr(getattr(source, "words", source), "weight", None)
    if table is None or len(table) != len(model.vocabulary):
        raise NotApplicable(f"Where {model.name} keeps the vectors of its words is not known.")
    return table.detach().float().cpu()
