"""Shift by a pixel: the image moves, and what a model answers stays, or does not."""

import json
from collections.abc import Hashable, Mapping, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
import torch

from vizkit.analysis.remarks import convolution
from vizkit.analysis.remarks.remark import joined
from vizkit.figure import shift
from vizkit.image import RGB, prepare, unprepare, zoomed
from vizkit.models.probes.convolution.shifting import Moved, answers_when_moved, moved
from vizkit.views import bundled
from vizkit.views.blocks import (
    Answered,
    Blocks,
    Chart,
    Columns,
    Heading,
    Job,
    Later,
    Line,
    Numbers,
    Part,
    Picture,
    Said,
    first_said,
)
from vizkit.views.controls import number
from vizkit.views.convolution.known import of_kind, standing
from vizkit.views.measured_with import EXPERIMENTS, refuse_others
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

MOST_PX = 16
WIDTHS = (2, 3)  # of the image, and of the chart beside it
DISTANCES_PX = tuple(range(-MOST_PX, MOST_PX + 1))
RECORD = "shift/digits.json"
WHY = (
    "Measured before, on networks of five kinds trained on the same digits: one image says how your models change "
    "with it, only many images say how often an answer stays right."
)


class Shift(View):
    """The image moves by a few pixels, and the answer stays or not."""

    distance: int = number(
        "Moved by, pixels",
        -MOST_PX,
        MOST_PX,
        4,
        "To the right, in pixels of the model's input; below 0 to the left.",
        key="shift_px",
    )

    together = True
    overlays = False
    how = How(
        "A line is the probability of what the model answers to the unmoved image; of a model without classes the "
        "likeness of the embedding. A cross stands where it answers something else: point at it. A convolution gives "
        "the same numbers one pixel further when the image moves by one pixel; strides and patches break that, the "
        "pooling over all places at the end mends most of it. What comes in at the side repeats the border.",
        r"f(T_\delta x) = T_\delta f(x) \ \text{(equivariance)}, \qquad g(T_\delta x) = g(x) \ \text{(invariance)}",
        "what an architecture can learn: with images moved in training, as these models were trained, all of them "
        "learn some of it.",
        "LeCun et al. 1998, § II; Zhang 2019",
    )

    def title(self, of: Sequence[Subject]) -> str:
        return f"An image that moves: {abs(self.distance)} pixels to the {'left' if self.distance < 0 else 'right'}"

    def show(self, of: Sequence[Subject]) -> Blocks:
        same = (each for each in of_kind(of, "cnn") if each.loaded.labels == of[0].loaded.labels)
        beside = [each for each in same if each not in of]
        of = [*of, *beside]
        picture = Picture(seen(of[0], self.distance), f"What the model sees, moved by {self.distance} pixels")
        jobs = tuple(
            Job(("moved", each.name, each.weights), f"Moving the image for {each.name}", partial(answers_of, each))
            for each in of
        )
        yield Later(of[0], jobs, partial(self.answers, of, picture))
        if beside:
            yield Line(f"{standing(beside)}.")
        yield Part(partial(many, [each.name for each in of]))

    def answers(self, of: Sequence[Subject], picture: Picture, found: Mapping[Hashable, Moved]) -> Blocks:
        """When all models have answered; the image until then."""
        if len(found) < len(of):
            yield Columns(((picture,), ()), WIDTHS)
            return
        answers = dict(zip((each.name for each in of), found.values(), strict=True))
        values = {each.name: values_of(each, answers[each.name]) for each in of}
        named = {each.name: answered(each, answers[each.name]) for each in of}
        heads = {each.name: each.loaded.head for each in of}
        texts = {name: (head.quantity, head.text) for name, head in heads.items()}
        yield Said(convolution.moved(DISTANCES_PX, named, values, self.distance, texts))
        lines = [Line(words(each, answers[each.name], self.distance)) for each in of]
        quantity = joined(list(dict.fromkeys(head.quantity for head in heads.values())))
        figure = shift.answers(DISTANCES_PX, values, named, self.distance, quantity)
        chart = Chart(figure, "Value of the answer to the unmoved image, by distance")
        yield Columns(((picture, *lines), (chart, *(Answered(each.loaded) for each in of[:1]))), WIDTHS)
        cosines = np.array([each.cosine[:, 0].double().numpy() for each in answers.values()])
        arrays = {"cosine": cosines, "value": np.array([*values.values()])}
        yield Numbers(lambda: {"distance_px": np.array(DISTANCES_PX), **arrays})


def many(shown: Sequence[str]) -> Blocks:
    """How often the answers to many images stay right, as it was measured with these weights. `shown`: the models of
    the chart above."""
    refuse_others(RECORD)
    table = measured()
    yield Heading(f"Many images: {table['lines'][0]['images']} test images of {table['data']}")
    yield Line(WHY)
    right = {
        bundled.title(line["model"]): (line["distance_px"], line["right"], line["right_half"])
        for line in table["lines"]
    }
    yield Said(first_said(convolution.robust(right)))
    yield Chart(shift.right_answers(right, shown), "Right answers by distance, with 95 % intervals")


def answers_of(of: Subject, progress: object = None) -> Moved:
    """At all distances, in one pass for each: no model runs because the slider moves."""
    pixels = torch.from_numpy(prepare(of.rgb, of.loaded.preprocessing)[0])[None].to(of.loaded.device)
    return Moved(*(each.cpu() for each in answers_when_moved(of.loaded, pixels, DISTANCES_PX)))


def seen(of: Subject, distance_px: int) -> RGB:
    """As the model sees it, moved; small inputs with their pixels seen."""
    pixels = torch.from_numpy(prepare(of.rgb, of.loaded.preprocessing)[0])[None]
    image = unprepare(moved(pixels, distance_px)[0].numpy(), of.loaded.preprocessing)
    zoom = max(1, -(-360 // image.shape[1]))
    return zoomed(image, zoom)


def values_of(of: Subject, answers: Moved) -> np.ndarray:
    """Of the answer to the unmoved image at every distance: its probability, or the likeness."""
    still = answers.logits[DISTANCES_PX.index(0), 0]
    return of.loaded.head.values(answers.logits[:, 0])[:, of.loaded.head.top(still, 1)[0][0]].double().numpy()


def answered(of: Subject, answers: Moved) -> list[str]:
    """What the model answers at every distance."""
    head = of.loaded.head
    return [of.loaded.label(head.top(logits, 1)[0][0]) for logits in answers.logits[:, 0]]


def words(of: Subject, answers: Moved, distance_px: int) -> str:
    """What the model says before and after."""
    at, still = DISTANCES_PX.index(distance_px), DISTANCES_PX.index(0)
    text, values, names = of.loaded.head.text, values_of(of, answers), answered(of, answers)
    now = "" if names[at] == names[still] else f", now {names[at]}"
    return (
        f"{of.name} · {names[still]}: {text(float(values[still]))} unmoved, {text(float(values[at]))} moved{now} · "
        f"cosine of the features {float(answers.cosine[at, 0]):.3f}"
    )


@cache
def measured() -> dict[str, Any]:
    """The shipped table of `python -m vizkit shift`, which does not change."""
    return json.loads((EXPERIMENTS / RECORD).read_text(encoding="utf-8"))
