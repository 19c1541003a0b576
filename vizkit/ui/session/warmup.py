"""Import torch and timm while the visitor reads the first page, so that the first picture comes sooner; then clear
away what has lain too long in the bin and among the uploads."""

import sys
import threading

import streamlit as st


@st.cache_resource(show_spinner=False)
def warm_up() -> threading.Thread:
    """Once per process, in a thread; whoever needs torch sooner waits for the same import."""

    def load() -> None:
        from vizkit.isolated_decoding import warm_up as start_decoder

        start_decoder()
        import vizkit.models  # noqa: F401
        from vizkit.training.runs.bin import empty_bin
        from vizkit.training.runs.folder import runs_root
        from vizkit.ui.session.uploads import sweep

        empty_bin(runs_root())
        sweep()

    thread = threading.Thread(target=load, daemon=True, name="warm-up")
    thread.start()
    return thread


def ready() -> bool:
    """Whether torch and timm are there. Starts nothing."""
    return "vizkit.models" in sys.modules and not warm_up().is_alive()
