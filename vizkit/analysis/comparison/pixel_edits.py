"""Changes to the image that a model is given, as records that can be written down: `pixels:14x14:erase=17,18`.

The cells of a grid of 14 × 14 over the model's input are counted row by row from 0, so that one text means the same
place in models of any input size.

    pixels:14x14:erase=17,18         the cells 17 and 18 become the image's mean colour
    pixels:14x14:grey=17             … mid-grey
    pixels:14x14:blur=17             … the blurred image
    pixels:14x14:swap=3-20           the cells 3 and 20 change places
    pixels:14x14:paste=digit 3@5,6   the cells 5 and 6 of the image "digit 3", at their own places
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, get_args
from urllib.parse import quote, unquote

import numpy as np
from jaxtyping import Bool

from vizkit.analysis.comparison.perturbation import blur, mean_colour
from vizkit.image import RGB

Fill = Literal["erase", "grey", "blur"]
Kind = Literal["erase", "grey", "blur", "swap", "paste"]
FILLS: tuple[Fill, ...] = get_args(Fill)
PIXELS = "pixels:"
GREY, BLUR_PX = 128, 16  # σ of the blur where the shorter side has 224 pixels
MOST_ROWS = 256
_EDIT = re.compile(
    rf"{PIXELS}(\d{{1,3}})x(\d{{1,3}}):({'|'.join(get_args(Kind))})=(?:([^@;]{{1,400}})@)?([\d,-]{{1,400000}})"
)


class PixelError(ValueError):
    """A change of the image that cannot be made; the message is one sentence for the user."""


@dataclass(frozen=True)
class PixelEdit:
    """One change. `grid`: (rows, columns) over the model's input; `cells` row by row from 0, of "swap" the two;
    `image`: the name of the image that "paste" takes them from."""

    kind: Kind
    grid: tuple[int, int]
    cells: tuple[int, ...]
    image: str = ""

    def __post_init__(self) -> None:
        rows, columns = self.grid
        if not (1 <= rows <= MOST_ROWS and 1 <= columns <= MOST_ROWS):
            raise PixelError(f"A grid has 1 to {MOST_ROWS} rows and columns, not {rows} × {columns}.")
        if not self.cells or not all(0 <= cell < rows * columns for cell in self.cells):
            raise PixelError(f"The cells of a grid of {rows} × {columns} are numbered from 0 to {rows * columns - 1}.")
        if self.kind == "swap" and len(self.cells) != 2:
            raise PixelError("Two cells change places, such as pixels:14x14:swap=3-20.")
        if bool(self.image) != (self.kind == "paste"):
            raise PixelError("Name the image for paste alone, such as pixels:14x14:paste=digit 3@5,6.")

    def __str__(self) -> str:
        cells = ("-" if self.kind == "swap" else ",").join(map(str, self.cells))
        source = f"{quote(self.image, safe=' ')}@" if self.image else ""
        return f"{PIXELS}{self.grid[0]}x{self.grid[1]}:{self.kind}={source}{cells}"


def parse(text: str) -> PixelEdit:
    """A change as it is written; `str` gives the text again. PixelError says what is wrong."""
    match = _EDIT.fullmatch(text.strip())
    numbers = match and re.split("-" if match[3] == "swap" else ",", match[5])
    if match is None or not numbers or not all(number.isdecimal() and len(number) < 6 for number in numbers):
        raise PixelError(
            f"{text[:40]!r} changes no image; write pixels:14x14:erase=17,18, :swap=3-20 or :paste=NAME@5."
        )
    cells = tuple(map(int, numbers)) if match[3] == "swap" else tuple(sorted(set(map(int, numbers))))
    kind: Kind = next(kind for kind in get_args(Kind) if kind == match[3])
    return PixelEdit(kind, (int(match[1]), int(match[2])), cells, unquote(match[4] or ""))


def edited(rgb: RGB, edits: Iterable[PixelEdit], picture_of: Callable[[str], RGB]) -> RGB:
    """The image after all changes, one after another; all other pixels are as they were.

    `rgb`: what the model sees (`image.seen`). `picture_of`: another image by its name, of the same size; it may raise
    PixelError. A fill is taken from the image as it was before any change.
    """
    out = rgb.copy()
    for edit in edits:
        if edit.kind == "swap":
            one, other = (out[box_of(rgb.shape[:2], edit.grid, cell)] for cell in edit.cells)
            kept = one.copy()
            one[:], other[:] = _fitted(other, one.shape), _fitted(kept, other.shape)
            continue
        instead = picture_of(edit.image) if edit.kind == "paste" else _filled(rgb, edit.kind)
        if instead.shape != rgb.shape:
            raise PixelError(f"{edit.image[:60]!r} has another size than the image.")
        where = _mask(rgb.shape[:2], edit)
        out[where] = instead[where]
    return out


def box_of(size_hw: tuple[int, ...], grid: tuple[int, int], cell: int) -> tuple[slice, slice]:
    """The rows and columns of pixels of a cell; where the side is not divided, cells differ by one pixel."""
    places = zip(divmod(cell, grid[1]), size_hw, grid, strict=True)
    down, right = (slice(-(-at * size // count), -(-(at + 1) * size // count)) for at, size, count in places)
    return down, right


def _mask(size_hw: tuple[int, ...], edit: PixelEdit) -> Bool[np.ndarray, "height width"]:
    mask = np.zeros(size_hw, bool)
    for cell in edit.cells:
        mask[box_of(size_hw, edit.grid, cell)] = True
    return mask


def _filled(rgb: RGB, kind: str) -> RGB:
    if kind == "blur":
        return blur(rgb, BLUR_PX)
    return np.broadcast_to(np.uint8(GREY) if kind == "grey" else np.array(mean_colour(rgb), np.uint8), rgb.shape)


def _fitted(cell: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The nearest pixels, where a cell goes to one of another size."""
    rows, columns = (np.arange(to) * have // max(to, 1) for to, have in zip(shape[:2], cell.shape[:2], strict=True))
    return cell[rows[:, None], columns].copy()
