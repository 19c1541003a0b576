"""What every model answers about every image, and who agrees with whom: the table behind the view Predictions."""

import csv
import io
from dataclasses import dataclass

import streamlit as st

from vizkit.analysis.comparison.class_names import Agreed
from vizkit.analysis.comparison.disagreement import Overlaps, divergences, groups, overlaps
from vizkit.heads import SOFTMAX
from vizkit.image import Picture
from vizkit.models import Loaded
from vizkit.ui.pages.compare import images
from vizkit.ui.pages.compare.images import Answer
from vizkit.ui.plain import plain
from vizkit.ui.session.chosen import bare
from vizkit.ui.session.shown import title

BARS = 5
LETTERS = "ABCD"


@dataclass(frozen=True, eq=False)
class Row:
    """One image. `answers`: of each model, or its sentence. `first`: the class that each model of classes puts first.
    `groups`: those of the same first class, of the models that can be compared. `bits`: how far apart each pair is."""

    name: str
    picture: Picture
    answers: list[Answer | str]
    first: dict[int, int]
    groups: tuple[tuple[int, ...], ...]
    bits: dict[tuple[int, int], float]

    @property
    def apart(self) -> float | None:
        return sum(self.bits.values()) / len(self.bits) if self.bits else None

    def differ(self, comparable: Overlaps) -> bool:
        return any(self.first[a] != self.first[b] for a, b in comparable if a in self.first and b in self.first)


@dataclass(frozen=True, eq=False)
class Table:
    """Models by their source, their classes as one list, which of them share classes, and a row for each image."""

    opened: dict[str, Loaded]
    agreed: Agreed
    comparable: Overlaps
    rows: list[Row]

    @property
    def titles(self) -> list[str]:
        return [title(source) for source in self.opened]


def answered(opened: dict[str, Loaded], pictures: dict[str, Picture]) -> Table:
    answers: dict[str, list[Answer | str]] = {}
    place = st.empty()
    for done, (name, picture) in enumerate(pictures.items()):
        with place, st.spinner(f"{plain(name)}: {done + 1} of {len(pictures)} images …"):
            answers[name] = [images.answer(source, loaded, picture) for source, loaded in opened.items()]
    place.empty()
    counts = {
        source: len(answer.logits)
        for all_of in answers.values()
        for source, answer in zip(opened, all_of, strict=True)
        if isinstance(answer, Answer)
    }
    agreed = images.agreed(opened, counts)
    exclusive = {index for index, loaded in enumerate(opened.values()) if loaded.head.exclusive}
    comparable = {pair: places for pair, places in overlaps(agreed).items() if set(pair) <= exclusive}
    rows = []
    for name, picture in pictures.items():
        logits = {
            index: answer.logits
            for index, answer in enumerate(answers[name])
            if isinstance(answer, Answer) and index in exclusive
        }
        first = {index: agreed.of[index][int(scores.argmax())] for index, scores in logits.items()}
        shares = {index: SOFTMAX.values(scores) for index, scores in logits.items()}
        pairs_here = [pair for pair in comparable if set(pair) <= set(first)]
        compared = {index: label for index, label in first.items() if any(index in pair for pair in pairs_here)}
        rows.append(Row(name, picture, answers[name], first, groups(compared), divergences(comparable, shares)))
    return Table(opened, agreed, comparable, rows)


def letter(row: Row, place: int) -> str:
    """Of this model's answer; none for a model that is not compared."""
    return next((LETTERS[i] for i, group in enumerate(row.groups) if place in group), "")


def as_csv(table: Table) -> str:
    """A line for each image, model and class among the likeliest, or value; `apart_bits` is that of the image.

    What is no probability stands in `value`."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("image", "model", "rank", "class", "probability", "answer", "apart_bits", "value"))
    for row in table.rows:
        for place, (source, loaded) in enumerate(table.opened.items()):
            answer = row.answers[place]
            apart = "" if row.apart is None else f"{row.apart:.6f}"
            if isinstance(answer, str):
                writer.writerow((safe(row.name), bare(source), "", answer, "", "", "", ""))
                continue
            for rank, (index, value) in enumerate(loaded.head.top(answer.logits, BARS)):
                mark, number = letter(row, place) if rank == 0 else "", f"{value:.6g}"
                numbers = (number, mark, apart, "") if loaded.head.probable else ("", mark, apart, number)
                writer.writerow((safe(row.name), bare(source), rank + 1, safe(loaded.label(index)), *numbers))
    return out.getvalue()


def safe(text: str) -> str:
    """A spreadsheet takes a cell that begins so for a formula; a file or class may be called like one."""
    return f"'{text}" if text[:1] in "=+-@\t\r" else text
