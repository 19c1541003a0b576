"""A Play button beside a slider: the animation of whatever the slider changes, without running anything in Python."""

from pathlib import Path

import streamlit as st

from vizkit.ui.canvas import Canvas
from vizkit.views.rules import whole

HERE = Path(__file__).parent
PLAYER = Canvas("vizkit_player", "<button type='button'></button>\n", HERE / "player.css", HERE / "player.js")


def player(key: str, slider_key: str, first: int, last: int, label: str) -> None:
    """Steps the slider `slider_key` from `first` to `last`; each step is asked for when the last has been drawn."""

    def stepped(step: int) -> None:
        st.session_state[slider_key] = step

    position = int(st.session_state.get(slider_key, last))
    data = {"position": position, "first": first, "last": last, "help": label}
    PLAYER(key, data, step=(whole(first, last), stepped))
