"""Every map of "where did the decision come from" behind one call.

    explanation = explain("rollout", trace)
    explanation = explain("occlusion", trace, subject=subject, progress=bar)

No map proves that the model used what it marks: they answer different questions (`Method.asks`), and `trust` scores
how well. A map that is zero, constant or not a number is never returned: NotApplicable says so in a sentence.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.attention_map import layers
from vizkit.analysis.generic_relevance import generic_relevance
from vizkit.analysis.grad_cam import cam_layer, grad_cam, hires_cam, signed_grad_cam, signed_hires_cam
from vizkit.analysis.gradient_rollout import gradient_rollout
from vizkit.analysis.layer_product import Query, start, stream
from vizkit.analysis.legrad import legrad, legrad_by_layer
from vizkit.analysis.methods import METHODS, Method
from vizkit.analysis.rollout import rollout
from vizkit.analysis.subject import Fill, Progress, Subject, cells_of, on_cells
from vizkit.geometry import id_of
from vizkit.trace import NotApplicable, Tokens, Trace, row_times

__all__ = ["METHODS", "Explanation", "Method", "applicable", "explain", "on_patches", "why_not"]

FLAT = 1e-6
"""A map whose values differ by less than this share of the largest is constant up to rounding."""


@dataclass(frozen=True)
class Explanation:
    """One map. `heat` is at the map's own resolution: patches, features, cells or pixels of the model's input.

    Its cells divide the input (`image_size`, pixels) evenly, so the box of the picture that the model saw is the box of
    the map. `cells`: the model's patches, for scores that take patches away. `against`: the class whose share was taken
    off; then `signed` is true. `notes`: sentences about this very map.
    """

    method: str
    heat: Float[Tensor, "row column"]
    signed: bool
    image_size: tuple[int, int]
    cells: tuple[int, int]
    target: int | None = None
    against: int | None = None
    notes: tuple[str, ...] = ()


def on_patches(explanation: Explanation) -> Float[Tensor, "row column"]:
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

    Methods that need a target read it from the trace; methods that need the model read target and rival from `subject`.

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
    known = target_of(one, trace, against, subject)
    if one.needs != "model":
        checks = {trace.check, (against or trace).check}
        if refused := " ".join(check.refused for check in checks if check.refused):
            raise NotApplicable(refused)
        notes = tuple({check.failure for check in checks if check.failure})
        heat = from_trace(one, trace, against, read_by_head(trace) if query is None else query)
    else:
        assert subject is not None
        heat, notes = from_model(one, trace, subject, fill, progress)
    signed = one.signed or (one.needs == "target" and known[1] is not None)
    return Explanation(method, checked(heat, one.title), signed, trace.image_size, cells_of(trace), *known, notes)


def target_of(
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


def from_trace(one: Method, trace: Trace, against: Trace | None, query: Query) -> Float[Tensor, "row column"]:
    def of(which: Trace) -> Float[Tensor, "row column"]:
        return BY_QUERY[one.name](which, query) if one.name in BY_QUERY else WITHOUT_QUERY[one.name](which)

    if against is None:
        return of(trace)
    if one.name in SIGNED_CAM:
        return SIGNED_CAM[one.name](trace, against)
    return of(trace) - of(against)


def read_by_head(trace: Trace) -> str:
    """The query whose vector becomes the logits, as `layer_product.start` understands it."""
    last = next((layer for layer in reversed(trace.attention) if layer.learned), None)
    return "cls+dist" if last and {"cls", "dist"} <= set(last.query.special) else "cls"


def from_model(
    one: Method, trace: Trace, subject: Subject, fill: Fill, progress: Progress | None
) -> tuple[Float[Tensor, "row column"], tuple[str, ...]]:
    from vizkit.analysis import input_attribution as again

    cells = cells_of(trace)
    if one.name == "integrated_gradients":
        found = again.integrated_gradients(subject, fill, progress=progress)
        said = f"The sum misses the difference of the scores by {found.error:.1%}, with {found.steps} steps."
        if found.error > again.COMPLETE:
            said += " That is more than 2 %: the scores jump on the way, so read the map with care."
        return found.heat, (said,)
    if one.name == "smooth_grad":
        return again.smooth_grad(subject, progress=progress), ()
    if one.name == "gradient_shap":
        return again.gradient_shap(subject, progress=progress), ()
    if one.name == "occlusion":
        return again.occlusion(subject, cells, fill=fill, progress=progress), ()
    return again.patch_ablation(subject, cells, fill, progress), ()


def checked(heat: Float[Tensor, "row column"], title: str) -> Float[Tensor, "row column"]:
    """The map, unless there is nothing to see on it."""
    if not bool(torch.isfinite(heat).all()):
        raise NotApplicable(f"{title} gives values that are not numbers here, so no map is drawn.")
    high, low = float(heat.max()), float(heat.min())
    if high - low <= FLAT * max(abs(high), abs(low)):
        raise NotApplicable(f"{title} gives the same value at every place here, so no map is drawn.")
    return heat.detach().float().cpu()


def last_layer(trace: Trace, query: Query) -> Float[Tensor, "row column"]:
    """The mean over heads of what the query pays to each place in the last layer.

    "cls" is the class token or the pool of an attention-pooled model, "cls+dist" the mean of two rows. Another than the
    asked query is never taken in its place.
    """
    found = layers(trace)
    if not found:
        raise NotApplicable("This model has no attention layers.")
    last = found[-1]
    if last.key.grid is None:
        raise NotApplicable("The last layer's keys have no known places, so no map is drawn.")
    ids = asked_ids(last.query, query)
    if not set(ids) <= set(last.query_ids.flatten().tolist()):
        raise NotApplicable("The row of this token was not recorded.")
    row = torch.zeros(len(last.query))
    row[ids] = 1 / len(ids)
    first = len(last.key.special)
    paid = row_times(row, last)
    return paid[first : first + last.key.grid[0] * last.key.grid[1]].unflatten(0, last.key.grid)


def asked_ids(tokens: Tokens, query: Query) -> list[int]:
    """The tokens whose mean a query is."""
    if isinstance(query, int):
        return [query]
    if isinstance(query, tuple):
        return [id_of(tokens, query)]
    if query == "mean" and tokens.grid:
        return list(range(len(tokens.special), len(tokens.special) + tokens.grid[0] * tokens.grid[1]))
    names = ["pool"] if query == "cls" and tokens.special[:1] == ("pool",) else query.split("+")
    if not set(names) <= set(tokens.special):
        raise NotApplicable("This model has no class token; its head reads the mean of all places.")
    return [tokens.special.index(name) for name in names]


def why_not(trace: Trace, *, model: bool = True) -> dict[str, str]:
    """The methods that do not apply to this trace, and the reason in a sentence; no map is computed.

    `model`: whether a `Subject` will be at hand. A method that applies may still find nothing on this image.
    """
    found = {}
    for name, one in METHODS.items():
        try:
            if one.needs == "model" and not model:
                raise NotApplicable(f"{one.title} runs the model again, which is not at hand here.")
            if one.needs == "target" and trace.target is None:
                raise NotApplicable(f"{one.title} needs the gradient of a class: choose a target class first.")
            if one.needs != "model":
                STRUCTURE[name](trace)
        except NotApplicable as error:
            found[name] = str(error)
    return found


def applicable(trace: Trace, *, model: bool = True) -> list[str]:
    """Names of the methods that apply to this trace, in the order of `METHODS`; `why_not` has the others."""
    without = why_not(trace, model=model)
    return [name for name in METHODS if name not in without]


def followed(trace: Trace) -> None:
    start(stream(trace), read_by_head(trace))


def seen_last(trace: Trace) -> None:
    last_layer(trace, read_by_head(trace))


BY_QUERY: dict[str, Callable[[Trace, Query], Tensor]] = {
    "attention": last_layer,
    "rollout": rollout,
    "gradient_rollout": gradient_rollout,
    "generic_relevance": generic_relevance,
}
WITHOUT_QUERY: dict[str, Callable[[Trace], Tensor]] = {"legrad": legrad, "grad_cam": grad_cam, "hires_cam": hires_cam}
SIGNED_CAM: dict[str, Callable[[Trace, Trace], Tensor]] = {"grad_cam": signed_grad_cam, "hires_cam": signed_hires_cam}
STRUCTURE: dict[str, Callable[[Trace], object]] = {
    "attention": seen_last,
    "rollout": followed,
    "gradient_rollout": followed,
    "generic_relevance": followed,
    "legrad": legrad_by_layer,
    "grad_cam": cam_layer,
    "hires_cam": cam_layer,
}
"""What of a method raises NotApplicable by the model's kind alone, quickly."""
