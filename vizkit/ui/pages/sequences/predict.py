"""Parts of the view Masks: words behind [MASK] guessed by a tiny BERT, the next word by a tiny GPT.

A line of text is a row of buttons. A click hides a word, or writes the next one; the session and the address keep it.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from vizkit.datasets.sequences import gaps
from vizkit.figure.saved.panel import Panel, cells_of
from vizkit.figure.sequences.word_matrix import BLUE, word_matrix
from vizkit.traces import NotApplicable
from vizkit.ui.canvas import Canvas
from vizkit.ui.pages.sequences import typed
from vizkit.ui.plain import plain
from vizkit.ui.session import saved
from vizkit.ui.session.address import drop, put
from vizkit.ui.widgets.remark import remark
from vizkit.ui.widgets.save import save
from vizkit.views.rules import below, one_of, record, several
from vizkit.vocabulary import ARROW, SPECIAL

if TYPE_CHECKING:
    from vizkit.models.sequences import SequenceModel
    from vizkit.models.sequences.generating import Choice

HERE = Path(__file__).parent
PREDICT = Canvas(
    "vizkit_predict",
    "<div class='predict'><div class='line'></div><div class='controls'></div><div class='answers'></div></div>",
    HERE / "predict.css",
    HERE / "predict.js",
)
MOST = 40  # words of a link


def hidden_words(model: "SequenceModel", words: Sequence[str]) -> None:
    """A text as one line, a date with its translation; any of its words can be hidden."""
    import torch

    from vizkit.analysis.remarks import masks
    from vizkit.models.sequences import predictions, trace_text

    text, title, mask = _named(model, words), typed.title_of(model), model.mask
    if mask is None:
        raise NotApplicable(f"The words of {title} hold no [MASK] that could hide another.")
    ids = line_of(model, words)
    line = model.vocabulary.spelled(ids)
    fixed = _fixed(model, ids)
    free = [at for at in range(len(ids)) if at not in fixed]
    hidden = [at for at in _kept("hidden", text) or _first(model, line, free) if at in free]
    hidden = sorted({*hidden, *(at for at in free if ids[at] == mask)})
    st.session_state["_sequence_hidden"] = (text, tuple(hidden))  # another text does not take them from the link
    trace = trace_text(model, [mask if at in hidden else number for at, number in enumerate(ids)])
    tops = predictions(model, trace.logits)
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown(f"**Click words to hide them from {plain(title)}**")
        _mount("hidden", text, model, line, hidden, {at: tops[at] for at in hidden}, fixed)
        known = [at for at in hidden if ids[at] != mask]  # of a [MASK] that was typed nobody knows the word
        best = [tops[at][0] for at in known]
        remark(masks.guessed([line[at] for at in known], [c.word for c in best], [c.probability for c in best]))
        put("hidden", ",".join(map(str, hidden)))
    with right:
        seen = ["[MASK]" if at in hidden else word for at, word in enumerate(line)]
        weights = torch.stack([layer.weights[0].float().mean(0) for layer in trace.attention]).mean(0)
        caption = "Attention of BERT, mean over layers and heads: nothing is hatched, all places are seen"
        st.html(word_matrix(weights.numpy(), seen, seen, colour=BLUE, title=caption))
    shown = [cells_of(weights.numpy(), seen, seen, title=caption, x="is looked at", y="looks"),
             *(_answers(f"Behind [MASK] at place {at + 1}", tops[at]) for at in hidden)]  # fmt: skip
    save("masks", {"": saved.charts_of("Hidden words", (f"{title}: {' '.join(seen)}",), *shown)}, saved.NOTHING)


def line_of(model: "SequenceModel", words: Sequence[str]) -> list[int]:
    """The line that a masked model reads: of our tasks the source and its right answer, of others the text."""
    from vizkit.models.sequences import greedy

    if model.data == "dates":
        return model.line_ids(words, greedy(typed.opened(typed.TRANSFORMER), words).words)
    return model.line_ids(words, gaps.answer(gaps.letters(words), model.data) if model.data else ())


def next_word(model: "SequenceModel", words: Sequence[str]) -> None:
    """A text as a causal model reads it, and what it would write: one word after the other, by clicks."""
    from vizkit.analysis.remarks import masks
    from vizkit.models.sequences import continue_with

    text, names = _named(model, words), model.vocabulary.words
    written = [names[number] for number in _kept("next", text) or () if number < len(names)]
    steps = continue_with(model, words, written, longest=len(written) + 1).steps
    line = model.vocabulary.spelled(model.line_ids(words))
    top = steps[len(written)].top if len(written) < len(steps) else ()
    tops = {len(line) + len(written): top} if top else {}
    _mount("next", text, model, [*line, *written], [], tops, range(len(line)))
    if top:
        remark(masks.certain(top[0].word, top[0].probability, top[1].word))
        said = f"{typed.title_of(model)}: {' '.join((*line, *written))} …"
        save("next", {"": saved.charts_of("The next word", (said,), _answers("The next word", top))}, saved.NOTHING)
    put("next", ",".join(map(str, model.vocabulary.ids(written)))) if written else drop("next")


def _answers(title: str, top: "Sequence[Choice]") -> Panel:
    """The most probable words as cells."""
    shares = np.array([[choice.probability for choice in top]])
    return cells_of(shares, (), [choice.word for choice in top], title=title, x="probability", limit=1.0)


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


def _named(model: "SequenceModel", words: Sequence[str]) -> str:
    """What the chosen words belong to: this text in this model."""
    return f"{model.name}: {' '.join(words)}"


def _kept(name: str, text: str) -> tuple[int, ...] | None:
    """Numbers that were clicked, or that the link names; for this text only. None where nothing was."""
    kept = st.session_state.get(f"_sequence_{name}")
    if kept is None and (linked := st.query_params.get(name)):
        numbers = tuple(int(part) for part in linked.split(",")[:MOST] if part.isdecimal() and len(part) < 5)
        kept = st.session_state[f"_sequence_{name}"] = (text, numbers)
    return kept[1] if kept and kept[0] == text else None


def _mount(
    name: str,
    text: str,
    model: "SequenceModel",
    line: Sequence[str],
    hidden: Sequence[int],
    tops: "dict[int, tuple[Choice, ...]]",
    fixed: Sequence[int],
) -> None:
    """`tops`: the most probable words at some places, at the end of the line for the next one."""

    def clicked(said: dict[str, Any]) -> None:
        chosen = model.vocabulary.ids(said["words"]) if name == "next" else said["places"]
        st.session_state[f"_sequence_{name}"] = (text, tuple(chosen)[:MOST])

    if name == "next":
        rule = record(of=one_of((text,)), words=several(one_of(model.vocabulary.numbers), MOST))
    else:
        rule = record(of=one_of((text,)), places=several(below(len(line)), len(line)))
    PREDICT(
        f"predict_{name}",
        {
            "of": text,
            "mode": name,
            "line": list(line),
            "hidden": list(hidden),
            "fixed": list(fixed),
            "given": len(fixed),
            "ended": line[-1] == model.vocabulary.words[model.end],
            "tops": [[at, [[choice.word, choice.probability] for choice in top]] for at, top in tops.items()],
        },
        chosen=(rule, clicked),
    )
