"""What a network says of a picture: of every query one thing, the surest first."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from vizkit.models.detection.matching import Things
from vizkit.models.networks.detr import Answers


@dataclass(frozen=True)
class Found:
    """Detections of one picture, the surest first. `scores`: 0 to 1; `boxes_cxcywh` as shares of the picture."""

    things: Things
    scores: Float[Tensor, " detection"]

    def above(self, threshold: float) -> "Found":
        """Those whose score is at least that."""
        kept = self.scores >= threshold
        return Found(Things(self.things.labels[kept], self.things.boxes_cxcywh[kept]), self.scores[kept])


def found(answers: Answers) -> list[Found]:
    """Of every picture one detection a query: its likeliest class but "no object", with that probability."""
    made = []
    for logits, boxes in zip(answers.logits.float().softmax(-1), answers.boxes_cxcywh.float(), strict=True):
        scores, labels = logits[:, :-1].max(-1)
        order = scores.argsort(descending=True, stable=True)
        made.append(Found(Things(labels[order], boxes[order]), scores[order]))
    return made
