"""What is found in a picture, and where it was looked for, in a sentence."""

from vizkit.analysis.detection.instances import Own
from vizkit.analysis.remarks.remark import Remark, counted

__all__ = ["of_doubles", "of_found", "of_own", "of_place"]


def of_found(count: int, threshold: float, things: int | None) -> Remark:
    """How many boxes have a score of at least `threshold`; `things`: how many there are, None where nobody knows."""
    where = "" if things is None else f"; the scene holds {counted(things, 'insect')}" if things else (
        "; the scene holds no insect")  # fmt: skip
    said = counted(count, "box is", "boxes are") if count else "Nothing is"
    words = f"{said} found with a score of {threshold:.2f} or more{where}."
    return Remark(words, {"boxes": count, "threshold": threshold} | ({} if things is None else {"things": things}))


def of_own(name: str, iou: float, seen: Own) -> Remark:
    """Of a box that lies on a thing of this name, by its cross-attention per pixel."""
    words = f"The box lies on the {name} (IoU {iou:.2f}), which gets {_beside(seen)}."
    return Remark(words, _numbers(seen) | {"iou": iou})


def of_place(name: str, seen: Own) -> Remark:
    """Of a cell on a thing of this name, by the encoder's self-attention per pixel."""
    return Remark(f"The place lies on the {name}, which gets {_beside(seen)}.", _numbers(seen))


def of_doubles(layer: int, boxes: int, doubles: int, alone_boxes: int, alone_doubles: int) -> Remark:
    """After a decoder layer, with and without self-attention of the queries."""
    words = (
        f"After layer {layer}: {counted(boxes, 'box', 'boxes')}, {doubles} of them said again; where each query looks "
        f"at itself alone {counted(alone_boxes, 'box', 'boxes')}, {alone_doubles} of them said again."
    )
    return Remark(words, {"boxes": boxes, "doubles": doubles, "alone": alone_boxes, "alone doubles": alone_doubles})


def _beside(seen: Own) -> str:
    others = "" if seen.others is None else f"{seen.others:.1f} × on the other insects and "
    return f"{seen.own:.1f} × the mean attention per pixel, against {others}{seen.ground:.1f} × on the ground"


def _numbers(seen: Own) -> dict[str, float]:
    known = {} if seen.others is None else {"others": seen.others}
    return {"own": seen.own, "ground": seen.ground} | known
