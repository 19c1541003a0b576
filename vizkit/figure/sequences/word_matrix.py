"""A small matrix with words on its sides and, where wanted, the sum of every row beside it.

Not a plot: a text may hold a word twice, cells say their numbers themselves, and it reads as a table.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from jaxtyping import Bool, Float, UInt8

from vizkit.figure.palette import CLASSES, faint, rgb_of
from vizkit.figure.saved.plate import INK, Drawn, Mark, Raster, Words, fitting, font, wrapped

BLUE, GREEN, ORANGE = "#3b82f6", "#10b981", "#f59e0b"
"""Of an encoder, a decoder and what looks from one at the other, as on the view Translate."""
WITH_NUMBERS, WITH_COUNTS = 12, 16
SIZE, MASKED = 8.5, (225, 226, 233)  # on paper
NAMED, HEAD, LEAST = 0.4, 110.0, 22.0  # of the width for names of rows; of a name that stands upright; of a column
EM_A_LETTER = 0.6
OFF = 0.005  # a sum farther from 1 is no rounding


@dataclass(frozen=True, eq=False)
class WordMatrix:
    """Queries down, keys across, the strongest colour for the largest number.

    Negative numbers are scores, drawn from the lowest up. `allowed`: where not, a cell is hatched and says `hidden`.
    `sums`: every row's sum beside it, red where it is not 1. `grounds`: the values are counts, whose cells have these
    colours, and 0 says nothing. Up to 12 columns, of counts 16, have their numbers in the cells, all in their titles.
    """

    values: Float[np.ndarray, "query key"]
    queries: Sequence[str]
    keys: Sequence[str]
    colour: str = BLUE
    allowed: Bool[np.ndarray, "query key"] | None = None
    hidden: str = ""
    sums: bool = False
    title: str = ""
    grounds: UInt8[np.ndarray, "query key 3"] | None = None

    @property
    def numbers(self) -> bool:
        return len(self.keys) <= (WITH_NUMBERS if self.grounds is None else WITH_COUNTS)

    @property
    def least(self) -> float:
        """How wide it is on paper so that its names are whole, and its numbers can be read."""
        return max(self._names / NAMED, self._names + len(self.keys) * (LEAST if self.numbers else LEAST / 2))

    @property
    def _names(self) -> float:
        return 4 + max((font(SIZE).getlength(word) for word in self.queries), default=0.0)

    def text(self, value: float) -> str:
        """In a cell."""
        return short(value) if self.grounds is None else f"{value:,.0f}" if value else ""

    def open(self, i: int, j: int) -> bool:
        return self.allowed is None or bool(self.allowed[i, j])

    def shares(self) -> Float[np.ndarray, "query key"]:
        """Of the strongest colour."""
        seen = self.values if self.allowed is None else self.values[self.allowed]
        low, top = min(float(seen.min(initial=0)), 0.0), float(seen.max(initial=0))
        return 0.85 * (self.values - low) / ((top - low) or 1.0)

    def html(self) -> str:
        """A table."""
        tall = max(map(len, self.keys), default=0) > 2 and len(self.keys) > 7
        head = "".join(f'<th scope="col"><span>{escape(key)}</span></th>' for key in self.keys)
        shares, rows = self.shares(), []
        for i, query in enumerate(self.queries):
            cells = []
            for j, key in enumerate(self.keys):
                value, words = float(self.values[i, j]), f"{query} | {key}: "
                if not self.open(i, j):
                    cells.append(f'<td class="hidden" title="{escape(words)}masked">{self.hidden}</td>')
                    continue
                if self.grounds is not None and not value:
                    cells.append("<td></td>")
                    continue
                text = self.text(value) if self.numbers else ""
                shade = f"background:{faint(self.colour, round(float(shares[i, j]), 3))}"
                if self.grounds is not None:  # which are as light on a dark page
                    shade = f"background:rgb{tuple(self.grounds[i, j].tolist())};color:{INK}"
                cells.append(f'<td style="{shade}" title="{escape(words)}{value:.4g}">{text}</td>')
            if self.sums:
                total, colour = _sum(self.values[i])
                cells.append(f'<td class="sum" style="border-color:{colour}">{total}</td>')
            rows.append(f'<tr><th scope="row">{escape(query)}</th>{"".join(cells)}</tr>')
        last = '<th scope="col"><span>sum</span></th>' if self.sums else ""
        kind = f"word-matrix{'' if self.numbers else ' many'}{' tall' if tall else ''}"
        names, heads = (max(map(len, words), default=0) * EM_A_LETTER for words in (self.queries, self.keys))
        room = f"--names:{min(max(names, 5.6), 12):.3g}em;--heads:{min(max(heads, 5.6), 12):.3g}em"
        caption = f"<caption>{escape(self.title)}</caption>" if self.title else ""
        return (
            f"<div><style>{STYLE}</style>"
            f'<table class="{kind}" style="{room}">{caption}<tr><td></td>{head}{last}</tr>{"".join(rows)}</table></div>'
        )

    def marks(self, width: float) -> Drawn:
        """The same on paper, and how high it is. Names of columns that are wider than these stand upright."""
        names = min(NAMED * width, self._names)
        across = (width - names - 2) / (len(self.keys) + (1.2 if self.sums else 0))
        down, marks = min(max(across, 9.0), 15.0), list[Mark]()
        lines = wrapped(self.title, SIZE + 1, width, 3)
        marks += [Words(line, 0.0, (at + 1) * (SIZE + 3), SIZE + 1) for at, line in enumerate(lines)]
        top = (SIZE + 3) * len(lines) + 4
        longest = max((font(SIZE - 1).getlength(key) for key in self.keys), default=0.0)
        upright = longest > across - 1
        head = min(longest, HEAD) if upright else SIZE
        for j, key in enumerate(self.keys):
            at, low = names + (j + 0.5) * across, top + head
            if upright:
                words = Words(fitting(key, SIZE - 1, HEAD), at + 0.36 * SIZE, low, SIZE - 1, upright=True)
            else:
                words = Words(key, at, low, SIZE - 1, INK, "middle")
            marks.append(words)
        top += head + 4
        shares, small = self.shares(), min(SIZE - 1, across / 2.4)
        for i, query in enumerate(self.queries):
            y = top + i * down
            marks.append(Words(fitting(query, SIZE, names - 3), names - 3, y + 0.7 * down, SIZE, INK, "end"))
            for j in range(len(self.keys)):
                x, free = names + j * across, self.open(i, j)
                shade = on_white(self.colour, float(shares[i, j])) if free else MASKED
                shade = shade if self.grounds is None else tuple(self.grounds[i, j])
                marks.append(Raster(np.array([[shade]], np.uint8), x, y, across - 1, down - 1))
                text = self.text(float(self.values[i, j])) if free else self.hidden
                if self.numbers and text:
                    marks.append(Words(text, x + across / 2, y + 0.7 * down, small, INK, "middle"))
            if self.sums:
                text, colour = _sum(self.values[i])
                marks.append(Words(text, width - 1, y + 0.7 * down, small, colour, "end"))
        return marks, top + len(self.queries) * down


def on_white(colour: str, share: float) -> tuple[int, int, int]:
    """A colour of the page as it looks on paper, so strong."""
    share = min(max(share, 0.0), 1.0)
    red, green, blue = (round(255 + share * (part - 255)) for part in rgb_of(colour))
    return red, green, blue


def inked(colour: str, share: float) -> str:
    """The same as text."""
    return "#{:02x}{:02x}{:02x}".format(*on_white(colour, share))


def _sum(row: Float[np.ndarray, " key"]) -> tuple[str, str]:
    """(as it is written, its colour: whether it is 1)."""
    total = float(row.sum())
    return ("1", CLASSES[2]) if abs(total - 1) < OFF else (short(total), CLASSES[5])


def short(value: float) -> str:
    """.268, 1, −1.32: as narrow as three digits allow."""
    digits = 2 if value < 0 or value >= 1 else 3
    text = f"{abs(value):.{digits}f}"
    if float(text) in (0, 1):
        return "0" if float(text) == 0 else "−1" if value < 0 else "1"
    return ("−" if value < 0 else "") + (text[1:] if text.startswith("0") and value >= 0 else text)


STYLE = (
    ".word-matrix{display:table;border-collapse:separate;border-spacing:2px;width:100%;table-layout:fixed;"
    "max-width:46rem;font-variant-numeric:tabular-nums}"
    ".word-matrix caption{text-align:left;font-size:.88rem;padding:0 0 .3em;opacity:.85}"
    ".word-matrix td,.word-matrix th{border:0;padding:0;height:1.75rem;text-align:center;font-size:.8rem;"
    "font-weight:400;overflow:hidden;border-radius:3px;background:rgba(128,132,150,.08)}"
    ".word-matrix th{background:none;font-size:.78rem;font-weight:600}"
    ".word-matrix th[scope=row],.word-matrix tr:first-child td:first-child{width:var(--names);text-align:right;"
    "padding-right:.5em;background:none;white-space:nowrap;text-overflow:ellipsis}"
    ".word-matrix td.hidden{opacity:.75;background:repeating-linear-gradient(45deg,rgba(128,132,150,.28) 0 2px,"
    "transparent 2px 6px)}"
    ".word-matrix td.sum{background:none;font-weight:600;border-left:4px solid}"
    ".word-matrix.tall tr:first-child th span{writing-mode:vertical-rl;transform:rotate(180deg);"
    "max-height:var(--heads)}"
    ".word-matrix.tall tr:first-child th{height:var(--heads);vertical-align:bottom}"
    ".word-matrix.many td,.word-matrix.many th[scope=row]{height:1.1rem;font-size:.7rem}"
    ".word-matrix.many{border-spacing:1px}"
    "@media(max-width:640px){.word-matrix td,.word-matrix th{font-size:.66rem}.word-matrix th[scope=row],"
    ".word-matrix tr:first-child td:first-child{width:5em}}"
)
