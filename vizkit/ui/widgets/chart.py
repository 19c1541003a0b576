"""The one way to show a chart."""

from collections.abc import Callable
from functools import partial
from html import escape
from typing import Any

import streamlit as st

from vizkit.figure.charts import CONFIG
from vizkit.ui.canvas import hear
from vizkit.views.rules import Rule, T, record, several

MOST_POINTS = 10_000  # of a click together


def chart(figure: Any, key: str, alt: str, point: tuple[Rule[T], Callable[[T], None]] | None = None) -> None:
    """A plotly figure, as wide as its place, in the page's fonts and colours. `alt`: what a screen reader says.
    `point`: the rule of a point's own data (`customdata`), and what is called with them when one is clicked."""
    selecting: dict[str, Any] = {}
    if point is not None:
        rule, act = point

        def clicked(told: dict[str, Any]) -> None:
            if told["points"]:
                act(told["points"][0]["customdata"])

        points = record(points=several(record(customdata=rule), MOST_POINTS))
        selecting = {"on_select": partial(hear, key, "selection", points, clicked), "selection_mode": "points"}
    st.plotly_chart(figure, key=key, alt=alt, width="stretch", theme="streamlit", config=CONFIG, **selecting)


def bars(markup: str, key: str, alt: str) -> None:
    """Bars made by `class_bars`. `alt`: what a screen reader says before it reads them."""
    with st.container(key=key):
        st.html(f'<figure style="margin:0" aria-label="{escape(alt)}">{markup}</figure>')
