"""Masks: which pixels each query says are its thing's, and how well they are given to things."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from vizkit.analysis.remarks.detection import of_masks
from vizkit.figure.detection.on_picture import WHITE, Frame
from vizkit.figure.detection.segments import Regions
from vizkit.traces import NotApplicable, not_applicable
from vizkit.views.detection.scene import Given
from vizkit.views.subject import OfModel

if TYPE_CHECKING:
    from vizkit.models.detection.segmenting import Segments


def segments(given: Given, score: float) -> "Segments":
    """NotApplicable where the model has no masks."""
    from vizkit.models import ModelError
    from vizkit.models.detection.opening import detector_folder
    from vizkit.models.detection.opening_masks import has_masks, open_masks
    from vizkit.models.detection.segmenting import segment

    source = given.key[0]
    with not_applicable(ModelError):
        if not has_masks(source):
            raise NotApplicable(
                f"{given.model.name} finds boxes and has no masks yet: train them with the recipe detr-masks into the "
                "folder masks of its run."
            )
        written = (detector_folder(source)[0] / "masks" / "config.json").stat().st_mtime_ns
        head = given.of.kept(OfModel(("masks", given.key, written)), partial(open_masks, source))
    return given.kept(("segments", written, score), partial(segment, given.model, head, given.rgb, score))


def coloured(found: "Segments", frames: Sequence[Frame]) -> Regions:
    """In the colours of the `frames` of their queries."""
    queries, tints = found.queries.tolist(), {frame.id: frame.colour for frame in frames}
    return Regions(found.instances, [tints.get(query, WHITE) for query in queries], queries)


def rated(given: Given, found: "Segments") -> str:
    """A sentence of all masks, "" where nobody knows the truth."""
    from vizkit.models.detection.panoptic import matches, quality
    from vizkit.models.detection.segmenting import Segments

    if given.truth is None:
        return ""
    truth = Segments(given.truth.instances, given.truth.labels)
    hits = len(matches(found, truth))
    return of_masks(len(truth.labels), hits, quality([found], [truth], len(given.model.labels)).pq)
