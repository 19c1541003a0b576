"""The computed sentence below a picture, in one look on all pages."""

from typing import TYPE_CHECKING

import streamlit as st

from vizkit.ui.plain import plain

if TYPE_CHECKING:
    from vizkit.analysis.remarks.remark import Remark


def remark(said: "Remark | None") -> None:
    """A short line right below what it is about; nothing where nothing stands out."""
    if said is not None:
        st.markdown(f":primary[:material/insights:] {plain(said.words)}")
