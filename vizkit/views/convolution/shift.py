"""Shift by a pixel: the picture moves, and what a model sees in it stays, or does not."""

import json
from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import numpy as np
import torch

from vizkit.analysis.remarks import convolution
from vizkit.figure import shift
from vizkit.image import RGB, prepare, unprepare
from vizkit.models.probes.convolution.shifting import Moved, answers_when_moved, moved
from vizkit.percent import in_percent
from vizkit.views import bundled
from vizkit.views.blocks import (
    Answered,
    Blocks,
    Chart,
    Columns,
    Heading,
    Line,
    Numbers,
    Part,
    Picture,
    Said,
    first_said,
)
from vizkit.views.controls import number
from vizkit.views.measured_with import EXPERIMENTS, refuse_others
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

MOST_PX = 16
DISTANCES_PX = tuple(range(-MOST_PX, MOST_PX + 1))
RECORD = "shift/digits.json"
WHY = (
    "Measured before, on networks of five kinds trained on the same digits: one picture says how your models change "
    "with it, only many pictures say how often an answer stays right."
)


class Shift(View):
    """The picture moves by a few pixels, and the answers with it or not."""

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
        "A convolution gives the same numbers one pixel further when the picture moves by one pixel; strides and "
        "patches break that, the pooling over all places at the end mends most of it. An MLP on pixels sees another "
        "input. What comes in at the side repeats the border.",
        r"f(T_\delta x) = T_\delta f(x) \ \text{(equivariance)}, \qquad g(T_\delta x) = g(x) \ \text{(invariance)}",
        "what an architecture can learn: with pictures moved in training, as these models were trained, all of them "
        "learn some of it.",
        "LeCun et al. 1998, § II; Zhang 2019",
    )

    def title(self, of: Sequence[Subject]) -> str:
        return f"A picture that moves: {abs(self.distance)} pixels to the {'left' if self.distance < 0 else 'right'}"

    def show(self, of: Sequence[Subject]) -> Blocks:
        answers = {each.name: each.kept(("moved", MOST_PX), partial(answers_of, each)) for each in of}
        cosines = {name: each.cosine[:, 0].double().numpy() for name, each in answers.items()}
        choosing = [each.name for each in of if each.loaded.head.exclusive]
        firsts = {name: answers[name].logits[:, 0].argmax(-1).numpy() for name in choosing}
        yield Said(first_said(convolution.moved(DISTANCES_PX, cosines, firsts, self.distance)))
        lines = [Line(words(each, answers[each.name], self.distance)) for each in of]
        picture = Picture(seen(of[0], self.distance), f"What the model sees, moved by {self.distance} pixels")
        figure = shift.cosines(DISTANCES_PX, cosines, self.distance)
        chart = Chart(figure, "Cosine of the features with those of the unmoved picture, by distance")
        yield Columns(((picture, *lines), (chart, *(Answered(each.loaded) for each in of[:1]))), (2, 3))
        yield Part(many)
        yield Numbers(partial(dict, {"distance_px": np.array(DISTANCES_PX), "cosine": np.array([*cosines.values()])}))


def many() -> Blocks:
    """How often the answers to many pictures stay right, as it was measured with these weights."""
    refuse_others(RECORD)
    table = measured()
    yield Heading(f"Many pictures: {table['lines'][0]['images']} test pictures of {table['data']}")
    yield Line(WHY)
    right = {
        bundled.title(line["model"]): (line["distance_px"], line["right"], line["right_half"])
        for line in table["lines"]
    }
    yield Said(first_said(convolution.robust(right)))
    yield Chart(shift.right_answers(right, ""), "Right answers by distance, with 95 % intervals")


def answers_of(of: Subject) -> Moved:
    """At all distances, in one pass for each: no model runs because the slider moves."""
    pixels = torch.from_numpy(prepare(of.rgb, of.loaded.preprocessing)[0])[None].to(of.loaded.device)
    return Moved(*(each.cpu() for each in answers_when_moved(of.loaded, pixels, DISTANCES_PX)))


def seen(of: Subject, distance_px: int) -> RGB:
    """As the model sees it, moved; small inputs with their pixels seen."""
    pixels = torch.from_numpy(prepare(of.rgb, of.loaded.preprocessing)[0])[None]
    image = unprepare(moved(pixels, distance_px)[0].numpy(), of.loaded.preprocessing)
    zoom = max(1, -(-360 // image.shape[1]))
    return image.repeat(zoom, 0).repeat(zoom, 1)


def words(of: Subject, answers: Moved, distance_px: int) -> str:
    """What the model says before and after."""
    head, at = of.loaded.head, DISTANCES_PX.index(distance_px)
    cosine = f"cosine {float(answers.cosine[at, 0]):.3f}"
    if not head.probable:
        return f"{of.name} · {cosine}"
    before, after = (answers.logits[each, 0] for each in (DISTANCES_PX.index(0), at))
    (first, share), *_ = head.top(before, 1)
    now = float(head.values(after)[first])
    return f"{of.name} · {of.loaded.label(first)}: {in_percent(share)} unmoved, {in_percent(now)} moved · {cosine}"


@cache
def measured() -> dict[str, Any]:
    """The shipped table of `python -m vizkit shift`, which does not change."""
    return json.loads((EXPERIMENTS / RECORD).read_text(encoding="utf-8"))
