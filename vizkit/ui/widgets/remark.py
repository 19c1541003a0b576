"""The computed sentence below a picture, in one look on all pages."""

import streamlit as st

from vizkit.ui.plain import plain


def remark(said: str | None) -> None:
    """As a short line right below what it is about; nothing where nothing stands out."""
    if said:
        st.markdown(f":primary[:material/insights:] {plain(said)}")
