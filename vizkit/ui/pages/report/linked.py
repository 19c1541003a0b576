"""A report from elsewhere: from its file, or by a link where the server's owner lets it be kept there by its digest."""

import hashlib
import re
import time
from contextlib import suppress

import streamlit as st

from vizkit.decoding import MAX_BYTES
from vizkit.from_json import ReportError
from vizkit.report.document import MOST_BYTES, MOST_ITEMS, Entry, Report, opened
from vizkit.settings import settings
from vizkit.ui.plain import plain
from vizkit.ui.session import saved
from vizkit.ui.session.address import drop, put
from vizkit.ui.session.uploads import UploadError, arrived, root, store, uploader, used
from vizkit.ui.sidebar.inputs import AWAY, TYPES

PARAMETER, TITLE = "report", "_report_title"
LINKED, REFUSED = "_report_linked", "_report_refused"  # (the digest of a link, the report as it was then); a sentence
MOST_KEPT = 1000  # reports of all visitors
LONGEST_TITLE, LONGEST_COMMENT = 200, 2000  # letters


def shown() -> Report:
    return Report(st.session_state.setdefault(TITLE, "Report"), tuple(saved.entries().values()))


def follow() -> None:
    """Once for each link: take what it names into the report, or say that it is not here."""
    digest = st.query_params.get(PARAMETER, "")
    if digest in ("", st.session_state.get(LINKED, ("", ""))[0]):
        return
    st.session_state[LINKED] = digest, ""
    if data := kept(digest):
        take(data)
        st.session_state[LINKED] = digest, shown().to_json()
    else:
        st.session_state[REFUSED] = "This link shows a report that is not here: open its replay.json below."


def mirror() -> None:
    """The address names the report as long as it is the one that was linked."""
    digest, then = st.session_state.get(LINKED, ("", ""))
    put(PARAMETER, digest) if then and then == shown().to_json() else drop(PARAMETER)


def offer() -> None:
    """The ways to hand the report on, and to open another one."""
    if refused := st.session_state.pop(REFUSED, ""):
        st.warning(plain(refused), icon=":material/warning:")
    with st.container(horizontal=True, vertical_alignment="center"):
        if not settings().keep_pictures:
            words = "A link to this page does not hold the report: hand on its folder, whose replay.json opens here."
        else:
            st.button("Keep for a link", icon=":material/link:", on_click=keep, disabled=not saved.entries())
            hours = f"for {settings().uploads_kept_hours:g} hours"
            words = f"It stays here {hours}, comments too: whoever has the link sees it."
            words = f"Kept: Copy link opens this report {hours}." if PARAMETER in st.query_params else words
        st.caption(words)
    words = "A replay.json, as the folder of a report has one, and pictures of one's own that it shows. They are added."
    uploader("Open a report", ["json", *TYPES], "report_files", words, most_mib=MAX_BYTES >> 20, on_change=receive)


# ---- from a file -----------------------------------------------------------------------------------------------------
def receive() -> None:
    """A replay.json becomes entries; a picture is one of the visitor's images from now on."""
    for file in arrived("report_files")[0]:
        if file.name.endswith(".json"):
            take(file.getvalue())
        else:
            st.session_state.setdefault(AWAY, {})[file.file_id] = file


def take(data: bytes) -> None:
    """Add the pictures of a replay.json that are not here yet. What is wrong with it is said on the page."""
    here = saved.entries()
    try:
        report = opened(data)
        new = [entry for entry in report.entries if entry not in here.values()]
        if len(here) + len(new) > MOST_ITEMS:
            raise ReportError(f"A report has at most {MOST_ITEMS} pictures: remove some first.")
    except ReportError as error:
        st.session_state[REFUSED] = str(error)
        return
    if not here:
        st.session_state[TITLE] = st.session_state["report_title"] = report.title[:LONGEST_TITLE]
    for entry in new:
        here[max(here, default=0) + 1] = Entry(entry.item, entry.comment[:LONGEST_COMMENT])


# ---- kept on the server, where its owner allows it -------------------------------------------------------------------
def keep() -> None:
    """The report as it is now, by the whole SHA-256 of its replay.json."""
    text = shown().to_json()
    data = text.encode()
    digest = hashlib.sha256(data).hexdigest()
    place = root() / digest / "replay.json"
    try:
        full = len(data) > MOST_BYTES or sum(1 for _ in root().glob("*/replay.json")) >= MOST_KEPT
        if full or not settings().keep_pictures:
            raise UploadError("There is no room for this report here; hand on its folder instead.")
        if not place.is_file():
            store(place, memoryview(data))
    except UploadError as error:
        st.session_state[REFUSED] = str(error)
    else:
        st.session_state[LINKED] = digest, text


def kept(digest: str) -> bytes:
    """The replay.json with this digest; nothing where there is none, or it has lain there too long."""
    if not settings().keep_pictures or not re.fullmatch("[0-9a-f]{64}", digest):
        return b""
    place = root() / digest / "replay.json"
    with suppress(OSError):
        if used(place) > time.time() - 3600 * settings().uploads_kept_hours and place.stat().st_size <= MOST_BYTES:
            data = place.read_bytes()
            return data if hashlib.sha256(data).hexdigest() == digest else b""
    return b""
