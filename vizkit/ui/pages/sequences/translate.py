"""The view Translate: a text becomes another one, word after word; arcs show who looks at whom."""

from typing import TYPE_CHECKING

import streamlit as st

from vizkit.analysis.remarks.sequences import of_alignment, of_beams
from vizkit.figure.charts import heat_map
from vizkit.traces import NotApplicable
from vizkit.ui import reading
from vizkit.ui.pages.sequences.translate_canvas import arcs, forced, forget_forced, kind_of
from vizkit.ui.pages.sequences.typed import TITLES, choose_any, choose_text, facts, title_of
from vizkit.ui.plain import plain
from vizkit.ui.session import saved
from vizkit.ui.session.remembered import remembered
from vizkit.ui.views import Page
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.remark import remark
from vizkit.ui.widgets.save import save
from vizkit.vocabulary import TextError

if TYPE_CHECKING:
    from torch import Tensor

    from vizkit.models.sequences import SequenceModel
    from vizkit.models.sequences.generating import Written
    from vizkit.traces import Trace

WIDTHS = (0, 2, 3, 5)
WORDS = {"encoder": "Source at itself", "decoder": "Written words at those before", "cross": "Written at source"}


def view(page: Page) -> None:
    row = st.container(horizontal=True, vertical_alignment="bottom")
    with row:
        model = choose_any(TITLES)
    words = choose_text(model, row)
    text, title = " ".join(words), title_of(model)
    if not model.translates:
        raise NotApplicable(f"{title} reads one text and has no decoder: Masks shows where it looks and what it "
                            "expects.")  # fmt: skip
    source = tuple(model.vocabulary.spelled(model.source_ids(words)))
    try:
        written, trace, shares = translated(model, words, forced(text))
    except TextError:  # a link with words that this model has not
        forget_forced()
        written, trace, shares = translated(model, words, ())
    st.markdown(f"**{plain(model.text_of(written.words))}** · {facts(model)}")
    arcs("translate", text, source, written, trace, title, shares)
    if shares is not None:
        st.caption(
            f"The {title} has no attention: when it begins to write, all that it knows of the source is its last "
            "state. The lines are shares of the gradient instead: which word would change the written one most."
        )
    reading.proof(trace)
    remark(of_alignment(model.facts.get("alignment", {})))
    beams(model, words)
    keep(trace, source, written.words, title)
    reading.how(
        "Orange: which words of the source a written word looks at. Blue: the source's words at one another. "
        "Green: a written word at those before it, never at later ones. Hover a word; click a probability to write "
        "that word instead.",
        r"\mathrm{softmax}(Q K^\top / \sqrt{d_k} + \text{mask})\, V",
        "why a word was written: weights say where a layer looks, not what it makes of it.",
        "Vaswani et al. 2017",
    )


@remembered
def translated(
    model: "SequenceModel", words: tuple[str, ...], prefix: tuple[str, ...]
) -> "tuple[Written, Trace, Tensor | None]":
    """What is written from `words`, its recording, and without attention the shares of the gradient. Made once:
    choosing a head or a word runs no model."""
    from vizkit.models.sequences import continue_with, trace_pair
    from vizkit.models.sequences.influence import influence

    written = continue_with(model, words, prefix)
    trace = trace_pair(model, words, written.words)
    return written, trace, None if trace.attention else influence(model, words, written.words).shares


def beams(model: "SequenceModel", words: tuple[str, ...]) -> None:
    """Several texts at once, as a tree."""
    from vizkit.figure.sequences.beam_tree import beam_tree
    from vizkit.models.sequences import beam, greedy

    count = st.segmented_control("Beam search", WIDTHS, default=0, required=True, key="beams", bind="query-params",
                                 format_func=lambda width: f"{width} texts" if width else "off",
                                 help="Keeps so many texts at every step, not only the most probable.")  # fmt: skip
    if not count:
        return
    searched = beam(model, words, count)
    path, at = [], searched.final[0] if searched.final else None
    while at is not None:
        path.append(at)
        at = searched.tree[at].parent
    chart(beam_tree(searched.tree, path), "beam_tree", f"Beam search with {count} texts")
    texts, totals = zip(*((searched.words(i), searched.tree[i].log_probability) for i in searched.final), strict=True)
    remark(of_beams(greedy(model, words).words, texts, totals))


def keep(trace: "Trace", source: tuple[str, ...], target: tuple[str, ...], title: str) -> None:
    """Every kind of attention in the last layer, mean over heads, to be saved."""
    written = ("[BEGIN]", *target)
    names = {"source": source, "target": written}
    figures = {kind_of(layer): heat_map(layer.weights[0].mean(0).float().numpy(), "looked at", "looks",
                                        f"{WORDS[kind_of(layer)]}, last layer, mean over heads", square=False,
                                        x_names=_counted(names[layer.key.name]),
                                        y_names=_counted(names[layer.query.name]))
               for layer in trace.attention}  # fmt: skip
    for figure in figures.values():
        figure.update_xaxes(type="category").update_yaxes(type="category")  # plotly would take "7 ." for a number
    if figures:
        what = (f"{title}: {' '.join(source)} → {''.join(target)}",)
        save("translate", {"": saved.charts_of("Attention of a translation", what, *figures.values())}, saved.NOTHING)


def _counted(words: tuple[str, ...]) -> list[str]:
    """Plotly takes equal names for one place."""
    return [f"{place} {word}" for place, word in enumerate(words, 1)]
