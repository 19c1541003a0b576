"""Who taught this?: the training images that speak most for and against an error."""

from collections import Counter
from collections.abc import Sequence
from functools import partial

import numpy as np

from vizkit.analysis.remarks.data_set import shared_mark as of_mark
from vizkit.analysis.remarks.data_set import taught as of_taught
from vizkit.evaluation.data_set.influence import taught
from vizkit.evaluation.data_set.record import Recorded
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Blocks, Heading, Line, Numbers, Said, side_by_side
from vizkit.views.controls import number
from vizkit.views.data_set.recorded import PLANTED, OfData, answer_of, described, grid, read_so
from vizkit.views.distillation.labelled import FOLDER
from vizkit.views.subject import Subject
from vizkit.views.view import How

SHOWN = 6


def errors(of: Sequence[Subject], view: "Taught") -> int:
    found = view.made(of[0]) if of else None
    return max(1, 0 if found is None else len(wrong(found)))


def wrong(found: Recorded) -> np.ndarray:
    """Rows whose answer is wrong, those that no training image is of first by how sure it was."""
    rows = np.flatnonzero(found.known & ~found.right)
    return rows[np.lexsort((-found.probability[rows], found.splits[rows] == "train"))]


class Taught(OfData):
    """Which training images speak most for and against an error of the model."""

    error: int = number("Error", 1, errors, 1, "Of the wrong answers the surest first.", follows=True, key="data_error")

    reads_features = True
    how = How(
        "A training image that pulls the last layer towards what this image's label needs speaks for it, one that "
        "pulls the other way speaks for the error. They stand in the order of the cosine of two gradients of the "
        "loss: how alike both answers are wrong, times how alike their features are. The per cent on a card are not "
        "this cosine but the probability of what the model answers to that image.",
        r"I(z, z') = \cos(p - y,\, p' - y')\;\cos(h, h')",
        "what the layers below learned, or when: only the last layer, as it is now, is asked. A folder's images are "
        "those that were used for training only if you say so by a folder train in it.",
        "Hanawa et al. 2021 (gradient cosine); last layer, one checkpoint, as Pruthi et al. 2020 (TracIn), § 4",
    )

    @property
    def split(self) -> str:
        """Of sets with a training part that one too; a folder is taken as it is."""
        return "" if self.data == FOLDER else "train+test"

    def title(self, of: Subject) -> str:
        return f"Who taught {of.name} this error?"

    def show(self, of: Subject) -> Blocks:
        yield from self.later(of, partial(self.drawn, of))

    def drawn(self, of: Subject, found: Recorded) -> Blocks:
        rows = wrong(found)
        if not found.classifies:
            raise NotApplicable(f"{of.name} gives {of.loaded.head.gives}, so it makes no error that images taught it.")
        if not len(rows):
            raise NotApplicable(f"{of.name} answers every image that it knows the label of right; choose others.")
        row = int(rows[min(self.error, len(rows)) - 1])
        result = taught(found, row)
        against, speaks = result.against(SHOWN).tolist(), result.for_(SHOWN).tolist()
        label, answer = found.labels[found.target[row]], answer_of(found, row)
        labels = [found.labels[found.target[each]] for each in against]
        most = Counter(labels).most_common(1)[0][0] if labels else ""
        said = of_taught(label, answer, most, labels.count(answer), len(labels))
        if found.faults[row].marked:
            said += f" {of_mark(sum(found.faults[each].marked for each in against), len(against))}"
        yield Said(said)
        asked = (Heading("The error"), *grid(of, found, [row], f"The error: {described(found, row)}"))
        both = [
            block
            for title, rows, alt in (
                ("Speak for the error", against, "Images that speak for the error"),
                ("Speak against the error", speaks, "Images that speak for the label"),
            )
            if len(rows)
            for block in (Heading(title), *grid(of, found, rows, alt))
        ]
        yield side_by_side(asked, both, widths=(1, 4))
        train = int((found.splits == "train").sum())
        yield from read_so(found, [row, *against, *speaks])
        every = f"{train or len(found) - 1:,} {'training images' if train else 'other images of the set'}"
        unsure = f" If {found.model} did not learn from them, read “taught” as “would teach”."
        yield Line(f"All {every} were compared.{'' if self.data == PLANTED else unsure}")
        yield from self.notes(found)
        yield Numbers(lambda: {"error": [row], "row": result.rows, "influence": result.influence})
