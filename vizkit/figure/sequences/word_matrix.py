"""A small matrix with words on its sides and, where wanted, the sum of every row beside it.

HTML, not a plot: a text may hold a word twice, cells say their numbers themselves, and it reads as a table.
"""

from collections.abc import Sequence
from html import escape

import numpy as np
from jaxtyping import Bool, Float

from vizkit.figure.palette import CLASSES, faint

__all__ = ["BLUE", "GREEN", "ORANGE", "word_matrix"]

BLUE, GREEN, ORANGE = "#3b82f6", "#10b981", "#f59e0b"
"""Of an encoder, a decoder and what looks from one at the other, as on the view Translate."""
WITH_NUMBERS = 12
OFF = 0.005  # a sum farther from 1 is no rounding


def word_matrix(
    values: Float[np.ndarray, "query key"],
    queries: Sequence[str],
    keys: Sequence[str],
    *,
    colour: str = BLUE,
    allowed: Bool[np.ndarray, "query key"] | None = None,
    hidden: str = "",
    sums: bool = False,
    title: str = "",
) -> str:
    """HTML of a table, queries down, keys across, the strongest colour for the largest number.

    Negative numbers are scores, drawn from the lowest up. `allowed`: where not, a cell is hatched and says `hidden`.
    `sums`: every row's sum beside it, red where it is not 1. Up to 12 columns have their numbers in the cells, all in
    their titles.
    """
    seen = values if allowed is None else values[allowed]
    low, top = min(float(seen.min(initial=0)), 0.0), float(seen.max(initial=0))
    numbers, tall = len(keys) <= WITH_NUMBERS, max(map(len, keys), default=0) > 2 and len(keys) > 7
    head = "".join(f'<th scope="col"><span>{escape(key)}</span></th>' for key in keys)
    rows = []
    for i, query in enumerate(queries):
        cells = []
        for j, key in enumerate(keys):
            value, words = float(values[i, j]), f"{query} → {key}: "
            if allowed is not None and not allowed[i, j]:
                cells.append(f'<td class="hidden" title="{escape(words)}masked">{hidden}</td>')
                continue
            share = (value - low) / (top - low) if top > low else 0.0
            text = short(value) if numbers else ""
            shade = faint(colour, round(0.85 * share, 3))
            cells.append(f'<td style="background:{shade}" title="{escape(words)}{value:.4g}">{text}</td>')
        rows.append(f'<tr><th scope="row">{escape(query)}</th>{"".join(cells)}{_sum(values[i], sums)}</tr>')
    last = '<th scope="col"><span>sum</span></th>' if sums else ""
    kind = f"word-matrix{'' if numbers else ' many'}{' tall' if tall else ''}"
    return (
        f"<style>{STYLE}</style>"
        f'<table class="{kind}"><caption>{escape(title)}</caption><tr><td></td>{head}{last}</tr>{"".join(rows)}</table>'
    )


def _sum(row: Float[np.ndarray, " key"], wanted: bool) -> str:
    if not wanted:
        return ""
    total = float(row.sum())
    right = abs(total - 1) < OFF
    colour = CLASSES[2] if right else CLASSES[5]
    return f'<td class="sum" style="border-color:{colour}">{"1" if right else short(total)}</td>'


def short(value: float) -> str:
    """.268, 1, −1.32: as narrow as three digits allow."""
    digits = 2 if value < 0 or value >= 1 else 3
    text = f"{abs(value):.{digits}f}"
    if float(text) in (0, 1):
        return "0" if float(text) == 0 else "−1" if value < 0 else "1"
    return ("−" if value < 0 else "") + (text[1:] if text.startswith("0") and value >= 0 else text)


STYLE = (
    ".word-matrix{border-collapse:separate;border-spacing:2px;width:100%;table-layout:fixed;max-width:46rem;"
    "font-variant-numeric:tabular-nums}"
    ".word-matrix caption{text-align:left;font-size:.88rem;padding:0 0 .3em;opacity:.85}"
    ".word-matrix td,.word-matrix th{border:0;padding:0;height:1.75rem;text-align:center;font-size:.8rem;"
    "font-weight:400;overflow:hidden;border-radius:3px;background:rgba(128,132,150,.08)}"
    ".word-matrix th{background:none;font-size:.78rem;font-weight:600}"
    ".word-matrix th[scope=row],.word-matrix tr:first-child td:first-child{width:5.6em;text-align:right;"
    "padding-right:.5em;background:none;white-space:nowrap;text-overflow:ellipsis}"
    ".word-matrix td.hidden{opacity:.75;background:repeating-linear-gradient(45deg,rgba(128,132,150,.28) 0 2px,"
    "transparent 2px 6px)}"
    ".word-matrix td.sum{background:none;font-weight:600;border-left:4px solid}"
    ".word-matrix.tall tr:first-child th span{writing-mode:vertical-rl;transform:rotate(180deg);max-height:5.5em}"
    ".word-matrix.tall tr:first-child th{height:5.6em;vertical-align:bottom}"
    ".word-matrix.many td,.word-matrix.many th[scope=row]{height:1.1rem;font-size:.7rem}"
    ".word-matrix.many{border-spacing:1px}"
    "@media(max-width:640px){.word-matrix td,.word-matrix th{font-size:.66rem}.word-matrix th[scope=row],"
    ".word-matrix tr:first-child td:first-child{width:5em}}"
)
