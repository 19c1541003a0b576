"""Folders of this machine that visitors may use: those that its owner names in VIZKIT_DATA_ROOTS, and nothing else.

A visitor chooses among them and types no path, so that no page tells what else lies on the machine.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import streamlit as st

from vizkit.settings import settings
from vizkit.training.runs.folder import runs_root
from vizkit.ui.session import uploads

DEEPEST = 2  # folders below a root that are still offered
MOST = 300
WEIGHTS = (".safetensors", ".pt", ".pth", ".bin", ".ckpt")
OFF = (
    "Folders of this machine are off. Whoever runs the app allows one with all in it at its start: "
    "`VIZKIT_DATA_ROOTS=~/photos make run`."
)
EMPTY = "There is nothing to choose yet in the folders that are allowed: neither {}."
ELSEWHERE = "This link is of a folder that is not offered here: choose another one."
HELP = "{}, in what the owner of this machine allows."


def mended_root() -> Path:
    """Where mended copies of data sets lie: beside the runs that learn from them."""
    return runs_root() / "mended"


def allowed_roots() -> tuple[Path, ...]:
    """What the owner allows, and mended copies of what lies there."""
    mended = mended_root().resolve()
    return (*settings().data_roots, *([mended] if mended.is_dir() else []))


def choose(
    key: str,
    width: int | Literal["stretch"] = "stretch",
    disabled: bool = False,
    linked: bool = False,
    zips: bool = False,
) -> str:
    """The picker of pictures: the path of the folder or zip file that a visitor chose, "" while there is none.
    `linked`: what is chosen is in the address, by its name among those that are offered. `zips`: a visitor may
    give one."""
    return _choose(
        key,
        partial(offered, runs=linked),
        "Folders with a folder of images for each class, and zip files of such"
        + (", and what vizkit explain wrote" if linked else ""),
        "a folder of class folders nor a zip",
        width,
        disabled,
        linked=linked,
        given=_given(key) if zips else {},
    )


def choose_weights(key: str) -> str:
    """The picker of weights: the path of a file or a folder, "" while there is none."""
    return _choose(
        key,
        weights,
        "Folders with a config.json beside their weights, and files of weights",
        "a folder with a config.json nor a file of weights",
        label="Folder or file",
    )


def _choose(
    key: str,
    offer: Callable[[tuple[Path, ...]], dict[str, str]],
    what: str,
    neither: str,
    width: int | Literal["stretch"] = "stretch",
    disabled: bool = False,
    label: str = "Folder",
    linked: bool = False,
    given: Mapping[str, str] = MappingProxyType({}),
) -> str:
    roots = allowed_roots()
    paths = {**given, **(offer(roots) if roots else {})}
    if not paths:
        st.caption(f":material/folder_off: {EMPTY.format(neither) if roots else OFF}")
        return ""
    elsewhere = f"_{key}_elsewhere"
    if linked and key not in st.session_state and st.query_params.get(key) not in (None, "", *paths):
        st.session_state[elsewhere] = True  # whatever somebody wrote there is not shown
    if st.session_state.get(key) not in paths:
        st.session_state.pop(key, None)
    else:
        st.session_state.pop(elsewhere, None)
    if st.session_state.get(elsewhere):
        st.warning(ELSEWHERE)
    name = st.selectbox(
        label,
        list(paths),
        index=None,
        key=key,
        bind="query-params" if linked else None,
        persist_state="session",
        disabled=disabled,
        placeholder="Choose one",
        help=HELP.format(what),
        width=width,
    )
    return paths.get(name or "", "")


def _given(key: str) -> dict[str, str]:
    """The zip file that a visitor gave, by its name; chosen when it is new."""
    path = uploads.choose_zip(f"{key}_zip")
    name, new = Path(path).name, path != st.session_state.get(f"_{key}_given")
    if path and new:
        st.session_state.update({key: name, f"_{key}_given": path})
    return {name: path} if path else {}


@st.cache_data(ttl=10, max_entries=4, show_spinner=False)
def offered(roots: tuple[Path, ...], runs: bool = False) -> dict[str, str]:
    """Every folder that holds folders, and every zip file, in `roots`: its name for people → its path, links followed.
    `runs`: every folder that `vizkit explain` wrote, too.

    What a link leads to is offered only where that lies in the same root.
    """
    from vizkit.explanations.table import is_run  # with pyarrow, which a first picture does not wait for

    return _named(
        (root, path)
        for root in roots
        for folder, folders, files in _below(root, root, (".zip",))
        for path in ([folder] if folders or (runs and is_run(folder)) else []) + files
    )


@st.cache_data(ttl=10, max_entries=4, show_spinner=False)
def weights(roots: tuple[Path, ...]) -> dict[str, str]:
    """Every folder with weights and a config.json, which are one model, and every other file of weights."""
    return _named(
        (root, path)
        for root in roots
        for folder, _, files in _below(root, root, WEIGHTS)
        for path in ([folder] if files and (folder / "config.json").is_file() else files)
    )


def _named(found: Iterator[tuple[Path, Path]]) -> dict[str, str]:
    paths = dict[str, str]()
    for root, path in islice(found, MOST):
        name = shown = (Path(root.name) / path.relative_to(root)).as_posix()
        number = 2
        while shown in paths:  # two roots of one name
            shown, number = f"{name} ({number})", number + 1
        paths[shown] = str(path)
    return paths


def _below(
    path: Path, root: Path, suffixes: tuple[str, ...], depth: int = 0
) -> Iterator[tuple[Path, list[Path], list[Path]]]:
    """Every folder here with the folders and the files of these kinds that lie in it, in order."""
    try:
        with os.scandir(path) as entries:
            inside = sorted((Path(entry.path), entry.is_dir()) for entry in entries if _can_be_chosen(entry, suffixes))
    except OSError:
        return
    inside = [(entry, folder) for entry, folder in inside if entry.resolve().is_relative_to(root)]
    folders = [entry for entry, folder in inside if folder]
    yield path, folders, [entry for entry, folder in inside if not folder]
    if depth < DEEPEST:
        for folder in folders:
            if not folder.is_symlink():  # it may lead in a circle, and its target is offered by itself
                yield from _below(folder, root, suffixes, depth + 1)


def _can_be_chosen(entry: "os.DirEntry[str]", suffixes: tuple[str, ...]) -> bool:
    named = not entry.name.startswith(".")
    return named and (entry.is_dir() or (entry.name.lower().endswith(suffixes) and entry.is_file()))
