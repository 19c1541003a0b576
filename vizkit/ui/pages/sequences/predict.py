"""Parts of the view Masks: words behind [MASK] guessed by a tiny BERT, the next word by a tiny GPT.

A line of text is a row of buttons. A click hides a word, or writes the next one; the session and the address keep it.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st
from streamlit.components.v2 import component

from vizkit.figure.sequences.word_matrix import BLUE, word_matrix
from vizkit.ui.pages.sequences import typed
from vizkit.ui.session.address import drop, put
from vizkit.ui.widgets.remark import remark
from vizkit.vocabulary import ARROW, END, MASK, SPECIAL, Vocabulary

if TYPE_CHECKING:
    from vizkit.models.sequences.generating import Choice

HERE = Path(__file__).parent
PREDICT = component(
    "vizkit_predict",
    html="<div class='predict'><div class='line'></div><div class='controls'></div><div class='answers'></div></div>",
    css=(HERE / "predict.css").read_text(encoding="utf-8"),
    js=(HERE / "predict.js").read_text(encoding="utf-8"),
)
MOST = 40  # words of a link


def hidden_words(words: Sequence[str]) -> None:
    """A date and its translation as one line; any of its words can be hidden."""
    import torch

    from vizkit.analysis.remarks import masks
    from vizkit.models.sequences import greedy, predictions, trace_text

    text = " ".join(words)
    bert = typed.opened("bundled:dates_bert")
    ids = bert.line_ids(words, greedy(typed.opened("bundled:dates_transformer"), words).words)
    line = bert.vocabulary.spelled(ids)
    hidden = [at for at in _kept("hidden", text) or _first(line) if at < len(ids) and ids[at] >= len(SPECIAL)]
    trace = trace_text(bert, [MASK if at in hidden else number for at, number in enumerate(ids)])
    tops = predictions(bert, trace.logits)
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown("**Click words to hide them from BERT, tiny**")
        _mount("hidden", text, bert.vocabulary, line, hidden, {at: tops[at] for at in hidden}, _fixed(ids))
        best = [tops[at][0] for at in hidden]
        remark(masks.guessed([line[at] for at in hidden], [c.word for c in best], [c.probability for c in best]))
        put("hidden", ",".join(map(str, hidden)))
    with right:
        seen = ["[MASK]" if at in hidden else word for at, word in enumerate(line)]
        weights = torch.stack([layer.weights[0].float().mean(0) for layer in trace.attention]).mean(0)
        title = "Attention of BERT, mean over layers and heads: nothing is hatched, all places are seen"
        st.html(word_matrix(weights.numpy(), seen, seen, colour=BLUE, title=title))


def next_word(words: Sequence[str]) -> None:
    """A date as a tiny GPT reads it, and what it would write: one word after the other, by clicks."""
    from vizkit.analysis.remarks import masks
    from vizkit.models.sequences import continue_with

    text, gpt = " ".join(words), typed.opened("bundled:dates_gpt")
    written = [gpt.vocabulary.words[number] for number in _kept("next", text) or () if number < len(gpt.vocabulary)]
    steps = continue_with(gpt, words, written).steps
    line = gpt.vocabulary.spelled(gpt.line_ids(words))
    top = steps[len(written)].top if len(written) < len(steps) else ()
    tops = {len(line) + len(written): top} if top else {}
    _mount("next", text, gpt.vocabulary, [*line, *written], [], tops, range(len(line)))
    if top:
        remark(masks.certain(top[0].word, top[0].probability, top[1].word))
    put("next", ",".join(map(str, gpt.vocabulary.ids(written)))) if written else drop("next")


def _first(line: Sequence[str]) -> list[int]:
    """Which word is hidden at first: the longest of the source, mostly the month."""
    source = line[: line.index(SPECIAL[ARROW])]
    return [max(range(len(source)), key=lambda at: len(source[at]))]


def _fixed(ids: Sequence[int]) -> list[int]:
    return [at for at, number in enumerate(ids) if number < len(SPECIAL)]


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
    vocabulary: Vocabulary,
    line: Sequence[str],
    hidden: Sequence[int],
    tops: "dict[int, tuple[Choice, ...]]",
    fixed: Sequence[int],
) -> None:
    """`tops`: the most probable words at some places, at the end of the line for the next one."""
    key = f"predict_{name}"

    def clicked() -> None:
        said: Any = st.session_state[key].chosen
        if not said or said["of"] != text:
            return
        chosen = vocabulary.ids(said["words"]) if name == "next" else map(int, said["places"])
        st.session_state[f"_sequence_{name}"] = (text, tuple(chosen)[:MOST])

    PREDICT(
        key=key,
        data={
            "of": text,
            "mode": name,
            "line": list(line),
            "hidden": list(hidden),
            "fixed": list(fixed),
            "given": len(fixed),
            "ended": line[-1] == SPECIAL[END],
            "tops": [[at, [[choice.word, choice.probability] for choice in top]] for at, top in tops.items()],
        },
        on_chosen_change=clicked,
    )
