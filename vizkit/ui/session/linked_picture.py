"""Links to a picture that a visitor has uploaded: the address has its name and its digest, never the picture.

Whoever opens such a link has to upload the same picture, unless the owner of the server lets uploads be kept.
"""

import io
import re
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import streamlit as st
from PIL import Image

from vizkit.analysis.remarks.remark import joined
from vizkit.image import ImageError, Picture, read_picture
from vizkit.settings import settings
from vizkit.ui.plain import plain
from vizkit.ui.session import uploads
from vizkit.ui.session.address import drop, put
from vizkit.ui.session.remembered import remembered

PARAMETER = "upload"
LONGEST_NAME, MOST_NAMES = 80, 8


class Linked(NamedTuple):
    """An upload of somebody, as a link names it."""

    name: str
    digest: str


def linked() -> Linked | None:
    """The upload that the address named when this session began."""
    if "_linked" not in st.session_state:
        digest = st.query_params.get(PARAMETER, "")
        name = " ".join(st.query_params.get("image", "").split())[:LONGEST_NAME] or "an uploaded image"
        st.session_state["_linked"] = Linked(name, digest) if re.fullmatch("[0-9a-f]{64}", digest) else None
        if st.session_state["_linked"]:
            st.session_state["image"] = name
    return st.session_state["_linked"]


def missing(here: dict[str, Picture], samples: list[str]) -> list[str]:
    """The name of the link's picture while it is not among those that are `here`, for the picker; else nothing."""
    link = linked()
    if link is None or any(picture.digest == link.digest for picture in here.values()):
        return []
    return [f"{link.name} (of the link)" if link.name in {*here, *samples} else link.name]


def arrived(here: dict[str, Picture]) -> str:
    """The name of the upload that the link has been waiting for; "" where it is not among those that are `here`."""
    link = linked()
    if link is None or not st.session_state.get("_awaited"):
        return ""
    return next((name for name, picture in here.items() if picture.digest == link.digest), "")


def mirror(name: str, here: dict[str, Picture], awaited: list[str]) -> None:
    """What the address says of the chosen picture besides its name."""
    link = linked()
    if name in here:
        put(PARAMETER, here[name].digest)
    elif link is not None and name in awaited:
        put(PARAMETER, link.digest)
    else:
        drop(PARAMETER)
    st.session_state["_awaited"] = name if name in awaited else ""


def awaited() -> bool:
    """Whether the chosen picture is one of a link that is not here; then the page says so, and nothing is shown."""
    name = st.session_state.get("_awaited", "")
    if name:
        st.info(
            f"This link shows {plain(name)}, which is not here: upload it under “Your images”, or choose another one.",
            icon=":material/upload:",
        )
    return bool(name)


def left_behind() -> str:
    """What is shown now and no link can bring to somebody else; "" where it brings all."""
    image = str(st.session_state.get("image")) if PARAMETER in st.query_params and not settings().keep_pictures else ""
    opened = st.session_state.get("_checkpoints", {})
    models = [name for name in st.session_state.get("models") or [] if name in opened]
    names = [name[:LONGEST_NAME] for name in (image, *models) if name]
    if not names:
        return ""
    is_ = "is" if len(names) == 1 else "are"
    return f"{joined(names)} {is_} not in the link: whoever opens it has to upload the same file here."


def say_missing(key: str, options: Collection[str]) -> None:
    """What a link names for the widget `key` that is not here, uploads for example: else it would go without a word."""
    if f"_linked_{key}" not in st.session_state:
        st.session_state[f"_linked_{key}"] = [name[:LONGEST_NAME] for name in st.query_params.get_all(key)]
    every = st.session_state[f"_linked_{key}"]
    names = [name for name in every if Path(name).suffix and name not in options]  # uploads are files; else nonsense
    if names:
        listed = ", ".join(map(plain, names[:MOST_NAMES]))
        st.caption(f":material/upload: This link shows {listed} too, not here: upload what is missing in the sidebar.")


# ---- kept on the server, where its owner allows it -------------------------------------------------------------------
def words() -> str:
    """Where uploads stay, for whoever is about to make one."""
    if not settings().keep_pictures:
        return "They stay in this session's memory and are never stored."
    return f"Kept here for {settings().uploads_kept_hours:g} hours: whoever has a link to one sees it."


def keep(pictures: dict[str, Picture]) -> None:
    """As pixels without what else was in the file. Where there is no room a link will ask for the picture."""
    if settings().keep_pictures:
        for picture in pictures.values():
            place = uploads.root() / picture.digest / "picture.png"
            if not place.is_file():
                buffer = io.BytesIO()
                Image.fromarray(picture.rgb).save(buffer, "PNG", compress_level=1)
                with suppress(uploads.UploadError):
                    uploads.store(place, buffer.getbuffer())


def kept() -> dict[str, Picture]:
    """The link's picture by its name, where it has been kept."""
    link = linked()
    picture = stored(link.digest) if link else None
    return {link.name: picture} if link and picture else {}


def stored(digest: str) -> Picture | None:
    """A picture that has been kept, by its whole digest."""
    if place := uploads.kept(digest, "picture.png"):
        with suppress(OSError, ImageError):
            return _kept(digest, place)
    return None


@remembered
def _kept(digest: str, _place: Path) -> Picture:
    picture = read_picture(_place.read_bytes())
    if picture.digest != digest:
        raise ImageError("Another image lies there.")
    return picture
