"""The pictures of the report, each with its comment; what can be saved of them together."""

import logging
from typing import TYPE_CHECKING

import streamlit as st

from vizkit.from_json import ReportError
from vizkit.image import ImageError
from vizkit.models import ModelError
from vizkit.report.document import Entry, Report, html, zipped
from vizkit.report.item import Item
from vizkit.report.making import made
from vizkit.report.replay import changed
from vizkit.traces import NotApplicable, TraceError
from vizkit.ui.export import name_of_file
from vizkit.ui.pages.report import linked
from vizkit.ui.pages.report.linked import LONGEST_COMMENT, LONGEST_TITLE, TITLE
from vizkit.ui.plain import plain
from vizkit.ui.session import linked_picture, saved
from vizkit.ui.session.remembered import remembered
from vizkit.ui.sidebar import inputs as pictures
from vizkit.ui.views import Page
from vizkit.views.subject import Subject

if TYPE_CHECKING:
    from vizkit.image import Picture

EMPTY = "Nothing is here yet: open “Save” below a picture on any page and choose “Add to report”."


def view(page: Page) -> None:
    linked.follow()
    for name, sentence in pictures.read_uploads()[1]:
        st.error(f"**{plain(name[:80])}** {plain(sentence)}", icon=":material/broken_image:")
    linked.mirror()
    if kept := saved.entries():
        _pictures(kept)
    else:
        st.info(EMPTY, icon=":material/note_stack:")
    linked.offer()


def _pictures(kept: dict[int, Entry]) -> None:
    top = st.container(horizontal=True, vertical_alignment="bottom")
    ready: dict[int, Subject] = {}
    first, last = next(iter(kept)), next(reversed(kept))
    for number, entry in kept.items():
        with st.container(border=True):
            _entry(number, entry, (number == first, number == last), ready)
    with top:
        _downloads([kept[number] for number in ready], list(ready.values()))


def _entry(number: int, entry: Entry, ends: tuple[bool, bool], ready: dict[int, Subject]) -> None:
    """The picture, or a sentence why it cannot be made; `ready` collects those that can. `ends`: whether it is the
    first, and the last."""
    left, right = st.columns([3, 2])
    with left:
        try:
            inputs = saved.inputs_again(entry.item, picture_of(entry.item), pictures.picture_named)
            inputs.uploads = {name: picture.rgb for name, picture in pictures.read_uploads()[0].items()}
            if other := changed(entry.item, inputs):
                raise ReportError(other)
            st.image(_png(entry.item, inputs), output_format="PNG", width="stretch", alt=entry.item.kind)
            ready[number] = inputs
        except (ModelError, NotApplicable, TraceError, ImageError, ReportError) as sentence:
            whose = " on ".join(name for name in (entry.item.model, entry.item.image) if name)
            st.warning(plain(f"{whose}: {sentence}".removeprefix(": ")), icon=":material/warning:")
        except Exception as error:
            logging.getLogger("vizkit").exception("a picture of the report")
            st.warning(f"This picture could not be made again ({type(error).__name__}); remove it.")
    with right:
        key = f"report_comment_{number}"
        st.text_area(
            "Comment",
            value=entry.comment,
            key=key,
            max_chars=LONGEST_COMMENT,
            height=140,
            placeholder="What is to be seen here?",
            on_change=_comment,
            args=(number, key),
        )
        with st.container(horizontal=True):
            for word, icon, places, end in (("Up", "upward", -1, ends[0]), ("Down", "downward", 1, ends[1])):
                st.button(
                    word,
                    icon=f":material/arrow_{icon}:",
                    key=f"{word.lower()}_{number}",
                    disabled=end,
                    on_click=saved.move,
                    args=(number, places),
                )
            st.button("Remove", icon=":material/delete:", key=f"remove_{number}", on_click=saved.remove, args=(number,))


def _comment(number: int, key: str) -> None:
    saved.comment(number, str(st.session_state[key]))


def picture_of(item: Item) -> "Picture | None":
    """Of the uploads of this session, one that comes with vizkit, or one that is kept here; None for what is of no
    picture. Raises ReportError where it is none of them."""
    if not item.image:
        return None
    uploads, _ = pictures.read_uploads()
    if item.image in uploads:
        return uploads[item.image]
    if item.image in pictures.samples():
        return pictures.sample(item.image)
    if picture := linked_picture.stored(item.pixels):
        return picture
    raise ReportError("this picture is no longer among your images: upload it again.")


@remembered
def _png(item: Item, _inputs: Subject) -> bytes:
    return made(item, _inputs).png


def _downloads(entries: list[Entry], inputs: list[Subject]) -> None:
    st.session_state.setdefault("report_title", linked.shown().title)  # a widget forgets when its page is left
    title = st.text_input("Title", max_chars=LONGEST_TITLE, width=420, key="report_title", on_change=_titled)
    report, stem = Report(title or "", tuple(entries)), name_of_file(title or "") or "report"

    def page() -> bytes:
        return html(report, inputs).encode()

    def folder() -> bytes:
        return zipped(report, inputs)

    st.download_button(
        "One page (HTML)",
        page,
        f"{stem}.html",
        "text/html",
        key="report_html",
        type="primary",
        icon=":material/download:",
        disabled=not entries,
        on_click="ignore",
    )
    st.download_button(
        "Folder with numbers (ZIP)",
        folder,
        f"{stem}.zip",
        "application/zip",
        key="report_zip",
        icon=":material/folder_zip:",
        disabled=not entries,
        on_click="ignore",
        help="Pictures as PNG and SVG, their numbers, and a replay.json: “vizkit report replay.json” "
        "makes the same pictures again.",
    )


def _titled() -> None:
    st.session_state[TITLE] = st.session_state["report_title"]
