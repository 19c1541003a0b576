"""The view Activations: the curves with their derivatives."""

import streamlit as st
import torch

from vizkit.analysis.convolution.activations import ACTIVATIONS, values_and_slopes
from vizkit.figure.charts import curves
from vizkit.ui import reading
from vizkit.ui.views import Page
from vizkit.ui.widgets.chart import chart

SHOWN = ["ReLU", "sigmoid", "GELU"]


def view(page: Page) -> None:
    del page
    names = st.pills("Activations", list(ACTIVATIONS), selection_mode="multi", default=SHOWN, key="activations",
                     bind="query-params", label_visibility="collapsed")  # fmt: skip
    x = torch.linspace(-5, 5, 401)
    both = {name: values_and_slopes(name, x) for name in names}
    for index, (column, y) in enumerate(zip(st.columns(2), ("f(x)", "f′(x)"), strict=True)):
        lines = {name: (x.numpy(), pair[index].numpy()) for name, pair in both.items()}
        with column:
            title = ("Activation", "Its derivative: the gradient that it lets through")[index]
            chart(curves(lines, "x", y, title), f"activation_{index}", f"{title} against x")
    reading.how(
        "An activation bends the sum of a layer; without one, all layers together would be one linear map. Going "
        "back, every layer multiplies the gradient by the derivative: at most ¼ for the sigmoid, 1 for tanh and ReLU.",
        r"\mathrm{GELU}(x) = x\,\Phi(x), \quad \mathrm{SiLU}(x) = x\,\sigma(x), \quad \sigma' = \sigma (1 - \sigma)",
        "which one trains best: that depends on depth, weights and normalisation.",
        "Hendrycks & Gimpel 2016; Ramachandran et al. 2017",
    )
