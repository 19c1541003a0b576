"""Every answer of models of texts to texts that none has learned from, as a page reads it again without torch."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Int

if TYPE_CHECKING:
    from vizkit.models.sequences import SequenceModel


TEXTS, BATCH, WORST = 2000, 128, 12


@dataclass(frozen=True, eq=False)
class TextAnswers:
    """`length`: words of each source; `asked`: how many words the model was asked for, each after the true ones before
    it, or of a masked model all at once; `wrong`: of these. `worst`: those of which most are wrong, (text, true answer,
    the model's own)."""

    data: str
    length: Int[np.ndarray, " text"]
    asked: Int[np.ndarray, " text"]
    wrong: Int[np.ndarray, " text"]
    worst: tuple[tuple[str, str, str], ...]


def answered(
    model: "SequenceModel", count: int = TEXTS, progress: Callable[[int, int], None] = lambda *_: None
) -> TextAnswers:
    """On the first `count` test texts of what it has learned. NotApplicable where nobody knows the true answers."""
    import torch

    from vizkit.datasets.sequences.opening import TASKS, open_pairs
    from vizkit.models.sequences import greedy
    from vizkit.traces import NotApplicable
    from vizkit.training.evaluating import IGNORED
    from vizkit.training.sequences.lines import Lines

    if model.data not in TASKS:
        raise NotApplicable(f"What {model.name} has learned is not known here, so right and wrong are unknown.")
    pairs = open_pairs(model.data, "test", count=count)
    lines, asked, wrong, said = Lines(pairs, model.task, learns=False), list[int](), list[int](), list[Any]()
    with torch.inference_mode():
        for start in range(0, count, BATCH):
            inputs, labels = lines.__getitems__([(row, 0) for row in range(start, min(start + BATCH, count))])
            best, counts = model.model(*(each.to(model.device) for each in inputs)).argmax(-1).cpu(), labels != IGNORED
            asked += counts.sum(1).tolist()
            wrong += ((best != labels) & counts).sum(1).tolist()
            if not model.writes:
                said += list(zip(inputs[0].tolist(), labels.tolist(), best.tolist(), strict=True))
            progress(len(asked), count)
    shares = np.array(wrong) / np.array(asked)
    words, worst = model.vocabulary.words, list[tuple[str, str, str]]()
    for row in np.argsort(-shares, kind="stable")[: min(WORST, int((shares > 0).sum()))].tolist():
        pair = pairs[row]
        if model.writes:
            own = model.text_of(greedy(model, pair.source, top=1).words)
            worst.append((" ".join(pair.source), model.text_of(pair.target), own))
            continue
        seen, labels, best = said[row]
        places = [place for place, label in enumerate(labels) if label != IGNORED]
        true, own = (" ".join(words[each[place]] for place in places) for each in (labels, best))
        worst.append((" ".join(words[number] for number in seen[: len(pair.source) + len(pair.target) + 1]), true, own))
    lengths = np.array([len(pair.source) for pair in pairs])
    return TextAnswers(model.data, lengths, np.array(asked), np.array(wrong), tuple(worst))
