"""The pictures to learn from: which set, what is in it, and a few of them before anything starts."""

import os
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import streamlit as st
from PIL import Image, ImageOps

from vizkit.datasets.balance import balanced_rows
from vizkit.datasets.builtin import ABOUT
from vizkit.datasets.builtin.insects import INSECTS
from vizkit.datasets.image_set import SPLITS, DatasetError, ImageSet
from vizkit.datasets.opening import kind_of, open_set
from vizkit.ui.plain import plain
from vizkit.ui.session import uploads
from vizkit.ui.sidebar import folders

FOLDER, ARCHIVE = "a folder on this machine", "a zip file"
SHOWN, SIDE_PX = 8, 96


@dataclass(frozen=True)
class Preview:
    """`images`: how many there are to learn from, to choose the epoch by, and to test."""

    labels: tuple[str, ...]
    images: dict[str, int]
    pictures: list[np.ndarray]
    names: list[str]
    notes: tuple[str, ...]


def choose(on_change: Callable[[], None] | None = None) -> str:
    """The set's name as a recipe takes it; empty while a folder or file is still to be named."""
    options = [*ABOUT, FOLDER, ARCHIVE]
    chosen = st.selectbox(
        "Data",
        options,
        key="train_data",
        persist_state="session",
        on_change=on_change,
        help="What the model learns from. Insects are drawn here, digits come with the program, torchvision's sets "
        "are downloaded. Your own images: a folder (or a zip of one) with a folder of images for each class.",
    )
    if chosen == FOLDER:
        return folders.choose("train_folder")
    if chosen == ARCHIVE:
        return uploads.choose_zip("train_zip")
    st.caption(ABOUT[chosen])
    return chosen


def put(data: str) -> None:
    """Choose the set of a recipe, where it is offered here."""
    if data in ABOUT:
        st.session_state["train_data"] = data
        return
    for name, path in folders.offered(folders.allowed_roots()).items():
        if path == data:
            st.session_state.update({"train_data": FOLDER, "train_folder": name})


def may_open(data: str, button: str, key: str) -> bool:
    """Opening torchvision's sets may download hundreds of megabytes: not because a name was looked at."""
    looked = f"_look_{data}"
    if not data.startswith("torchvision:") or st.session_state.get(looked):
        return True
    if st.button(button, help="Downloads the set at first use.", key=key):
        st.session_state[looked] = True
        st.rerun()
    return False


def show(data: str, images: int, seed: int) -> Preview | None:
    """What is in the set. None, with its sentence, where it cannot be used or has not been looked at."""
    if not data:
        st.caption("Choose a folder, or give a file, to see what is in it.")
        return None
    if not may_open(data, "Show images", "look_inside_set"):
        return None
    try:
        with st.spinner("Opening the images …"):
            contents = preview(data, images, seed, changed(data))
    except DatasetError as error:
        st.error(plain(error), icon=":material/broken_image:")
        return None
    counts = " · ".join(f"{contents.images[split]:,} {use}" for split, use in zip(SPLITS, USES, strict=True))
    st.markdown(f"**{len(contents.labels)} classes** · {counts}")
    for note in contents.notes:
        st.caption(f":material/info: {plain(note)}")
    return contents


def row(pictures: list[np.ndarray], captions: list[str], width_px: int) -> None:
    """Small pictures side by side, as many as there is room for, each with its words below."""
    with st.container(horizontal=True, gap="small"):
        for picture, caption in zip(pictures, captions, strict=True):
            st.image(picture, caption=plain(caption), width=width_px, alt=f"Image: {caption}", output_format="PNG")


USES = ("to learn from", "to validate", "to test")


def changed(data: str) -> int:
    """Of a folder or file: when, so that a mended one is looked at again."""
    try:
        return os.stat(os.path.expanduser(data)).st_mtime_ns
    except (OSError, ValueError):
        return 0


@st.cache_data(ttl=300, max_entries=16, show_spinner=False)
def preview(data: str, images: int, seed: int, changed_ns: int) -> Preview:
    """Raises DatasetError, also where training would only fail at its end, for want of test pictures."""
    if images < 0 or seed < 0:
        raise DatasetError("Images and seeds are 0 or more; choose others.")
    if kind_of(data)[0] == "insects":
        # Drawn one by one and without end: a few are enough to look at, the numbers are known.
        some = open_set(data, "train", images=8 * SHOWN, size_px=SIDE_PX, seed=seed)
        counts = INSECTS | {"train": images or INSECTS["train"]}
        return Preview(some.labels, counts, *chosen_pictures(some), notes=())
    opened = {
        split: open_set(data, split, images=images or None if split == "train" else None, seed=seed) for split in SPLITS
    }
    notes = tuple(dict.fromkeys(note for image_set in opened.values() for note in image_set.notes))
    counts = {split: len(image_set) for split, image_set in opened.items()}
    return Preview(opened["train"].labels, counts, *chosen_pictures(opened["train"]), notes=notes)


def chosen_pictures(images: ImageSet) -> tuple[list[np.ndarray], list[str]]:
    """As many pictures of every class, or of as many classes as there is room for, and their labels; broken ones are
    left out."""
    rows = dict.fromkeys([*balanced_rows(images.targets, SHOWN), *balanced_rows(images.targets, 4 * SHOWN)])
    pictures, names = [], []
    for row in rows:
        if len(pictures) == SHOWN:
            break
        try:
            rgb, target = images[row]
        except DatasetError:
            continue
        pictures.append(square(rgb))
        names.append(images.labels[target])
    return pictures, names


def square(rgb: np.ndarray, side_px: int = SIDE_PX) -> np.ndarray:
    """The middle of a picture; small ones are enlarged in whole pixels."""
    method = Image.Resampling.NEAREST if max(rgb.shape[:2]) <= side_px // 2 else Image.Resampling.BICUBIC
    return np.asarray(ImageOps.fit(Image.fromarray(rgb), (side_px, side_px), method))
