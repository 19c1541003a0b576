"""A Play button beside a slider: the animation of whatever the slider changes, without running anything in Python."""

from pathlib import Path

import streamlit as st
from streamlit.components.v2 import component

HERE = Path(__file__).parent
PLAYER = component(
    "vizkit_player",
    html="<button type='button'></button>\n",
    css=(HERE / "player.css").read_text(encoding="utf-8"),
    js=(HERE / "player.js").read_text(encoding="utf-8"),
)


def player(key: str, slider_key: str, first: int, last: int, label: str) -> None:
    """Steps the slider `slider_key` from `first` to `last`; each step is asked for when the last has been drawn."""

    def stepped() -> None:
        step = st.session_state[key].step
        if step is not None:
            st.session_state[slider_key] = min(max(int(step), first), last)

    position = int(st.session_state.get(slider_key, last))
    data = {"position": position, "first": first, "last": last, "help": label}
    PLAYER(key=key, data=data, on_step_change=stepped)
