"""Suspects: images that somebody should look at before a model learns from them, and what is decided about each."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from vizkit.analysis.remarks import data_set as remarks
from vizkit.datasets.image_set import DatasetError
from vizkit.evaluation.data_set.record import Recorded
from vizkit.evaluation.data_set.suspects import KINDS, Suspect, suspects, suspects_csv
from vizkit.image import data_url, side_of
from vizkit.views.blocks import Blocks, Canvas, Download, Line, Numbers, Picture, Process, Said, in_rows
from vizkit.views.controls import choice, number, text
from vizkit.views.data_set.recorded import PLANTED, SIDE_PX, OfData, Progress, Step
from vizkit.views.distillation.labelled import FOLDER
from vizkit.views.rules import words
from vizkit.views.subject import OfModel, Subject
from vizkit.views.view import How

ALL, AT_ONCE, STILL = "all", 18, 6  # at once, and on paper
NAMES = {ALL: "all kinds", "label": "suspect labels", "copy": "near copies", "outlier": "unlike all others"}
NAMES |= {"dark": "dark", "light": "light", "blurred": "blurred", "size": "odd sizes"}
LONGEST = 8000  # characters of what is decided
KEEP, LEAVE_OUT = "keep", "drop"
STEP = ("suspects",)
PROBES = (
    "Probes are classifiers of the model's features, trained without the image: the less they give to a label, the "
    "earlier it stands."
)


@dataclass(frozen=True)
class Mend:
    """A mended copy to be written: of the set `source`, called `name`, by what is `decided` of images by their
    places, a label or None; `said` counts it. `model`: which is to
    learn from it, by the name that opens it here."""

    source: str
    split: str
    size_px: int
    name: str
    model: str
    decided: tuple[tuple[str, str | None], ...]

    @property
    def said(self) -> str:
        left_out = sum(label is None for _, label in self.decided)
        return remarks.mended(len(self.decided) - left_out, left_out)


def pages(of: Sequence[Subject], view: "Suspects") -> int:
    found = view.made(of[0], *STEP) if of else None
    return max(1, -(-len(view.of_kind(found or ())) // AT_ONCE))


class Suspects(OfData):
    """Images with a doubtful label, near copies, strangers, dark, blurred and oddly sized ones: keep or mend."""

    kind: str = choice("Suspect", tuple(NAMES), words=NAMES, key="data_suspect", listed=True)
    page: int = number("Page of images", 1, pages, 1, follows=True, key="data_page")
    decided: str = text(
        "Decided",
        "",
        "The image's number, what is suspect, and keep, drop or the number of its new label: 12:label:4.",
        longest=LONGEST,
        key="decided",
        inside=True,
    )

    reads_features = True
    how = How(
        "A label is suspect where probes that have not seen the image are surer of another one than is usual of that "
        "one. Copies are alike pixel by pixel, perhaps mirrored; a stranger lies farther from its nearest than three "
        "quartile ranges beyond most. Whatever is decided goes into a table, and no file is changed.",
        r"\hat C_{\tilde y, y^*} = \{x : \tilde y,\ \hat p(y^* \mid x) \ge t_{y^*}\}, \quad t_j = \mathbb{E}_{\tilde y "
        r"= j}\,\hat p(j \mid x)",
        "that a label is wrong: a rare but right image is suspect too, and errors that many images share are not.",
        "Northcutt, Jiang & Chuang 2021 (cleanlab); cleanvision; outliers: Tukey 1977",
    )

    def title(self, of: Subject) -> str:
        return f"Suspects, {NAMES[self.kind]}, as {self.called(of)} sees them"

    def show(self, of: Subject) -> Blocks:
        yield from self.later(of, partial(self.drawn, of), Step(STEP, "Looking for suspects", self.looked_for))

    def looked_for(self, found: Recorded, progress: Progress) -> tuple[Suspect, ...]:
        return suspects(found)

    def of_kind(self, every: Sequence[Suspect]) -> list[Suspect]:
        return [one for one in every if self.kind in (ALL, one.kind)]

    def drawn(self, of: Subject, found: Recorded, every: tuple[Suspect, ...] | None) -> Blocks:
        if every is None:
            return
        own = self.of_kind(every)
        at = AT_ONCE * (min(self.page, max(1, -(-len(own) // AT_ONCE))) - 1)
        counts = {NAMES[kind]: sum(one.kind == kind for one in every) for kind in KINDS}
        yield Said(remarks.suspected(len(found), len({one.row for one in every}), counts))
        wrong = {row for row, fault in enumerate(found.faults) if fault.label is not None}
        copies = {row for row, fault in enumerate(found.faults) if fault.copy}
        labels = judged(wrong, "label", every)
        if wrong or copies:
            yield Line(remarks.planted(labels, judged(copies, "copy", every)))
        known = self.data.partition(":")[0] == "insects"  # drawn, each by its label
        if known and (said := remarks.drawn(labels[2])):
            yield Line(said)
        if len(own) > AT_ONCE:
            which = f"{at + 1} to {min(at + AT_ONCE, len(own))} of {len(own)}"
            yield Line(f"{which}, by kind, the worst of each first.")
        if any(one.kind == "label" for one in own):
            yield Line(PROBES)
        if own:
            warning = remarks.unsure(sum(one.kind == "label" for one in every), labels[2] if wrong else 0)
            yield from self.shown(of, found, own[at : at + AT_ONCE], "" if known else warning)
        elif every:
            yield Line(f"No image is suspect for this: {NAMES[self.kind]}.")
        if self.data in (PLANTED, FOLDER) and (decided := self.mended(found)):
            facts = self.source(of), self.split, side_of(found.needs), found.name, of.source
            yield Process("processes.mended", Mend(*facts, decided))
        yield from self.notes(found)
        yield Download("Suspects and decisions (CSV)", partial(self.table, found, every))
        yield Numbers(lambda: {"row": [one.row for one in own], "score": np.array([one.score for one in own])})

    def shown(self, of: Subject, found: Recorded, some: Sequence[Suspect], warning: str) -> Blocks:
        """`warning`: beside what mends all labels at once; without it that is not offered."""

        def small(row: int) -> str:
            try:
                return of.kept(OfModel(("small", found.digest, row)), lambda: data_url(found.picture(row), SIDE_PX))
            except DatasetError:
                return data_url(found.thumbnails[row])

        rows = [
            {
                "number": one.row + 1,
                "kind": one.kind,
                "pictures": [small(row) for row in (one.row, one.other) if row >= 0],
                "place": found.keys[one.row],
                "label": found.labels[found.target[one.row]],
                "said": one.said,
                "proposal": found.labels[one.proposal] if one.proposal >= 0 else "",
                "label_number": one.proposal + 1,
            }
            for one in some
        ]
        still = [Picture(found.thumbnails[one.row], one.said, f"{found.keys[one.row]}: {one.said}") for one in some]
        yield Canvas(
            "vizkit_suspects",
            {"rows": rows, "decided": self.decided, "longest": LONGEST, "warning": warning},
            f"Suspect images, {NAMES[self.kind]}",
            {"decided": (words(LONGEST), "decided")},
            still=in_rows(still[:STILL], 3),
        )

    def mended(self, found: Recorded) -> tuple[tuple[str, str | None], ...]:
        """What the decisions change, by the places of the images: who is left out for anything has no label."""
        changed: dict[str, str | None] = {}
        for (row, _), what in decisions(self.decided, found):
            place = found.keys[row]
            if what != KEEP:
                changed[place] = None if what == LEAVE_OUT or changed.get(place, "") is None else what
        return tuple(sorted(changed.items()))

    def table(self, found: Recorded, every: Sequence[Suspect]) -> bytes:
        decided = dict(decisions(self.decided, found))
        return suspects_csv(found, every, decided).encode()


def judged(planted: set[int], kind: str, every: Sequence[Suspect]) -> tuple[int, int, int]:
    """(rows of planted faults, how many of them were found, how many others are suspected)."""
    named = [{one.row, one.other if kind == "copy" else one.row} & planted for one in every if one.kind == kind]
    return len(planted), len(set[int]().union(*named)), sum(not rows for rows in named)


def decisions(text: str, found: Recorded) -> Iterator[tuple[tuple[int, str], str]]:
    """((row, kind), what is decided) of "12:label:4 30:copy:drop"; what means nothing here is left out."""
    for part in text.split():
        number, kind, what = (*part.split(":"), "", "")[:3]
        if not (number.isdecimal() and len(number) < 9 and 1 <= int(number) <= len(found) and kind in KINDS):
            continue
        if what.isdecimal() and len(what) < 9 and 1 <= int(what) <= len(found.labels):
            yield (int(number) - 1, kind), found.labels[int(what) - 1]
        elif what in (KEEP, LEAVE_OUT):
            yield (int(number) - 1, kind), what
