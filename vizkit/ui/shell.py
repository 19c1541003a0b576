"""The list of pages and the guard that keeps them inside app.py. Imports nothing heavy: it is on the way to the first
picture."""

import contextlib
from collections.abc import Iterator

import streamlit as st
from streamlit.navigation.page import StreamlitPage

PAGES = {  # section → (file stem and address, title, icon, one line of help)
    "": [("explore", "Explore", ":material/visibility:", "Click a patch: where does every layer and head look?")],
    "Anatomy": [
        ("patches", "Patches", ":material/grid_on:", "The image as the sequence that a transformer reads."),
        ("positions", "Positions", ":material/pin_drop:", "How a transformer knows where a patch is."),
        ("attention", "Attention", ":material/hub:", "One head by eye, all heads compared and counted."),
        ("swin", "Swin", ":material/window:", "Windows that shift and merge: see them, step by step."),
        ("architecture", "Architecture", ":material/schema:", "The model as a flow of blocks, and its parts in code."),
    ],
    "Explain": [
        ("rollout", "Rollout", ":material/layers:", "All layers multiplied: which patches reach one token?"),
        ("relevance", "Relevance", ":material/target:", "What speaks for a class, and can the picture be trusted?"),
    ],
    "Compare": [
        (
            "compare",
            "Compare",
            ":material/compare:",
            "The same images in several models: answers, maps, cost, changes.",
        ),
        ("evaluate", "Evaluate", ":material/analytics:", "Models on a set of pictures, beside published results."),
    ],
    "Train": [
        ("train", "Train", ":material/model_training:", "Train a model of your own, watch it learn, compare runs."),
        ("distillation", "Distillation", ":material/thermostat:", "What a teacher knows beside its answer."),
    ],
}
FIRST = "explore"


def navigation() -> StreamlitPage:
    """Register the pages; the file stem is the address, otherwise a first visit by link meets a wrong dialog.

    Streamlit serves the default page at "/" only and calls its own address unknown, so the first page is there twice.
    """
    listed = {
        section: [page_of(stem, title, icon) for stem, title, icon, _ in pages] for section, pages in PAGES.items()
    }
    title, icon = next((title, icon) for pages in PAGES.values() for stem, title, icon, _ in pages if stem == FIRST)
    listed[""].append(st.Page(f"pages/{FIRST}.py", title=title, icon=icon, url_path=FIRST, visibility="hidden"))
    return st.navigation(listed)


def page_of(stem: str, title: str, icon: str) -> StreamlitPage:
    first = stem == FIRST
    return st.Page(f"pages/{stem}.py", title=title, icon=icon, url_path="start" if first else stem, default=first)


def help_of(title: str) -> str:
    return next(line for pages in PAGES.values() for _, name, _, line in pages if name == title)


@contextlib.contextmanager
def running() -> Iterator[None]:
    st.session_state["_in_shell"] = True
    try:
        yield
    finally:
        st.session_state["_in_shell"] = False  # for this run only


def ensure_shell() -> None:
    """First line of every page. Streamlit may serve pages/x.py on its own when a link to it is the first request after
    a start; registering the navigation switches that off, and the rerun comes through app.py."""
    if not st.session_state.get("_in_shell"):
        navigation()
        st.rerun()
