"""Predictions: what every model says of several images, who is right, and where the models differ."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import combinations, zip_longest
from typing import Any, Literal

import torch
from torch import Tensor

from vizkit.analysis.comparison.class_names import Agreed, agreeing
from vizkit.analysis.comparison.disagreement import divergences, groups, overlaps
from vizkit.analysis.remarks.answers import agreement, right_on
from vizkit.analysis.remarks.remark import joined
from vizkit.figure.class_bars import Axis, ClassBars
from vizkit.figure.palette import class_colours
from vizkit.geometry import in_shares
from vizkit.heads import LIKENESS, SOFTMAX
from vizkit.image import ImageError, data_url
from vizkit.models import ModelError
from vizkit.traces import NotApplicable, TraceError
from vizkit.views.blocks import (
    Bars,
    Blocks,
    Canvas,
    Columns,
    Download,
    Heading,
    Line,
    Numbers,
    Picture,
    Said,
    Table,
    first_said,
)
from vizkit.views.compare.images import OfImages, known, truth_of
from vizkit.views.controls import choice, switch
from vizkit.views.rules import one_of
from vizkit.views.subject import Subject
from vizkit.views.view import How, View
from vizkit.writing import csv_rows

CHOSEN, DISAGREEING = "as chosen", "where they disagree first"
BARS = 5
THUMBNAIL_PX = 256


class Predictions(OfImages, View):
    """What every model says of several images, and where the models differ."""

    order: Literal["as chosen", "where they disagree first"] = choice("Order", (CHOSEN, DISAGREEING), more=True)
    differ: bool = switch("Only where they differ", more=True)

    together = True
    overlays = False
    how = How(
        "A row is an image, a column a model: its likeliest classes. Bars of one colour are one class, in all rows, "
        "also where the models' lists of classes differ. ✓ and ✗ say whether the first class is what the image shows, "
        "where that is known. A click on an image makes it the sidebar's.",
        r"\mathrm{JSD}(P, Q) = \tfrac12 \sum_c P_c \log_2 \tfrac{2P_c}{P_c + Q_c} + "
        r"\tfrac12 \sum_c Q_c \log_2 \tfrac{2Q_c}{P_c + Q_c}",
        "why a model is right or wrong. The divergence counts only the classes that both models of a pair know by "
        "name, renormalised to sum to 1; pairs that give most of their probability to other classes have none. Names "
        "that only resemble each other are never taken for the same.",
        "Lin 1991, Divergence measures based on the Shannon entropy, IEEE Trans. Inf. Theory 37; 0 bits: the same "
        "probabilities, 1 bit: no class in common",
    )

    def title(self, of: Sequence[Subject]) -> str:
        return "What every model says of the same images"

    def show(self, of: Sequence[Subject]) -> Blocks:
        answers = Answers(self.rows(of))
        rows = answers.rows
        if self.order == DISAGREEING:
            rows = sorted(rows, key=lambda row: (row.differ, row.apart or 0.0), reverse=True)
        if self.differ:
            rows = [row for row in rows if row.differ]
        yield Said(answers.said)
        if rows:
            data = {"models": answers.names, "focus": of[0].image, "rows": [answers.sent(row) for row in rows]}
            tells = {"pick": (one_of([row.name for row in rows]), "image")}
            still = tuple(block for row in rows for block in answers.on_paper(row))
            yield Canvas("vizkit_compare", data, "Likeliest classes of every image by every model", tells, still)
        else:
            yield Line("All models that can be compared give the same first class for every image.")
        yield from map(Line, answers.unmatched())
        yield from known(of)
        if len(answers.rows) > 1 and answers.comparable:
            yield Table(tuple(answers.pairs()), "How often each pair of models agrees, and how far it is apart")
        yield Numbers(answers.arrays)
        yield Download("All answers (CSV)", lambda: csv_rows(answers.listed()).encode())


def answer(of: Subject) -> Tensor | str:
    """What the model returns, (label), on the CPU; or a sentence why it says nothing."""
    try:
        return of.kept("answer", partial(_answer, of))
    except (NotApplicable, TraceError, ModelError, ImageError) as sentence:
        return str(sentence)


def _answer(of: Subject) -> Tensor:
    from vizkit.models.probes.model_functions import logits_of_batch

    with torch.no_grad():
        return logits_of_batch(of.loaded)(of.pixels)[0].cpu()


def likenesses(row: Sequence[Subject], every: Sequence[Sequence[Subject]], place: int) -> Tensor | str:
    """How like the embeddings of all images are to that of the one in `row`, (image), in a model without classes."""
    if len(every) < 2:
        return f"This model gives {row[place].loaded.head.gives}: choose a second image to compare this one with."
    own, others = row[place].embedding, torch.stack([each[place].embedding for each in every])
    return torch.cosine_similarity(own[None], others, dim=-1)


@lru_cache(8)
def agreed(labels: tuple[tuple[str, ...], ...]) -> Agreed:
    return agreeing(labels)


@dataclass(frozen=True, eq=False)
class Row:
    """One image. `answers`: of each model, or its sentence. `first`: the class that each model puts first, of those
    that can be compared with another one; `differ`: whether two of these do. `bits`: how far apart each pair is.
    `images`: the names of all."""

    of: Sequence[Subject]
    images: Sequence[str]
    answers: Sequence[Tensor | str]
    first: Mapping[int, int]
    bits: Mapping[tuple[int, int], float]
    differ: bool

    @property
    def name(self) -> str:
        return called(self.of)

    @property
    def truth(self) -> str:
        """What the image shows, "" where nobody knows."""
        return truth_of(self.name)

    @property
    def apart(self) -> float | None:
        return sum(self.bits.values()) / len(self.bits) if self.bits else None

    def tops(self, place: int) -> list[tuple[int, float]]:
        """The likeliest classes of a model: (its output, value); without classes the other images that are most like
        this one."""
        logits = self.answers[place]
        if not isinstance(logits, str) and self.of[place].loaded.head is LIKENESS:
            order = logits.argsort(descending=True).tolist()
            return [(at, float(logits[at])) for at in order if self.images[at] != self.name][:BARS]
        return [] if isinstance(logits, str) else self.of[place].loaded.head.top(logits, BARS)

    def first_of(self, place: int) -> str:
        """Of a model that answers."""
        return self.label(place, self.tops(place)[0][0])

    def label(self, place: int, output: int) -> str:
        loaded = self.of[place].loaded
        return self.images[output] if loaded.head is LIKENESS else loaded.label(output)

    def right(self, place: int) -> bool | None:
        """Whether the first class is what the image shows; None where nobody knows."""
        known = self.tops(place) and self.truth in self.of[place].loaded.labels
        return self.first_of(place) == self.truth if known else None


class Answers:
    """What models say of images. `names` of the models, `agreed` their classes as one list, `comparable` the pairs of
    which each model puts one class first, and that share classes by name."""

    def __init__(self, subjects: Sequence[Sequence[Subject]]) -> None:
        self.of = subjects[0]
        self.names = [each.name for each in self.of]
        self.images = [called(row) for row in subjects]
        said = [
            [
                likenesses(row, subjects, at) if each.loaded.head is LIKENESS else answer(each)
                for at, each in enumerate(row)
            ]
            for row in subjects
        ]
        counts = [next((len(each) for each in of if not isinstance(each, str)), 0) for of in zip(*said, strict=True)]
        self.agreed = agreed(
            tuple(
                tuple(self.images) if each.loaded.head is LIKENESS else labels_of(each, count)
                for each, count in zip(self.of, counts, strict=True)
            )
        )
        exclusive = {place for place, each in enumerate(self.of) if each.loaded.head.exclusive}
        every = overlaps(self.agreed)
        self.comparable = {pair: places for pair, places in every.items() if set(pair) <= exclusive}
        self.rows = [self._row(row, answers) for row, answers in zip(subjects, said, strict=True)]

    def _row(self, of: Sequence[Subject], answers: Sequence[Tensor | str]) -> Row:
        several = {place for pair in self.comparable for place in pair}
        logits = {at: each for at, each in enumerate(answers) if at in several and not isinstance(each, str)}
        first = {at: self.agreed.of[at][int(each.argmax())] for at, each in logits.items()}
        bits = divergences(self.comparable, {at: SOFTMAX.values(each) for at, each in logits.items()})
        differ = any(first[one] != first[other] for one, other in self.comparable if {one, other} <= set(first))
        return Row(of, self.images, answers, first, bits, differ)

    # ---- words -------------------------------------------------------------------------------------------------------
    @property
    def said(self) -> str:
        """Who is right; where nobody knows, who agrees; of one model alone what it is surest of."""
        firsts = [
            (row.truth, {name: row.first_of(at) for at, name in enumerate(self.names) if row.right(at) is not None})
            for row in self.rows
        ]
        known = [each for each in firsts if each[1]]
        named = [{self.names[at]: self.agreed.names[label] for at, label in row.first.items()} for row in self.rows]
        image = "image" if len(known) == len(self.rows) else "labelled image"
        return first_said(right_on(known, image), agreement(named)) or self.surest

    @property
    def surest(self) -> str:
        name, head = self.names[0], self.of[0].loaded.head
        said = ((row.name, *bars[0]) for row in self.rows if (bars := self.bars(row, 0)))
        if head is LIKENESS:
            words = (
                f"To {name} “{image}” is most like “{label}”, {head.text(value)}." for image, label, value, _ in said
            )
            return next(words, f"{name} gives {head.gives}: choose a second image to compare this one with.")
        return next((f"{name} says of “{image}”: {label}, {head.text(value)}." for image, label, value, _ in said), "")

    def who(self, row: Row) -> Iterator[str]:
        """Who agrees on an image, and how far apart the models are."""
        same, said = groups(dict(row.first)), []
        for group in same:
            everybody = "Both" if len(group) == 2 else f"All {len(group)}"
            names = everybody if len(same) == 1 else joined([self.names[at] for at in group])
            mark = {None: "", True: " ✓", False: " ✗"}[row.right(group[0])]
            said.append(f"{names}: {self.agreed.names[row.first[group[0]]]}{mark}")
        yield from filter(None, [" · ".join(said)])
        if row.apart is not None:
            mean = ", mean of the pairs" if len(row.bits) > 1 else ""
            yield f"{row.apart:.2f} bit of Jensen–Shannon divergence{mean}"

    def unmatched(self) -> Iterator[str]:
        """Which models give no classes, and which pairs have a part of their classes in common by name, or none."""
        for each in self.of:
            if each.loaded.head is LIKENESS:
                yield (
                    f"{each.name} gives {each.loaded.head.gives}: beside each image stand those whose embeddings are "
                    "most like its own, with the cosine."
                )
            elif not each.loaded.head.exclusive:
                yield f"{each.name} gives {each.loaded.head.gives}: shown beside the others, not compared."
        for pair in combinations([at for at, each in enumerate(self.of) if each.loaded.head.exclusive], 2):
            shared, sizes = len(self.comparable.get(pair, ([],))[0]), [len(self.agreed.of[at]) for at in pair]
            both = joined([self.names[at] for at in pair])
            if not shared:
                yield f"{both} have no classes in common by name and are not compared."
            elif shared < max(sizes):
                yield (
                    f"{both} have {shared:,} classes in common by name, of {sizes[0]:,} and {sizes[1]:,}; only these "
                    "are compared."
                )

    # ---- what is drawn -----------------------------------------------------------------------------------------------
    @cached_property
    def colours(self) -> dict[int, str]:
        """Of every class that is named, in all rows; of very many classes those that are put first come first."""
        tops = [
            [self.agreed.of[at][index] for index, _ in row.tops(at)] for row in self.rows for at in range(len(self.of))
        ]
        named = list(dict.fromkeys(label for rank in zip_longest(*tops) for label in rank if label is not None))
        return dict(zip(named, class_colours(named, len(self.agreed.names)), strict=True))

    def bars(self, row: Row, place: int) -> list[tuple[str, float, str]]:
        """(class, value, colour) of the likeliest."""
        joint = self.agreed.of[place]
        return [(row.label(place, at), value, self.colours[joint[at]]) for at, value in row.tops(place)]

    def sent(self, row: Row) -> dict[str, Any]:
        """As the script reads it."""
        rgb = row.of[0].rgb
        size = rgb.shape[1], rgb.shape[0]
        image, cells = data_url(rgb, THUMBNAIL_PX), [self.cell(row, place) for place in range(len(self.of))]
        return {"name": row.name, "image": image, "size": size, "lines": list(self.who(row)), "cells": cells}

    def cell(self, row: Row, place: int) -> dict[str, Any]:
        """`box`: what the model sees of the image, where that is not all of it."""
        of, head = row.of[place], row.of[place].loaded.head
        if isinstance(said := row.answers[place], str):
            return {"refused": said}
        box = [min(1.0, max(0.0, end)) for end in in_shares(of.box_xyxy, (of.rgb.shape[0], of.rgb.shape[1]))]
        share = (lambda value: max(0.0, value)) if head.bounded else lambda _: 0.0
        bars = [(name, share(value), colour, head.text(value)) for name, value, colour in self.bars(row, place)]
        return {"bars": bars, "box": None if box == [0, 0, 1, 1] else box, "right": row.right(place)}

    def on_paper(self, row: Row) -> Blocks:
        yield Heading(row.name)
        picture = Picture(row.of[0].rgb, row.name, " · ".join(self.who(row)))
        yield Columns(((picture,), *(tuple(self.column(row, place)) for place in range(len(self.of)))))

    def column(self, row: Row, place: int) -> Blocks:
        head, said, bars = row.of[place].loaded.head, row.answers[place], self.bars(row, place)
        yield Heading(self.names[place])
        if head.probable and bars:
            yield Bars(ClassBars(*map(list, zip(*bars, strict=True)), axis=Axis(1.0)), self.names[place])  # pyright: ignore[reportArgumentType]
        else:
            yield from map(
                Line, [said] if isinstance(said, str) else [f"{n} {head.text(value)}" for n, value, _ in bars]
            )

    def pairs(self) -> Iterator[dict[str, str | float | None]]:
        """How often each pair agrees over the images, and how far it is apart."""
        for (one, other), (shared, _) in self.comparable.items():
            both = [row for row in self.rows if {one, other} <= set(row.first)]
            bits = [row.bits[one, other] for row in both if (one, other) in row.bits]
            yield {
                "Pair": f"{self.names[one]} – {self.names[other]}",
                "Same first class": f"{sum(row.first[one] == row.first[other] for row in both)} of {len(both)}",
                "Divergence, bits": f"{sum(bits) / len(bits):.3f}" if bits else None,
                "Classes in common": f"{len(shared):,}",
            }

    # ---- what is saved -----------------------------------------------------------------------------------------------
    def arrays(self) -> dict[str, Any]:
        """Of every model the names of the images that it answers, and what it returns, (image, label)."""
        every: dict[str, Any] = {}
        for at in range(len(self.of)):
            there = {row.name: each for row in self.rows if not isinstance(each := row.answers[at], str)}
            every |= {f"images_{at + 1}": [*there], f"logits_{at + 1}": [each.numpy() for each in there.values()]}
        return every

    def listed(self) -> Iterator[Mapping[str, object]]:
        """A line for each image, model and class among the likeliest; what is no probability stands in `value`."""
        for row in self.rows:
            for place, each in enumerate(row.of):
                which = {"image": row.name, "model": each.name}
                if isinstance(said := row.answers[place], str):
                    yield which | {"class": said}
                for rank, (name, value, _) in enumerate(self.bars(row, place), 1):
                    share, right = each.loaded.head.quantity, bool(row.truth)
                    known = {"right": name == row.truth} if right else {}
                    yield which | {"rank": rank, "class": name, share: value, "apart_bits": row.apart} | known


def called(row: Sequence[Subject]) -> str:
    """The image of a row."""
    return row[0].image or "the image"


def labels_of(of: Subject, count: int) -> tuple[str, ...]:
    """Names of its outputs; those of a model without names are never taken for another's."""
    labels = of.loaded.labels
    return labels if len(labels) == count or not count else tuple(f"class {at} of {of.name}" for at in range(count))
