"""Of the view Memory: how much every word that was read matters for the answer, in all models that translate."""

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from vizkit.analysis.remarks.sequences import of_gradients
from vizkit.figure.charts import curves
from vizkit.ui import reading
from vizkit.ui.pages.sequences.typed import choose_task_text, of_task, opened
from vizkit.ui.session import saved
from vizkit.ui.session.remembered import remembered
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.remark import remark
from vizkit.ui.widgets.save import save

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor

    from vizkit.models.sequences import SequenceModel

FLOOR = 1e-4
"""Of the axis: what is smaller is as good as nothing."""


@remembered
def strength_of(model: "SequenceModel", words: tuple[str, ...]) -> "Float[Tensor, ' token']":
    """Of each word for the model's own answer, of the largest."""
    from vizkit.models.sequences import greedy
    from vizkit.models.sequences.influence import influence

    return influence(model, words, greedy(model, words).words).relative


def draw() -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        task, words = choose_task_text("gradient")
    lines = {}
    for source, title in reversed(of_task(task).items()):
        strength = strength_of(opened(source), words)
        lines[title] = (np.arange(1, len(words) + 1), strength.clamp(min=FLOOR).numpy())
    figure = curves(lines, "word of the source", "gradient, of its largest", mode="lines+markers")
    figure.update_xaxes(tickvals=list(range(1, len(words) + 1)), ticktext=list(words))
    figure.update_yaxes(type="log", exponentformat="power", range=[float(np.log10(FLOOR)) - 0.1, 0.15], dtick=1)
    chart(figure, "memory_gradient", "Gradient of the answer with respect to every word of the source, of each model")
    remark(of_gradients({title: y.tolist() for title, (_, y) in lines.items()}, words))
    what = (f"Answer to {' '.join(words)}", "length of the gradient of its log probability, of the largest")
    save("memory_gradient", {"": saved.charts_of("Gradient of the answer", what, figure)}, saved.NOTHING)
    reading.how(
        "Each model reads from left to right and then answers. The height says how much the answer would change with "
        "a word. Where a line falls to the left, the first words are as good as forgotten.",
        r"\left\lVert \frac{\partial \log p(\text{answer})}{\partial x_t} \right\rVert, \quad "
        r"\frac{\partial h_n}{\partial h_t} = \prod_{k=t+1}^{n} \frac{\partial h_k}{\partial h_{k-1}}",
        "how the model was trained: a gradient that vanishes there is a reason why it never learned to remember.",
        "Hochreiter 1991; Bengio et al. 1994",
    )
