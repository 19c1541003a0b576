"""The maps of one model scored over many images, each for its predicted class; what was scored stays when the work is
stopped."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from vizkit.datasets import photographs, samples
from vizkit.datasets.image_set import ImageSet, Source, digest_of
from vizkit.datasets.insects import LABELS
from vizkit.device import cached_property
from vizkit.image import RGB
from vizkit.image import digest_of as digest_of_picture
from vizkit.scoring import case_of, pictures
from vizkit.views.blocks import Blocks, Folded, Job, Later, Line, Said
from vizkit.views.relevance.scores_table import best_first, caveats, scores_table
from vizkit.views.subject import OfModel, Subject

if TYPE_CHECKING:
    from vizkit.analysis.trust.scores import Measure, Score
    from vizkit.analysis.trust.table import Tally
    from vizkit.models import Loaded


DIGITS = [str(digit) for digit in range(10)]
WORDS = {"insects": "newly drawn insects, seen by no bundled model", "digits": "digits of the test split"}
NAMED = {"uploads": "your images", "photographs": "photographs that come with vizkit"}
"""Sets that are images with names."""


@dataclass(frozen=True, eq=False)
class Named(Source):
    """Images by their names; their classes are not known."""

    rgb: Mapping[str, RGB]

    def picture(self, index: int) -> RGB:
        return [*self.rgb.values()][index]

    def place(self, index: int) -> str:
        return [*self.rgb][index]


@dataclass(frozen=True, eq=False)
class Many:
    """`scores`: measures beside the curves. `over`: "insects", "digits", "uploads", or "its kind", what the model
    knows; `images`: how many."""

    of: Subject
    methods: tuple[str, ...]
    scores: tuple[str, ...]
    over: str
    images: int

    @property
    def data(self) -> str:
        if self.over == "its kind":
            known = sorted(self.of.loaded.labels)
            return "digits" if known == DIGITS else "insects" if known == sorted(LABELS) else "photographs"
        return self.over

    @cached_property
    def named(self) -> Mapping[str, RGB]:
        """Images that are here by their names: those of a visitor, or the photographs that come with vizkit."""
        if self.data == "photographs":
            return {name: samples.picture(name) for name in photographs.NAMES[: self.images]}
        return self.of.uploads if self.data == "uploads" else {}

    @property
    def count(self) -> int:
        return len(self.named) if self.data in NAMED else self.images

    @property
    def measures(self) -> "tuple[Measure, ...]":
        truth = ("truth",) if self.data == "insects" else ()
        return (*truth, "deletion", *self.scores)  # pyright: ignore[reportReturnType] - they are measures

    @cached_property
    def jobs(self) -> tuple[Job, ...]:
        named = tuple(map(digest_of_picture, self.named.values()))
        key = ("many", self.data, self.images, named, self.methods, self.measures)
        return tuple(
            Job(OfModel((*key, index)), f"Image {index + 1} of {self.count}", partial(self._scored, index))
            for index in range(self.count)
        )

    # ---- the work ----------------------------------------------------------------------------------------------------
    def _scored(self, index: int, progress: Callable[[int, int], None]) -> "list[Score]":
        from vizkit.analysis.trust.scores import score_case

        again, shuffled = "sensitivity" in self.measures, self.shuffled if "randomisation" in self.measures else None
        case = case_of(self.of.loaded, self.pictures, index, shuffled, again=again)
        return score_case(case, self.methods, measures=self.measures, progress=progress)

    @cached_property
    def pictures(self) -> ImageSet:
        if self.data not in NAMED:
            return pictures(self.of.loaded, self.data, self.images)
        digest = digest_of(*map(digest_of_picture, self.named.values()))
        targets = np.zeros(len(self.named), np.int64)
        return ImageSet(NAMED[self.data], "test", ("unknown",), targets, Named(self.named), digest)

    @cached_property
    def shuffled(self) -> "Loaded":
        from vizkit.models.probes.model_functions import randomised

        return randomised(self.of.loaded)

    # ---- what is seen ------------------------------------------------------------------------------------------------
    def blocks(self) -> Blocks:
        """The button, and what has been scored; other hosts score nothing by themselves."""
        if not self.count:
            yield Line("You have uploaded no images that the maps could be scored over.")
            return
        what = "of your images" if self.data == "uploads" else self.data
        yield Line("One image proves little. Over many the winner has an interval.")
        yield Later(self.of, self.jobs, self.show, f"Score {self.count} {what}", only_asked=True)

    def said(self) -> str:
        """The winner with its interval, of what is there; "" of nothing."""
        found = [done for job in self.jobs if (done := self.of.find(job.key)) is not None]
        if len(found) < 2:
            return ""
        return self.of.kept(OfModel(("many said", self.jobs[0].key, len(found))), partial(verdict_of, found))

    def show(self, results: Mapping[Hashable, Any]) -> Blocks:
        if not results:
            return
        tally = tally_of([*results.values()])
        rows = best_first(tally.rows())
        yield Said(verdict_of([*results.values()]))
        yield scores_table(rows, self.scores, len(results))
        over = (WORDS | NAMED)[self.data]
        yield Line(f"{len(results)} of {self.count} images, each for its predicted class: {over}")
        yield Folded("What each score tells", lambda: caveats(rows))


def tally_of(several: "Sequence[Sequence[Score]]") -> "Tally":
    from vizkit.analysis.trust.table import Tally

    tally = Tally()
    for scores in several:
        tally.add(scores)
    return tally


def verdict_of(several: "Sequence[Sequence[Score]]") -> str:
    from vizkit.analysis.trust.verdict import verdict

    tally = tally_of(several)
    judged = verdict(tally.rows())
    return " ".join(filter(None, (judged.said() if judged else "", tally.said())))
