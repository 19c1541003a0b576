"""One measure of one map at a time, so that the page shows scores as they come and computes none twice."""

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from vizkit.ui.session.explained import Asked
from vizkit.ui.session.remembered import shelf

if TYPE_CHECKING:
    from torch import Tensor

    from vizkit.analysis.attribution.explaining import Explanation
    from vizkit.analysis.attribution.subject import Progress, Subject
    from vizkit.analysis.trust.deletion import Curves
    from vizkit.analysis.trust.scores import Score
    from vizkit.analysis.trust.truth_score import Truth
    from vizkit.traces import Trace


class Again:
    """The model, asked again about one picture; and the same model with its weights shuffled, once that is wanted."""

    def __init__(self, asked: Asked, trace: "Trace") -> None:
        self.asked, self.trace, self.subject = asked, trace, asked.subject

    @cached_property
    def undecided(self) -> str:
        """Why no map is ranked here; "" where nothing is against it."""
        from vizkit.analysis.trust.scores import undecided

        return undecided(self.subject)

    def score(self, explanation: "Explanation", measure: str, truth: "Truth | None", progress: "Progress") -> "Score":
        """One measure of one map."""
        from vizkit.analysis.trust.scores import Case, Score, again_of, score
        from vizkit.traces import NotApplicable

        case = Case(self.trace, self.subject, trace_again=self.traced)
        options: dict[str, Any] = {}
        try:
            if measure == "deletion":
                options["chance"] = self.chance(explanation, progress)
            elif measure == "randomisation":
                options["randomised"] = self.forgotten(explanation.method, progress)
            elif measure == "sensitivity" and self.asked.against is not None:
                raise NotApplicable("Sensitivity is measured for one class, not for the difference of two.")
            elif measure == "sensitivity":
                options["again"] = again_of(explanation.method, case)
        except NotApplicable as sentence:
            where = "With shuffled weights: " if measure == "randomisation" else ""
            return Score(explanation.method, notes=(f"{where}{sentence}",), undecided=self.undecided)
        found = score(explanation, self.subject, truth, measures=[measure], progress=progress, **options)  # pyright: ignore
        return replace(found, undecided=self.undecided)

    def traced(self, pixels: "Tensor") -> "Trace":
        from vizkit.models import family

        loaded = self.asked.one.loaded
        return family(loaded.model).trace(loaded, pixels, target=self.asked.target)

    def chance(self, explanation: "Explanation", progress: "Progress") -> "Curves":
        """The curves of random orders, which depend on the picture only."""
        from vizkit.analysis.trust.deletion import random_curves

        key = ("chance", *self.asked.key)
        if shelf().find(key) is None:
            shelf().put(key, random_curves(self.subject, explanation.cells, progress=progress))
        return shelf().find(key)

    @cached_property
    def shuffled(self) -> "tuple[Subject, list[Trace]]":
        """The model with random weights, and its traces for both classes."""
        from vizkit.models import trace
        from vizkit.models.probes.model_functions import randomised
        from vizkit.scoring import subject_of

        asked = self.asked
        other = randomised(asked.one.loaded)
        targets = [asked.target] if asked.against is None else [asked.target, asked.against]
        traces = [trace(other, asked.picture.rgb, target=target) for target in targets]
        return subject_of(other, asked.picture.rgb, asked.target, asked.against), traces

    def forgotten(self, method: str, progress: "Progress") -> "Explanation":
        """The same method on random weights."""
        from vizkit.analysis.attribution.explaining import explain

        subject, traces = self.shuffled
        rival = traces[1] if len(traces) > 1 else None
        return explain(method, traces[0], against=rival, subject=subject, progress=progress)
