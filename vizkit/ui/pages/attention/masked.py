"""The view Masked: the causal mask of a decoder, on the numbers of a teaching example."""

import streamlit as st
import torch

from vizkit.analysis.attention.walkthrough import SENTENCE, SENTENCE_WEIGHTS, causal
from vizkit.analysis.remarks.attention import masked
from vizkit.figure.charts import heat_map
from vizkit.ui import reading
from vizkit.ui.session import saved
from vizkit.ui.views import Page
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.remark import remark
from vizkit.ui.widgets.save import save


def view(page: Page) -> None:
    del page  # no model is run
    weights = torch.tensor(SENTENCE_WEIGHTS)
    names = [f"{i + 1} {word}" for i, word in enumerate(SENTENCE)]
    left, right = st.columns(2)
    figures = []
    for column, values, name, key in (
        (left, weights, "An encoder: every word attends to every word", "encoder"),
        (right, causal(weights), "A decoder: no word attends to later words", "decoder"),
    ):
        figure = heat_map(
            values.numpy(), "key", "query", name, x_names=names, y_names=names, digits=3, height=420, limit=1.0
        )
        figures.append(figure)
        with column:
            chart(figure, f"masked_{key}", f"Weights of six words, {name}")
    remark(masked(weights))
    save("masked", {"": saved.charts_of("The causal mask of a decoder", (), *figures)}, saved.NOTHING)
    reading.how(
        "Left, the six words of a sentence attend to each other; every row sums to one. Right, a mask of −∞ above the "
        "diagonal is added before softmax: those weights become exactly 0 and the rest of each row is shared out anew. "
        "A ViT is an encoder: patches have no before and after.",
        r"\mathrm{softmax}(S + M), \quad M_{ij} = \begin{cases} 0 & j \le i \\ -\infty & j > i \end{cases}",
        "a trained model: these are the numbers of a teaching example.",
        "Vaswani et al. 2017, § 3.2.3",
    )
