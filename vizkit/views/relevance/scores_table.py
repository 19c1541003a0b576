"""Scores of many maps as a table: the best first, chance last, with what each column tells."""

from collections.abc import Iterator, Sequence

from vizkit.analysis.trust.table import CHANCE, FIGURES, Row, Summary, signed
from vizkit.analysis.trust.verdict import ERRORS, MARGIN, beyond_chance, marks
from vizkit.views.blocks import Line, Table, Verdict
from vizkit.writing import csv_lines

POINTING = ("pointing", "pointing_strict")  # of one image, hit or miss
SHORT = {
    "pointing": "points at insect",
    "pointing_strict": "exactly",
    "on_thing": "on insect",
    "on_deciding": "on parts",
    "randomisation": "like random weights",
}
ARROWS = {True: " ↑", False: " ↓", None: " → 0"}
METHOD, BEYOND, NOTHING = "method", "better than chance ↑", "no map"


def best_first(rows: Sequence[Row]) -> list[Row]:
    """By their mean difference to chance, chance last; in their own order where nothing is ranked."""
    methods = [row for row in rows if row.method != CHANCE]
    if any(row.rank is not None for row in methods):
        methods.sort(key=lambda row: -(beyond_chance(row) or 0.0))
    return [*methods, *(row for row in rows if row.method == CHANCE)]


def scores_table(rows: Sequence[Row], asked: Sequence[str], pictures: int) -> Table:
    """`asked`: names of FIGURES that have a column even where nothing is measured yet; `pictures`: how many were
    scored."""
    there = [name for name in FIGURES if name in asked or any(name in row.figures for row in rows)]
    ranked = any(row.rank is not None for row in rows)
    lost = any(row.nothing for row in rows)
    lines = tuple(
        {METHOD: row.title}
        | {BEYOND: _beyond(row)}
        | {_column(name): in_words(row.figures.get(name), name) for name in there}
        | ({NOTHING: str(row.nothing or "")} if lost else {})
        for row in rows
    )
    number = {row.method: index for index, row in enumerate(rows)}
    coloured: dict[tuple[int, str], Verdict] = {
        (number[method], _column(name)): mark
        for name in (there if ranked else ())
        for method, mark in marks(rows, name).items()
    }
    helps = {
        BEYOND: "Mean difference to chance over deletion, insertion and ROAD, as far as measured. The rows are in "
        "this order.",
        NOTHING: "Images on which the method gives no map.",
    }
    helps |= {_column(name): f"{FIGURES[name].title.capitalize()}. {FIGURES[name].caveat}" for name in there}
    within = f"{ERRORS:.0f} standard errors" if pictures > 1 else f"{MARGIN}"
    red = f"red: no better than chance, within {within}, or hardly changed by shuffled weights"
    legend = f"blue: best of its column, where few are; {red}; " if ranked else ""
    spread = "mean ± standard deviation, of the difference to chance ± two standard errors; " if pictures > 1 else ""
    caption = f"{spread}{legend}↑ larger is better, ↓ smaller; in brackets the difference to chance, the last row"
    return Table(lines, "Scores of every map, the best first", caption, helps, coloured)


def _column(name: str) -> str:
    figure = FIGURES[name]
    return SHORT.get(name, figure.title) + ARROWS[figure.larger_is_better]


def _beyond(row: Row) -> str:
    gap = None if row.method == CHANCE else beyond_chance(row)
    if gap is None:
        return "0.00" if row.method == CHANCE else ""
    within = "" if row.error is None else f" ± {ERRORS * row.error:.2f}"
    return f"{signed(gap)}{within}"


def in_words(summary: Summary | None, name: str) -> str:
    """The figure, and in brackets its difference to chance; of one image whether it points right."""
    if summary is None:
        return ""
    gain = "" if summary.above_chance is None else f" ({signed(summary.above_chance)})"
    if summary.images > 1:
        return f"{summary.mean:.2f} ± {summary.spread:.2f}{gain}"
    if name in POINTING and summary.chance is not None:
        return "hit" if summary.mean else "miss"
    return f"{summary.mean:.2f}{gain}".replace("-0.00", "0.00").replace("-", "−")


def as_csv(rows: Sequence[Row]) -> bytes:
    parts = ("mean", "spread", "images", "chance", "above_chance")
    lines: list[list[object]] = [["method", "rank", *(f"{name} {part}" for name in FIGURES for part in parts)]]
    for row in rows:
        summaries = [row.figures.get(name) for name in FIGURES]
        numbers = [None if summary is None else getattr(summary, part) for summary in summaries for part in parts]
        lines.append([row.method, row.rank, *numbers])
    return csv_lines(lines).encode()


def caveats(shown: Sequence[Row]) -> Iterator[Line]:
    """A sentence for every figure that was measured."""
    for name, figure in FIGURES.items():
        if any(name in row.figures for row in shown):
            yield Line(f"{figure.title}{ARROWS[figure.larger_is_better]}: {figure.caveat}")
