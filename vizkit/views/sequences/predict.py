"""Parts of Masks: words behind [MASK] guessed by a masked model, the next word by a causal one.

A line of text is a row of buttons. A click hides a word, or writes the next one.
"""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from vizkit.analysis.remarks import sequences as remarks
from vizkit.figure.saved.plate import INK, PALE, Mark, Raster, Words, fitting, font
from vizkit.figure.sequences.word_matrix import BLUE, GREEN, WordMatrix, on_white
from vizkit.percent import in_percent
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Blocks, Canvas, Columns, Heading, Line, Matrix, Paper, Said, first_said
from vizkit.views.rules import Rule, below, one_of, several
from vizkit.views.sequences.known import TRANSFORMER
from vizkit.views.sequences.typed import Typed, truth_of
from vizkit.vocabulary import ARROW, SPECIAL

if TYPE_CHECKING:
    from vizkit.models.sequences import SequenceModel
    from vizkit.models.sequences.generating import Choice
    from vizkit.traces import Trace

MOST = 40  # words of a link
SIZE, ROW = 9.0, 14.0
Tops: TypeAlias = "dict[int, tuple[Choice, ...]]"


def numbers_of(told: str) -> list[int]:
    return [int(part) for part in told.split(",")[:MOST] if part.isdecimal() and len(part) < 5]


def hidden_words(read: Typed, field: str) -> Blocks:
    """A text as one line, a date with its translation; any of its words can be hidden. `field`: what is hidden now."""
    mask = read.model.mask
    if mask is None:
        raise NotApplicable(f"The words of {read.title} hold no [MASK] that could hide another.")
    ids = line_of(read)
    line, fixed = read.model.vocabulary.spelled(ids), _fixed(read.model, ids)
    free = [at for at in range(len(ids)) if at not in fixed]
    hidden = [at for at in numbers_of(read.told(field)) if at in free] or _first(read.model, line, free)
    hidden = sorted({*hidden, *(at for at in free if ids[at] == mask)})
    weights, every = read.made(guessed, tuple(mask if at in hidden else number for at, number in enumerate(ids)))
    tops = {at: every[at] for at in hidden}
    seen = ["[MASK]" if at in hidden else word for at, word in enumerate(line)]
    known = [at for at in hidden if ids[at] != mask]  # of a [MASK] that was typed nobody knows the word
    best = [tops[at][0] for at in known]
    places = several(below(len(line)), len(line))
    tells = {"places": (lambda told: read.telling(",".join(map(str, places(told)))), "hidden")}
    of = f"{read.title}: {' '.join(seen)}"
    matrix = WordMatrix(
        weights.numpy(), seen, seen, BLUE, title="Attention, mean over layers and heads: all places are seen"
    )
    guesses = remarks.guessed([line[at] for at in known], [c.word for c in best], [c.probability for c in best])
    end = line.index(SPECIAL[ARROW]) if SPECIAL[ARROW] in line else len(line)
    answer = ["?" if word == "[MASK]" else word for word in seen[end + 1 :]]
    seen_too = bool(hidden) and hidden[0] < end and {*answer} - {"?"}
    yield Said(first_said(guesses) + (f" Not hidden: “{''.join(answer)}” behind the arrow." if seen_too else ""))
    yield Columns(
        (
            (
                Heading(f"Click words to hide them from {read.title}"),
                _canvas("hidden", of, read, line, hidden, tops, fixed, tells),
            ),
            (
                Matrix(matrix, f"Which words {read.title} looks at"),
                Line(f"{remarks.strongest(weights, seen, seen)} White cells are 0."),
            ),
        )
    )


def guessed(model: "SequenceModel", words: tuple[str, ...], ids: tuple[int, ...]) -> Any:
    """(attention, mean over layers and heads; the most probable words at every place)."""
    import torch

    from vizkit.models.sequences import predictions, trace_text

    trace: Trace = trace_text(model, ids)
    weights = torch.stack([layer.weights[0].float().mean(0) for layer in trace.attention]).mean(0)
    return weights, predictions(model, trace.logits)


def line_of(read: Typed) -> list[int]:
    """The line that a masked model reads: of our tasks the source and its right answer, of what says no date that which
    the transformer writes, of others the text."""
    from vizkit.models.sequences import greedy

    model, words = read.model, read.words
    unknown = read.by(TRANSFORMER).made(greedy).words if model.data == "dates" else ()
    return model.line_ids(words, truth_of(read) or unknown)


def next_word(read: Typed, field: str) -> Blocks:
    """A text as a causal model reads it, and what it would write: one word after the other, by clicks. `field`: the
    numbers of the words that are written."""
    names = read.model.vocabulary.words
    written = [names[number] for number in numbers_of(read.told(field)) if number < len(names)]
    steps, line = read.made(continued, tuple(written))
    top = steps[len(written)].top if len(written) < len(steps) else ()
    tops = {len(line) + len(written): top} if top else {}
    words = several(one_of(read.model.vocabulary.numbers), MOST)

    def numbered(told: object) -> str:
        return read.telling(",".join(map(str, read.model.vocabulary.ids(words(told)))))

    yield Heading(f"Predict the next word{' of a date' if read.model.data == 'dates' else ''}: {read.title}")
    truth, place = truth_of(read), len(written)
    right = truth[place] if place < len(truth) and tuple(written) == truth[:place] else ""
    yield Said(remarks.certain(top[0].word, top[0].probability, top[1].word, right) if len(top) > 1 else "")
    of, tells = f"{read.title}: {' '.join((*line, *written))} …", {"words": (numbered, "next")}
    yield _canvas("next", of, read, [*line, *written], [], tops, range(len(line)), tells)


def continued(model: "SequenceModel", words: tuple[str, ...], written: tuple[str, ...]) -> Any:
    """(the steps up to the word after those that are written, the line that is read)."""
    from vizkit.models.sequences import continue_with

    steps = continue_with(model, words, written, longest=len(written) + 1).steps
    return steps, model.vocabulary.spelled(model.line_ids(words))


def _first(model: "SequenceModel", line: Sequence[str], free: Sequence[int]) -> list[int]:
    """Which word is hidden at first: the longest of the source, mostly the month; none where a [MASK] was typed."""
    if model.mask is not None and model.vocabulary.words[model.mask] in line:
        return []
    end = line.index(SPECIAL[ARROW]) if SPECIAL[ARROW] in line else len(line)
    return sorted((at for at in free if at < end), key=lambda at: -len(line[at]))[:1]


def _fixed(model: "SequenceModel", ids: Sequence[int]) -> list[int]:
    """Places that cannot be hidden: our special words, and what stands around a text of somebody else's model."""
    if model.data:
        return [at for at, number in enumerate(ids) if number < len(SPECIAL)]
    around = {*model.line_ids(()), *([model.end] if model.end else [])}
    return [at for at, number in enumerate(ids) if number in around]


def _canvas(
    mode: str,
    of: str,
    read: Typed,
    line: Sequence[str],
    hidden: Sequence[int],
    tops: Tops,
    fixed: Sequence[int],
    tells: dict[str, tuple[Rule[Any], str]],
) -> Canvas:
    """`tops`: the most probable words at some places, at the end of the line for the next one."""
    data = {
        "mode": mode,
        "line": list(line),
        "hidden": list(hidden),
        "fixed": list(fixed),
        "given": len(fixed),
        "ended": line[-1] == read.model.vocabulary.words[read.model.end],
        "tops": [[at, [[choice.word, choice.probability] for choice in top]] for at, top in tops.items()],
    }
    still = Paper(partial(on_paper, line, hidden, len(fixed) if mode == "next" else len(line), tops))
    return Canvas("vizkit_predict", data, of, tells, (still,))


def on_paper(
    line: Sequence[str], hidden: Sequence[int], given: int, tops: Tops, width: float
) -> tuple[list[Mark], float]:
    """The line of words, hidden ones blue and written ones green, and below it what is most probable."""
    drawn, x, top = list[Mark](), 0.0, 0.0
    for at, word in enumerate(line):
        text = "[MASK]" if at in hidden else word
        wide = font(SIZE).getlength(text) + 9
        if x + wide > width:
            x, top = 0.0, top + ROW + 4
        ink = on_white(BLUE, 0.38) if at in hidden else on_white(GREEN, 0.32) if at >= given else on_white(BLUE, 0.06)
        drawn += [Raster(np.array([[ink]], np.uint8), x, top, wide - 2, ROW), Words(text, x + 3.5, top + 10, SIZE)]
        x += wide
    top += ROW + 8
    for at, choices in sorted(tops.items()):
        truth = line[at] if at < len(line) else ""
        head = "The next word" if not truth else "Behind [MASK]" + ("" if truth == "[MASK]" else f", truly “{truth}”")
        drawn.append(Words(head, 0.0, top + SIZE, SIZE, PALE))
        top += SIZE + 5
        for choice in choices:
            bar = max(1.0, choice.probability * width)
            drawn.append(Raster(np.array([[on_white(BLUE, 0.06)]], np.uint8), 0.0, top, width, ROW - 2))
            drawn.append(Raster(np.array([[on_white("#4338ca", 0.32)]], np.uint8), 0.0, top, bar, ROW - 2))
            drawn.append(Words(fitting(choice.word, SIZE, width - 60), 4.0, top + 9, SIZE))
            drawn.append(Words(in_percent(choice.probability), width - 4, top + 9, SIZE, INK, "end"))
            top += ROW
        top += 6
    return drawn, top
