"""Every map of "where did the decision come from" behind one call.

    explanation = explain("rollout", trace)
    explanation = explain("occlusion", trace, subject=subject, progress=bar)

No map proves that the model used what it marks: they answer different questions (`Method.asks`), and `trust` scores
how well. A map that is zero, constant or not a number is never returned: NotApplicable says so in a sentence.
"""

from dataclasses import dataclass, replace

import torch

from vizkit.analysis.attribution.layer_product import Query, read_by_head
from vizkit.analysis.attribution.methods import METHODS, Given, Method
from vizkit.analysis.attribution.subject import Fill, Progress, Subject, cells_of, on_cells
from vizkit.traces import Map, NotApplicable, OneLine, Trace, refuse

FLAT = 1e-6
"""A map whose values differ by less than this share of the largest is constant up to rounding."""


@dataclass(frozen=True, repr=False)
class Explanation(OneLine):
    """One map. `heat` is at the map's own resolution: patches, features, cells or pixels of the model's input.

    Its cells divide the input (`image_size`, pixels) evenly, so the box of the image that the model saw is the box of
    the map. `cells`: the model's patches, for scores that take patches away. `against`: the class whose share was taken
    off; then `signed` is true. `notes`: sentences about this very map.
    """

    method: str
    heat: Map
    signed: bool
    image_size: tuple[int, int]
    cells: tuple[int, int]
    target: int | None = None
    against: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """What the map asks, what it cannot tell, its source, and the sentences about this very map."""
        method = METHODS[self.method]
        return " ".join((method.words(), f"{method.source}.", *self.notes))

    @property
    def scale(self) -> str:
        """What its numbers are, the lowest and the highest of them, and what their signs mean."""
        sides = "; above 0 speaks for it, below 0 against it" if self.signed else ""
        ends = f"{float(self.heat.min()):.3g} to {float(self.heat.max()):.3g}"
        return f"{METHODS[self.method].measures()}: {ends}{sides}"


def on_patches(explanation: Explanation) -> Map:
    """The map on the model's patches where it is finer than they are, else as it is."""
    finer = explanation.heat.numel() > explanation.cells[0] * explanation.cells[1]
    return on_cells(explanation.heat, explanation.cells) if finer else explanation.heat


def explain(
    method: str,
    trace: Trace,
    *,
    against: Trace | None = None,
    subject: Subject | None = None,
    query: Query | None = None,
    fill: Fill = "mean",
    progress: Progress | None = None,
) -> Explanation:
    """The map of one method, by its name in `METHODS`.

    The record's own function makes it. Methods that need a target read it from the trace; methods that need the model
    read target and rival from `subject`.

    One class against another: give `against`, a trace of the same input whose target is the rival, or
    `Subject.against`. Class activation maps and all methods that run the model then explain logit A − logit B exactly:
    they are linear in it, and the positive part is not taken. Gradient rollout, generic relevance and LeGrad keep only
    what raises a logit, so the difference of two maps is shown: positive where A gains more than B. Attention and
    rollout know no class.

    `query`: whose row attention, rollout, gradient rollout and generic relevance show (`layer_product.Query`); None
    takes what the head reads: the class token, in DeiT the mean of the class and the distillation token, since its
    logits are the mean of two heads, and without a class token the mean of all places.

    `fill`: what stands in for what is taken away. `progress(done, total)` counts forward passes and may raise
    `subject.Stopped`. Raises NotApplicable with a sentence for the user, KeyError for an unknown method.
    """
    one = METHODS[method]
    if one.needs == "model" and subject is None:
        raise NotApplicable(f"{one.title} runs the model again, which is not at hand here.")
    known = _target_of(one, trace, against, subject)
    notes = ()
    if one.needs != "model":
        checks = {trace.check, (against or trace).check}
        if refused := " ".join(check.refused for check in checks if check.refused):
            raise NotApplicable(refused)
        notes = tuple({check.failure for check in checks if check.failure})
    query = read_by_head(trace) if query is None else query
    heat, said = _run(one, Given(trace, query, fill, subject, progress), against)
    notes = (*notes, *said)
    signed = one.signed or (one.needs == "target" and known[1] is not None)
    return Explanation(method, checked(heat, one.title), signed, trace.image_size, cells_of(trace), *known, notes)


def _target_of(
    one: Method, trace: Trace, against: Trace | None, subject: Subject | None
) -> tuple[int | None, int | None]:
    """(target, rival) of what is explained."""
    if one.needs == "model":
        assert subject is not None
        return subject.target, subject.against
    if against is not None and one.needs == "trace":
        raise NotApplicable(f"{one.title} knows no class, so it cannot tell one from another.")
    if against is not None and against.target is None:
        raise NotApplicable("The class to compare with needs its own gradient: record it as a target.")
    return (trace.target if one.needs == "target" else None), (against.target if against else None)


def _run(method: Method, inputs: Given, against: Trace | None) -> tuple[Map, tuple[str, ...]]:
    """The map of a record and the sentences about it; against a rival's trace the difference."""
    if method.needs == "model" or against is None:
        result = method.run(inputs)
        return (result[0], result[1:]) if isinstance(result, tuple) else (result, ())
    if method.signed_run is not None:
        return method.signed_run(inputs.trace, against), ()
    return _run(method, inputs, None)[0] - _run(method, replace(inputs, trace=against), None)[0], ()


def checked(heat: Map, title: str) -> Map:
    """The map, unless there is nothing to see on it."""
    refuse(~torch.isfinite(heat).all(), f"{title} gives values that are not numbers here, so no map is drawn.")
    alike = heat.max() - heat.min() <= FLAT * heat.abs().max()
    refuse(alike, f"{title} gives the same value at every place here, so no map is drawn.")
    return heat.detach().float().cpu()


def why_not(trace: Trace, *, model: bool = True) -> dict[str, str]:
    """The methods that do not apply to this trace, and the reason in a sentence; no map is computed.

    `model`: whether a `Subject` will be at hand. A method that applies may still find nothing on this image.
    """
    reasons = {}
    for name, method in METHODS.items():
        try:
            if method.needs == "model" and not model:
                raise NotApplicable(f"{method.title} runs the model again, which is not at hand here.")
            if method.needs == "target" and trace.target is None:
                raise NotApplicable(f"{method.title} needs the gradient of a class: choose a target class first.")
            if method.applies is not None:
                method.applies(trace)
        except NotApplicable as error:
            reasons[name] = str(error)
    return reasons


def applicable(trace: Trace, *, model: bool = True) -> list[str]:
    """Names of the methods that apply to this trace, in the order of `METHODS`; `why_not` has the others."""
    without = why_not(trace, model=model)
    return [name for name in METHODS if name not in without]
