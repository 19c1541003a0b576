"""Every map of one decision, and what is measured of it: what the views of Relevance share."""

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from vizkit.analysis.attribution.methods import METHODS
from vizkit.datasets import samples
from vizkit.heads import EMBEDDING
from vizkit.scoring import Question, subject_of, truth_of
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Job
from vizkit.views.controls import ControlError, again, several
from vizkit.views.relevance.decision import Decision, classes, classes_by_name, meant
from vizkit.views.relevance.erasing import RANDOM_ORDERS
from vizkit.views.subject import Subject

if TYPE_CHECKING:
    from torch import Tensor

    from vizkit.analysis.attribution.explaining import Explanation
    from vizkit.analysis.trust.scores import Measure, Score
    from vizkit.datasets.insects import Sample
    from vizkit.models import Loaded


TITLES = {name: method.title for name, method in METHODS.items()}
SLOW = tuple(name for name, method in METHODS.items() if method.slow)
STEPS = 20  # in which places are taken away and put back
RACE: "tuple[Measure, ...]" = ("truth", "deletion")
Found = Mapping[str, "Explanation"]
Progress = Callable[[int, int], None]


def features(of: Subject) -> dict[str, int]:
    """Of a model without classes every feature by its name: each can be explained by itself."""
    return classes_by_name(of.opened, of.embedding) if of.opened.head is EMBEDDING else {}


def explained(of: Sequence[Subject]) -> list[str]:
    """What can be explained: classes, and without them the likeness or a single feature."""
    return [*classes(of), *dict.fromkeys(name for each in of for name in features(each))]


def meant_or_feature(of: Sequence[Subject], text: str) -> str:
    """As `meant`; of a model without classes a number is that of a feature."""
    for each in of:
        if (known := features(each)) and (number := re.fullmatch(r"(?:class |feature )?(\d{1,9})", text)):
            if int(number[1]) >= len(known):
                raise ControlError(f"{each.name} has {len(known):,} features, numbered from 0.")
            return [*known][int(number[1])]
    return meant(of, text)


class Explained(Decision):
    """Views of the maps for a class, and of what they are worth."""

    target: str = again(Decision, "target", options=explained, meant=meant_or_feature)
    slow: tuple[str, ...] = several(
        "More maps",
        SLOW,
        "They run the model on changed images, some dozen times each; Stop keeps what is ready.",
        words=TITLES,
        key="slow_maps",
        more=True,
        runs=True,
    )

    def place(self, of: Subject, method: str) -> tuple[str, str]:
        """Where a class activation map is made: as a reader calls the layer, and in the trace; "" before the head."""
        return "", ""

    def answer(self, of: Subject) -> "tuple[Loaded, Tensor]":
        """Of a model without classes its features where one of them is chosen, else its likeness."""
        return (of.opened, of.features) if self.target in features(of) else super().answer(of)

    # ---- maps --------------------------------------------------------------------------------------------------------
    def key(self, of: Subject, method: str) -> tuple[Hashable, ...]:
        """What a map depends on."""
        return (method, self.answer(of)[0].head.name, *self.asked(of), self.place(of, method)[0])

    def explained(self, of: Subject, method: str, progress: Progress | None = None) -> "Explanation | str":
        """The map, or the sentence why there is none."""
        try:
            loaded, layer = self.answer(of)[0], self.place(of, method)[1]
            return of.explanation(method, *self.asked(of), layer, progress, loaded)
        except NotApplicable as sentence:
            return str(sentence)

    def made(self, of: Subject, method: str) -> "Explanation | str":
        return of.kept(self.key(of, method), partial(self.explained, of, method))

    def fast(self, of: Subject) -> "tuple[dict[str, Explanation], dict[str, str]]":
        """(the maps that take no time, why there are no others)."""
        every = {name: self.made(of, name) for name, method in METHODS.items() if not method.slow}
        return (
            {name: found for name, found in every.items() if not isinstance(found, str)},
            {name: found for name, found in every.items() if isinstance(found, str)},
        )

    def slow_job(self, of: Subject, method: str) -> Job:
        return Job(self.key(of, method), f"Computing {TITLES[method]}", partial(self.explained, of, method))

    # ---- what is measured of them ------------------------------------------------------------------------------------
    def chance(self, of: Subject) -> Job:
        """What random orders get on this image, as a Score of no method, and whether maps are ranked."""

        def work(progress: Progress) -> "Score":
            from vizkit.analysis.attribution.subject import cells_of
            from vizkit.analysis.trust.deletion import random_curves
            from vizkit.analysis.trust.scores import Score, undecided

            subject, cells = subject_of(of.loaded, of.rgb, *self.asked(of)), cells_of(of.seen)
            curves = random_curves(subject, cells, RANDOM_ORDERS, STEPS, progress=progress)
            return Score("", chance=curves, undecided=undecided(subject))

        return Job(("chance", *self.asked(of)), "Scoring random orders, to compare with", work)

    def measured(self, of: Subject, methods: Sequence[str], measures: "Sequence[Measure]" = RACE) -> dict[str, Job]:
        """For each method what gives a Score with these measures of its map; the same for all is computed once."""
        again, doing = Again(self, of), "Scoring" if measures == RACE else "More scores of"

        def job(name: str) -> Job:
            key = ("score", *measures, *self.key(of, name))
            return Job(key, f"{doing} {TITLES[name]}", partial(again.score, name, measures))

        return {name: job(name) for name in methods}


@dataclass(frozen=True, eq=False)
class Again:
    """The model, asked again about one decision."""

    view: Explained
    of: Subject

    def score(self, method: str, measures: "Sequence[Measure]", progress: Progress) -> "Score":
        from vizkit.analysis.trust.scores import Score, again_of, score

        of, view = self.of, self.view
        start = now(of, view.chance(of))
        found = of.find(view.key(of, method)) or view.made(of, method)
        if isinstance(found, str):
            return Score(method, notes=(found,), undecided=start.undecided)
        options: dict[str, Any] = {"chance": start.chance, "steps": STEPS, "progress": progress}
        try:
            if "randomisation" in measures:
                options["randomised"] = self._forgotten(method, progress)
            if "sensitivity" in measures:
                options["again"] = again_of(method, self._case())
        except NotApplicable as sentence:
            return Score(method, notes=(str(sentence),), undecided=start.undecided)
        subject = subject_of(of.loaded, of.rgb, *view.asked(of))
        truth = truth_of(of.loaded, drawn_insect(of))
        return replace(score(found, subject, truth, measures=measures, **options), undecided=start.undecided)

    def _forgotten(self, method: str, progress: Progress) -> "Explanation":
        """The same method on random weights."""
        question = self.of.kept(("shuffled", *self.view.asked(self.of)), self._shuffled)
        try:
            return question.explain(method, progress)
        except NotApplicable as sentence:
            raise NotApplicable(f"With shuffled weights: {sentence}") from None

    def _shuffled(self) -> Question:
        from vizkit.models.probes.model_functions import randomised

        return Question.of(randomised(self.of.loaded), self.of.rgb, *self.view.asked(self.of))

    def _case(self) -> Any:
        from vizkit.analysis.trust.scores import Case
        from vizkit.models import families

        loaded, (target, against) = self.of.loaded, self.view.asked(self.of)
        if against is not None:
            raise NotApplicable("Sensitivity is measured for one class, not for the difference of two.")
        question = Question.of(loaded, self.of.rgb, target)
        return Case(
            question.trace,
            question.subject,
            trace_again=lambda pixels: families.trace(loaded, pixels, target=target),
        )


def now(of: Subject, job: Job) -> Any:
    """The result of a job, done here where it is not there."""
    return of.kept(job.key, partial(job.work, lambda done, total: None))


def drawn_insect(of: Subject) -> "Sample | None":
    """The image with its parts where it is one of the drawn insects, as it was drawn."""
    return samples.insect(of.image) if of.image in samples.INSECTS and of.rgb is of.original else None
