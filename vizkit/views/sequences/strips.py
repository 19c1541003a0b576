"""Steps of a computation as strips of coloured cells, one cell for each number."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from vizkit.figure.canvas.rows import text64
from vizkit.figure.palette import SIGNED, colours
from vizkit.figure.saved.plate import INK, PALE, Mark, Outline, Raster, Words, fitting, wrapped
from vizkit.figure.sequences.word_matrix import MASKED, ORANGE, on_white, short
from vizkit.views.blocks import Blocks, Canvas, Line, Paper
from vizkit.views.rules import Rule, whole

if TYPE_CHECKING:
    from torch import Tensor

CROWD = 24
"""Weights among which the largest is bright, and cells of which none says its number."""
SIZE, TALL, FRAME, DARK = 8.5, 17.0, "#f97316", 0.62  # of the limit, from which a cell is dark
LOWEST = float(np.finfo(np.float32).min)  # of numbers that are saved, in the place of −∞
Tells = Mapping[str, tuple[Rule[Any], str | tuple[str, ...]]]


@dataclass(frozen=True, eq=False)
class Strip:
    """Some numbers. `labels`: of every cell, where each belongs to a word. "weights" are 0 to 1, "vector" of any sign,
    on one scale with the others of its step. `frame`: (first, behind the last) cell of a part that is meant."""

    name: str
    values: "Tensor"
    labels: Sequence[str] = ()
    kind: Literal["vector", "weights"] = "vector"
    frame: tuple[int, int] | None = None


@dataclass(frozen=True, eq=False)
class Step:
    """`part`: of the network, the same for neighbours that belong together; `say`: a sentence with its numbers."""

    part: str
    title: str
    formula: str
    say: str
    strips: tuple[Strip, ...]


@dataclass(frozen=True)
class Choice:
    """A list beside the steps that sets a field."""

    name: str
    label: str
    options: Sequence[str]
    chosen: str


def walked(
    steps: Sequence[Step],
    number: int,
    label: str,
    words: Sequence[str],
    chosen: int,
    choices: Sequence[Choice],
    tells: Tells,
) -> Canvas:
    """All steps at step `number` from 1, which its field `step` is set to, below the words that can be chosen."""
    at = min(number, len(steps)) - 1
    data = {
        "of": f"{label} {words} {steps[at].say}",
        "at": at,
        "words": list(words),
        "chosen": chosen,
        "choices": [vars(choice) for choice in choices],
        "signed": text64(colours(SIGNED)),
        "steps": [packed(step) for step in steps],
    }
    step: Tells = {"step": (whole(1, len(steps)), "step")}
    return Canvas("vizkit_strips", data, label, {**step, **tells}, tuple(on_paper(steps[at], at)))


def packed(step: Step) -> dict[str, Any]:
    strips = [
        {
            "name": strip.name,
            "values": text64(strip.values.float().numpy().astype("<f4")),
            "labels": list(strip.labels),
            "kind": strip.kind,
            "frame": strip.frame,
        }
        for strip in step.strips
    ]
    return {"part": step.part, "title": step.title, "formula": step.formula, "say": step.say, "strips": strips}


# ---- paper -----------------------------------------------------------------------------------------------------------
def on_paper(step: Step, at: int) -> Blocks:
    """The step that is seen."""
    yield Line(f"{at + 1}. {step.part}: {step.title}, {step.formula}")
    yield Line(step.say)
    yield Paper(partial(marks, step.strips))


def marks(strips: Sequence[Strip], width: float) -> tuple[list[Mark], float]:
    """Below one another, on the scales of the canvas."""
    drawn, top = list[Mark](), 0.0
    vectors = [strip.values[strip.values.isfinite()].abs() for strip in strips if strip.kind == "vector"]
    limit = max((float(each.max()) for each in vectors if len(each)), default=0.0) or 1.0
    for strip in strips:
        values, count = strip.values.float().numpy(), len(strip.values)
        crowd, vector = count > CROWD, strip.kind == "vector"
        most = limit if vector else float(values.max()) if crowd else 1.0
        for line in wrapped(strip.name, SIZE + 1, width, 2):
            top += SIZE + 4
            drawn.append(Words(line, 0.0, top, SIZE + 1, INK))
        top += 3
        rgb = np.array([[colour(value, most, vector) for value in values.tolist()]], np.uint8)
        drawn.append(Raster(rgb, 0.0, top, width, TALL))
        across = width / count
        if strip.frame is not None:
            first, last = strip.frame
            drawn.append(Outline(first * across, top, (last - first) * across, TALL, FRAME, 2.0))
        if not crowd:
            texts = ["−∞" if not np.isfinite(value) else short(float(value)) for value in values]
            inks = ["#ffffff" if vector and abs(value) > DARK * most else INK for value in values]
            drawn += cells(texts, across, top + 0.68 * TALL, min(SIZE - 1, across / 2.8), inks)
        top += TALL
        if strip.labels and not crowd:
            top += SIZE + 1
            drawn += cells(strip.labels, across, top, SIZE - 1)
        top += 5
    ends = f"vectors from −{limit:.3g}, blue, over 0, white, to {limit:.3g}, red" if vectors else ""
    if ends:
        top += SIZE + 2
        drawn.append(Words(fitting(ends, SIZE - 0.5, width), 0.0, top, SIZE - 0.5, PALE))
    return drawn, top + 4


def cells(texts: Sequence[str], across: float, y: float, size: float, inks: Sequence[str] = ()) -> list[Mark]:
    return [
        Words(fitting(text, size, across + 1), (at + 0.5) * across, y, size, ink, "middle")
        for at, (text, ink) in enumerate(zip(texts, inks or [INK] * len(texts), strict=True))
    ]


def colour(value: float, limit: float, vector: bool) -> tuple[int, int, int]:
    if not np.isfinite(value):
        return MASKED
    if not vector:
        return on_white(ORANGE, 0.06 + 0.94 * value / limit)
    red, green, blue = colours(SIGNED)[round(127.5 + 127.5 * float(np.clip(value / limit, -1, 1)))].tolist()
    return red, green, blue


def arrays(steps: Sequence[Step]) -> dict[str, np.ndarray]:
    """All strips one after another: strip i is `numbers` from `begin[i]` to `begin[i + 1]`; −∞ is the lowest float."""
    strips = [(f"{number}. {step.title}", strip) for number, step in enumerate(steps, 1) for strip in step.strips]
    values = [strip.values.float().numpy() for _, strip in strips]
    whole = np.concatenate(values)
    return {
        "step": np.array([step for step, _ in strips]),
        "strip": np.array([strip.name for _, strip in strips]),
        "begin": np.cumsum([0, *map(len, values)]),
        "numbers": np.where(np.isneginf(whole), LOWEST, whole),
    }
