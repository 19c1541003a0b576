"""The computed sentence below a picture, in one look on all pages."""

from typing import TYPE_CHECKING

import streamlit as st

from vizkit.ui.plain import plain

if TYPE_CHECKING:
    from vizkit.analysis.remarks.remark import Remark


def remark(*said: "Remark | None") -> None:
    """The first of them that says something, as a short line right below what it is about; else nothing."""
    if words := sentence(*said):
        st.markdown(f":primary[:material/insights:] {plain(words)}")


def sentence(*said: "Remark | None") -> str:
    """The same for a canvas, which has a place for it between its picture and what is listed below."""
    return next((each.words for each in said if each is not None), "")
