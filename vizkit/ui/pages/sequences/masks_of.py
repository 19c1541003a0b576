"""Part of the view Masks: the masks of any model of texts, as its recorded weights have them."""

from typing import TYPE_CHECKING

import streamlit as st

from vizkit.figure.saved.panel import cells_of
from vizkit.figure.sequences.word_matrix import BLUE, GREEN, ORANGE, word_matrix
from vizkit.traces import NotApplicable
from vizkit.ui.pages.sequences import predict, typed
from vizkit.ui.session import saved
from vizkit.ui.session.remembered import remembered
from vizkit.ui.session.shown import keep_valid
from vizkit.ui.widgets.save import save

if TYPE_CHECKING:
    from torch import Tensor

    from vizkit.analysis.sequences.masks import Kind
    from vizkit.models.sequences import SequenceModel
    from vizkit.traces import Attention, Trace

COLOURS = {"none": BLUE, "causal": GREEN, "cross": ORANGE}
KINDS: "dict[str, tuple[Kind, ...]]" = {
    "translate": ("none", "causal", "cross"), "masked": ("BERT", "none"), "causal": ("causal",),
}  # fmt: skip


def of_model(model: "SequenceModel", words: tuple[str, ...], kind: "Kind") -> None:
    """What this model's layers look at, and the words that it expects, where it is asked for words."""
    if kind == "BERT":
        predict.hidden_words(model, words)
        return
    source, target, trace = traced(model, words)
    layers = [layer for layer in trace.attention if kind_of(layer, model.task) == kind]
    if not layers:
        raise NotApplicable(f"{typed.title_of(model)} has no attention that a mask of this kind could be laid over.")
    with st.container(horizontal=True):
        layer = layers[number("Layer", "mask_layer", len(layers))]
        head = number("Head", "mask_head", layer.weights.shape[1])
    names = {"source": source, "target": target}
    looks(typed.title_of(model), layer.weights[0, head].float(), kind, names[layer.query.name], names[layer.key.name])
    if kind == "causal" and not model.translates:
        st.subheader(f"Predict the next word: {typed.title_of(model)}", anchor=False)
        predict.next_word(model, words)


@remembered
def traced(model: "SequenceModel", words: tuple[str, ...]) -> "tuple[tuple[str, ...], tuple[str, ...], Trace]":
    """(words of the source with what stands around them, those that are written, the recording)."""
    from vizkit.models.sequences import greedy, trace_pair, trace_text

    ids = model.source_ids(words) if model.translates else model.line_ids(words)
    source = tuple(model.vocabulary.spelled(ids))
    if not model.translates:
        return source, (), trace_text(model, ids)
    target = greedy(model, words).words
    return source, ("[BEGIN]", *target), trace_pair(model, words, target)


def kind_of(layer: "Attention", task: str) -> "Kind":
    """Which mask a layer has."""
    if layer.query.name != layer.key.name:
        return "cross"
    return "causal" if layer.query.name == "target" or task == "causal" else "none"


def looks(of: str, weights: "Tensor", kind: "Kind", queries: tuple[str, ...], keys: tuple[str, ...]) -> None:
    """One head's weights, hatched where its mask lets nothing through. `of`: the model."""
    from vizkit.analysis.sequences.masks import allowed

    may = allowed(kind, *weights.shape).numpy()
    values, title = weights.numpy(), "Weights after the mask and the softmax: every row sums to 1"
    hidden = "" if may.all() else "0"
    st.html(word_matrix(values, queries, keys, colour=COLOURS[kind], allowed=None if may.all() else may, hidden=hidden,
                        sums=True, title=title))  # fmt: skip
    if not may.all():
        st.caption("Another order, masking after the softmax, is shown with the six words of “Models of dates”.")
    panel = cells_of(values, queries, keys, title=title, x="is looked at", y="looks")
    save("masks", {"": saved.charts_of("Masks", (of, f"Mask: {kind}"), panel)}, saved.NOTHING)


def number(label: str, key: str, count: int) -> int:
    """From 0."""
    keep_valid(key, range(1, count + 1))
    return int(st.number_input(label, 1, count, 1, key=key, bind="query-params", width=110, disabled=count < 2)) - 1
