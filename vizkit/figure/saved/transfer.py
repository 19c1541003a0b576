"""Texture that goes from a reference to a picture that is enlarged: what transfer.js draws, on paper."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import hypot
from typing import Any

import numpy as np
from jaxtyping import Float

from vizkit.figure.canvas.rows import sixteen_bits, text64
from vizkit.figure.overlay import overlay
from vizkit.figure.palette import colours
from vizkit.figure.saved.plate import INK, PALE, Drawn, Mark, Outline, Raster, Stroke, Words, fitting, font, wrapped
from vizkit.figure.scales import between
from vizkit.image import Box, Pixels, data_url, whole_box
from vizkit.percent import in_percent

Place = tuple[int, int]
Part = tuple[slice, slice]
CELL = 4
"""Pixels of the enlarged picture and of the reference that one place takes."""
MOST = 4  # candidates
LIKE = "most like it in the reference, by relevance"
RELEVANCE = 0.0, 1.0  # from the first colour to the last, whatever the reference is
LINE, GAP, SIZE, PATCH = "#f59e0b", 14.0, 9.0, 36.0
INKS = ("#000000", 3.0), (LINE, 1.6)
OVER, NEAR = 0.82, 0.75  # opacity of what lies over the result, and of the best place of the reference
FULL_SIZE_PX, SHRUNK_PX = 720, 480  # sides up to which a browser gets every pixel, and of the input
NO_PICTURE, NO_RELEVANCE = np.zeros((0, 0, 3), np.uint8), np.zeros((0, 0), np.float32)


@dataclass(frozen=True, eq=False)
class Transfer:
    """`small`: what the network gets. `left` and `right`: of the bar, by their `titles`; they show a part of what is
    enlarged, from the place `first` on. `without`: the same without the reference. It, `truth` and `reference` are
    empty where there is none. `zoom`: how much nearer than whole they and `truth` are drawn. `at`: the chosen place of
    `small`, `taken`: that of the reference whose texture it takes, `relevance` that of all its places. `over`: what is
    laid over the right one, from 0 to `over_top`, called `over_words`. `says`: with {relevance},
    {gate} and the names of `errors`: around every place how far from the true image something is, 0 to 1."""

    small: Pixels
    left: Pixels
    right: Pixels
    titles: tuple[str, str]
    at: Place
    first: Place = (0, 0)
    without: Pixels = field(default_factory=lambda: NO_PICTURE)
    truth: Pixels = field(default_factory=lambda: NO_PICTURE)
    reference: Pixels = field(default_factory=lambda: NO_PICTURE)
    taken: Place = (0, 0)
    relevance: Float[np.ndarray, "_row _column"] = field(default_factory=lambda: NO_RELEVANCE)
    gate: float = 0.0
    says: str = ""
    errors: Mapping[str, Float[np.ndarray, "_row _column"]] = field(default_factory=dict)
    over: Float[np.ndarray, "_of_row _of_column"] | None = None
    over_top: float = 1.0
    over_words: str = ""
    zoom: int = 1

    def pack(self) -> dict[str, Any]:
        """For a browser, with the relevance for the chosen place alone."""
        shown = {"small": data_url(self.small, SHRUNK_PX)}
        for name, rgb in (("beside", self.left), ("own", self.right), ("without", self.without), ("truth", self.truth)):
            shown[name] = data_url(rgb, FULL_SIZE_PX, FULL_SIZE_PX) if rgb.size else ""
        over = None if self.over is None else text64((self.over / self.over_top * 255).round(), "u1")
        return shown | {
            "reference": data_url(self.reference, max(self.reference.shape)) if self.reference.size else "",
            "titles": self.titles,
            "size": self.small.shape[:2],
            "grid": [side // CELL for side in self.left.shape[:2]],
            "first": self.first,
            "zoom": self.zoom,
            "at": self.at,
            "key_grid": self.relevance.shape,
            "place": [self.taken[0] * self.relevance.shape[1] + self.taken[1]],
            "gate": [self.gate],
            "errors": {name: each.ravel().round(5).tolist() for name, each in self.errors.items()},
            "relevance": text64(sixteen_bits(self.relevance, -1.0, 1.0)),
            "over": over,
            "over_size": None if self.over is None else self.over.shape,
            "over_words": self.over_words,
            "over_top": self.over_top,
            "colours": text64(colours()),
            "says": self.says,
        }

    @property
    def here(self) -> Place:
        """The chosen place in the part that is enlarged."""
        return self.at[0] - self.first[0], self.at[1] - self.first[1]

    @property
    def drawn(self) -> Part:
        """The rows and columns of places of it that are drawn."""
        rows, columns = (side // CELL for side in self.right.shape[:2])
        return around(self.here, (rows, columns), (-(-rows // self.zoom), -(-columns // self.zoom)))

    def near(self, rgb: Pixels) -> Pixels:
        rows, columns = (slice(CELL * each.start, CELL * each.stop) for each in self.drawn)
        return rgb[rows, columns]

    @property
    def bar(self) -> float:
        """Through the chosen place."""
        columns = self.drawn[1]
        return (self.here[1] - columns.start + 0.5) / (columns.stop - columns.start)

    def candidates(self) -> list[tuple[Place, float]]:
        """The place that is taken and those that are most like the chosen one; overlapping patches count once."""
        columns, values = self.relevance.shape[1], self.relevance.ravel()
        first = self.taken[0] * columns + self.taken[1]
        chosen: list[tuple[Place, float]] = []
        for place in [first, *np.argsort(-values, kind="stable").tolist()]:
            y, x = divmod(place, columns)
            if all(abs(row - y) > 1 or abs(column - x) > 1 for (row, column), _ in chosen):
                chosen.append(((y, x), float(values[place])))
            if len(chosen) == MOST:
                break
        return chosen

    def sentence(self) -> str:
        if not self.says:
            return ""
        off = {name: in_percent(float(each[self.here])) for name, each in self.errors.items()}
        return self.says.format(**off, relevance=f"{self.relevance[self.taken]:.2f}", gate=in_percent(self.gate))

    def marks(self, width: float) -> Drawn:
        """From the top left, and how high they are."""
        right = self.right
        if self.over is not None:
            right = overlay(
                right, self.over, whole_box(right), scale=between(0.0, self.over_top), floor=OVER, ceiling=OVER
            )
        own, reference = halves(self.near(self.left), self.near(right), self.bar), self.reference
        if reference.size:
            scale = between(*RELEVANCE)
            reference = overlay(reference, self.relevance, whole_box(reference), scale=scale, floor=0.0, ceiling=NEAR)
        rows, columns = self.small.shape[:2]
        part = tuple(each.stop - each.start for each in self.drawn)
        true = f"True image, {self.truth.shape[1]} × {self.truth.shape[0]}"
        true = true if part == (rows, columns) else "Part of the true image"
        truth = self.near(self.truth) if self.truth.size else self.truth
        pictures = [(f"Input, {columns} × {rows}", self.small), (true, truth), ("", own)]
        pictures = [(title, rgb) for title, rgb in (*pictures, ("Reference", reference)) if rgb.size]
        side = (width - GAP * (len(pictures) - 1)) / (len(pictures) - 0.5)
        placed, top, x = dict[str, Raster](), SIZE + 5, 0.0
        marks = list[Mark]()
        for title, rgb in pictures:
            room = side if placed else side / 2  # the input is small
            wide, tall = (room * min(1.0, one / other) for one, other in (rgb.shape[1::-1], rgb.shape[:2]))
            placed[title] = Raster(rgb, x, top, wide, tall)
            marks += [placed[title], Words(title, x, SIZE, SIZE)]
            x += room + GAP
        small, corner = placed[pictures[0][0]], (self.drawn[0].start, self.drawn[1].start)
        wholes = [small]
        if self.zoom > 1:
            wholes.append(
                placed.setdefault("Result", replace(small, rgb=self.right, y=small.y + small.height + SIZE + 5))
            )
            marks += [wholes[1], Words("Result", small.x, wholes[1].y - 5, SIZE)]
        shown = placed[""]
        edge = shown.x + self.bar * shown.width
        left, right_edge = fitting(self.titles[0], SIZE, 0.5 * shown.width), shown.x + shown.width
        marks.append(Words(left, shown.x, SIZE, SIZE))
        network = fitting(self.titles[1], SIZE, side - font(SIZE).getlength(left) - 6)
        marks.append(Words(network, right_edge, SIZE, SIZE, anchor="end"))
        marks.append(Stroke(((edge, shown.y), (edge, shown.y + shown.height)), "#ffffff", 1.5))
        y = max(each.y + each.height for each in placed.values()) + 5
        for image in wholes if part != (rows, columns) else ():
            first = corner[0] + self.first[0], corner[1] + self.first[1]
            marks += _frame(image, first, part, image.rgb.shape[1] / columns, "#ffffff")[1]
        framed = self.here[0] - corner[0] - 1, self.here[1] - corner[1] - 1
        if true in placed:
            marks += _frame(placed[true], framed)[1]
        start, outlines = _frame(shown, framed)
        marks += outlines
        if "Reference" in placed:
            end, outlines = _frame(placed["Reference"], (self.taken[0] - 1, self.taken[1] - 1))
            marks += [*outlines, *_arrow(start, end), *_scale(placed["Reference"].x, y, side, "relevance", *RELEVANCE)]
        if self.over is not None:
            marks += _scale(shown.x, y, side, self.over_words, 0.0, self.over_top)
        y += 3 * SIZE + 6
        for line in wrapped(self.sentence(), SIZE, width, 3):
            marks.append(Words(line, 0.0, y, SIZE, PALE))
            y += SIZE + 4
        return marks + self._patches(y), y + PATCH + 2 * SIZE + 6

    def _patches(self, y: float) -> list[Mark]:
        """What the chosen place is in each picture, and the candidates of the reference."""
        own = [
            (self.titles[0], self.left),
            ("result", self.right),
            ("no reference", self.without),
            ("true", self.truth),
        ]
        drawn = [(words, patch(rgb, self.here)) for words, rgb in own if rgb.size]
        apart = len(drawn)
        if self.reference.size:
            drawn += [(f"{value:.2f}", patch(self.reference, place)) for place, value in self.candidates()]
        marks = list[Mark]()
        if self.reference.size:
            marks.append(Words(LIKE, apart * (PATCH + 14) + 10, y + 5, 7.5, INK))
            y += SIZE
        for index, (words, rgb) in enumerate(drawn):
            x = index * (PATCH + 14) + (10 if index >= apart else 0)
            marks += [
                Raster(rgb, x, y, PATCH, PATCH),
                Words(words, x + PATCH / 2, y + PATCH + SIZE, 7.5, INK, "middle"),
            ]
            if index == apart:
                marks.append(Outline(x, y, PATCH, PATCH, LINE, 2.0))
        return marks


def halves(left: Pixels, right: Pixels, bar: float) -> Pixels:
    """The one left of the bar, the other right of it."""
    edge = round(bar * left.shape[1])
    return np.concatenate([left[:, :edge], right[:, edge:]], 1)


def patch(rgb: Pixels, place: Place) -> Pixels:
    """3 × 3 places around one; at the border those inside that are nearest."""
    row, column = (max(0, min(CELL * (at - 1), side - 3 * CELL)) for at, side in zip(place, rgb.shape[:2], strict=True))
    return rgb[row : row + 3 * CELL, column : column + 3 * CELL]


def around(place: Place, size_hw: Place, part_hw: Place) -> Part:
    """Rows and columns of a part around a place; they do not reach over the border."""
    rows, columns = (
        slice(start := min(max(at - side // 2, 0), max(length - side, 0)), min(start + side, length))
        for at, side, length in zip(place, part_hw, size_hw, strict=True)
    )
    return rows, columns


def _frame(
    of: Raster, first: Place, size_hw: Place = (3, 3), cell: float = CELL, colour: str = LINE
) -> tuple[Box, list[Mark]]:
    """((middle x, y, half of its width and height), its outlines) of so many places, `cell` pixels wide."""
    (row, column), (rows, columns), (tall, wide) = first, size_hw, of.rgb.shape[:2]
    high, broad = cell * of.height / tall, cell * of.width / wide
    half_width, half_height = columns * broad / 2, rows * high / 2
    x, y = of.x + column * broad, of.y + row * high
    drawn = [Outline(x, y, 2 * half_width, 2 * half_height, *ink) for ink in (INKS[0], (colour, INKS[1][1]))]
    return (x + half_width, y + half_height, half_width, half_height), list[Mark](drawn)


def _arrow(start: tuple[float, ...], end: tuple[float, ...]) -> list[Mark]:
    """From the edge of the one frame to the edge of the other: texture comes the other way, from the reference."""
    (x0, y0, w0, h0), (x1, y1, w1, h1) = end, start
    dx, dy = x1 - x0, y1 - y0
    along = hypot(dx, dy) or 1.0

    def left(w: float, h: float) -> float:
        return min(w / abs(dx) if dx else 1.0, h / abs(dy) if dy else 1.0)

    a, b = left(w0, h0), 1 - left(w1, h1)
    tip, ux, uy = (x0 + b * dx, y0 + b * dy), 6 * dx / along, 6 * dy / along
    lines = [((x0 + a * dx, y0 + a * dy), tip)]
    lines += [((tip[0] - ux + side * uy / 2, tip[1] - uy - side * ux / 2), tip) for side in (-1, 1)]
    return [Stroke(line, ink, thick) for ink, thick in INKS for line in lines]


def _scale(x: float, y: float, width: float, words: str, low: float, high: float) -> list[Mark]:
    left = [Words(f"{low:.2f}".replace("-", "−"), x, y + SIZE, 7.5, PALE), Words(words, x, y + 2 * SIZE + 2, 7.5, PALE)]
    right = Words(f"{high:.2f}", x + width, y + SIZE, 7.5, PALE, "end")
    return [Raster(colours()[None], x + 22, y + 3, width - 44, 6.0), *left, right]
