"""Where an animal lies in the frame: its axis bent, then mirrored, turned, scaled and moved."""

from dataclasses import dataclass

import cv2
import numpy as np
from jaxtyping import Float, UInt8

from vizkit.datasets.insects.difficulty import Difficulty
from vizkit.datasets.insects.specimen import Piece, Specimen

SUBPIXEL = 4  # OpenCV's drawing takes coordinates in 1/16 pixel
USUAL_SHARE = 0.085  # of the frame that an animal of middle extent fills
RASTER = 96  # pixels; what depends on areas is measured on this grid, whatever the size of the picture


@dataclass(frozen=True)
class Posed:
    """The pieces of an animal in the frame: coordinates 0..1, x to the right, y down."""

    pieces: list[Piece]
    points: Float[np.ndarray, "point 2"]  # of all pieces in a row
    scale: float  # frame widths per body length

    def in_pixels(self, size_px: int) -> list[np.ndarray]:
        """The points of each piece as OpenCV draws them, in 1/16 pixel, for a frame of `size_px` pixels."""
        return cut(self.pieces, fixed(self.points, size_px))


def pose(one: Specimen, difficulty: Difficulty, draw: np.random.Generator) -> Posed:
    """A random pose.

    Animals that fill little of their bounding box (long thin legs) are drawn larger and stout ones smaller: otherwise
    the number of animal-coloured pixels would tell the class.
    """
    every = _bent(np.concatenate([piece.points.reshape(-1, 2) for piece in one.pieces]), one.bend, one.wave)
    turn = np.radians(difficulty.turn_deg) * draw.uniform(-1, 1)
    cos, sin = np.cos(turn), np.sin(turn)
    every = (every * (draw.choice((-1.0, 1.0)), 1)) @ np.array([[cos, sin], [-sin, cos]])
    low, high = every.min(0), every.max(0)
    extent = float((high - low).max())
    size = draw.uniform(*difficulty.extent)
    grid = (every - low) / extent
    share = (raster(Posed(one.pieces, grid, 1.0)) > 0).mean() * size**2
    usual = USUAL_SHARE * (size / 0.75) ** 2
    size = np.clip(size * (usual / share) ** 0.3, difficulty.extent[0] * 0.85, 0.97)
    room = max(1.0 - size, 0.0) / 2 + 0.01
    shift = np.clip(draw.uniform(-1, 1, 2) * difficulty.shift, -room, room)
    placed = (every - (low + high) / 2) * (size / extent) + 0.5 + shift
    return Posed(one.pieces, placed, float(size / extent))


def raster(posed: Posed) -> UInt8[np.ndarray, "96 96"]:
    """A coarse map of the topmost part: 0 nothing, else 1 + its place in PARTS. Hairs are left out."""
    parts = np.zeros((RASTER, RASTER), np.uint8)
    for piece, points in zip(posed.pieces, posed.in_pixels(RASTER), strict=True):
        if piece.part and not piece.width:
            cv2.fillPoly(parts, [points], piece.part, cv2.LINE_8, SUBPIXEL)
    return parts


def fixed(points: np.ndarray, size_px: int) -> np.ndarray:
    """Frame coordinates 0..1 as OpenCV's integers, 1/16 pixel each, for a frame of `size_px` pixels."""
    return np.rint((points * size_px - 0.5) * (1 << SUBPIXEL)).astype(np.int32)


def fill(picture: np.ndarray, outline: np.ndarray, paint: np.ndarray) -> None:
    """Draw an outline in frame coordinates, filled, into a square picture."""
    cv2.fillPoly(picture, [fixed(outline, len(picture))], paint.tolist(), cv2.LINE_AA, SUBPIXEL)


def cut(pieces: list[Piece], every: np.ndarray) -> list[np.ndarray]:
    """New points, given all in a row, in the shapes of the pieces."""
    cut, start = [], 0
    for piece in pieces:
        end = start + piece.points.size // 2
        cut.append(every[start:end].reshape(piece.points.shape))
        start = end
    return cut


def _bent(points: Float[np.ndarray, "point 2"], bend: float, wave: float) -> Float[np.ndarray, "point 2"]:
    """The points when the straight axis becomes an arc of `bend` radians, with a wave of `wave` radians on it."""
    y = np.linspace(-1.5, 2.5, 81)
    inside = np.clip(y, 0, 1)
    turn = bend * (inside - 0.5) + wave * np.cos(2 * np.pi * inside)
    axis = np.cumsum(np.stack([np.sin(turn), np.cos(turn)], 1), axis=0) * (y[1] - y[0])
    at = points[:, 1]
    here = np.interp(at, y, turn)
    x = np.interp(at, y, axis[:, 0]) + points[:, 0] * np.cos(here)
    return np.stack([x, np.interp(at, y, axis[:, 1]) - points[:, 0] * np.sin(here)], 1)
