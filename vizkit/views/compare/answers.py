"""What every model says of several images, who is right, and where the models differ."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations, zip_longest

import torch
from torch import Tensor

from vizkit.analysis.comparison.class_names import Agreed, agreeing
from vizkit.analysis.comparison.disagreement import divergences, groups, overlaps
from vizkit.analysis.remarks.answers import agreement, right_on
from vizkit.analysis.remarks.remark import joined
from vizkit.figure.class_bars import Answer
from vizkit.figure.palette import OTHERS, class_colours
from vizkit.heads import LIKENESS, SOFTMAX
from vizkit.image import ImageError
from vizkit.models import ModelError
from vizkit.traces import NotApplicable, TraceError
from vizkit.views.blocks import first_said
from vizkit.views.compare.images import truth_of
from vizkit.views.subject import Subject

REFUSALS = NotApplicable, TraceError, ModelError, ImageError
"""What a model says in the place of an answer or of a map, where others stand beside it."""
BARS = 5


def answer(of: Subject) -> Tensor | str:
    """What the model returns, (label), on the CPU; or a sentence why it says nothing."""
    try:
        return of.seen.logits
    except REFUSALS as sentence:
        return str(sentence)


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
            return self.nearest(logits)[:BARS]
        return [] if isinstance(logits, str) else self.of[place].loaded.head.top(logits, BARS)

    def nearest(self, likenesses: Tensor) -> list[tuple[int, float]]:
        """(image, likeness) of all others, the most like this one first."""
        order = likenesses.argsort(descending=True).tolist()
        return [(at, float(likenesses[at])) for at in order if self.images[at] != self.name]

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
        named = [
            (row.name, {self.names[at]: self.agreed.names[label] for at, label in row.first.items()})
            for row in self.rows
        ]
        image = "image" if len(known) == len(self.rows) else "labelled image"
        return first_said(right_on(known, image), agreement(named)) or self.surest

    @property
    def surest(self) -> str:
        name, head = self.names[0], self.of[0].loaded.head
        if head is LIKENESS:
            return next(filter(None, map(self.among, self.rows)), "") or (
                f"{name} gives {head.gives}: choose a second image to compare this one with."
            )
        said = ((row.name, *bars[0]) for row in self.rows if (bars := self.bars(row, 0)))
        return next((f"{name} says of “{image}”: {label}, {head.text(value)}." for image, label, value, _ in said), "")

    def among(self, row: Row) -> str:
        """To the first model, which has no classes, the nearest and the farthest of the other images; "" without."""
        logits = row.answers[0]
        others = [] if isinstance(logits, str) else row.nearest(logits)
        if not others:
            return ""
        ends = [f"“{row.images[at]}” ({LIKENESS.text(value)})" for at, value in (others[0], others[-1])]
        if len(others) == 1:
            return f"To {self.names[0]} “{row.name}” and the only other image, {ends[0]}, are so much alike."
        what = f"of the {len(others)} other images {ends[0]} is the nearest to “{row.name}”, {ends[1]} the farthest"
        return f"To {self.names[0]}, {what}."

    def who(self, row: Row) -> Iterator[str]:
        """Who agrees on an image."""
        same, said = groups(dict(row.first)), []
        for group in same:
            everybody = "Both agree" if len(group) == 2 else f"All {len(group)} agree"
            names = everybody if len(same) == 1 else joined([self.names[at] for at in group])
            mark = {None: "", True: " ✓", False: " ✗"}[row.right(group[0])]
            said.append(f"{names}: {self.agreed.names[row.first[group[0]]]}{mark}")
        yield from ["They disagree", *said] if row.differ else said

    def unmatched(self) -> Iterator[str]:
        """Which models give no classes, and which pairs have a part of their classes in common by name, or none."""
        for each in self.of:
            if not each.loaded.head.exclusive and len(self.of) > 1:
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

    def shown(self, row: Row, place: int) -> tuple[Answer, ...]:
        """As they stand beside a map, the first marked where it is known whether it is right; images, which are no
        answers, under a head that says so."""
        head, right, bars = row.of[place].loaded.head, row.right(place), self.bars(row, place)
        over = (Answer("most alike images", 0.0, OTHERS, "cosine"),) if head is LIKENESS and bars else ()
        return *over, *(
            Answer(name, max(0.0, value) if head.bounded else 0.0, colour, head.text(value), None if at else right)
            for at, (name, value, colour) in enumerate(bars)
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
    def arrays(self) -> dict[str, list]:
        """Of every model the names of the images that it answers, and what it returns, (image, label)."""
        every: dict[str, list] = {}
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
