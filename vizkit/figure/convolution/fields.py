"""Receptive fields on the image: nested frames of what a cell of each layer can see, over what it mostly uses."""

from collections.abc import Sequence

import numpy as np

from vizkit.figure.overlay import overlay
from vizkit.figure.palette import SCALE, colours
from vizkit.figure.scales import SHARES, Places
from vizkit.geometry import Box, out_of_box
from vizkit.image import RGB, Pixels, zoomed

Frame = tuple[int, int, int, int]  # x0, y0, x1, y1 in pixels of the picture that is drawn
USED = (96, 210, 255)
DARK = 330  # the sum of an ink's red, green and blue below which white is read on it


def framed(
    image: RGB,
    box_xyxy: Box,
    size_hw: tuple[int, int],
    frames: Sequence[tuple[str, Box]],
    share: Places | None = None,
    *,
    side_px: int = 640,
) -> Pixels:
    """`frames`: names and boxes in pixels of the model's input of `size_hw`, which lies at `box_xyxy` on the image, the
    first dark, the last bright, with their names; what lies outside that input is cut off. `share`: the
    effect of every pixel of that input, drawn below; the last frame is then that of what is used."""
    import cv2

    zoom = max(1, round(side_px / max(image.shape[:2])))
    out = zoomed(image, zoom)
    x0, y0, x1, y1 = (edge * zoom for edge in box_xyxy)
    if share is not None:
        out = overlay(out, share, (x0, y0, x1, y1), scale=SHARES)
    taken: list[Frame] = []
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
        if name:
            taken.append(labelled(out, name, (left, top, right, bottom), tuple(ink), taken))
    return out


def labelled(out: RGB, name: str, frame: Frame, ink: tuple[int, ...], taken: Sequence[Frame]) -> Frame:
    """Writes the name of a frame in the first of its corners where none stands yet, outside of one that it would cover,
    and gives the place that it takes."""
    import cv2

    (left, top, right, bottom), size = frame, max(out.shape[:2]) / 800
    (wide, high), _ = cv2.getTextSize(name, cv2.FONT_HERSHEY_SIMPLEX, size, 2)
    wide, high = wide + 12, high + 14
    places = [(left, top), (right - wide, bottom - high), (right - wide, top), (left, bottom - high)]
    outside = [(left, bottom), (left, top - high)]
    places = outside + places if right - left < 2 * wide else places + outside
    fit = [(x, y) for x, y in places if 0 <= x <= out.shape[1] - wide and 0 <= y <= out.shape[0] - high]
    free = [
        (x, y) for x, y in fit if not any(x < c and a < x + wide and y < d and b < y + high for a, b, c, d in taken)
    ]
    x, y = (free or fit or places)[0]
    cv2.rectangle(out, (x, y), (x + wide, y + high), ink, -1)
    paper = (255, 255, 255) if sum(ink) < DARK else (0, 0, 0)
    cv2.putText(out, name, (x + 6, y + high - 8), cv2.FONT_HERSHEY_SIMPLEX, size, paper, 2, cv2.LINE_AA)
    return x, y, x + wide, y + high
