"""From a posed animal to pixels: its shades, its opacity and the map of its parts."""

import cv2
import numpy as np
from jaxtyping import UInt8

from vizkit.datasets.insects.light import cloud
from vizkit.datasets.insects.pose import SUBPIXEL, Posed

__all__ = ["layers", "mottled"]

RIM = 24  # shades by which the outline of a piece is darker than the piece
Layer = UInt8[np.ndarray, "height width"]


def layers(posed: Posed, size_px: int) -> tuple[Layer, Layer, Layer]:
    """Shades 0..255, opacity 0..255 and parts (0 none, else 1 + place in PARTS), each (size_px, size_px)."""
    shade = np.full((size_px, size_px), 110, np.uint8)
    cover = np.zeros((size_px, size_px), np.uint8)
    parts = np.zeros((size_px, size_px), np.uint8)
    rim = round(RIM * min(1.0, size_px / 224))
    for piece, points in zip(posed.pieces, posed.in_pixels(size_px), strict=True):
        if piece.width:
            width = max(1, round(piece.width * posed.scale * size_px))
            cv2.polylines(shade, list(points), False, piece.shade, width, cv2.LINE_AA, SUBPIXEL)
            if piece.part:
                cv2.polylines(cover, list(points), False, piece.cover, width, cv2.LINE_AA, SUBPIXEL)
                cv2.polylines(parts, list(points), False, piece.part, width, cv2.LINE_8, SUBPIXEL)
            continue
        cv2.fillPoly(shade, [points], piece.shade, cv2.LINE_AA, SUBPIXEL)
        if piece.part:
            cv2.polylines(shade, [points], True, max(piece.shade - rim, 0), 1, cv2.LINE_AA, SUBPIXEL)
            cv2.fillPoly(cover, [points], piece.cover, cv2.LINE_AA, SUBPIXEL)
            cv2.fillPoly(parts, [points], piece.part, cv2.LINE_8, SUBPIXEL)
    return shade, cover, parts


def mottled(shade: Layer, draw: np.random.Generator) -> Layer:
    """The shades with a slight, cloudy texture."""
    texture = cloud(draw, 30) * 9 + cloud(draw, 9) * 9
    texture = cv2.resize(texture, shade.shape[::-1], interpolation=cv2.INTER_LINEAR)
    return cv2.add(shade, texture, dtype=cv2.CV_8U)
