"""The check of a visitor's own pictures, in one place before the start."""

import streamlit as st

from vizkit.datasets.builtin import ABOUT
from vizkit.datasets.data_check import Report, data_check
from vizkit.datasets.image_set import SPLITS, DatasetError
from vizkit.datasets.opening import open_set
from vizkit.ui.plain import plain
from vizkit.ui.widgets import data_choice

QUICK_S = 4.0  # opening pictures unasked; the rest after a click


def show(data: str, seed: int) -> None:
    """Broken pictures, copies, and classes of different size, with their counts. Nothing about built-in sets, which
    have been looked at."""
    if not data or data in ABOUT:
        return
    whole = f"_check_{data}"
    try:
        with st.spinner("Checking the images …"):
            report = checked(data, seed, data_choice.changed(data), bool(st.session_state.get(whole)))
    except DatasetError:
        return  # the sentence stands under the data
    with st.container(border=True):
        _sentences(report)
        if report.opened < report.images and st.button(f"Open all {report.images:,}", key="train_check"):
            st.session_state[whole] = True
            st.rerun()


def _sentences(report: Report) -> None:
    part = "" if report.opened == report.images else f" of {report.images:,}"
    st.markdown(f"**Data check** · {report.opened:,}{part} images opened")
    for finding in report.findings:
        st.markdown(
            f":orange[:material/warning:] **{finding.count:,}** {plain(finding.what)}: {plain(finding.example)}"
        )
    if not report.findings:
        st.markdown(":green[:material/check:] Nothing broken, nothing twice, no class that is small or empty.")


@st.cache_data(ttl=300, max_entries=16, show_spinner=False)
def checked(data: str, seed: int, changed_ns: int, whole: bool) -> Report:
    """Raises DatasetError."""
    del changed_ns  # a mended folder is another one
    sets = {split: open_set(data, split, seed=seed) for split in SPLITS}
    return data_check(sets, float("inf") if whole else QUICK_S)
