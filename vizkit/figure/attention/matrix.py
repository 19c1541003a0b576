"""An attention matrix with its tokens on the axes as little pictures: queries down, keys across."""

from collections.abc import Iterable

import cv2
import numpy as np
from jaxtyping import Float

from vizkit.figure.palette import colours
from vizkit.figure.scales import OWN, SHARES, Scale
from vizkit.geometry import pixel_box
from vizkit.image import RGB, Pixels, zoomed
from vizkit.traces import Tokens

THUMB = 26
MARGIN, BAR = 24, 14  # px
PLAIN = {ord("¼"): "1/4", ord("½"): "1/2", ord("×"): "x", ord("−"): "-", ord("≥"): ">=", ord("≤"): "<="}
"""What the letters of OpenCV lack."""
WHITE, INK = (255, 255, 255), (30, 30, 46)
MOST_ON_AXES = 400  # tokens
Patch = Pixels | str


def matrix(
    weights: Float[np.ndarray, "query key"],
    query_patches: list[Patch],
    key_patches: list[Patch],
    *,
    side_px: int = 900,
    scale: Scale = OWN,
    marked: int | None = None,
) -> RGB:
    """Every weight a flat square. A patch is drawn as its pixels, a special token by name. `marked`: the row of this
    query is framed."""
    queries, keys = weights.shape
    cell = max(4, (side_px - THUMB) // max(keys, queries))
    thumb = max(cell, THUMB) if cell >= 10 else cell * 3
    out = np.full((thumb + queries * cell, thumb + keys * cell, 3), 255, np.uint8)
    out[thumb:, thumb:] = zoomed(colours(scale.palette)[scale.levels(weights)], cell)
    for index, patch in enumerate(query_patches):
        place(out, patch, (thumb + index * cell, 0), (cell, thumb))
    for index, patch in enumerate(key_patches):
        place(out, patch, (0, thumb + index * cell), (thumb, cell))
    if marked is not None:
        top, right = thumb + marked * cell, out.shape[1] - 1
        for colour, line in ((INK, 5), (WHITE, 2)) if cell >= 10 else ((WHITE, 1),):  # else it would hide its row
            cv2.rectangle(out, (thumb, top - 2), (right, top + cell + 1), colour, line)
    return out


def with_names(cells: Pixels, scale: Scale) -> RGB:
    """A matrix with its axes named, and below it what the colours say."""
    height, width = cells.shape[:2]
    out = np.full((height + MARGIN + BAR + 2 * MARGIN, width + MARGIN, 3), 255, np.uint8)
    out[MARGIN : MARGIN + height, MARGIN:] = cells
    _written(out[:MARGIN, MARGIN:], "keys", width / 2)
    side = np.full((MARGIN, height, 3), 255, np.uint8)
    _written(side, "queries", height / 2)
    out[MARGIN : MARGIN + height, :MARGIN] = np.rot90(side)
    below = out[MARGIN + height :, MARGIN:]
    ramp = np.linspace(0, 255, width).astype(np.uint8)
    below[BAR : 2 * BAR] = colours(scale.palette)[ramp]
    for at, words in scale.ticks:
        _written(below[2 * BAR :], words.translate(PLAIN), at * width)
    return out


def _written(out: np.ndarray, words: str, middle: float) -> None:
    """In one line, around this place as far as the edges allow."""
    face, size = cv2.FONT_HERSHEY_SIMPLEX, 0.55
    (wide, tall), _ = cv2.getTextSize(words, face, size, 1)
    left = round(min(max(middle - wide / 2, 0), out.shape[1] - wide))
    line = np.ascontiguousarray(out[:MARGIN])
    cv2.putText(line, words, (left, (MARGIN + tall) // 2), face, size, INK, 1, cv2.LINE_AA)
    out[:MARGIN] = line


def patches_on_axes(
    weights: Float[np.ndarray, "query key"],
    queries: Tokens,
    keys: Tokens,
    seen: RGB,
) -> Pixels:
    """A matrix with the patches of the picture on its axes, cut out of what the model saw; where there are too many to
    be seen, without them."""
    if max(weights.shape) > MOST_ON_AXES:
        return blocks(weights, scale=SHARES.of(weights))
    asked, seen_by = (
        range(len(tokens) - count, len(tokens)) for tokens, count in zip((queries, keys), weights.shape, strict=True)
    )
    return matrix(weights, on_axis(queries, asked, seen), on_axis(keys, seen_by, seen), scale=SHARES)


def on_axis(tokens: Tokens, ids: Iterable[int], seen: RGB) -> list[Patch]:
    """What stands at each token: its pixels, its special name, a dash for padding."""
    patches: list[Patch] = []
    for token in ids:
        box = pixel_box(tokens, token, (seen.shape[0], seen.shape[1])) if token >= 0 else None
        if box is not None:
            x0, y0, x1, y1 = (round(edge) for edge in box)
            patches.append(seen[y0 : max(y1, y0 + 1), x0 : max(x1, x0 + 1)])
        else:
            patches.append("-" if token < 0 else tokens.special[token] if token < len(tokens.special) else "?")
    return patches


def blocks(weights: Float[np.ndarray, "query key"], *, most_px: int = 1400, scale: Scale = OWN) -> RGB:
    """A large matrix without thumbnails: a square for each weight, or the largest weight of a block for each pixel."""
    block = -(-max(weights.shape) // most_px)
    rows, columns = (-(-side // block) for side in weights.shape)
    padded = np.zeros((rows * block, columns * block), weights.dtype)
    padded[: weights.shape[0], : weights.shape[1]] = weights
    largest = padded.reshape(rows, block, columns, block).max((1, 3))
    cell = max(1, most_px // max(rows, columns))
    return zoomed(colours(scale.palette)[scale.levels(largest)], cell)


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
