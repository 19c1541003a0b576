"""The view Whole picture: the picture of the sidebar four times as large, in tiles, with progress and Stop."""

import io
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import streamlit as st
from jaxtyping import UInt8
from PIL import Image

from vizkit.datasets.pairs.drawn import TIMES
from vizkit.image import data_url
from vizkit.traces import NotApplicable
from vizkit.ui import reading
from vizkit.ui.export import name_of_file
from vizkit.ui.pages.super_resolution.given import others, picked
from vizkit.ui.pages.super_resolution.results import WITH, WITHOUT, enlarger
from vizkit.ui.pages.super_resolution.swipe import swipe
from vizkit.ui.session import background, linked_picture
from vizkit.ui.session.remembered import remembered, shelf
from vizkit.ui.session.shown import keep_valid
from vizkit.ui.views import Page

TASK, NOTHING = "enlarge_whole", "no reference"
SHOWN_OFTEN = 25
"""How many times a picture is shown while its tiles come in; it is looked at in the browser each time."""

SHOWN_PX = 1600
"""Of the longer side on the page; the file has all of them."""

RGB = UInt8[np.ndarray, "_row _column 3"]


@dataclass(frozen=True, eq=False)
class Enlarged:
    """`pixels`: bicubic where no tile of the network has come in yet."""

    pixels: RGB
    done: int
    total: int


def view(page: Page) -> None:
    from vizkit.models.super_resolution.enlarging import refuse_large

    name, rgb = str(st.session_state.get("image", "")), page.picture.rgb
    with st.container(horizontal=True, vertical_alignment="bottom"):
        reference = choose_reference(name)
        second = None if reference == NOTHING else picked(reference)
        key = ("whole picture", page.picture.digest, second.digest if second else "")
        made: Enlarged | None = shelf().find(key)
        try:
            refuse_large(rgb)
        except ValueError as sentence:
            raise NotApplicable(str(sentence)) from None
        actions(name, made, enlarging(rgb, second.rgb if second else None, key, made))
    background.show(TASK)
    plain = plain_url(page.picture.digest, rgb)
    network = "TTSR" if second else "without reference"
    so_far = "" if made and made.done == made.total else f", {made.done if made else 0} of {tile_count(rgb)} tiles"
    rows, columns = rgb.shape[:2]
    swipe(
        "whole",
        plain,
        data_url(made.pixels, SHOWN_PX) if made else plain,
        ("bicubic", network + so_far),
        TIMES * columns,
    )
    st.caption(f"{columns} × {rows} pixels become {TIMES * columns} × {TIMES * rows}.")
    reading.how(
        "Drag the bar to compare. The picture is cut into tiles of 48 × 48 pixels; the network sees 32 more on each "
        "side of a tile, so that no seam is left, and searches each of their places in the whole reference.",
        r"h_i = \arg\max_j \frac{\langle q_i, k_j\rangle}{\lVert q_i\rVert\,\lVert k_j\rVert}",
        "how good the result is: what the picture would look like from nearer is not known.",
        "Yang et al. 2020",
    )


def choose_reference(name: str) -> str:
    options = [NOTHING, *others(name)]
    linked_picture.say_missing("sr_whole_reference", options)
    keep_valid("sr_whole_reference", options)
    return st.selectbox(
        "Reference",
        options,
        key="sr_whole_reference",
        bind="query-params",
        width=230,
        help="A picture that shows the like from nearer, best one of your uploads in the sidebar. "
        "One of more than 512 × 512 pixels is shrunk.",
    )


def actions(name: str, made: Enlarged | None, work: Callable[[background.Task], None]) -> None:
    """What can be done now: begin or go on, or take the finished picture."""
    if made and made.done == made.total:
        st.download_button(
            "Picture (PNG)",
            lambda: png_of(made.pixels),
            f"{name_of_file(name)}_x{TIMES}.png",
            "image/png",
            icon=":material/download:",
            on_click="ignore",
        )
    elif not background.at_work(TASK):
        st.button(
            "Go on" if made else f"Enlarge ×{TIMES}",
            key="sr_whole_start",
            icon=":material/play_arrow:",
            type="primary",
            on_click=background.start,
            args=(TASK, work),
        )


def enlarging(rgb: RGB, reference: RGB | None, key: tuple, made: Enlarged | None) -> Callable[[background.Task], None]:
    """The work: tiles that are done already are kept."""

    def work(task: background.Task) -> None:
        from vizkit.models.super_resolution.enlarging import enlarged_tiles

        so_far = made or Enlarged(enlarged_plainly(rgb), 0, tile_count(rgb))
        pixels, total = so_far.pixels.copy(), so_far.total
        model = enlarger(WITHOUT if reference is None else WITH)
        for done, (rows, columns, tile) in enumerate(
            enlarged_tiles(model, rgb, reference, start=so_far.done), so_far.done + 1
        ):
            pixels[rows, columns] = tile
            so_far = replace(so_far, pixels=pixels, done=done)
            shelf().put(key, so_far)
            if done % max(1, total // SHOWN_OFTEN) == 0:
                task.results += 1
            task.report(f"Tile {done} of {total}", done, total)

    return work


@remembered
def plain_url(digest: str, _rgb: RGB) -> str:
    return data_url(enlarged_plainly(_rgb), SHOWN_PX)


def tile_count(rgb: RGB) -> int:
    from vizkit.models.super_resolution.enlarging import tiles

    return sum(1 for _ in tiles(rgb.shape[0], rgb.shape[1]))


def enlarged_plainly(rgb: RGB) -> RGB:
    rows, columns = rgb.shape[:2]
    return np.asarray(Image.fromarray(rgb).resize((TIMES * columns, TIMES * rows), Image.Resampling.BICUBIC))


def png_of(rgb: RGB) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(rgb).save(buffer, "PNG", compress_level=3)
    return buffer.getvalue()
