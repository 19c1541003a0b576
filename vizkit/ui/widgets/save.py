"""Save a picture of the page: as a file that stands alone, its numbers, or in the report. One way for all pictures."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import streamlit as st

from vizkit.ui.session import report
from vizkit.views.subject import Subject

if TYPE_CHECKING:
    from vizkit.report.item import Item

More = dict[str, Callable[[], bytes]]
KINDS = (  # label, suffix, type
    ("Picture (PNG)", "png", "image/png"),
    ("Drawing (SVG)", "svg", "image/svg+xml"),
    ("Page (HTML)", "html", "text/html"),
    ("Numbers (NPZ)", "npz", "application/zip"),
    ("Slides, one for each step (ZIP)", "zip", "application/zip"),
)
TYPES = {"html": "text/html", "npz": "application/zip", "csv": "text/csv", "png": "image/png"}
WIDTH = "saved_width_"  # begins the key of the one field that every Save has


def save(key: str, items: "dict[str, Item]", inputs: Subject, more: More | None = None) -> None:
    """`items`: pictures by name, one of which is chosen where there are several. `more`: further files
    by their labels, which end with (NPZ), (CSV), (HTML) or (PNG).

    Nothing is drawn before it is asked for, and until then nothing but names waits on the server.
    """
    from vizkit.hosts.layout import LEAST_MM, MOST_MM
    from vizkit.report.item import stem_of

    if said := st.session_state.pop(report.SAID, ""):
        st.toast(said, icon=":material/check:")
    with st.popover("Save", icon=":material/download:"):
        name = next(iter(items)) if len(items) == 1 else st.selectbox("Map", list(items), key=f"saved_{key}")
        item = items[name]
        st.button(
            "Add to report",
            icon=":material/add_notes:",
            key=f"report_{key}",
            type="primary",
            on_click=report.keep,
            args=(item, inputs),
            help="The page Report orders pictures, takes your comments and saves them as one page or as a folder.",
        )
        width_mm = st.number_input(
            "Width (mm)",
            LEAST_MM,
            MOST_MM,
            None,
            key=f"{WIDTH}{key}",
            placeholder="as wide as it needs",
            help=f"Of the picture and the drawing, {LEAST_MM} to {MOST_MM}; text keeps its size.",
        )
        stem = stem_of(item, inputs)
        kinds = KINDS if item.shows.slides else KINDS[:-1]
        for label, suffix, kind in kinds:
            make = _file(item, inputs, suffix, width_mm)
            st.download_button(label, make, f"{stem}.{suffix}", kind, key=f"{suffix}_{key}", on_click="ignore")
        for label, make in (more or {}).items():
            suffix = label.rpartition("(")[2].rstrip(")").lower()
            st.download_button(
                label, make, f"{stem}_all.{suffix}", TYPES[suffix], key=f"all_{key}_{label}", on_click="ignore"
            )


def _file(item: "Item", inputs: Subject, suffix: str, width_mm: int | None) -> Callable[[], bytes]:
    def make() -> bytes:
        from vizkit.hosts.layout import Layout
        from vizkit.report.making import made

        if suffix == "zip":
            return _slides(item, inputs)
        if suffix == "html":
            from vizkit.hosts.page import document
            from vizkit.views.controls import checked

            of = [inputs, *inputs.beside][: 1 + len(item.others)]
            return document(checked(item.shows, of), of).encode()
        content = getattr(made(item, inputs, layout=Layout(width_mm)), suffix)
        return content.encode() if isinstance(content, str) else content

    return make


def _slides(item: "Item", inputs: Subject) -> bytes:
    from vizkit.hosts.slides import slides, zipped
    from vizkit.report.making import made

    return zipped(made(replace(item, shows=step), inputs).plate for step in slides(item.shows, [inputs]))
