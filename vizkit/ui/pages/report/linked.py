"""A report from elsewhere: from its file, from a link that holds it, or by a link to where its owner keeps it."""

import base64
import binascii
import hashlib
import zlib
from contextlib import suppress

import streamlit as st

from vizkit.decoding import MAX_BYTES
from vizkit.report.document import MOST_BYTES
from vizkit.settings import settings
from vizkit.ui.plain import plain
from vizkit.ui.session import report as session_report
from vizkit.ui.session import uploads
from vizkit.ui.session.address import drop, put
from vizkit.ui.session.report import REFUSED, shown, take
from vizkit.ui.session.uploads import UploadError, arrived, root, store, uploader
from vizkit.ui.sidebar.inputs import AWAY, TYPES, samples

PARAMETER, LINKED = "report", "_report_linked"  # (the digest of a link, the report as it was then)
MOST_KEPT = 1000  # reports of all visitors
WHOLE, LONGEST_LINK = "~", 6000  # what a report in a link begins with; letters, which every server and browser takes


def follow() -> None:
    """Once for each link: take what it holds or names into the report, or say that it is not here."""
    link = st.query_params.get(PARAMETER, "")
    if link in ("", st.session_state.get(LINKED, ("", ""))[0]):
        return
    st.session_state[LINKED] = link, ""
    if data := unpacked(link) if link.startswith(WHOLE) else kept(link):
        take(data)
        st.session_state[LINKED] = link, shown().to_json()
    else:
        st.session_state[REFUSED] = "This link shows a report that is not here: open its replay.json below."


def mirror() -> None:
    """The address is that of the report which is kept here, as long as it is the same; else it holds the report."""
    link, then = st.session_state.get(LINKED, ("", ""))
    now = shown().to_json() if session_report.entries() else ""
    if now != then or not now:
        link = packed(now) if now else ""
        st.session_state[LINKED] = link, now
    put(PARAMETER, link) if link else drop(PARAMETER)


def packed(text: str) -> str:
    """A report's JSON for an address, "" where it is too long for one."""
    link = WHOLE + base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")
    return link if len(link) <= LONGEST_LINK else ""


def unpacked(link: str) -> bytes:
    """What `packed` was given; nothing for any other text. A few letters never become more than a report may have."""
    letters = link.removeprefix(WHOLE)
    try:
        data = base64.urlsafe_b64decode(letters + "=" * (-len(letters) % 4))
        return zlib.decompressobj().decompress(data, MOST_BYTES)
    except (binascii.Error, ValueError, zlib.error):
        return b""


def offer() -> None:
    """The ways to hand the report on, and to open another one."""
    if refused := st.session_state.pop(REFUSED, ""):
        st.warning(plain(refused), icon=":material/warning:")
    if session_report.entries():
        with st.container(horizontal=True, vertical_alignment="center"):
            if settings().keep_pictures:
                st.button("Keep for a link", icon=":material/link:", on_click=keep)
            st.caption(_handed_on())
    words = "A replay.json, as the folder of a report has one, and images. They are added."
    uploader(
        "Open a report, with the images of your own that it shows",
        ["json", *TYPES],
        "report_files",
        words,
        most_mib=MAX_BYTES >> 20,
        on_change=receive,
    )


def _handed_on() -> str:
    link = st.query_params.get(PARAMETER, "")
    if link and not link.startswith(WHOLE):
        return f"Kept: Copy link opens this report for {settings().uploads_kept_hours:g} hours, comments too."
    if not link:
        return "This report is too long for a link: hand on its folder, whose replay.json opens here."
    own = any(entry.item.image not in ("", *samples()) for entry in session_report.entries().values())
    rest = ", but for figures of your own images: hand on its folder for those" if own else ": the address holds it"
    return f"Copy link hands this report on, with its comments{rest}."


# ---- from a file -----------------------------------------------------------------------------------------------------
def receive() -> None:
    """A replay.json becomes entries; a picture is one of the visitor's images from now on."""
    for file in arrived("report_files")[0]:
        if file.name.endswith(".json"):
            take(file.getvalue())
        else:
            st.session_state.setdefault(AWAY, {})[file.file_id] = file


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
        put(PARAMETER, digest)


def kept(digest: str) -> bytes:
    """The replay.json with this digest; nothing where there is none, or it has lain there too long."""
    place = uploads.kept(digest, "replay.json")
    with suppress(OSError):
        if place and place.stat().st_size <= MOST_BYTES:
            data = place.read_bytes()
            return data if hashlib.sha256(data).hexdigest() == digest else b""
    return b""
