"""The vectors of words in a model of texts: those of its table, and what its layers make of them at their places."""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from vizkit.models.networks.sequence_transformer import LanguageModel, Seq2SeqTransformer
from vizkit.models.sequences.from_library import LibraryModel
from vizkit.models.sequences.loaded import SequenceModel
from vizkit.models.sequences.walk import walk, walk_text
from vizkit.traces import NotApplicable


def word_vectors(model: SequenceModel) -> Float[Tensor, "word channel"]:
    """Of the words that are read, before √d and positions, on the CPU. NotApplicable where no such table is known."""
    source: Any = getattr(model.model, "source", None)
    table = getattr(getattr(source, "words", source), "weight", None)
    if isinstance(model, LibraryModel):
        library: Any = model.model.library
        table = library.get_input_embeddings().weight
    if table is None or len(table) != len(model.vocabulary):
        raise NotApplicable(f"Where {model.name} keeps the vectors of its words is not known.")
    return table.detach().float().cpu()


def layer_vectors(model: SequenceModel, words: Sequence[str]) -> dict[str, Float[Tensor, "word channel"]]:
    """The vectors of a text at its places, by what has been done to them: "word", "word + position" (of T5, which adds
    none, the word again), then "after" every layer that reads the text, of a translator the encoder's. On the CPU.

    TextError for words that the model does not know, NotApplicable for a network whose layers are not transformers'.
    """
    if isinstance(model.model, Seq2SeqTransformer | LanguageModel):
        ids = model.vocabulary.ids(words)
        walked = walk(model, words) if model.translates else walk_text(model, ids)
        stages = {"word": walked.source.words, "word + position": walked.source.given}
        stages |= {f"after {layer.name}": layer.feed_forward.left for layer in walked.encoder}
        return {name: vectors.float().cpu() for name, vectors in stages.items()}
    if not isinstance(model, LibraryModel):
        raise NotApplicable(f"The layers of {model.name} carry one state from word to word, not a vector for each.")
    library: Any = model.model.library
    reader = library.get_encoder() if model.translates else library
    ids = model.source_ids(words)
    with torch.no_grad():
        given, *later = reader(input_ids=model.tensor(ids), output_hidden_states=True).hidden_states
    first = len(model.before)
    stages = {"word": word_vectors(model)[ids][None], "word + position": given}
    stages |= {f"after layer {number}": vectors for number, vectors in enumerate(later, 1)}
    return {name: vectors[0, first : first + len(words)].float().cpu() for name, vectors in stages.items()}
