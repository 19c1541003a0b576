"""Uploaded zips and checkpoints as files: which session they belong to, how long they stay, how much room all have.

<cache>/uploads/<sha256>/name.zip       by age and room: a training may need it again after its visitor has left
<cache>/uploads/session-…/name.pt       until its visitor has left, or by age and room
<cache>/archives/<sha256>/              what was unpacked of a zip, by age and room too
"""

import hashlib
import os
import re
import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from vizkit.datasets.cache import cache_folder
from vizkit.settings import settings
from vizkit.training.runs.folder import runs_root
from vizkit.ui.plain import plain
from vizkit.ui.session.allowed import upload_mib
from vizkit.ui.session.evaluations import evaluations
from vizkit.ui.session.jobs import jobs
from vizkit.views.controls import controls
from vizkit.views.subject import Subject
from vizkit.views.trained import AT_HAND, trained
from vizkit.views.view import View
from vizkit.writing import name_of_file, write


class UploadError(ValueError):
    """An upload cannot be kept; the message is one sentence for the user."""


GONE = "A file is no longer here: remove it from the list above, and upload it again."
AWAY_S = 300.0  # Streamlit lets a visitor come back to a session for 120 s
_leaving: dict[Path, threading.Timer] = {}


class Belongings:
    """The folder of one session. It goes a while after its visitor, at the latest when the server ends."""

    def __init__(self) -> None:
        root().mkdir(parents=True, exist_ok=True)
        self.folder = Path(tempfile.mkdtemp(prefix="session-", dir=root()))
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)


def leave(folder: Path) -> None:
    """Streamlit drops a session when another one ends, which may be never: so its folder has a clock of its own."""
    timer = threading.Timer(AWAY_S, shutil.rmtree, (folder,), {"ignore_errors": True})
    timer.daemon = True
    _leaving[folder] = timer
    timer.start()


@st.cache_resource(scope="session", show_spinner=False, on_release=leave)
def present(folder: Path) -> Path:
    """Once for every connection of a browser; Streamlit calls `leave` when it ends, also by a reload or a bad line."""
    return stay(folder)


def stay(folder: Path) -> Path:
    """Its visitor has come back."""
    if (timer := _leaving.pop(folder, None)) is not None:
        timer.cancel()
    return folder


def still_here() -> None:
    """In every run of a page."""
    if "_belongings" in st.session_state:
        present(st.session_state["_belongings"].folder)


def root() -> Path:
    return cache_folder() / "uploads"


def uploader(
    label: str,
    types: Sequence[str],
    key: str,
    help: str,
    *,
    several: bool = True,
    most_mib: int | None = None,
    on_change: Callable[[], None] | None = None,
) -> list[UploadedFile]:
    """The one way to ask for files: what has been uploaded and is here. `most_mib`: of one file, for the browser alone
    to refuse; by default what the server takes, which refuses it too."""
    if most_mib is None:
        help = f"{help} Up to {upload_mib()} MiB a file; a start with STREAMLIT_SERVER_MAX_UPLOAD_SIZE=… (MiB) sets it."
    st.file_uploader(
        label, types, accept_multiple_files=several, key=key, help=help, on_change=on_change, max_upload_size=most_mib
    )
    files, gone = arrived(key)
    if gone:
        st.warning(GONE, icon=":material/upload_file:")
    return files


def arrived(key: str) -> tuple[list[UploadedFile], int]:
    """The files of an uploader or of the camera, and how many more a browser has named that are not here: of a server
    before this one, or never uploaded."""
    given = st.session_state.get(key) or []
    named = given if isinstance(given, list) else [given]
    files = [file for file in named if isinstance(file, UploadedFile)]
    return files, len(named) - len(files)


def choose_zip(key: str) -> str:
    """The picker of a zip file: its path, "" while there is none. The file stays chosen when the page is left."""
    files = uploader(
        "Zip file", ["zip"], key, "A zip of a folder with one folder of images for each class.", several=False
    )
    chosen = f"_{key}"
    for file in files:
        try:
            st.session_state[chosen] = (file.file_id, str(kept_zip(file, *st.session_state.get(chosen, ()))))
        except UploadError as error:
            st.error(plain(error), icon=":material/front_hand:")
            st.session_state.pop(chosen, None)
    return st.session_state.get(chosen, ("", ""))[1]


def kept_zip(file: UploadedFile, seen: str = "", path: str = "") -> Path:
    """The upload as a file that the training process, and a run resumed later, can open. `seen`, `path`: the upload
    before, which is not hashed again when it is the same."""
    if seen == file.file_id and Path(path).is_file():
        return Path(path)
    content = file.getbuffer()
    place = root() / hashlib.sha256(content).hexdigest() / f"{_stem_of(file.name)}.zip"
    if not place.is_file():
        store(place, content)
    return place


def keep_checkpoint(files: Sequence[UploadedFile]) -> Path:
    """The newest of the uploads as a file of this session; with a configuration among them all of them as a folder."""
    if "_belongings" not in st.session_state:
        st.session_state["_belongings"] = Belongings()
        still_here()
    own = Path(tempfile.mkdtemp(dir=st.session_state["_belongings"].folder))
    if not any(file.name in ("config.json", "adapter_config.json") for file in files):
        place = own / f"{_stem_of(files[-1].name)}{Path(files[-1].name).suffix}"
        store(place, files[-1].getbuffer())
        return place
    for name, file in _named(files).items():
        store(own / "model" / name, file.getbuffer())
    return own / "model"


def _named(files: Sequence[UploadedFile]) -> dict[str, UploadedFile]:
    """The files of a folder by safe names. A single file of weights may have any name; several need their index."""
    named = {name_of_file(file.name, 80): file for file in files}
    if len(named) < len(files):
        raise UploadError("Two of the files have the same name: open the files of one folder.")
    weights = [name for name in named if name.endswith(".safetensors") and name != "adapter_model.safetensors"]
    if len(weights) == 1:
        named["model.safetensors"] = named.pop(weights[0])
    elif weights and "model.safetensors.index.json" not in named:
        raise UploadError("model.safetensors.index.json is missing, which says what each file of weights holds.")
    return named


def _stem_of(name: str) -> str:
    return re.sub(r"[^\w-]", "_", Path(name).stem)[:60]


def store(place: Path, content: memoryview) -> None:
    """Write it, after older uploads have made room. UploadError where there is none."""
    sweep()
    if len(content) + sum(map(size_of, places())) > settings().uploads_bytes:
        raise UploadError("There is no room for more uploads on this server now; try again later.")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        write(place, lambda unfinished: unfinished.write_bytes(content))
    except OSError as error:
        raise UploadError(f"The file cannot be kept: {error.strerror or type(error).__name__}.") from None


def sweep(now: float | None = None) -> None:
    """Delete what has lain here too long, and of the rest the oldest beyond the room there is.

    Nothing while a training or an evaluation is at work, which may read it.
    """
    if jobs().active(runs_root()) is not None or evaluations().at_work() is not None:
        return
    oldest, room = (now or time.time()) - 3600 * settings().uploads_kept_hours, settings().uploads_bytes
    for place in sorted(places(), key=used, reverse=True):
        room -= size_of(place)
        if used(place) < oldest or room < 0:
            shutil.rmtree(place, ignore_errors=True)


def places() -> list[Path]:
    homes = (root(), cache_folder() / "archives")
    return [place for home in homes if home.is_dir() for place in home.iterdir() if place.is_dir()]


def kept(digest: str, name: str) -> Path | None:
    """A file that lies here for links, in a folder of this digest; None where links keep nothing, or not so long."""
    if not settings().keep_pictures or not re.fullmatch("[0-9a-f]{64}", digest):
        return None
    place = root() / digest / name
    return place if used(place) > time.time() - 3600 * settings().uploads_kept_hours else None


def used(place: Path) -> float:
    """When it was last written or opened; 0 where it has just gone."""
    try:
        return place.stat().st_mtime
    except OSError:
        return 0.0


def size_of(place: Path) -> int:
    """Bytes of all files in it."""
    total = 0
    for folder, _, files in os.walk(place):
        for name in files:
            with suppress(OSError):  # gone in the meantime
                total += os.stat(os.path.join(folder, name)).st_size
    return total


# ---- models of texts that were opened -------------------------------------------------------------------------------
class Brought(NamedTuple):
    """`title`: what it is, and which of those that were opened; `path`: its folder, of this session alone."""

    title: str
    path: str


def brought() -> dict[str, Brought]:
    """By the digests of their files."""
    return st.session_state.setdefault("_texts_brought", {})


def give_texts(view: type[View] | View, *subjects: Subject) -> None:
    """To a view that chooses among models of texts, or that find things: the folders of what was opened and of runs, by
    their names."""
    if kinds := {control.kind for control in controls(view).values() if control.kind in AT_HAND}:
        opened = {each.title: each.path for each in brought().values()} if "text model" in kinds else {}
        at_hand = trained(view) | opened
        for of in subjects:
            of.texts = at_hand
