"""Models of texts at hand: runs that were trained here, and what this visitor has opened."""

from typing import NamedTuple

import streamlit as st

from vizkit.views.controls import controls
from vizkit.views.sequences.known import trained_texts
from vizkit.views.subject import Subject
from vizkit.views.view import View


class Brought(NamedTuple):
    """`title`: what it is, and which of those that were opened; `path`: its folder, of this session alone."""

    title: str
    path: str


def brought() -> dict[str, Brought]:
    """By the digests of their files."""
    return st.session_state.setdefault("_texts_brought", {})


def give(view: type[View] | View, *subjects: Subject) -> None:
    """To a view that chooses among them: their folders by the names of the picker."""
    if any(control.kind == "text model" for control in controls(view).values()):
        at_hand = trained_texts() | {each.title: each.path for each in brought().values()}
        for of in subjects:
            of.texts = at_hand
