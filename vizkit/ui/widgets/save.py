"""Save a picture of the page: as a file that stands alone, its numbers, or in the report. One way for all pictures."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import streamlit as st

from vizkit.ui.session import report
from vizkit.ui.widgets.report_kept import remember
from vizkit.views.subject import Subject

if TYPE_CHECKING:
    from vizkit.report.item import Item

More = dict[str, Callable[[], bytes]]
KINDS = (  # label, suffix, type
    ("Figure (PNG)", "png", "image/png"),
    ("Drawing (SVG)", "svg", "image/svg+xml"),
    ("Page (HTML)", "html", "text/html"),
    ("Numbers (NPZ)", "npz", "application/zip"),
    ("Slides, one for each step (ZIP)", "zip", "application/zip"),
)
TYPES = {"html": "text/html", "npz": "application/zip", "csv": "text/csv", "png": "image/png"}
WIDTH = "saved_width_"  # begins the key of the one field that every Save has


@st.fragment  # what is chosen in it draws no picture anew, and the page stays where it is
def save(key: str, item: "Item", inputs: Subject, more: More, choices: Mapping[str, Sequence[str]]) -> None:
    """`more`: further files by their labels, which end with (NPZ), (CSV), (HTML) or (PNG). `choices`: names of small
    maps that a figure may have alone, by what they are.

    Nothing is drawn before it is asked for, and until then nothing but names waits on the server.
    """
    from vizkit.report.item import stem_of

    if said := st.session_state.pop(report.SAID, ""):
        st.toast(said, icon=":material/check:")
    with st.popover("Save", icon=":material/download:"):
        item, width_mm = _figure(key, item, choices)
        st.button(
            "Add to report",
            icon=":material/add_notes:",
            key=f"report_{key}",
            type="primary",
            on_click=report.keep,
            args=(item, inputs),
            help="The page Report orders figures, takes your comments and saves them as one page or as a folder.",
        )
        if report.entries():
            st.caption(f":green[:material/check: {report.counted()} in the report.] {report.KEPT}")
        stem = stem_of(item, inputs)
        kinds = KINDS if item.shows.slides else KINDS[:-1]
        for label, suffix, kind in kinds:
            make = _file(item, inputs, suffix, width_mm)
            st.download_button(label, make, f"{stem}.{suffix}", kind, key=f"{suffix}_{key}", on_click="ignore")
        for label, make in more.items():
            suffix = label.rpartition("(")[2].rstrip(")").lower()
            st.download_button(
                label, make, f"{stem}_all.{suffix}", TYPES[suffix], key=f"all_{key}_{label}", on_click="ignore"
            )
    if said:  # behind what is open, which would close if it moved
        remember(f"report_kept_{key}")


def _figure(key: str, item: "Item", choices: Mapping[str, Sequence[str]]) -> "tuple[Item, int | None]":
    """(the picture with the small maps that are chosen for it, how wide it is to be in print)."""
    from vizkit.hosts.layout import LEAST_MM, LEAST_PT, MOST_MM, MOST_PT

    only: list[str] = []
    for label, names in choices.items():
        state = f"saved_{label}_{key}"
        if state in st.session_state:  # another model may have fewer
            st.session_state[state] = [name for name in st.session_state[state] if name in names]
        help = "The figure then has these alone, for a paper."
        only += st.multiselect(label, names, key=state, placeholder="the whole view", help=help)
    width_mm = st.number_input(
        "Width (mm)",
        LEAST_MM,
        MOST_MM,
        None,
        key=f"{WIDTH}{key}",
        placeholder="as wide as it needs",
        help=f"Of the figure and the drawing, {LEAST_MM} to {MOST_MM}; text has {LEAST_PT:g} to {MOST_PT:g} points.",
    )
    return replace(item, only=tuple(only)), width_mm


def _file(item: "Item", inputs: Subject, suffix: str, width_mm: int | None) -> Callable[[], bytes]:
    def make() -> bytes:
        from vizkit.report.making import made, ready

        if suffix == "zip":
            return _slides(item, inputs)
        if suffix == "html":
            from vizkit.hosts.page import document

            _, view, of = ready(item, inputs)
            return document(view, of).encode()
        content = getattr(made(item, inputs, width_mm=width_mm), suffix)
        return content.encode() if isinstance(content, str) else content

    return make


def _slides(item: "Item", inputs: Subject) -> bytes:
    from vizkit.hosts.slides import slides, zipped
    from vizkit.report.making import made

    return zipped(made(replace(item, shows=step), inputs).plate for step in slides(item.shows, [inputs]))
