"""One measure of one map at a time, so that the page shows scores as they come and computes none twice."""

from dataclasses import replace
from functools import cached_property
from typing import Any

from torch import Tensor

from vizkit.analysis.attribution.explaining import Explanation, explain
from vizkit.analysis.attribution.subject import Progress, Subject
from vizkit.analysis.trust.deletion import Curves, random_curves
from vizkit.analysis.trust.scores import Case, Score, again_of, score
from vizkit.analysis.trust.truth_score import Truth
from vizkit.models import family
from vizkit.models.probes.model_functions import randomised
from vizkit.scoring import subject_of
from vizkit.traces import NotApplicable, Trace
from vizkit.ui.session.explained import Request
from vizkit.ui.session.remembered import shelf


class Again:
    """The model, asked again about one picture; and the same model with its weights shuffled, once that is wanted."""

    def __init__(self, request: Request, trace: Trace) -> None:
        self.request, self.trace, self.subject = request, trace, request.subject

    @cached_property
    def undecided(self) -> str:
        """Why no map is ranked here; "" where nothing is against it."""
        from vizkit.analysis.trust.scores import undecided

        return undecided(self.subject)

    def score(self, explanation: Explanation, measure: str, truth: Truth | None, progress: Progress) -> Score:
        """One measure of one map."""
        case = Case(self.trace, self.subject, trace_again=self.traced)
        options: dict[str, Any] = {}
        try:
            if measure == "deletion":
                options["chance"] = self.chance(explanation, progress)
            elif measure == "randomisation":
                options["randomised"] = self.forgotten(explanation.method, progress)
            elif measure == "sensitivity" and self.request.against is not None:
                raise NotApplicable("Sensitivity is measured for one class, not for the difference of two.")
            elif measure == "sensitivity":
                options["again"] = again_of(explanation.method, case)
        except NotApplicable as sentence:
            where = "With shuffled weights: " if measure == "randomisation" else ""
            return Score(explanation.method, notes=(f"{where}{sentence}",), undecided=self.undecided)
        scored = score(explanation, self.subject, truth, measures=[measure], progress=progress, **options)  # pyright: ignore
        return replace(scored, undecided=self.undecided)

    def traced(self, pixels: Tensor) -> Trace:
        loaded = self.request.shown.loaded
        return family(loaded.model).trace(loaded, pixels, target=self.request.target)

    def chance(self, explanation: Explanation, progress: Progress) -> Curves:
        """The curves of random orders, which depend on the picture only."""
        key = ("chance", *self.request.key)
        if shelf().find(key) is None:
            shelf().put(key, random_curves(self.subject, explanation.cells, progress=progress))
        return shelf().find(key)

    @cached_property
    def shuffled(self) -> tuple[Subject, list[Trace]]:
        """The model with random weights, and its traces for both classes."""
        from vizkit.models import trace

        request = self.request
        other = randomised(request.shown.loaded)
        targets = [request.target] if request.against is None else [request.target, request.against]
        traces = [trace(other, request.picture.rgb, target=target) for target in targets]
        return subject_of(other, request.picture.rgb, request.target, request.against), traces

    def forgotten(self, method: str, progress: Progress) -> Explanation:
        """The same method on random weights."""
        subject, traces = self.shuffled
        rival = traces[1] if len(traces) > 1 else None
        return explain(method, traces[0], against=rival, subject=subject, progress=progress)
