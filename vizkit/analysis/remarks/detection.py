"""What is found in a picture, and where it was looked for, in a sentence."""

from typing import NamedTuple

from vizkit.analysis.detection.boxes import SAME
from vizkit.analysis.detection.instances import Own
from vizkit.analysis.remarks.remark import Remark, counted

__all__ = ["Boxes", "of_doubles", "of_found", "of_own", "of_place"]


class Boxes(NamedTuple):
    """How many there are. `right`: each stands for a thing of its own; `doubles`: of the others, those that say again
    what a surer one has said. `things`: how many there are to find; None where nobody knows, and no box is right."""

    count: int
    doubles: int = 0
    right: int = 0
    things: int | None = None

    @property
    def words(self) -> str:
        """ "4 of 5 insects found, 2 boxes too many, 1 of them said again"."""
        more = self.count - self.right
        said = "" if more == 1 else "all " if self.doubles == more else f"{self.doubles} of them "
        again = f", {said}said again" if self.doubles else ""
        if self.things is None:
            return f"{counted(self.count, 'box', 'boxes')}{again}"
        many = f"{counted(more, 'box', 'boxes')} too many{again}" if more else "no box too many"
        return (
            f"{self.right} of {counted(self.things, 'insect')} found, {many}"
            if self.things
            else (f"no insect to find, {many}")
        )

    def numbers(self, which: str = "") -> dict[str, int]:
        known = {"count": self.count, "doubles": self.doubles}
        known |= {} if self.things is None else {"right": self.right, "things": self.things}
        return {f"{which} {name}".strip(): number for name, number in known.items()}


def of_found(boxes: Boxes, threshold: float) -> Remark:
    """Of the boxes with a score of at least `threshold`."""
    words = f"{boxes.words[0].upper()}{boxes.words[1:]} (score {threshold:.2f} or more)."
    return Remark(words, boxes.numbers() | {"threshold": threshold})


def of_own(name: str, iou: float, seen: Own) -> Remark:
    """Of a box and the thing that it overlaps most, by its cross-attention per pixel."""
    place = f"lies on the {name}" if iou >= SAME else f"overlaps the {name} most"
    words = f"The box {place} (IoU {iou:.2f}), which gets {_beside(seen)}."
    return Remark(words, _numbers(seen) | {"iou": iou})


def of_place(name: str, seen: Own) -> Remark:
    """Of a cell on a thing of this name, by the encoder's self-attention per pixel."""
    return Remark(f"The place lies on the {name}, which gets {_beside(seen)}.", _numbers(seen))


def of_doubles(layer: int, together: Boxes, alone: Boxes) -> Remark:
    """After a decoder layer, with and without self-attention of the queries."""
    words = f"After layer {layer}: {together.words}; where each query looks at itself alone: {alone.words}."
    return Remark(words, together.numbers() | alone.numbers("alone"))


def _beside(seen: Own) -> str:
    others = "" if seen.others is None else f"{seen.others:.1f} × on the other insects and "
    return f"{seen.own:.1f} × the mean attention per pixel, against {others}{seen.ground:.1f} × on the ground"


def _numbers(seen: Own) -> dict[str, float]:
    known = {} if seen.others is None else {"others": seen.others}
    return {"own": seen.own, "ground": seen.ground} | known
