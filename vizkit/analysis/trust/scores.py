"""How far a map can be believed: every score of one map, and their mean over many images.

    result = score(explanation, subject, truth)
    scores = score_case(case, ["rollout", "grad_cam"])
    rows = table.table(all_scores)

No single score settles it. Deletion, insertion and ROAD run the model on images it never saw; pointing and mass ask
whether the model looks at the thing, which a model may rightly not do; randomisation finds only maps that ignore what
was learned. `table.FIGURES` has one sentence for each.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.attribution.explaining import METHODS, Explanation, explain, on_patches
from vizkit.analysis.attribution.subject import Fill, Progress, Subject, filled
from vizkit.analysis.trust.deletion import Curves, curves, random_curves
from vizkit.analysis.trust.randomisation import survives
from vizkit.analysis.trust.road import Road, road
from vizkit.analysis.trust.truth_score import Placed, Truth, placed
from vizkit.traces import Map, NotApplicable, Trace

ALIKE = 0.95
"""The likeness of an embedding from which on it counts as the same."""
Measure = Literal["truth", "deletion", "road", "randomisation", "infidelity", "sensitivity"]


@dataclass(frozen=True)
class Score:
    """What was measured of one map; None for what was not measured or has no meaning (`notes` says why).

    `chance`: the curves of random orders on the same image. `undecided`: why nothing is ranked on this image.
    `figures()` names them as `table.FIGURES` does.
    """

    method: str
    placed: Placed | None = None
    curves: Curves | None = None
    chance: Curves | None = None
    road: Road | None = None
    randomisation: float | None = None
    infidelity: float | None = None
    sensitivity: float | None = None
    notes: tuple[str, ...] = ()
    undecided: str = ""

    def figures(self) -> dict[str, float]:
        """Name in `table.FIGURES` → number, for what was measured."""
        values = {
            "pointing": None if self.placed is None else float(self.placed.pointing),
            "pointing_strict": None if self.placed is None else float(self.placed.pointing_strict),
            "on_thing": self.placed and self.placed.on_thing,
            "on_deciding": self.placed and self.placed.on_deciding,
            "deletion": self.curves and self.curves.deletion_area,
            "insertion": self.curves and self.curves.insertion_area,
            "road": self.road and self.road.gap,
            "randomisation": self.randomisation,
            "infidelity": self.infidelity,
            "sensitivity": self.sensitivity,
        }
        return {name: value for name, value in values.items() if value is not None}

    def by_chance(self) -> dict[str, float]:
        """What a random map would get, for the figures of which that is known: see `table`."""
        values = {
            "pointing": self.placed and self.placed.near_share,
            "pointing_strict": self.placed and self.placed.thing_share,
            "on_thing": self.placed and self.placed.thing_share,
            "on_deciding": self.placed and self.placed.deciding_share,
            "deletion": self.chance and self.chance.deletion_area,
            "insertion": self.chance and self.chance.insertion_area,
            "road": self.road and 0.0,  # an order and its reverse are equally likely
        }
        return {name: value for name, value in values.items() if value is not None}


def merged(method: str, parts: Sequence[Score]) -> Score:
    """Scores of one map with other measures each, as one."""
    known: dict[str, Any] = {
        each.name: value for part in parts for each in fields(part) if (value := getattr(part, each.name)) is not None
    }
    notes = tuple(note for part in parts for note in part.notes)
    return replace(Score(method), **known | {"method": method, "notes": notes})


def undecided(subject: Subject, fill: Fill = "blur") -> str:
    """Why no map can be called better than another for this class of this image, as a clause; "" if nothing is
    against it.

    Where the class is not the model's answer there is no decision to take back; where the image replaced by `fill`
    gets the same answer, or an embedding that is `ALIKE`, no order of its places can take it back.
    """
    with torch.no_grad():
        original, empty = (subject.logits(each)[0] for each in (subject.pixels, filled(subject.pixels, fill)))

    def answers(logits: Float[Tensor, " label"]) -> bool:
        if subject.against is not None:
            return bool(logits[subject.target] > logits[subject.against])
        return subject.target in subject.head.answers(logits)

    changed = "is blurred" if fill == "blur" else "has one colour"
    if not subject.head.probable:
        like = float(subject.head.values(empty)[subject.target])
        same = f"the embedding hardly changes when the whole image {changed} (likeness {like:.2f})"
        return f"{same}, so hiding places cannot take it away" if like >= ALIKE else ""
    if not answers(original):
        preferred = "the model's answer" if subject.against is None else "the one of the two that the model prefers"
        return f"the class is not {preferred}, so there is no decision to take back"
    if answers(empty):
        return f"the model answers the same when the whole image {changed}, so hiding places cannot take that back"
    return ""


def score(
    explanation: Explanation,
    subject: Subject,
    truth: Truth | None = None,
    *,
    measures: Sequence[Measure] = ("truth", "deletion"),
    chance: Curves | None = None,
    randomised: Explanation | None = None,
    again: Callable[[Tensor], Map] | None = None,
    steps: int = 28,
    fill: Fill = "blur",
    progress: Progress | None = None,
) -> Score:
    """The chosen measures of one map.

    `truth` is needed for "truth", `randomised` (the same method on the model with random weights, see
    `vizkit.models.probes.model_functions.randomised`) for "randomisation", `again` (the map of a changed input) for
    "sensitivity"; what is missing is left None. `chance`: random curves of this image, made here unless given; share
    them between maps, since they depend on the image only. Maps finer than the model's patches are averaged over
    them first.

    A measure without meaning here leaves its sentence in `notes`. `progress` may raise `subject.Stopped`.
    """
    heat, cells = on_patches(explanation), explanation.cells
    measured: dict[str, object] = {}
    notes: list[str] = []

    def attempt(name: str, work: Callable[[], object]) -> None:
        try:
            measured[name] = work()
        except NotApplicable as error:
            notes.append(str(error))

    if "truth" in measures and truth is not None:
        attempt("placed", lambda: placed(heat, truth))
    if "deletion" in measures:
        made = chance or random_curves(subject, cells, steps=steps, fill=fill, progress=progress)
        measured["chance"] = made
        attempt("curves", lambda: curves(subject, [heat], cells, len(made.share) - 1, fill, progress)[0])
    if "road" in measures:
        attempt("road", lambda: road(subject, heat, cells, progress=progress))
    if "randomisation" in measures and randomised is not None:
        attempt("randomisation", lambda: survives(explanation, randomised))
    if "infidelity" in measures:
        from vizkit.analysis.attribution.input_attribution import infidelity

        attempt("infidelity", lambda: infidelity(subject, heat, cells, progress=progress))
    if "sensitivity" in measures and again is not None:
        from vizkit.analysis.attribution.input_attribution import sensitivity

        attempt("sensitivity", lambda: sensitivity(again, subject.pixels, progress=progress))
    return Score(explanation.method, **measured, notes=tuple(notes))  # pyright: ignore[reportArgumentType]


@dataclass(frozen=True, eq=False)
class Case:
    """One image of many: its trace with the target, the model to run, the truth where known, and for "randomisation"
    the trace and subject of the model with random weights; for "sensitivity" `trace_again`, from pixels to a trace.
    """

    trace: Trace
    subject: Subject
    truth: Truth | None = None
    random_trace: Trace | None = None
    random_subject: Subject | None = None
    trace_again: Callable[[Tensor], Trace] | None = None
    name: str = ""


def score_case(
    case: Case,
    methods: Sequence[str],
    *,
    measures: Sequence[Measure] = ("truth", "deletion"),
    steps: int = 28,
    fill: Fill = "blur",
    progress: Progress | None = None,
) -> list[Score]:
    """All methods on one image, one after another; a method that finds nothing here has a note instead of figures.

    The curves of chance are those of a single random order: over many images that is as good as more.
    `progress` is called with the methods done and all of them, often enough to stop within a batch.
    """
    scores: list[Score] = []

    def tell(_done: int, _total: int) -> None:
        if progress:
            progress(len(scores), len(methods))

    shared, reason = None, undecided(case.subject, fill)
    for name in methods:
        try:
            explanation = explain(name, case.trace, subject=case.subject, progress=tell)
        except NotApplicable as error:
            scores.append(Score(name, notes=(str(error),), undecided=reason))
            continue
        randomised, notes = None, ()
        if "randomisation" in measures and case.random_trace is not None:
            try:
                randomised = explain(name, case.random_trace, subject=case.random_subject, progress=tell)
            except NotApplicable as error:
                notes = (f"With random weights: {error}",)
        if "deletion" in measures and shared is None:
            shared = random_curves(case.subject, explanation.cells, 1, steps, fill, progress=tell)
        options = {"measures": measures, "chance": shared, "randomised": randomised, "steps": steps, "fill": fill}
        scored = score(explanation, case.subject, case.truth, again=again_of(name, case), progress=tell, **options)
        scores.append(replace(scored, notes=scored.notes + notes, undecided=reason))
        tell(0, 0)
    return scores


def again_of(method: str, case: Case) -> Callable[[Tensor], Map] | None:
    """The method's map of a changed input."""
    if case.trace_again is None:
        return None
    trace_again = case.trace_again

    def again(pixels: Tensor) -> Map:
        trace = trace_again(pixels) if METHODS[method].needs != "model" else case.trace  # its grids are the same
        return on_patches(explain(method, trace, subject=replace(case.subject, pixels=pixels)))

    return again
