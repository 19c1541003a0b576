"""The gallery: models to start with, by what one wants, each a click away."""

import streamlit as st

from vizkit.ui.plain import plain
from vizkit.ui.session import gallery
from vizkit.ui.session.chosen import MAX_MODELS, add, marked
from vizkit.ui.session.gallery import FOR_PHOTOGRAPHS, GALLERY, Entry

REFUSED = "_gallery_refused"  # (where it was clicked, the model, why it cannot be had)
ENTRY_PX = 170  # so that what is said of models stands in one column
TAKEN = "_gallery_taken"  # whether a click in the window has chosen a model


def opening() -> None:
    """The button of the sidebar."""
    if st.button("Gallery", icon=":material/apps:", key="gallery"):
        window()


@st.dialog("Models to start with", width="medium")
def window() -> None:
    """A click closes it, unless it says why the model cannot be had."""
    listed()
    if st.session_state.pop(TAKEN, False):
        st.rerun()  # the choice is the sidebar's, outside of this window


def listed() -> None:
    """Every model with its button."""
    chosen = st.session_state.get("models") or []
    if len(chosen) >= MAX_MODELS:
        st.caption(f":material/info: Four models are chosen: the next takes the place of {marked(chosen[-1])}.")
    for known, sources in gallery.bundled().items():
        st.markdown(f"**Bundled: knows {known}**")
        with st.container(horizontal=True, gap="small"):
            for source in sources:
                button(source, marked(source), source in chosen)
    for purpose, entries in GALLERY.items():
        st.markdown(f"**{purpose}**")
        for entry in entries:
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                button(entry.source, entry.name, entry.source in chosen, entry)
                st.caption(gallery.cost(entry))
            _say_why_not(entry, "gallery")


def button(source: str, name: str, chosen: bool, entry: Entry | None = None) -> None:
    icon = ":material/check:" if chosen else ":material/add:"
    disabled = chosen or (entry is not None and gallery.above_budget(entry))
    st.button(
        name,
        icon=icon,
        key=f"gallery_{source}",
        disabled=disabled,
        on_click=take,
        args=(source, entry, "gallery"),
        width="content" if entry is None else ENTRY_PX,
    )


def take(source: str, entry: Entry | None, place: str) -> None:
    """Choose it, where it can be had; else `place` says why not."""
    st.session_state.pop(REFUSED, None)
    if entry is not None and (sentence := gallery.why_not(entry)):
        st.session_state[REFUSED] = (place, source, sentence)
    else:
        add(source)
        st.session_state[TAKEN] = place == "gallery"


def _say_why_not(entry: Entry, place: str) -> bool:
    """Once, after the click; whether it was said."""
    refused = st.session_state.get(REFUSED, ("", "", ""))[:2] == (place, entry.source)
    if refused:
        _, _, sentence = st.session_state.pop(REFUSED)
        st.warning(plain(sentence), icon=":material/cloud_off:")
    return refused


def offer(place: str, *, quiet: bool = False) -> None:
    """One model for photographs, a click away; after a click in vain the sentence why not, in place of the button."""
    entry = FOR_PHOTOGRAPHS
    if _say_why_not(entry, place):
        return
    words = f"Add {entry.name}, for photographs"
    # The callback changes a sidebar widget; outside a fragment that runs the whole page again.
    st.button(
        words,
        key=f"offer_{place}",
        type="tertiary" if quiet else "secondary",
        icon=":material/add:",
        help=gallery.cost(entry),
        on_click=take,
        args=(entry.source, entry, place),
        disabled=gallery.above_budget(entry),
    )
