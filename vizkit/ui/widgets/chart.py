"""The one way to show a chart."""

from html import escape
from typing import Any

import streamlit as st

from vizkit.figure.template import CONFIG


def chart(figure: Any, key: str, alt: str, **selecting: Any) -> Any:  # noqa: ANN401
    """A plotly figure, as wide as its place, in the page's fonts and colours. `alt`: what a screen reader says;
    `selecting`: what Streamlit needs where points can be chosen."""
    return st.plotly_chart(figure, key=key, alt=alt, width="stretch", theme="streamlit", config=CONFIG, **selecting)


def bars(markup: str, key: str, alt: str) -> None:
    """Bars made by `class_bars`. `alt`: what a screen reader says before it reads them."""
    with st.container(key=key):
        st.html(f'<figure style="margin:0" aria-label="{escape(alt)}">{markup}</figure>')
