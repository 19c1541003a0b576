"""What a dual-scale ViT answers at any α, from the streams that were kept: only the blocks from the merging on run."""

from dataclasses import dataclass, field

import numpy as np
import streamlit as st
from torch import Tensor

from vizkit.analysis.remarks.answers import after_change
from vizkit.figure.charts import curves, paired_bars
from vizkit.models.families.dual_scale import Streams, logits_at
from vizkit.ui.session import cached
from vizkit.ui.session.shown import Shown
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.known import say
from vizkit.ui.widgets.remark import remark

CURVE = tuple(round(0.05 * step, 2) for step in range(21))
CURVE_UP_TO = 400  # tokens; above, the curve is made when it is switched on
SHOWN_CLASSES = 3


@dataclass(frozen=True)
class Held:
    """What is kept of one image: both streams as they enter the merging block, and logits of every α so far."""

    streams: Streams
    logits: dict[float, Tensor] = field(default_factory=dict)


def logits_of(shown: Shown, held: Held, alpha: float) -> Tensor:
    """From the merging block onwards, and only for a new α."""
    if alpha not in held.logits:
        with cached.device_lock():
            held.logits[alpha] = logits_at(shown.loaded, held.streams, alpha)
    return held.logits[alpha]


def values_of(shown: Shown, held: Held, alpha: float) -> Tensor:
    return shown.loaded.head.values(logits_of(shown, held, alpha))


def likeliest(shown: Shown, held: Held) -> list[int]:
    """The classes that the page follows: the first ones at the model's own α, at 0 and at 1."""
    top: list[int] = logits_of(shown, held, held.streams.alpha).topk(SHOWN_CLASSES).indices.tolist()
    ends = [int(logits_of(shown, held, end).argmax()) for end in (0.0, 1.0)]
    return list(dict.fromkeys([*top, *ends]))


def predictions(shown: Shown, held: Held, alpha: float) -> None:
    if not shown.loaded.classifies:
        st.caption(f"This model gives {shown.loaded.head.gives}, so there is no probability to follow.")
        return
    own = held.streams.alpha
    classes = likeliest(shown, held)
    bars = {
        f"α = {value:.2f}" + " (own)" * (value == own): values_of(shown, held, value)[classes].tolist()
        for value in dict.fromkeys((own, alpha))
    }
    figure = paired_bars([shown.loaded.label(i) for i in classes], bars, "probability", "Prediction")
    figure.update_xaxes(range=[0, 1])
    chart(figure, "dual_predictions", "Probability of the likeliest classes with the model's own α and the chosen one")
    if alpha != own and shown.loaded.head.exclusive:
        labels = [shown.loaded.label(i) for i in range(len(values_of(shown, held, own)))]
        change = f"With α = {alpha:.2f} instead of {own:.2f}"
        remark(after_change(values_of(shown, held, own), values_of(shown, held, alpha), labels, change))
    say(shown.loaded)
    if not shown.loaded.trained:
        st.caption("Untrained: its predictions mean nothing.")


def curve(shown: Shown, held: Held, alpha: float) -> None:
    """The prediction over all α, from the kept streams."""
    if not shown.loaded.classifies:
        return
    small = len(held.streams.tokens) <= CURVE_UP_TO
    if not small and not st.toggle(
        "The prediction at every α", key="dual_curve", bind="query-params", help="21 runs from the merging block on."
    ):
        return
    classes = likeliest(shown, held)
    with st.spinner("Running the blocks after the merging at 21 values of α …"):
        shares = np.array([values_of(shown, held, value)[classes].tolist() for value in CURVE])
    lines = {shown.loaded.label(i): (np.array(CURVE), shares[:, n]) for n, i in enumerate(classes)}
    marked = {held.streams.alpha: "dot", alpha: "solid"}
    figure = curves(lines, "α", "probability", "The prediction at every α", mode="lines+markers", marked=marked)
    figure.update_yaxes(range=[0, 1.03])
    chart(figure, "dual_curve_chart", "Probability of the likeliest classes at every α")
    st.caption("Solid line: the chosen α. Dotted: the model's own.")
