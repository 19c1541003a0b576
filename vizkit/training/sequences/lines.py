"""Pairs of texts as batches of ids, with the labels that each task asks for.

    translate   (source, [BEGIN] target)             →  target [END]
    causal      source → target                      →  the next token; judged by those of the target and [END] alone
    masked      source → target                      →  the tokens that were hidden in it

What is hidden follows from the seed of an example, as the augmentation of a picture does.
"""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset

from vizkit.datasets.image_set import digest_of
from vizkit.datasets.sequences.opening import PairSet
from vizkit.training.evaluating import IGNORED
from vizkit.training.pictures.batches import Key
from vizkit.vocabulary import ARROW, BEGIN, END, MASK, PAD, SPECIAL, Vocabulary

CHOSEN, MASKED, REPLACED = 0.15, 0.8, 0.1
"""BERT's shares (Devlin et al. 2019, § 3.1): tokens to be guessed, and of these those shown as [MASK] or as any other
token; the rest stays as it is."""

Ids = Int[Tensor, "_text _token"]
Inputs = tuple[Ids, ...]  # of source and target, which differ in length


class Lines(Dataset):
    """One split. `learns`: whether a causal model answers for the source, too, and not for the target alone."""

    def __init__(self, pairs: PairSet, task: str, *, learns: bool) -> None:
        self.vocabulary, self.task, self.learns = pairs.vocabulary, task, learns
        ids = self.vocabulary.ids
        self.sources, self.targets = [ids(pair.source) for pair in pairs], [ids(pair.target) for pair in pairs]
        self.digest = digest_of(pairs.name, task, self.sources, self.targets)

    def __len__(self) -> int:
        return len(self.sources)

    def __getitems__(self, keys: Sequence[Key]) -> tuple[Inputs, Ids]:
        """What the model takes, and the labels, IGNORED where none is asked for. `keys`: (index, seed) of each."""
        if self.task == "translate":
            rows = [index for index, _ in keys]
            target = [[BEGIN, *self.targets[row], END] for row in rows]
            given = padded([self.sources[row] for row in rows], PAD), padded([line[:-1] for line in target], PAD)
            return given, padded([line[1:] for line in target], IGNORED)
        lines = [[*self.sources[index], ARROW, *self.targets[index]] for index, _ in keys]
        if self.task == "causal":
            lines = [[*line, END] for line in lines]
            labels = [
                line[1:] if self.learns else [*[IGNORED] * line.index(ARROW), *line[line.index(ARROW) + 1 :]]
                for line in lines
            ]
            return (padded([line[:-1] for line in lines], PAD),), padded(labels, IGNORED)
        seen = [hidden(line, self.vocabulary, key) for line, key in zip(lines, keys, strict=True)]
        return (padded([ids for ids, _ in seen], PAD),), padded([labels for _, labels in seen], IGNORED)


def hidden(line: Sequence[int], vocabulary: Vocabulary, key: Key) -> tuple[list[int], list[int]]:
    """BERT's exercise: the line with some tokens hidden, and as labels what stood there. `key`: what is drawn from.

    The marks of `SPECIAL` are never chosen; of all others at least one is.
    """
    draw, ids = np.random.default_rng(key), np.array(line)
    words = np.flatnonzero(ids >= len(SPECIAL))
    chosen = words[draw.random(len(words)) < CHOSEN]
    if not len(chosen):
        chosen = draw.choice(words, 1)
    labels = np.full(len(ids), IGNORED)
    labels[chosen] = ids[chosen]
    how = draw.random(len(chosen))
    ids[chosen[how < MASKED]] = MASK
    replaced = chosen[(how >= MASKED) & (how < MASKED + REPLACED)]
    ids[replaced] = draw.integers(len(SPECIAL), len(vocabulary), len(replaced))
    return ids.tolist(), labels.tolist()


def padded(rows: Sequence[Sequence[int]], filling: int) -> Ids:
    """Rows of different lengths, the shorter ones filled up at their end."""
    return pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=filling)
