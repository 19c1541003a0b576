"""What the sidebar has chosen for every page: a picture, one to four models, and how they are given the picture."""

import streamlit as st

from vizkit.image import Picture

MAX_MODELS = 4
INPUTS = ("cropped", "whole image")


def picture() -> Picture:
    """The image that every page shows."""
    return st.session_state["_picture"]


def whole_image() -> bool:
    return st.session_state.get("input") == INPUTS[1]


def sources() -> list[str]:
    """The chosen models, checked again: what a browser sends is not to be trusted with a path."""
    chosen = st.session_state.get("models") or []
    return list(dict.fromkeys(str(name) for name in chosen))[:MAX_MODELS]
