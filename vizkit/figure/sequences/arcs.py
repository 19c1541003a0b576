"""A source and what was written from it, on paper: lines between words that look at one another, and what else could
have been written, as the canvas `texts/translate.js` draws them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np
from jaxtyping import Float

from vizkit.figure.saved.plate import INK, PALE, Drawn, Mark, Outline, Raster, Stroke, Words, fitting
from vizkit.figure.sequences.word_matrix import BLUE, GREEN, ORANGE, inked, on_white
from vizkit.percent import in_percent

ROW, SIZE, FAINT = 15.0, 9.0, 0.03
FOCUS, WRONG = "#4338ca", "#dc2626"
CURVE = np.linspace(0, 1, 24)[:, None]
Weights = Float[np.ndarray, "_ _"]


@dataclass(frozen=True, eq=False)
class Arcs:
    """`written` begins with what the first word is written after. `cross`: of written words, from the first, at the
    source; `encoder`: the source at itself; `decoder`: of written words at those before; None where there is none.
    `focus`: the written word whose lines are strong, from 1; `top`: what could stand there, with probabilities;
    `right`: what each of `written` should be, "" where nobody knows, and what differs is red."""

    source: Sequence[str]
    written: Sequence[str]
    cross: Weights | None
    encoder: Weights | None
    decoder: Weights | None
    focus: int
    top: Sequence[tuple[str, float]]
    right: Sequence[str] = ()

    def marks(self, width: float) -> Drawn:
        room, word, at = 0.1 * width, 0.16 * width, self.focus - 1
        right = 0.68 * width
        begin, end = room + word + 3, right - word - 3
        lines: list[tuple[bool, Mark]] = []
        if self.cross is not None:
            for q, row in enumerate(self.cross[: len(self.written) - 1]):
                for k, weight in enumerate(row.tolist()):
                    way = ((end, y(q + 1)), ((begin + end) / 2, y(q + 1)), ((begin + end) / 2, y(k)), (begin, y(k)))
                    lines += line(way, ORANGE, weight, q == at)
        if self.encoder is not None:
            for q, k in np.ndindex(self.encoder.shape):
                if q != k:
                    lines += line(bow(room - 3, q, k, -room), BLUE, float(self.encoder[q, k]), False)
        if self.decoder is not None:
            for q, row in enumerate(self.decoder[: len(self.written) - 1]):
                for k, weight in enumerate(row[: q + 1].tolist()):
                    lines += line(bow(right + 3, q + 1, k, room), GREEN, weight, q == at)
        marks = [mark for strong in (False, True) for own, mark in lines if own is strong]
        marks += [Words("Source", room, SIZE, SIZE, PALE), Words("Written", right - word, SIZE, SIZE, PALE)]
        for place, text in enumerate(self.source):
            marks += box(room, place, word, text, ORANGE, None if self.cross is None else float(self.cross[at, place]))
        for place, (text, right_word) in enumerate(zip_longest(self.written, self.right, fillvalue="")):
            looked = None if self.decoder is None or place > at else float(self.decoder[at, place])
            wrong = right_word not in ("", text)
            shown, ink = (f"{text} ≠ {right_word}", WRONG) if wrong else (text, INK)
            marks += box(right - word, place, word, shown, GREEN, looked, ink)
        marks.append(Outline(right - word, y(self.focus) - ROW / 2 + 1, word, ROW - 2, FOCUS, 1.5))
        marks += self.answers(right + room + 6, width)
        return marks, y(max(len(self.source), len(self.written), len(self.top) + 1))

    def answers(self, left: float, width: float) -> Iterator[Mark]:
        """The probabilities of what could stand at the word in focus."""
        yield Words(f"Word {self.focus}: probabilities", left, SIZE, SIZE, PALE)
        for place, (text, probability) in enumerate(self.top):
            wide, top = width - left, y(place) - ROW / 2 + 1
            yield cell(left, top, wide, on_white(FOCUS, 0.06))
            yield cell(left, top, max(1.0, probability * wide), on_white(FOCUS, 0.32))
            yield Words(fitting(text, SIZE, wide - 40), left + 4, y(place) + 3, SIZE)
            yield Words(in_percent(probability), width - 4, y(place) + 3, SIZE, INK, "end")


def y(row: int) -> float:
    return SIZE + 6 + ROW * (row + 0.5)


def bow(x: float, a: int, b: int, room: float) -> tuple[tuple[float, float], ...]:
    """The corners of a curve beside a column, the farther out the more words it passes."""
    out = x + np.sign(room) * min(abs(room) - 4, 8 + 5 * abs(a - b)) * 4 / 3
    return (x, y(a)), (out, y(a)), (out, y(b)), (x, y(b))


def line(corners: Sequence[tuple[float, float]], ink: str, weight: float, strong: bool) -> list[tuple[bool, Mark]]:
    """A cubic curve, as strong as the weight; none where it is faint."""
    if weight <= FAINT:
        return []
    ends = np.array(corners)
    shares = np.hstack([(1 - CURVE) ** 3, 3 * CURVE * (1 - CURVE) ** 2, 3 * CURVE**2 * (1 - CURVE), CURVE**3])
    colour = inked(ink, 0.2 + 0.8 * weight if strong else 0.35 * weight)
    points = tuple((float(a), float(b)) for a, b in shares @ ends)
    return [(strong, Stroke(points, colour, 0.6 + (3.0 if strong else 0.9) * float(weight)))]


def cell(x: float, top: float, width: float, colour: tuple[int, int, int]) -> Raster:
    return Raster(np.array([[colour]], np.uint8), x, top, width, ROW - 2)


def box(
    x: float, place: int, width: float, text: str, ink: str, share: float | None, written: str = INK
) -> Iterator[Mark]:
    """A word in the colour `written` on a bar as long as it is looked at."""
    top = y(place) - ROW / 2 + 1
    yield cell(x, top, width, on_white(FOCUS, 0.06))
    if share is not None and share > 0.005:
        yield cell(x, top, max(1.5, width * min(1.0, float(share))), on_white(ink, 0.5))
    yield Words(fitting(text, SIZE, width - 26), x + 4, y(place) + 3, SIZE, written)
    if share is not None and share >= 0.095:
        room = width * (share if 0.7 < share < 0.95 else 1)  # inside its bar or beside it
        yield Words(f"{share:.2f}".removeprefix("0"), x + room - 3, y(place) + 3, SIZE - 1, PALE, "end")
