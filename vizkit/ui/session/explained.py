"""What Rollout and Relevance have computed, shared by all sessions; keys are names, digests and numbers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vizkit.image import Picture
from vizkit.scoring import subject_of
from vizkit.ui.session import cached
from vizkit.ui.session.remembered import remembered
from vizkit.ui.session.shown import Shown

if TYPE_CHECKING:
    from vizkit.analysis.attribution.explaining import Explanation
    from vizkit.analysis.attribution.subject import Progress, Subject
    from vizkit.traces import Trace

MEAN_TRACE_BYTES = 1200 * 2**20
TARGET_TRACE_BYTES = 600 * 2**20  # of weights; their gradients and the graph take as much again, each


def key_of(shown: Shown, picture: Picture) -> tuple:
    """Everything that a map of this model on this picture depends on, but for its own settings."""
    return shown.source, cached.weights_of(shown.source), picture.digest, shown.loaded.preprocessing


def whole_trace(shown: Shown, picture: Picture) -> "Trace":
    """A trace with the rows of all tokens: the page's own, or for very many tokens one with the mean of all heads."""
    from vizkit.models.probes.budget import weights_bytes
    from vizkit.traces import NotApplicable

    size = weights_bytes(shown.loaded)
    if size <= cached.FULL_TRACE_BYTES:
        return shown.trace
    heads = max(layer.heads for layer in shown.trace.attention)
    if size / heads > MEAN_TRACE_BYTES:
        raise NotApplicable(
            "The weights of all tokens at this size would take more memory than is kept; choose a smaller input."
        )
    return _mean_trace(key_of(shown, picture), shown, picture)


@remembered
def _mean_trace(key: tuple, _shown: Shown, _picture: Picture) -> "Trace":
    from vizkit.models import Keep
    from vizkit.models import trace as run

    with cached.device_lock():
        return run(_shown.loaded, _picture.rgb, keep=Keep(heads="mean"))


# ---- maps for a class ------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Request:
    """One model on one picture, asked about class `target`, or how it differs from class `against`.

    `layer`: where class activation maps are made, "" being before the head. `of`: `key_of` this model and picture.
    Threads have no session, so it is made before.
    """

    shown: Shown
    picture: Picture
    of: tuple
    target: int
    against: int | None = None
    layer: str = ""

    @property
    def key(self) -> tuple:
        return *self.of, self.target, self.against

    @property
    def subject(self) -> "Subject":
        return subject_of(self.shown.loaded, self.picture.rgb, self.target, self.against)


def target_trace(request: Request, target: int) -> "Trace":
    """A trace with the gradient of a class. NotApplicable where it would take too much memory."""
    from vizkit.models.probes.budget import weights_bytes
    from vizkit.traces import NotApplicable

    size = weights_bytes(request.shown.loaded)
    if size > TARGET_TRACE_BYTES:
        raise NotApplicable(
            "The gradients of all weights at this size would take more memory than is kept; choose a smaller input."
        )
    run = _large_target_trace if size > cached.FULL_TRACE_BYTES else _target_trace
    return run(request.of, target, request)


@remembered
def _target_trace(key: tuple, target: int, _request: Request) -> "Trace":
    return _traced_for(_request, target)


@remembered
def _large_target_trace(key: tuple, target: int, _request: Request) -> "Trace":
    return _traced_for(_request, target)


def _traced_for(request: Request, target: int) -> "Trace":
    from vizkit.models import trace

    with cached.device_lock():
        return trace(request.shown.loaded, request.picture.rgb, target=target)


def fast_maps(request: Request) -> "dict[str, Explanation | str]":
    """By name every method that is not slow: its map, or the sentence why there is none."""
    traces = (
        target_trace(request, request.target),
        None if request.against is None else target_trace(request, request.against),
    )
    maps = _fast_maps(request.key, traces, request)
    return maps | _at_layer((*request.key, request.layer), traces, request.layer) if request.layer else maps


@remembered
def _fast_maps(key: tuple, _traces: "tuple[Trace, Trace | None]", _request: Request) -> "dict[str, Explanation | str]":
    from vizkit.analysis.attribution.explaining import METHODS, explain

    (trace, against), subject = _traces, _request.subject
    return {
        name: _or_sentence(lambda name=name: explain(name, trace, against=against, subject=subject))
        for name, method in METHODS.items()
        if not method.slow
    }


@remembered
def _at_layer(key: tuple, _traces: "tuple[Trace, Trace | None]", _layer: str) -> "dict[str, Explanation | str]":
    """The maps of those methods that can be made at another layer; no model runs."""
    from vizkit.analysis.attribution.explaining import METHODS, explain
    from vizkit.analysis.attribution.grad_cam import at_layer

    def made(name: str) -> "Explanation":
        trace, against = _traces
        return explain(name, at_layer(trace, _layer), against=None if against is None else at_layer(against, _layer))

    return {name: _or_sentence(lambda name=name: made(name)) for name, method in METHODS.items() if method.layered}


def slow_map(request: Request, method: str, progress: "Progress") -> "Explanation | str":
    """A method that runs the model again; in a thread that holds the device lock."""
    from vizkit.analysis.attribution.explaining import explain

    return _or_sentence(lambda: explain(method, request.shown.trace, subject=request.subject, progress=progress))


def _or_sentence(make: "Callable[[], Explanation]") -> "Explanation | str":
    from vizkit.traces import NotApplicable

    try:
        return make()
    except NotApplicable as sentence:
        return str(sentence)
