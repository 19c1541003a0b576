"""Choices that views share: how sure a box has to be, a layer, a head."""

import streamlit as st

from vizkit.ui.session.shown import keep_valid

MEAN = "mean"


def threshold() -> float:
    return st.slider(
        "Score from",
        0.05,
        0.95,
        0.5,
        0.05,
        key="det_score",
        bind="query-params",
        width=200,
        help="Boxes whose class is at least so probable are shown.",
    )


def layer(key: str, count: int) -> int:
    """From 1; the last where nothing was chosen."""
    options = list(range(1, count + 1))
    keep_valid(key, options)
    return st.segmented_control("Layer", options, default=count, required=True, key=key, bind="query-params")


def head(key: str, count: int) -> int | None:
    """From 0; None is the mean of all."""
    options = [MEAN, *(str(number) for number in range(1, count + 1))]
    keep_valid(key, options)
    chosen = st.selectbox("Head", options, key=key, bind="query-params", width=110)
    return None if chosen == MEAN else int(chosen) - 1
