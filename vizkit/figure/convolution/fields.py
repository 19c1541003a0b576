"""Receptive fields on the image: nested frames of what a cell of each layer can see, over what it mostly uses."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, UInt8

from vizkit.figure.overlay import overlay
from vizkit.figure.palette import SCALE, colours
from vizkit.figure.patches import number
from vizkit.figure.scales import SHARES
from vizkit.geometry import Box, out_of_box

USED = (96, 210, 255)
LEGIBLE_PX = 24  # between the corners of two frames, so that both their numbers can be read


def framed(
    image: UInt8[np.ndarray, "height width 3"],
    box_xyxy: Box,
    size_hw: tuple[int, int],
    frames: Sequence[tuple[str, tuple[float, float, float, float]]],
    share: Float[np.ndarray, "row column"] | None = None,
    *,
    side_px: int = 640,
) -> UInt8[np.ndarray, "out_height out_width 3"]:
    """`frames`: names and boxes in pixels of the model's input of `size_hw`, which lies at `box_xyxy` on the image, the
    first dark, the last bright, with the numbers of their names; what lies outside that input is cut off. `share`: the
    effect of every pixel of that input, drawn below; the last frame is then that of what is used."""
    import cv2

    zoom = max(1, round(side_px / max(image.shape[:2])))
    out = image.repeat(zoom, 0).repeat(zoom, 1)
    x0, y0, x1, y1 = (edge * zoom for edge in box_xyxy)
    if share is not None:
        out = overlay(out, share, (x0, y0, x1, y1), scale=SHARES)
    inks = colours(SCALE)[np.linspace(90, 255, max(len(frames), 1)).round().astype(int)].tolist()
    if share is not None:
        inks[-1] = USED
    for (name, frame), ink in reversed([*zip(frames, inks, strict=True)]):  # the smallest on top
        on_image = [
            out_of_box(
                (min(max(x / size_hw[1], 0.0), 1.0), min(max(y / size_hw[0], 0.0), 1.0)),
                (x0, y0, x1, y1),
                out.shape[:2],
            )
            for x, y in (frame[:2], frame[2:])
        ]
        (left, top), (right, bottom) = (
            (round(min(max(x, 0), 1) * out.shape[1]), round(min(max(y, 0), 1) * out.shape[0])) for x, y in on_image
        )
        for line, width in (((0, 0, 0), 6), (tuple(ink), 3)):
            cv2.rectangle(out, (left, top), (right - 1, bottom - 1), line, width)
        if name and min(right - left, bottom - top) > LEGIBLE_PX:
            number(out, name.rpartition(" ")[2], left + 2, top, 60)
    return out
