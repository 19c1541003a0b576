"""What a model that finds things makes of a picture, computed once and kept."""

from typing import TYPE_CHECKING

from vizkit.ui.session.remembered import remembered

if TYPE_CHECKING:
    from torch import Tensor

    from vizkit.analysis.remarks.detection import Boxes
    from vizkit.models.detection.seen import Seen, Sure
    from vizkit.ui.pages.detection.given import Given


def judged(given: "Given", said: "Sure") -> "tuple[Boxes, list[str]]":
    """How many boxes are right and how many too many, where the truth is known; and of each what is wrong with it."""
    from vizkit.analysis.detection.boxes import duplicates
    from vizkit.analysis.remarks.detection import Boxes
    from vizkit.models.detection.matching import Things
    from vizkit.models.detection.precision import which_right

    again = duplicates(said.labels, said.boxes_cxcywh)
    if given.things is None:
        return Boxes(len(again), int(again.sum())), ["again" if each else "" for each in again]
    right = which_right(Things(said.labels, said.boxes_cxcywh), given.things)
    wrong = [
        "" if fits else "again" if double else "too many"
        for fits, double in zip(right.tolist(), again.tolist(), strict=True)
    ]
    return Boxes(len(wrong), wrong.count("again"), int(right.sum()), len(given.things.labels)), wrong


def seen(given: "Given", *, self_attention: bool = True) -> "Seen":
    return _seen(*given.key, self_attention, given)


def relevance(given: "Given", query: int, label: int) -> "Tensor":
    """Of every cell for what this query says of this class, (row, column)."""
    return _relevance(*given.key, query, label, given)


@remembered
def _seen(source: str, digest: str, self_attention: bool, _given: "Given") -> "Seen":
    from vizkit.models.detection.seen import look

    return look(_given.detector, _given.rgb, self_attention=self_attention)


@remembered
def _relevance(source: str, digest: str, query: int, label: int, _given: "Given") -> "Tensor":
    from vizkit.analysis.detection.relevance import encoder_decoder_relevance
    from vizkit.models.detection.tracing import Answer, trace_picture

    trace = trace_picture(_given.detector, _given.rgb, Answer(query, label))
    return encoder_decoder_relevance(trace)[query].view(seen(_given).grid)
