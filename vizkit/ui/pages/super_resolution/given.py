"""What is enlarged and by which reference: the picture of the sidebar, shrunk, and one that is more or less like it."""

from typing import NamedTuple

import numpy as np
import streamlit as st
from jaxtyping import UInt8
from PIL import Image

from vizkit.datasets.insects import LABELS, label_of
from vizkit.datasets.pairs.drawn import SIDE, TIMES, DrawnPairs, halved, posing, shrunk
from vizkit.image import Picture, digest_of
from vizkit.ui.session import linked_picture
from vizkit.ui.session.remembered import remembered
from vizkit.ui.session.shown import keep_valid
from vizkit.ui.sidebar import inputs

RGB = UInt8[np.ndarray, "_row _column 3"]
SIZES = (16, 24, 32)
LEVELS = {
    "same scene, moved": "same",
    "same kind": "kind",
    "another kind": "other",
    "a photograph": "picture",
    "its pixels shuffled": "shuffled",
    "noise": "noise",
}
TURNS = (0, 90, 180, 270)
DRAWN = DrawnPairs("test", 2 * len(LABELS))


class Given(NamedTuple):
    """`truth`: None where the picture was so small that it is enlarged as it is."""

    small: RGB
    truth: RGB | None
    reference: RGB
    digest: str


def choose_reference(name: str) -> str:
    """Of the picture called so: a key of LEVELS, or the name of another picture."""
    levels = [title for title, level in LEVELS.items() if level != "kind" or name in LABELS]
    options = [*levels, *others(name)]
    linked_picture.say_missing("sr_reference", options)
    keep_valid("sr_reference", options)
    return st.selectbox(
        "Reference",
        options,
        key="sr_reference",
        bind="query-params",
        width=230,
        help="What the missing texture is taken from. Your uploads of the sidebar are listed, too.",
    )


def choose(picture: Picture, name: str, reference: str) -> Given:
    """How the reference is turned and how small the picture is made, and what comes of it."""
    turn = st.segmented_control(
        "Reference turned by",
        TURNS,
        default=0,
        required=True,
        key="sr_turn",
        bind="query-params",
        format_func=lambda degrees: f"{degrees}°",
    )
    side = st.segmented_control(
        "Small picture",
        SIZES,
        default=24,
        required=True,
        key="sr_side",
        bind="query-params",
        format_func=lambda size: f"{size} px",
        help="The longer side of the picture of the sidebar, shrunk; four times as large is what it is enlarged to.",
    )
    if reference in LEVELS:
        given = _made(picture.digest, name if name in LABELS else "", LEVELS[reference], side, picture.rgb)
    else:
        other = picked(reference)
        given = _beside(picture.digest, other.digest, side, picture.rgb, other.rgb)
    turned = np.ascontiguousarray(np.rot90(given.reference, turn // 90))
    return given._replace(reference=turned, digest=f"{given.digest} {turn}")


def others(name: str) -> list[str]:
    """The pictures of the sidebar, uploads first, without the chosen one."""
    uploads, _ = inputs.read_uploads()
    return [other for other in (*uploads, *inputs.samples()) if other != name]


def picked(name: str) -> Picture:
    uploads, _ = inputs.read_uploads()
    return uploads[name] if name in uploads else inputs.sample(name)


def scene_of(rgb: RGB, side: int) -> RGB:
    """The picture twice as large as the truth is, its sides multiples of eight."""
    longest = 2 * TIMES * side
    rows, columns = (max(8, round(longest * each / max(rgb.shape[:2]) / 8) * 8) for each in rgb.shape[:2])
    return np.asarray(Image.fromarray(rgb).resize((columns, rows), Image.Resampling.LANCZOS))


def taken(rgb: RGB, side: int) -> tuple[RGB, RGB | None, RGB]:
    """(small, truth, scene); of a picture that is small already no truth is known."""
    scene = scene_of(rgb, side)
    if max(rgb.shape[:2]) <= side:
        return rgb, None, scene
    truth = halved(scene)
    return shrunk(truth), truth, scene


@remembered
def _made(digest: str, kind: str, level: str, side: int, _rgb: RGB) -> Given:
    small, truth, scene = taken(_rgb, side)
    draw = np.random.default_rng([side, *digest_of(_rgb).encode()[:8]])
    if level in ("same", "shuffled", "noise"):
        posed = posing(scene, draw)
        if level == "shuffled":
            posed = draw.permutation(posed.reshape(-1, 3)).reshape(posed.shape)
        reference = draw.integers(256, size=posed.shape, dtype=np.uint8) if level == "noise" else posed
    elif level == "picture":
        reference = DRAWN.reference("picture", scene, 0, draw, DRAWN.scene)
    else:
        label = LABELS.index(kind) if kind else -1
        wanted = label if level == "kind" else (label + 3) % len(LABELS)
        index = next(index for index in range(len(DRAWN)) if label_of(index, DRAWN.split) == wanted)
        reference = posing(DRAWN.scene(index), draw)
    return Given(small, truth, reference, f"{digest} {kind} {level} {side}")


@remembered
def _beside(digest: str, other: str, side: int, _rgb: RGB, _reference: RGB) -> Given:
    small, truth, _ = taken(_rgb, side)
    scene = _reference if max(_reference.shape[:2]) <= TIMES * side else halved(scene_of(_reference, side))
    return Given(small, truth, scene, f"{digest} {other} {side}")


assert SIDE // TIMES in SIZES
