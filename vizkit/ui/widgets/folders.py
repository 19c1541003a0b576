"""Folders of this machine that visitors may use: those that its owner names in VIZKIT_DATA_ROOTS, and nothing else.

A visitor chooses among them and types no path, so that no page tells what else lies on the machine.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import streamlit as st

from vizkit.settings import settings

DEEPEST = 2  # folders below a root that are still offered
MOST = 300
OFF = (
    "Folders of this machine are off. Whoever runs the app allows one with all in it at its start: "
    "`VIZKIT_DATA_ROOTS=~/photos make run`. A zip file can be given without that."
)
EMPTY = "There is nothing to choose yet in the folders that are allowed: neither a folder of class folders nor a zip."
HELP = (
    "Folders with a folder of pictures for each class, and zip files of such, in what the owner of this machine allows."
)


def choose(key: str, width: int | Literal["stretch"] = "stretch", disabled: bool = False) -> str:
    """The picker: the path of the folder or zip file that a visitor chose, "" while there is none.

    Never bound to the address: a link opens no folder.
    """
    roots = settings().data_roots
    if not roots:
        st.caption(f":material/folder_off: {OFF}")
        return ""
    paths = offered(roots)
    if not paths:
        st.caption(f":material/folder_off: {EMPTY}")
        return ""
    if st.session_state.get(key) not in paths:
        st.session_state.pop(key, None)
    name = st.selectbox("Folder", list(paths), index=None, key=key, persist_state="session", disabled=disabled,
                        placeholder="Choose one", help=HELP, width=width)  # fmt: skip
    return paths.get(name or "", "")


@st.cache_data(ttl=10, max_entries=4, show_spinner=False)
def offered(roots: tuple[Path, ...]) -> dict[str, str]:
    """Every folder that holds folders, and every zip file, in `roots`: its name for people → its path, links followed.

    What a link leads to is offered only where that lies in the same root.
    """
    paths = dict[str, str]()
    for root in roots:
        for path in _below(root, root, 0):
            name = shown = (Path(root.name) / path.relative_to(root)).as_posix()
            number = 2
            while shown in paths:  # two roots of one name
                shown, number = f"{name} ({number})", number + 1
            paths[shown] = str(path)
            if len(paths) == MOST:
                return paths
    return paths


def _below(path: Path, root: Path, depth: int) -> Iterator[Path]:
    try:
        with os.scandir(path) as entries:
            inside = sorted(
                Path(entry.path) for entry in entries if not entry.name.startswith(".") and _can_be_chosen(entry)
            )
    except OSError:
        return
    inside = [entry for entry in inside if entry.resolve().is_relative_to(root)]
    folders = [entry for entry in inside if entry.suffix.lower() != ".zip"]
    if folders:
        yield path
    yield from (entry for entry in inside if entry.suffix.lower() == ".zip")
    if depth < DEEPEST:
        for folder in folders:
            if not folder.is_symlink():  # it may lead in a circle, and its target is offered by itself
                yield from _below(folder, root, depth + 1)


def _can_be_chosen(entry: "os.DirEntry[str]") -> bool:
    return (entry.name.lower().endswith(".zip") and entry.is_file()) or entry.is_dir()
