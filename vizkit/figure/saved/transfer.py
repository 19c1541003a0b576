"""Texture that goes from a reference to a picture that is enlarged: what transfer.js draws, on paper."""

from dataclasses import dataclass
from math import hypot

import numpy as np
from jaxtyping import Float, UInt8

from vizkit.figure.overlay import overlay
from vizkit.figure.palette import colours
from vizkit.figure.saved.plate import INK, PALE, Mark, Outline, Raster, Stroke, Words, fitting, font, wrapped
from vizkit.figure.scales import between
from vizkit.percent import in_percent

RGB = UInt8[np.ndarray, "_row _column 3"]
Place = tuple[int, int]
CELL = 4
"""Pixels of the enlarged picture and of the reference that one place takes."""
MOST = 5  # candidates
SPAN = 0.6  # of relevance, from the first colour to the last
LINE, GAP, SIZE, PATCH = "#f59e0b", 14.0, 9.0, 36.0
OVER, NEAR = 0.82, 0.75  # opacity of what lies over the result, and of the best place of the reference


@dataclass(frozen=True, eq=False)
class Transfer:
    """`small`: what the network gets. `left` and `right`: of the bar, by their `titles`. `truth`: empty where it is not
    known. `at`: the chosen place, `taken`: that of the reference whose texture it takes, `relevance` that of all its
    places. `over`: what is laid over the right one, from 0 to `over_top`, called `over_words`. `says`: with {row},
    {column}, {of_row}, {of_column}, {relevance} and {gate}."""

    small: RGB
    left: RGB
    right: RGB
    reference: RGB
    truth: RGB
    titles: tuple[str, str]
    at: Place
    taken: Place
    relevance: Float[np.ndarray, "_row _column"]
    gate: float
    says: str
    over: Float[np.ndarray, "_of_row _of_column"] | None = None
    over_top: float = 1.0
    over_words: str = ""

    @property
    def bar(self) -> float:
        """Through the chosen place, so that both of its halves are seen."""
        return min(max((self.at[1] + 0.5) * CELL / self.left.shape[1], 0.15), 0.85)

    @property
    def ends(self) -> tuple[float, float]:
        """Of the colours over the reference."""
        low, high = float(self.relevance.min()), float(self.relevance.max())
        return max(low, high - SPAN), high

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
        (row, column), (of_row, of_column) = self.at, self.taken
        words = {"row": row + 1, "column": column + 1, "of_row": of_row + 1, "of_column": of_column + 1}
        return self.says.format(**words, relevance=f"{self.relevance[self.taken]:.2f}", gate=in_percent(self.gate))

    def marks(self, width: float) -> tuple[list[Mark], float]:
        """From the top left, and how high they are."""
        right = self.right
        if self.over is not None:
            right = overlay(right, self.over, _box(right), scale=between(0.0, self.over_top), floor=OVER, ceiling=OVER)
        own = halves(self.left, right, self.bar)
        low, high = self.ends
        reference = overlay(
            self.reference, self.relevance, _box(self.reference), scale=between(low, high), floor=0.0, ceiling=NEAR
        )
        rows, columns = self.small.shape[:2]
        pictures = [(f"Input, {rows} × {columns}", self.small), ("True image", self.truth)]
        pictures = [(title, rgb) for title, rgb in (*pictures, ("", own), ("Reference", reference)) if rgb.size]
        side = (width - GAP * (len(pictures) - 1)) / (len(pictures) - 0.5)
        placed, top, x = list[Raster](), SIZE + 5, 0.0
        for index, (_, rgb) in enumerate(pictures):
            room = side if index else side / 2  # the input is small
            wide, tall = (room * min(1.0, one / other) for one, other in (rgb.shape[1::-1], rgb.shape[:2]))
            placed.append(Raster(rgb, x, top, wide, tall))
            x += room + GAP
        marks: list[Mark] = [*placed]
        marks += [Words(title, each.x, SIZE, SIZE) for (title, _), each in zip(pictures, placed, strict=True) if title]
        _, *before, shown, other = placed
        edge = shown.x + self.bar * shown.width
        left = fitting(self.titles[0], SIZE, 0.5 * side)
        marks.append(Words(left, shown.x, SIZE, SIZE))
        marks.append(
            Words(
                fitting(self.titles[1], SIZE, side - font(SIZE).getlength(left) - 6),
                shown.x + shown.width,
                SIZE,
                SIZE,
                anchor="end",
            )
        )
        marks.append(Stroke(((edge, shown.y), (edge, shown.y + shown.height)), "#ffffff", 1.5))
        for each in before:
            marks += _frame(each, self.at)[1]
        (start, first), (end, last) = _frame(shown, self.at), _frame(other, self.taken)
        marks += [*first, *last, *_arrow(start, end)]
        y = max(each.y + each.height for each in placed) + 5
        marks += _scale(other.x, y, side, "relevance", low, high)
        if self.over is not None:
            marks += _scale(shown.x, y, side, self.over_words, 0.0, self.over_top)
        y += 3 * SIZE + 6
        for line in wrapped(self.sentence(), SIZE, width, 3):
            marks.append(Words(line, 0.0, y, SIZE, PALE))
            y += SIZE + 4
        return marks + self._patches(y), y + PATCH + SIZE + 6

    def _patches(self, y: float) -> list[Mark]:
        """What the chosen place is in each picture, and the candidates of the reference."""
        own = [(self.titles[0], self.left), ("result", self.right), ("true", self.truth)]
        drawn = [(words, patch(rgb, self.at)) for words, rgb in own if rgb.size]
        apart = len(drawn)
        drawn += [(f"{value:.2f}", patch(self.reference, place)) for place, value in self.candidates()]
        marks = list[Mark]()
        for index, (words, rgb) in enumerate(drawn):
            x = index * (PATCH + 14) + (10 if index >= apart else 0)
            marks += [
                Raster(rgb, x, y, PATCH, PATCH),
                Words(words, x + PATCH / 2, y + PATCH + SIZE, 7.5, INK, "middle"),
            ]
            if index == apart:
                marks.append(Outline(x, y, PATCH, PATCH, LINE, 2.0))
        return marks


def halves(left: RGB, right: RGB, bar: float) -> RGB:
    """The one left of the bar, the other right of it."""
    edge = round(bar * left.shape[1])
    return np.concatenate([left[:, :edge], right[:, edge:]], 1)


def swiped(left: RGB, right: RGB, titles: tuple[str, str], width: float) -> tuple[list[Mark], float]:
    """Two pictures of one size and a bar in the middle, for paper."""
    tall, top = width * left.shape[0] / left.shape[1], SIZE + 5
    marks: list[Mark] = [Raster(halves(left, right, 0.5), 0.0, top, width, tall)]
    marks.append(Stroke(((width / 2, top), (width / 2, top + tall)), "#ffffff", 2.0))
    marks += [Words(titles[0], 0.0, SIZE, SIZE), Words(titles[1], width, SIZE, SIZE, anchor="end")]
    return marks, top + tall


def patch(rgb: RGB, place: Place) -> RGB:
    """3 × 3 places around one; beyond the border the border."""
    framed = np.pad(rgb, ((CELL, CELL), (CELL, CELL), (0, 0)), mode="edge")
    row, column = (CELL * at for at in place)
    return framed[row : row + 3 * CELL, column : column + 3 * CELL]


def _box(rgb: RGB) -> tuple[float, float, float, float]:
    return 0.0, 0.0, float(rgb.shape[1]), float(rgb.shape[0])


def _frame(of: Raster, place: Place) -> tuple[tuple[float, float, float, float], list[Mark]]:
    """((middle x, y, half of its width and height), its outlines) of 3 × 3 places."""
    wide, tall = (
        CELL * length / pixels for length, pixels in ((of.width, of.rgb.shape[1]), (of.height, of.rgb.shape[0]))
    )
    x, y = of.x + (place[1] + 0.5) * wide, of.y + (place[0] + 0.5) * tall
    drawn = [
        Outline(x - 1.5 * wide, y - 1.5 * tall, 3 * wide, 3 * tall, *ink) for ink in (("#000000", 3.0), (LINE, 1.6))
    ]
    return (x, y, 1.5 * wide, 1.5 * tall), list[Mark](drawn)


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
    return [Stroke(line, ink, thick) for ink, thick in (("#000000", 3.0), (LINE, 1.6)) for line in lines]


def _scale(x: float, y: float, width: float, words: str, low: float, high: float) -> list[Mark]:
    left = [Words(f"{low:.2f}".replace("-", "−"), x, y + SIZE, 7.5, PALE), Words(words, x, y + 2 * SIZE + 2, 7.5, PALE)]
    right = Words(f"{high:.2f}", x + width, y + SIZE, 7.5, PALE, "end")
    return [Raster(colours()[None], x + 22, y + 3, width - 44, 6.0), *left, right]
