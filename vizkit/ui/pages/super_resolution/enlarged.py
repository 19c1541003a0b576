"""The view Enlarge: a small picture four times as large, and where in the reference each place took its texture."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import streamlit as st

from vizkit.analysis.remarks.super_resolution import of_reference, of_trust
from vizkit.figure.charts import heat_map
from vizkit.ui import export, reading
from vizkit.ui.pages.super_resolution.canvas import canvas, place_of
from vizkit.ui.pages.super_resolution.given import RGB, Given, choose, choose_reference
from vizkit.ui.pages.super_resolution.results import WITH, Results, enlarger, results
from vizkit.ui.session import saved
from vizkit.ui.session.shown import keep_valid
from vizkit.ui.views import Page
from vizkit.ui.widgets.controls import more
from vizkit.ui.widgets.remark import remark
from vizkit.ui.widgets.save import save

if TYPE_CHECKING:
    from vizkit.evaluation.super_resolution import Quality

TEXTURES = {"one place": "with", "mixture of all": "mixture"}
OVERLAYS = ("nothing", "S", "gate 1×", "gate 2×", "gate 4×", "error")
WAYS = ("bicubic", "without reference", "truth")
BRIGHTEST_ERROR = 0.2
"""Mean absolute difference of a pixel's channels, of 1, that has the brightest colour."""


class Look(NamedTuple):
    """What is drawn: a key of TEXTURES, what lies left of the bar, and what is laid over the result."""

    texture: str
    beside: str
    over: str


def view(page: Page) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = str(st.session_state.get("image", ""))
        reference = choose_reference(name)
        with more():
            given = choose(page.picture, name, reference)
            look = looked_at(given)
    made = results(given)
    own = made.seen.hard if look.texture == "one place" else made.seen.mixture
    beside = {"bicubic": made.seen.bicubic, "without reference": made.without, "truth": given.truth}[look.beside]
    assert beside is not None
    title = f"TTSR, {look.texture}" + (f", {look.over}" if look.over != "nothing" else "")
    canvas("super_resolution", given, made.seen, beside, own, (look.beside, title), map_of(look.over, given, made, own))
    say(made, TEXTURES[look.texture])
    keep(given, made, own)
    reading.how(
        "Drag the bar to compare. A click chooses a place of the small picture: the line leads to the place of the "
        "reference that is most like it, whose texture it takes; bright places of the reference are like it, too.",
        r"h_i = \arg\max_j r_{ij},\quad r_{ij} = \frac{\langle q_i, k_j\rangle}{\lVert q_i\rVert\,\lVert k_j\rVert},"
        r"\quad S_i = \max_j r_{ij},\quad F \leftarrow F + \mathrm{Conv}([F; T]) \odot \sigma(10\,a\,(S - b))",
        "what the picture really held: texture that fits is put in, whether or not it was there.",
        "Yang et al. 2020, with the gate σ added here",
    )


def looked_at(given: Given) -> Look:
    """The controls of what is drawn; the truth and the error only where the truth is known."""
    texture = st.segmented_control(
        "Texture of",
        tuple(TEXTURES),
        default="one place",
        required=True,
        key="sr_texture",
        bind="query-params",
        help="Hard attention takes the texture of the most relevant place. A softmax "
        "mixes all places, as in a transformer, and blurs.",
    )
    ways, overlays = (WAYS, OVERLAYS) if given.truth is not None else (WAYS[:-1], OVERLAYS[:-1])
    keep_valid("sr_beside", ways)
    beside = st.selectbox("Left of the bar", ways, key="sr_beside", bind="query-params")
    keep_valid("sr_over", overlays)
    over = st.selectbox(
        "Laid over the result",
        overlays,
        key="sr_over",
        bind="query-params",
        help="S: how like the best place of the reference is. Gate: how much of its texture is let "
        "through, at each scale.",
    )
    return Look(texture, beside, over)


def map_of(over: str, given: Given, made: Results, own: RGB) -> "np.ndarray | None":
    """What is laid over the result, (row, column), 0 to 1."""
    if over == "nothing":
        return None
    if over == "error":
        assert given.truth is not None
        apart = np.abs(own.astype(np.float32) - given.truth).mean(2) / 255
        return np.clip(apart / BRIGHTEST_ERROR, 0, 1)
    values = made.seen.relevance if over == "S" else made.seen.gates[OVERLAYS.index(over) - 2]
    return values.reshape(made.seen.grid).clamp(0, 1).numpy()


def say(made: Results, way: str) -> None:
    known = made.qualities
    if known is None:
        remark(of_trust(made.trusted))
        return
    remark(of_reference(known[way].psnr, known["without"].psnr, known["bicubic"].psnr, made.trusted))
    with st.container(horizontal=True):
        for title, name in {"With the reference": way, "Without": "without", "Bicubic": "bicubic"}.items():
            metric(title, known[name])


def metric(title: str, quality: "Quality") -> None:
    st.metric(
        title,
        f"{quality.psnr:.2f} dB",
        f"SSIM {quality.ssim:.3f}",
        delta_color="off",
        delta_arrow="off",
        width="content",
        help="PSNR and SSIM of the luminance.",
    )


def keep(given: Given, made: Results, own: RGB) -> None:
    """The maps as charts, the pictures as numbers."""
    seen, name = made.seen, str(st.session_state.get("image", ""))
    row, column = place_of(seen.grid)
    figures = (
        heat_map(
            seen.relevance.reshape(seen.grid).clamp(min=0).numpy(),
            "column",
            "row",
            "S, relevance of the best place",
            limit=1.0,
        ),
        heat_map(
            seen.map_of(row * seen.grid[1] + column).clamp(min=0).numpy(),
            "column",
            "row",
            f"Relevance over the reference for row {row + 1}, column {column + 1}",
            limit=1.0,
        ),
    )

    def numbers() -> bytes:
        pictures = {
            "small": given.small,
            "reference": seen.reference,
            "result": own,
            "without": made.without,
            "bicubic": seen.bicubic,
        }
        if given.truth is not None:
            pictures["truth"] = given.truth
        return export.npz_of(**pictures, place=seen.place.numpy(), relevance=seen.relevance.numpy())

    def traced() -> bytes:
        from vizkit.models.super_resolution import trace
        from vizkit.saving import npz_bytes

        return npz_bytes(trace(enlarger(WITH), given.small, given.reference))

    item = saved.charts_of("Attention between two images", (name, "TTSR, ×4"), *figures)
    save(
        "super_resolution",
        {"": item},
        saved.NOTHING,
        {"All pictures (NPZ)": numbers, "Trace of the attention (NPZ)": traced},
    )
