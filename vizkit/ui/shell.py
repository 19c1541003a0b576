"""The list of pages and the guard that keeps them inside app.py. Imports nothing heavy: it is on the way to the first
picture."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from vizkit.ui import reading

# Section, a question → (file stem and address, title, one line of help). No icons: a page's icon is its tab's too, and
# for that Streamlit asks a font host.
PAGES = {
    "": [
        (
            "lessons",
            "Lessons",
            "Predict first, then see: short courses, their answers measured on the model that you see.",
        ),
        (
            "explore",
            "Explore",
            "See what a model does with an image. Click a patch: which others are alike to it, what does it attend to?",
        ),
        ("report", "Report", "The figures that you keep, with your comments, as one page or as a folder."),
    ],
    "How does it work?": [
        ("patches", "Patches", "The image as the sequence that a transformer reads."),
        ("positions", "Positions", "How a transformer knows where a patch is."),
        ("attention", "Attention", "One head step by step, and statistics of all heads."),
        ("features", "Features", "What a patch knows: colours, objects, the same place elsewhere, labels by clicks."),
        ("swin", "Swin", "Shifted windows and patch merging, step by step."),
        (
            "convolution",
            "Convolution",
            "The networks that transformers are compared with: kernels, norms, activations.",
        ),
        (
            "architecture",
            "Architecture",
            "The whole network as one figure, with the map of every block.",
        ),
    ],
    "Why this answer?": [
        ("rollout", "Rollout", "All layers multiplied: which patches reach one token?"),
        ("relevance", "Relevance", "What is evidence for an answer, and can the maps be trusted?"),
        ("intervene", "Intervene", "Change what the model does, and see what follows."),
    ],
    "How good is it?": [
        ("compare", "Compare", "The same images in several models: maps and answers, cost, robustness."),
        ("evaluate", "Evaluate", "Models on labelled images, with intervals and paired tests."),
        ("data_set", "Data set", "Why does a model fail? All images at once: a map, suspects, shortcuts."),
    ],
    "How does it learn?": [
        ("train", "Train", "Train a model of your own, watch it learn, compare runs."),
        ("distillation", "Distillation", "What a student learns from a teacher's probabilities."),
    ],
    "What else can it do?": [
        ("sequences", "Sequences", "Transformers on texts, where they began, beside RNN and LSTM."),
        (
            "super_resolution",
            "Super-resolution",
            "Attention between two images: where is the missing texture?",
        ),
        ("detection", "Detection", "Learned questions find things: what does each look at, and why its box?"),
    ],
}
FIRST = "explore"
TITLES = {stem: title for pages in PAGES.values() for stem, title, _ in pages}
ICON, LOGO, STYLE = (Path(__file__).with_name(name) for name in ("icon.svg", "logo.svg", "shell.css"))


def navigation() -> StreamlitPage:
    """Register the pages; the file stem is the address, otherwise a first visit by link meets a wrong dialog.

    Streamlit serves the default page at "/" only and calls its own address unknown, so the first page is there twice.
    """
    listed = {section: [page_of(*page) for page in pages] for section, pages in PAGES.items()}
    listed[""].append(st.Page(f"pages/{FIRST}.py", title=TITLES[FIRST], url_path=FIRST, visibility="hidden"))
    return st.navigation(listed, position="top")


def page_of(stem: str, title: str, line: str | None = None) -> StreamlitPage:
    first = stem == FIRST
    return st.Page(f"pages/{stem}.py", title=title, url_path="start" if first else stem, default=first, help=line)


def stem_of(page: StreamlitPage) -> str:
    """Its package; the first page has several addresses."""
    return page.url_path if page.url_path in TITLES else FIRST


def heading(title: str, reads: str) -> Any:
    """A page's name, its line of help, and the switch that keeps the help of its views open, in one row, which has room
    for more. `reads`: what the open view can read (`views.Reads`); of one without the chosen image that is said."""
    st.html(STYLE)
    st.html(f"<style>{_here(title)}</style>")
    st.logo(LOGO, size="large", icon_image=ICON)
    row = st.container(horizontal=True, vertical_alignment="bottom", key="heading")
    with row:
        st.title(title, anchor=False, width="content")
        elsewhere = "picture" not in reads and title not in [name for _, name, _ in PAGES[""]]
        st.caption(f"{help_of(title)}{' Your image is not used here.' * elsewhere}", width="stretch")
        reading.at_side()
    return row


def _here(title: str) -> str:
    """Marks in the navigation the section of a page, and names the page there, which Streamlit does in its opened list
    alone. Pages without a section stand first, one place each."""
    alone = len(PAGES[""])
    at = next(index for index, pages in enumerate(PAGES.values()) if title in [name for _, name, _ in pages])
    if not at:
        return ""
    section = f"[data-testid='stTopNav'] > :nth-child({alone + at}) [data-testid='stTopNavSection']"
    marked = f"{section} {{ background: color-mix(in srgb, currentColor 10%, transparent); font-weight: 600 }}"
    return f"{marked} {section} p::after {{ content: ' · {title}' }}"


def lead_on(stem: str) -> None:
    """A line at the end of a page: the one that comes next in the menu, with what it shows; the report last. A lesson
    leads on by itself."""
    if stem == "lessons" and "lesson" in st.query_params:
        return
    order = sorted((page for pages in PAGES.values() for page in pages), key=lambda page: page[0] == "report")
    at = next(index for index, (name, *_) in enumerate(order) if name == stem)
    after, title, line = order[(at + 1) % len(order)]
    st.page_link(page_of(after, title, line), label=f"Next: **{title}**. {line}", icon=":material/arrow_forward:")


def help_of(title: str) -> str:
    return next(line for pages in PAGES.values() for _, name, line in pages if name == title)


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
