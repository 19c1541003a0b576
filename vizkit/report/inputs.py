"""A model and a picture, from which every kind of saved picture is made."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import UInt8

if TYPE_CHECKING:
    from vizkit.analysis.attention.attention_map import Query
    from vizkit.analysis.attribution.explaining import Explanation
    from vizkit.image import RGB, Box
    from vizkit.interventions import Changes
    from vizkit.models import Keep, Loaded
    from vizkit.traces import Trace

__all__ = ["FULL_TRACE_BYTES", "Inputs", "no_model", "no_picture"]

FULL_TRACE_BYTES = 300 * 2**20  # of attention weights; above, some rows alone are recorded, or the mean of the heads


class Inputs:
    """`open` gives the model, `original` are the pixels of a picture before any preprocessing. It holds no weights and
    no trace: whoever waits for a click may hold it.

    `edits`: changes of both as texts (`interventions.Changes`), ReportError for those that cannot be read or made;
    `picture_of`: other pictures that they name. `rgb` is drawn: the original, or the changed image that the model sees.
    """

    def __init__(
        self,
        open: "Callable[[], Loaded]",
        rgb: UInt8[np.ndarray, "height width 3"],
        edits: Sequence[str] = (),
        picture_of: "Callable[[str], RGB] | None" = None,
    ) -> None:
        self.open, self.original, self.edits, self.picture_of = open, rgb, tuple(edits), picture_of

    @cached_property
    def changes(self) -> "Changes":
        from vizkit.interventions import Changes

        with sentences():
            return Changes.parse(self.edits)

    def _given(self) -> "tuple[Loaded, RGB]":
        from vizkit.interventions import bundled_picture

        with sentences():
            return self.changes.given(self.open(), self.original, self.picture_of or bundled_picture)

    @property
    def rgb(self) -> UInt8[np.ndarray, "height width 3"]:
        return self._given()[1] if self.edits and self.changes.pixels else self.original

    @property
    def loaded(self) -> "Loaded":
        return self._given()[0] if self.edits else self.open()

    @property
    def box_xyxy(self) -> "Box":
        """The part of the picture that the model sees, in its pixels."""
        from vizkit.image import seen_box

        return seen_box((self.rgb.shape[0], self.rgb.shape[1]), self.loaded.preprocessing)

    @property
    def weights(self) -> str:
        """SHA-256 of the weights, and of how the network is built."""
        from vizkit.evaluation.answer_cache import weights_digest

        return weights_digest(self.loaded.model)

    def trace(self, query: "Query") -> "Trace":
        """With the rows of this query at least. TraceError for weights that no layer used."""
        from vizkit.models.probes.budget import keep_within

        return proven(self._traced(keep_within(self.loaded, query, FULL_TRACE_BYTES)))

    def whole(self) -> "Trace":
        """With the rows of all tokens, where they are very many as the mean of the heads."""
        from vizkit.models import Keep
        from vizkit.models.probes.budget import weights_bytes

        fits = weights_bytes(self.loaded) <= FULL_TRACE_BYTES
        return proven(self._traced(Keep() if fits else Keep(heads="mean")))

    def _traced(self, keep: "Keep") -> "Trace":
        from vizkit.models import trace

        with sentences():
            return trace(self.loaded, self.rgb, keep=keep, edits=self.changes.model)

    def explanation(self, method: str, target: int, against: int | None, layer: str = "") -> "Explanation":
        """Raises NotApplicable where this model has no such map, or not at this layer."""
        from vizkit.scoring import Question

        with sentences():
            edits = [str(edit) for edit in self.changes.model]
            question = Question.of(self.loaded, self.rgb, target, against, layer, edits)
        return question.explain(method)


@contextmanager
def sentences() -> Iterator[None]:
    """What is wrong with a change, as the report's own error."""
    from vizkit.analysis.comparison.pixel_edits import PixelError
    from vizkit.models import EditError
    from vizkit.report.from_json import ReportError

    try:
        yield
    except (PixelError, EditError) as error:
        raise ReportError(str(error)) from None


def no_model() -> Any:  # noqa: ANN401
    """For a picture that depends on none: nothing of it is used."""


def no_picture() -> UInt8[np.ndarray, "1 1 3"]:
    return np.zeros((1, 1, 3), np.uint8)


def proven(trace: "Trace") -> "Trace":
    """The trace, unless its check refuses a picture."""
    from vizkit.traces import TraceError

    if trace.check.refused:
        raise TraceError(trace.check.refused)
    return trace
