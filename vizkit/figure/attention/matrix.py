"""An attention matrix with its tokens on the axes as little pictures: queries down, keys across."""

import cv2
import numpy as np
from jaxtyping import Float, UInt8

from vizkit.figure.palette import SCALE, colours
from vizkit.geometry import pixel_box
from vizkit.traces import Tokens

THUMB = 26
MOST_ON_AXES = 400  # tokens


def matrix(
    weights: Float[np.ndarray, "query key"],
    query_patches: list[UInt8[np.ndarray, "_ _ 3"] | str],
    key_patches: list[UInt8[np.ndarray, "_ _ 3"] | str],
    *,
    side_px: int = 900,
    scale: str = SCALE,
) -> UInt8[np.ndarray, "height width 3"]:
    """Every weight a flat square, brightest at the largest. A patch is drawn as its pixels, a special token by name."""
    queries, keys = weights.shape
    cell = max(4, (side_px - THUMB) // max(keys, queries))
    thumb = max(cell, THUMB) if cell >= 10 else cell * 3
    level = (np.clip(weights / max(float(weights.max()), 1e-12), 0, 1) * 255).astype(np.uint8)
    out = np.full((thumb + queries * cell, thumb + keys * cell, 3), 255, np.uint8)
    out[thumb:, thumb:] = colours(scale)[level].repeat(cell, 0).repeat(cell, 1)
    for index, patch in enumerate(query_patches):
        place(out, patch, (thumb + index * cell, 0), (cell, thumb))
    for index, patch in enumerate(key_patches):
        place(out, patch, (0, thumb + index * cell), (thumb, cell))
    return out


def patches_on_axes(
    weights: Float[np.ndarray, "query key"],
    queries: Tokens,
    keys: Tokens,
    seen: UInt8[np.ndarray, "height width 3"],
) -> UInt8[np.ndarray, "_ _ 3"]:
    """A matrix with the patches of the picture on its axes, cut out of what the model saw; where there are too many to
    be seen, without them."""
    if max(weights.shape) > MOST_ON_AXES:
        return blocks(weights)
    return matrix(
        weights, *(_on_axis(tokens, count, seen) for tokens, count in zip((queries, keys), weights.shape, strict=True))
    )


def _on_axis(tokens: Tokens, count: int, seen: UInt8[np.ndarray, "height width 3"]) -> list[np.ndarray | str]:
    """The pixels or the special name of each of the last `count` tokens."""
    labels: list[np.ndarray | str] = []
    for token in range(len(tokens) - count, len(tokens)):
        box = pixel_box(tokens, token, (seen.shape[0], seen.shape[1]))
        if box is None:
            labels.append(tokens.special[token])
        else:
            x0, y0, x1, y1 = (round(edge) for edge in box)
            labels.append(seen[y0 : max(y1, y0 + 1), x0 : max(x1, x0 + 1)])
    return labels


def blocks(
    weights: Float[np.ndarray, "query key"], *, most_px: int = 1400, scale: str = SCALE
) -> UInt8[np.ndarray, "height width 3"]:
    """A large matrix without thumbnails: a square for each weight, or the largest weight of a block for each pixel."""
    block = -(-max(weights.shape) // most_px)
    rows, columns = (-(-side // block) for side in weights.shape)
    padded = np.zeros((rows * block, columns * block), weights.dtype)
    padded[: weights.shape[0], : weights.shape[1]] = weights
    largest = padded.reshape(rows, block, columns, block).max((1, 3))
    level = (np.clip(largest / max(float(weights.max()), 1e-12), 0, 1) * 255).astype(np.uint8)
    cell = max(1, most_px // max(rows, columns))
    return colours(scale)[level].repeat(cell, 0).repeat(cell, 1)


def place(out: np.ndarray, patch: np.ndarray | str, corner_yx: tuple[int, int], size_hw: tuple[int, int]) -> None:
    """Draw a thumbnail, its own shape kept by repeating it along the longer side of its slot."""
    (y, x), (height, width) = corner_yx, size_hw
    if isinstance(patch, str):
        out[y : y + height, x : x + width] = (226, 232, 240)
        if min(height, width) >= 9:
            cv2.putText(
                out,
                patch[:3],
                (x + 1, y + min(height, 14)),
                cv2.FONT_HERSHEY_SIMPLEX,
                0.3,
                (30, 30, 46),
                1,
                cv2.LINE_AA,
            )
        return
    out[y : y + height, x : x + width] = cv2.resize(patch, (width, height), interpolation=cv2.INTER_AREA)
