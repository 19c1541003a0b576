"""The last line of the sidebar: on which device models run, and what they take of its memory."""

import re
import sys
from pathlib import Path

import streamlit as st


def line() -> None:
    """Where models run and what they take. Torch is only used once it is there."""
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    if cuda is not None and cuda.is_available():
        free, total = cuda.mem_get_info()
        st.caption(
            f":material/memory: {cuda.get_device_name()} · {(total - free) / 2**30:.1f} of {total / 2**30:.0f} GiB"
        )
        return
    status = Path("/proc/self/status")
    used = re.search(r"VmRSS:\s+(\d+)", status.read_text()) if status.exists() else None
    memory = f" · {int(used[1]) / 2**20:.1f} GiB in use" if used else ""
    st.caption(f":material/memory: CPU{memory}")
