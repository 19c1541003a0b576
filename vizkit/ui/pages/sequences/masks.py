"""The view Masks: who may look at whom, and why a mask comes before the softmax."""

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from vizkit.figure.saved.panel import Panel, cells_of
from vizkit.figure.sequences.word_matrix import word_matrix
from vizkit.ui import reading
from vizkit.ui.pages.sequences import masks_of, predict, typed
from vizkit.ui.pages.sequences.masks_of import COLOURS, number
from vizkit.ui.session import saved
from vizkit.ui.session.shown import keep_valid
from vizkit.ui.views import Page
from vizkit.ui.widgets.remark import remark
from vizkit.ui.widgets.save import save

if TYPE_CHECKING:
    from torch import Tensor

    from vizkit.analysis.sequences.masks import Kind
    from vizkit.models.sequences.walk import AttentionSteps, Walk

KINDS = ("none", "causal", "cross", "BERT")
SIX, OWN = "six words", "a date"
DATES = typed.TRANSFORMER.partition(":")[2]


def view(page: Page) -> None:
    from vizkit.analysis.sequences.masks import MASKS

    del page  # its models see images
    with st.container(horizontal=True, vertical_alignment="bottom"):
        model = typed.choose_any({typed.TRANSFORMER: "Models of dates"})
        dates = model.name == DATES
        kinds = KINDS if dates else masks_of.KINDS[model.task]
        keep_valid("mask", kinds)
        kind: Kind = st.segmented_control(
            "Mask", kinds, default="causal" if dates else kinds[0], required=True, key="mask", bind="query-params"
        )
        text = OWN
        if dates and kind in ("none", "causal"):
            text = st.segmented_control(
                "Text", (SIX, OWN), default=SIX, required=True, key="mask_text", bind="query-params"
            )
    st.markdown(MASKS[kind])
    words = () if text == SIX else typed.choose_text(model)
    if not dates:
        masks_of.of_model(model, words, kind)
    elif kind == "BERT":
        predict.hidden_words(typed.opened("bundled:dates_bert"), words)
    elif text == SIX:
        _six_words(kind)
    else:
        _own_text(kind, words)
    if dates and kind == "causal":
        st.subheader("Predict the next word: GPT, tiny", anchor=False)
        predict.next_word(typed.opened("bundled:dates_gpt"), words or typed.choose_text())
    reading.how(
        "A row is a word that looks, a column a word that it looks at; hatched cells may not be looked at. The scores "
        "there become −∞ before the softmax, so that the other weights share the whole; weights that are set to 0 "
        "after it leave rows that sum to less than 1. BERT sees all places, but [MASK] instead of some words; GPT and "
        "a decoder see what came before.",
        r"\mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}} + M\right), \quad "
        r"M_{ij} = -\infty \ \text{where } i \text{ may not look at } j",
        "that a word is used because it may be looked at. The six words and their weights are an example of textbooks, "
        "printed with three digits.",
        "Vaswani et al. 2017, § 3.2.3; Devlin et al. 2019, § 3.1; Radford et al. 2018",
    )


def _six_words(kind: "Kind") -> None:
    import torch

    from vizkit.analysis.attention.walkthrough import SENTENCE, SENTENCE_WEIGHTS

    weights = torch.tensor(SENTENCE_WEIGHTS)  # their logarithms are the scores, up to a constant for each row
    both_ways(weights.log(), weights, kind, SENTENCE, SENTENCE)


def _own_text(kind: "Kind", words: tuple[str, ...]) -> None:
    from vizkit.models.sequences import greedy
    from vizkit.models.sequences.walk import walk

    model = typed.opened("bundled:dates_transformer")
    target = greedy(model, words).words
    steps = walk(model, words, target)
    part, head = _chosen(steps, kind)
    begun = ("[BEGIN]", *target)
    queries = words if kind == "none" else begun
    keys = begun if kind == "causal" else words
    both_ways(part.scaled[head], part.scaled[head].softmax(-1), kind, queries, keys)


def _chosen(steps: "Walk", kind: "Kind") -> "tuple[AttentionSteps, int]":
    """(the chosen layer of the attention that has this mask, the chosen head from 0)."""
    layers = steps.encoder if kind == "none" else steps.decoder
    with st.container(horizontal=True):
        layer = number("Layer", "mask_layer", len(layers))
        own = layers[layer]
        part = own.cross if kind == "cross" and own.cross is not None else own.attention
        return part, number("Head", "mask_head", len(part.weights))


def both_ways(
    scores: "Tensor", weights: "Tensor", kind: "Kind", queries: tuple[str, ...], keys: tuple[str, ...]
) -> None:
    """Weights without a mask (query, key); with one, masked before and after the softmax beside each other."""
    from vizkit.analysis.remarks import masks
    from vizkit.analysis.sequences.masks import allowed, masked

    looks = allowed(kind, *weights.shape)
    result, may = masked(weights, looks), looks.numpy()
    numbers = {
        "scores": scores.numpy(),
        "weights": weights.numpy(),
        "before": result.before.numpy(),
        "after": result.after.numpy(),
    }

    shown: list[Panel] = []

    def table(values: np.ndarray, title: str, hidden: str = "", sums: bool = False) -> None:
        mask = may if hidden else None
        st.html(
            word_matrix(
                values, queries, keys, colour=COLOURS[kind], allowed=mask, hidden=hidden, sums=sums, title=title
            )
        )
        drawn = np.where(may, values, -np.inf) if hidden == "−∞" else values
        shown.append(cells_of(drawn, queries, keys, title=title, x="is looked at", y="looks"))

    if looks.all():
        table(numbers["weights"], "Weights: every row sums to 1", sums=True)
    else:
        left, right = st.columns(2, gap="large")
        with left:
            st.markdown("**Right: mask, then softmax**")
            table(numbers["scores"], "1 · Scores, −∞ where a word may not look", "−∞")
            table(numbers["before"], "2 · Softmax: every row sums to 1", "0", sums=True)
        with right:
            st.markdown("**Wrong: softmax, then mask**")
            table(numbers["weights"], "1 · Softmax of all scores", sums=True)
            table(numbers["after"], "2 · Weights set to 0: rows sum to less than 1", "0", sums=True)
        remark(masks.rows(result))
    what = (f"Mask: {kind}; {' '.join(queries)}",)
    save("masks", {"": saved.charts_of("Masks", what, *shown)}, saved.NOTHING)
