"""What a model can answer at all: a chip beside every answer, a banner over a picture that no chosen model knows."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import streamlit as st

from vizkit.ui.plain import plain
from vizkit.ui.session import model_names
from vizkit.ui.session.model_names import KNOWN
from vizkit.ui.sidebar import gallery, inputs

if TYPE_CHECKING:
    from vizkit.models import Loaded


def chip(loaded: "Loaded") -> str:
    """For a place beside a model's answers, as Markdown; "" where it knows much. A model that knows drawn insects gives
    a photograph one of their names too."""
    if loaded.text_tower is not None and loaded.classifies:
        count = len(loaded.labels)
        return f":gray-badge[knows {count} typed class{'es' if count > 1 else ''}]"
    return chip_of(loaded.name)


def chip_of(source: str) -> str:
    """The same of a model that is not loaded."""
    known = model_names.knows(source)
    return f":gray-badge[knows {known}]" if known else ""


def say(loaded: "Loaded") -> None:
    """The chip on a line of its own."""
    if words := chip(loaded):
        st.markdown(words)


def chips(of: Mapping[str, str]) -> None:
    """One line with the chips of several models, by their names, whose answers share a table."""
    said = [
        f"{plain(', '.join(name for name in of if of[name] == words))} {words}" for words in set(of.values()) - {""}
    ]
    if said:
        st.caption(" · ".join(sorted(said)))


def banner(sources: Sequence[str], picture: str) -> None:
    """Over answers that mean nothing: every chosen model knows drawn insects or digits alone, and the picture, an
    upload or a photograph, is none of what they know."""
    known = list(dict.fromkeys(map(model_names.knows, sources)))
    if not known or "" in known or kind_of(picture) in known:
        return
    who = "These models know" if len(sources) > 1 else "This model knows"
    with st.container(horizontal=True, vertical_alignment="center"):
        st.info(
            f"{who} {' and '.join(known)} only: what {'they answer' if len(sources) > 1 else 'it answers'} to "
            f"{plain(picture[:80])} means nothing.",
            icon=":material/psychology_alt:",
        )
        gallery.offer("banner")


def kind_of(picture: str) -> str:
    """Which of `KNOWN` a sample shows, "" for uploads and photographs."""
    if picture not in inputs.samples():
        return ""
    return KNOWN["insects"] if picture in inputs.INSECTS else KNOWN["digits"] if picture.startswith("digit ") else ""
