"""A model of texts ready to be looked at, and what is known about it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from jaxtyping import Int
from torch import Tensor, nn

from vizkit.vocabulary import ARROW, BEGIN, END, MASK, TextError, Vocabulary

Task = Literal["translate", "masked", "causal"]


@dataclass(eq=False)
class SequenceModel:
    """A model of texts in evaluation mode, without parameter gradients, on its device.

    `task`: "translate" from a source to a target, "masked" (what stands behind [MASK], as BERT) or "causal" (what comes
    next, as GPT). `data`: which texts it has learned, by their name in `datasets.sequences`. `facts`: what result.json
    beside the weights says, such as "test_accuracy"; of bundled models "alignment", too: by role the fields of
    `analysis.sequences.alignment.Aligned`. `max_length`: the most tokens of a text, None without a limit. `begin` and
    `end`: the words with which a target begins and ends; `mask`: the word that hides another, None where there is none.
    """

    name: str
    model: nn.Module
    vocabulary: Vocabulary
    task: Task
    data: str
    device: torch.device
    source: str = ""
    licence: str = "not stated"
    facts: Mapping[str, Any] = field(default_factory=dict)
    max_length: int | None = None
    notes: tuple[str, ...] = ()
    begin: int = BEGIN
    end: int = END
    mask: int | None = MASK

    @property
    def parameters(self) -> int:
        return sum(p.numel() for p in self.model.parameters())

    @property
    def translates(self) -> bool:
        return self.task == "translate"

    @property
    def writes(self) -> bool:
        """Whether it can write a text word after word; a model that sees the words to come cannot."""
        return self.task != "masked"

    def split(self, text: str) -> tuple[str, ...]:
        """The words between blanks; how texts of our tasks are spelled, `datasets.sequences.opening` knows."""
        return tuple(text.split())

    def text_of(self, words: Sequence[str]) -> str:
        """Written words as a person reads them."""
        return "".join(words)

    def tensor(self, ids: Sequence[int]) -> Int[Tensor, "1 token"]:
        """A text as the model takes it. TextError where there is none, too much of it, or a number that is no word."""
        if not ids:
            raise TextError("There is no text: type a word at least.")
        if self.max_length is not None and len(ids) > self.max_length:
            raise TextError(f"{self.name} reads texts of up to {self.max_length} tokens; this one has {len(ids)}.")
        if not all(0 <= number < len(self.vocabulary) for number in ids):
            raise TextError(f"{self.name} has {len(self.vocabulary)} words; the text holds the number of another one.")
        return torch.tensor([list(ids)], device=self.device)

    def source_ids(self, words: Sequence[str]) -> list[int]:
        """The source as this model reads it: as it is, or as a line that waits for its target."""
        return self.vocabulary.ids(words) if self.translates else self.line_ids(words)

    def line_ids(self, source: Sequence[str], target: Sequence[str] = ()) -> list[int]:
        """Both as the one line from which language models learn: source → target."""
        return [*self.vocabulary.ids(source), ARROW, *self.vocabulary.ids(target)]

    def target_ids(self, words: Sequence[str]) -> list[int]:
        """The target so far, with what a decoder is given to begin with."""
        return [self.begin, *self.vocabulary.ids(words)]
