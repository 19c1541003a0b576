"""The pictures of the report, each with its comment; what can be saved of them together."""

import logging
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import streamlit as st

from vizkit.from_json import ReportError
from vizkit.image import ImageError
from vizkit.models import ModelError
from vizkit.report.document import Entry, Report, article, html, paged, zipped
from vizkit.report.example import EXAMPLE
from vizkit.report.item import Item
from vizkit.report.making import titled
from vizkit.report.replay import changed
from vizkit.report.slides import pptx
from vizkit.traces import NotApplicable, TraceError
from vizkit.ui.pages.report import contents, linked
from vizkit.ui.plain import plain
from vizkit.ui.session import linked_picture
from vizkit.ui.session import report as session_report
from vizkit.ui.session.remembered import remembered
from vizkit.ui.session.report import LONGEST_COMMENT, LONGEST_TITLE, TITLE
from vizkit.ui.sidebar import inputs as pictures
from vizkit.ui.views import Page
from vizkit.ui.widgets.report_kept import remember
from vizkit.views import entry as entry_of
from vizkit.views.subject import Subject
from vizkit.writing import name_of_file

if TYPE_CHECKING:
    from vizkit.image import Picture

EMPTY = (
    "Nothing of yours is here yet: open “Save” below a figure on any page and choose “Add to report”. "
    f"{session_report.KEPT} Or begin with an example, or with a report that you have saved."
)
SHORT, WHOLE = "Short", "Whole"
PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation"


def view(page: Page) -> None:
    linked.follow()
    for name, sentence in pictures.read_uploads()[1]:
        st.error(f"**{plain(name[:80])}** {plain(sentence)}", icon=":material/broken_image:")
    linked.mirror()
    remember("report_kept_here")
    if kept := session_report.entries():
        _pictures(kept)
        linked.offer()
    else:
        st.info(EMPTY, icon=":material/note_stack:")
        _begin()


def _begin() -> None:
    """An example, of which the first figure is seen, or one's own from a file."""
    st.button(
        f"Begin with the example of {len(EXAMPLE.entries)} figures",
        icon=":material/edit_note:",
        on_click=session_report.take,
        args=[EXAMPLE.to_json().encode()],
    )
    linked.offer()
    with st.container(border=True):
        st.markdown(f"**An example**, the first of its figures · {plain(EXAMPLE.entries[0].comment)}")
        _picture(EXAMPLE.entries[0])


def _pictures(kept: dict[int, Entry]) -> None:
    top = st.container(horizontal=True, vertical_alignment="bottom")
    order = st.container()
    ready: dict[int, Subject] = {}
    first, last = next(iter(kept)), next(reversed(kept))
    for number, entry in kept.items():
        with st.container(border=True):
            _entry(number, entry, (number == first, number == last), ready)
    with order:
        contents.show(kept, {number: titled(kept[number].item, inputs) for number, inputs in ready.items()})
    with top:
        _downloads([kept[number] for number in ready], list(ready.values()))


def _picture(entry: Entry) -> Subject | None:
    """Draws it and gives what it was drawn from, or says in a sentence why it cannot be made."""
    try:
        inputs = session_report.inputs_again(entry.item, picture_of(entry.item), pictures.picture_named)
        inputs.uploads = {name: picture.rgb for name, picture in pictures.read_uploads()[0].items()}
        if other := changed(entry.item, inputs):
            raise ReportError(other)
        st.iframe(_page(entry.item, inputs), alt=entry.item.kind)
        return inputs
    except (ModelError, NotApplicable, TraceError, ImageError, ReportError) as sentence:
        whose = " on ".join(name for name in (entry.item.model, entry.item.image) if name)
        st.warning(plain(f"{whose}: {sentence}".removeprefix(": ")), icon=":material/warning:")
    except Exception as error:
        logging.getLogger("vizkit").exception("a figure of the report")
        st.warning(f"This figure could not be made again ({type(error).__name__}); remove it.")
    return None


def _entry(number: int, entry: Entry, ends: tuple[bool, bool], ready: dict[int, Subject]) -> None:
    """`ready` collects the pictures that can be made. `ends`: whether it is the first, and the last."""
    length = SHORT if entry.item.shows.staged else WHOLE
    with st.container(horizontal=True, horizontal_alignment="right"):
        st.link_button("Open", again(entry.item), icon=":material/open_in_new:", help="The page that it comes from.")
        if not entry.item.only:  # a figure of chosen maps is short already
            st.segmented_control(
                "Length",
                [SHORT, WHOLE],
                default=length,
                required=True,
                key=f"report_length_{number}",
                label_visibility="collapsed",
                on_change=lambda: session_report.shorten(number, short=length == WHOLE),
                help="Its figure and its sentence alone, or the whole view.",
            )
        for word, places, end in (("Up", -1, ends[0]), ("Down", 1, ends[1])):
            st.button(
                word,
                icon=f":material/arrow_{word.lower()}ward:",
                key=f"{word.lower()}_{number}",
                disabled=end,
                on_click=session_report.move,
                args=(number, places),
            )
        st.button(
            "Remove",
            icon=":material/delete:",
            key=f"remove_{number}",
            on_click=session_report.remove,
            args=(number,),
        )
    key = f"report_comment_{number}"
    st.text_area(
        "Comment",
        value=entry.comment,
        key=key,
        max_chars=LONGEST_COMMENT,
        height="content",
        placeholder="What is to be seen here?",
        on_change=lambda: session_report.comment(number, str(st.session_state[key])),
    )
    with st.container(key=f"report_{number}_{length}"):  # another frame for each: one keeps the height of the taller
        inputs = _picture(entry)
    if inputs is not None:
        ready[number] = inputs


def again(item: Item) -> str:
    """The page that it comes from, as it was set. Of its link, which anybody may have written, the parameters alone."""
    query = urlsplit(item.link).query
    return f"{entry_of(item.shows).page}{query and '?'}{query}"


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
    raise ReportError("this image is no longer among your images: upload it again.")


@remembered
def _page(item: Item, _inputs: Subject) -> str:
    """As the saved page has it, but for the comment, which is written above it."""
    return paged(article(Entry(item), _inputs), item.kind)


def _downloads(entries: list[Entry], inputs: list[Subject]) -> None:
    st.session_state.setdefault("report_title", session_report.shown().title)  # a widget forgets when its page is left
    title = st.text_input("Title", max_chars=LONGEST_TITLE, width=420, key="report_title", on_change=_titled)
    report, stem = Report(title or "", tuple(entries)), name_of_file(title or "") or "report"
    for label, suffix, kind, icon, make, help in (
        (
            "One page (HTML)",
            "html",
            "text/html",
            "download",
            lambda: html(report, inputs).encode(),
            "It opens in any browser, where its figures can be played, and prints, or is saved as PDF, by its button.",
        ),
        (
            "Slides (PPTX)",
            "pptx",
            PPTX,
            "slideshow",
            partial(pptx, report, inputs),
            "16:9, a slide for each figure; its comment is beside it, where it came from is in the notes.",
        ),
        (
            "Folder with numbers (ZIP)",
            "zip",
            "application/zip",
            "folder_zip",
            partial(zipped, report, inputs),
            "Figures as PNG and SVG, their numbers, and a replay.json: “vizkit report replay.json” makes the same "
            "figures again.",
        ),
    ):
        st.download_button(
            label,
            make,
            f"{stem}.{suffix}",
            kind,
            key=f"report_{suffix}",
            type="primary" if suffix == "html" else "secondary",
            icon=f":material/{icon}:",
            disabled=not entries,
            on_click="ignore",
            help=help,
        )


def _titled() -> None:
    st.session_state[TITLE] = st.session_state["report_title"]
