"""The view Temperature: one row of logits softened, what is left beside the first choice, and the whole axis of T."""

import streamlit as st
import torch
from torch import Tensor

from vizkit.analysis.distillation.temperature import (
    along,
    dark_knowledge,
    entropy_share,
    ranking,
    softened,
    temperatures,
)
from vizkit.analysis.remarks import distillation
from vizkit.figure.class_bars import FLOOR, class_bars, distinct
from vizkit.figure.distillation.lines_at import Line, lines_at
from vizkit.figure.palette import OTHERS, class_colours
from vizkit.image import Picture
from vizkit.traces import NotApplicable
from vizkit.ui import reading
from vizkit.ui.pages.distillation import typed_logits
from vizkit.ui.pages.distillation.fields import MOST_CLASSES, class_names, short, temperature
from vizkit.ui.plain import plain
from vizkit.ui.session.shown import CENTRE, accepted, attempt, keep_valid, marked, title
from vizkit.ui.views import Page
from vizkit.ui.widgets.chart import bars, chart
from vizkit.ui.widgets.known import say
from vizkit.ui.widgets.remark import remark

TYPED = "typed logits"
FIXED = (1.0, 2.0, 5.0)


def view(page: Page) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        options = [*page.sources, TYPED]
        keep_valid("logits_of", options)
        chosen = st.segmented_control(
            "Logits of", options, default=options[0], required=True, key="logits_of", bind="query-params",
            format_func=lambda name: marked(name) if name != TYPED else name,
            help="A model's answer to the image in the sidebar, before softmax; or numbers of your own.",
        )  # fmt: skip
        free = temperature(
            "Temperature T", "temperature", 10.0, "Divides the logits before softmax: 1 is the model's own answer."
        )
        log = st.toggle("Log scale", key="log_scale", bind="query-params",
                        help="Shows what is too small for a bar: equal steps are equal factors.")  # fmt: skip
    answer = typed() if chosen == TYPED else _of_model(chosen or options[0], page.picture)
    if answer:
        reading.guarded(draw, *answer, free, log)
    reading.how(
        "Each bar is a class and keeps its colour; a column is the same answer at another temperature. T above 1 takes "
        "from the first choice and gives to the others, the likeliest first, and never changes their order.",
        r"p_i(T) = \frac{e^{z_i/T}}{\sum_j e^{z_j/T}}, \qquad H = -\sum_i p_i \log p_i \in [0, \log n]",
        "whether the model is right: a temperature changes the confidence of a prediction, not the ranking of the "
        "classes.",
        "Hinton, Vinyals & Dean 2015, eq. 1",
    )


def typed() -> tuple[tuple[str, ...], Tensor] | None:
    """What was typed; after something that cannot be read, its sentence and what was read last."""
    text = st.text_input(
        "Logits", typed_logits.GOLDEN, max_chars=1000, key="logits", bind="query-params", live=True,
        help="Two numbers or more. Classes may have names: cow = 17, dog = 11.",
    )  # fmt: skip
    try:
        names, logits = typed_logits.read(text or "")
        st.session_state["_logits_read"] = names, logits
    except typed_logits.TypedError as sentence:
        st.warning(plain(sentence), icon=":material/edit:")
        names, logits = st.session_state.get("_logits_read") or typed_logits.read(typed_logits.GOLDEN)
    return tuple(names), torch.tensor(logits, dtype=torch.float64)


def _of_model(source: str, picture: Picture) -> tuple[tuple[str, ...], Tensor] | None:
    with st.spinner(f"Running {plain(title(source))} …"):
        result = attempt(source, picture, "patch", CENTRE)
    shown = accepted(source, result)
    if shown is None:
        return None
    say(shown.loaded)
    if not shown.loaded.trained:
        st.caption(f":material/info: {plain(title(source))} is untrained: its answers mean nothing.")
    try:
        return class_names(shown.loaded, len(shown.trace.logits)), shown.trace.logits
    except NotApplicable as sentence:
        st.info(plain(sentence), icon=":material/block:")
        return None


def draw(names: tuple[str, ...], logits: Tensor, free: float, log: bool) -> None:
    order = ranking(logits).tolist()
    shown = order if len(order) <= MOST_CLASSES else order[: MOST_CLASSES - 2]
    rows = [short(names[label]) for label in shown]
    colours = [*class_colours(shown, len(names)), OTHERS]
    others = [f"{len(order) - len(shown)} others"] if len(shown) < len(order) else []
    _bars_side_by_side(logits, shown, rows + others, colours, free, log)
    remark(distillation.softened(logits, free, names))
    left, right = st.columns([2, 3], gap="large")
    with left:
        _beside_the_first(logits, shown, rows, colours, free, log)
    with right:
        axis(logits, shown, rows, colours, free, log)


def _bars_side_by_side(
    logits: Tensor, shown: list[int], rows: list[str], colours: list[str], free: float, log: bool
) -> None:
    for index, (column, t) in enumerate(zip(st.columns(len(FIXED) + 1), (*FIXED, free), strict=True)):
        soft = softened(logits, t)
        values = soft.of(shown)
        with column:
            st.markdown(f"#### T = {t:g}" + (" · :primary[yours]" if index == len(FIXED) else ""))
            figure = class_bars(rows, values, colours[: len(rows)], log=log)
            bars(figure, f"soft_{index}", f"Probability of every class at T = {t:g}")
            st.caption(
                f"first choice **{soft.top_share:.3f}** · entropy **{soft.entropy_nats:.2f}** nats, "
                f"{soft.entropy_share:.0%} of log {len(logits)} = {soft.most_nats:.2f}"
            )


def _beside_the_first(
    logits: Tensor, shown: list[int], rows: list[str], colours: list[str], free: float, log: bool
) -> None:
    dark, own = dark_knowledge(logits, free), dark_knowledge(logits, 1.0)
    count = len(shown) - 1
    st.markdown(f"#### Dark knowledge: without *{plain(rows[0])}*")
    figure = class_bars(
        rows[1:],
        dark.shares[:count].tolist(),
        colours[1 : count + 1],
        before=own.shares[:count].tolist(),
        log=log,
        top=1.0 if free < 1 or log else float(own.shares[0]),
    )
    bars(figure, "dark", "How all other classes share what the first choice leaves")
    st.caption(
        f"All others have **{own.left:.3g}** at T = 1 and **{dark.left:.3g}** at T = {free:g}. Bars: how they share "
        f"it at T = {free:g}, ticks: at T = 1. The ranking is the same."
    )


def axis(logits: Tensor, shown: list[int], rows: list[str], colours: list[str], free: float, log: bool) -> None:
    at = temperatures()
    log_p = along(logits, at)
    lines = [
        Line(name, curve, colour)
        for name, curve, colour in zip(distinct(rows), log_p.exp()[:, shown].T.numpy(), colours, strict=False)
    ]
    lines.append(Line("entropy ÷ log n", entropy_share(log_p).numpy(), OTHERS, "dash"))
    st.markdown("#### Every temperature")
    figure = lines_at(at.numpy(), lines, free, "temperature T", "probability", log_y=log,
                      y_domain=(FLOOR, 1.0) if log else (0.0, 1.0))  # fmt: skip
    chart(figure, "axis", "Probability of every class from T = 0.05 to 100, and the entropy")
