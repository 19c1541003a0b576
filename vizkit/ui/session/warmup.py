"""Import torch and timm while the visitor reads the first page, so that the first picture comes sooner; then clear
away what has lain too long in the bin and among the uploads."""

import sys
import threading

import streamlit as st

from vizkit.device import import_alone
from vizkit.shortage import allocator

# Of mallopt(3). Sessions run in threads, and left alone malloc gives them up to eight arenas per core, each of which
# keeps 64 MiB that are free. Threads that were there before the first page have theirs already.
MALLOC = {"M_TRIM_THRESHOLD": (-1, 8 * 2**20), "M_MMAP_THRESHOLD": (-3, 32 * 2**20), "M_ARENA_MAX": (-8, 2)}


@st.cache_resource(show_spinner=False)
def warm_up() -> threading.Thread:
    """Once per process, in a thread; whoever needs torch sooner waits for the same import."""

    def load() -> None:
        from vizkit.isolated_decoding import DECODERS

        DECODERS.warm_up()
        import_alone("vizkit.models")
        from vizkit.training.runs.bin import empty_bin
        from vizkit.training.runs.folder import runs_root
        from vizkit.ui.session.uploads import sweep

        empty_bin(runs_root())
        sweep()

    for parameter in MALLOC.values():
        allocator("mallopt", *parameter)
    thread = threading.Thread(target=load, daemon=True, name="warm-up")
    thread.start()
    return thread


def ready() -> bool:
    """Whether torch and timm are there. Starts nothing."""
    return "vizkit.models" in sys.modules and not warm_up().is_alive()
