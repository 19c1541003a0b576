"""A view with every kind of block, and a subject whose picture is 40 × 80 pixels."""

from functools import cache
from typing import ClassVar

import numpy as np

import vizkit
from tests.drawn import noisy_picture
from vizkit.figure.canvas.rows import Rows
from vizkit.figure.canvas.tile_maps import Tile
from vizkit.figure.charts import curves
from vizkit.traces import NotApplicable
from vizkit.views.blocks import (
    Chart,
    Columns,
    Folded,
    Formula,
    Grid,
    Heading,
    Job,
    Later,
    Line,
    Map,
    Metrics,
    Numbers,
    Part,
    Picture,
    Said,
    Table,
    Tiles,
)
from vizkit.views.controls import number
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

HEAT = np.array([[0.1, 0.2], [0.3, 0.4]])
RGB = noisy_picture(40, 80)


@cache
def loaded():
    return vizkit.load("bundled:digits_vit")


def subject(name="Toy"):
    return Subject(loaded, RGB, model=name, image="an image")


def refused():
    raise NotApplicable("Not for this model.")
    yield


class Toy(View):
    """Every kind of block."""

    step: int = number("Step", 1, 3, 2, plays=True)

    how: ClassVar = How("It is read so.", "", "the rest.", "nobody")

    def title(self, of):
        return f"Toy at step {self.step}"

    def show(self, of):
        rows = Rows(self.step * HEAT.reshape(1, 4), (2, 2), (2, 2), np.array([3]))
        tiles = (Tile("first", HEAT, "a note"), Tile("second", HEAT), Tile("none", None, "There is none."))
        yield Heading("A <b>heading</b>")
        yield Line("a quiet line")
        yield Map(rows, (0.9, 0.9), "Toy of", "toys", (("a share", 0.25), ("a value", "7 kg")), f"Said at {self.step}.")
        yield Tiles("Small maps", tiles, "Small.", "step", (1, 2, 3), self.step, 66)
        yield Grid(("A model",), tiles[:1], (((tiles[0], of),),), "share", "A grid.")
        yield Columns(((Picture(RGB, "An image", "its caption"),), (Metrics((("What", "12", "more"),)),)))
        yield Chart(curves({"a line": (np.arange(3), np.arange(3))}, "x", "y", "A chart"), "A chart")
        yield Table(({"name": "a", "number": 1.5}, {"name": "b", "number": None}), "A table", "its words")
        yield Part(refused)
        yield Later(of, (Job("job", "Working", lambda progress: 5),), lambda results: [Said(f"Five: {results['job']}")])
        yield Folded("Few ask for this", refused)
        yield Formula(r"a^2")
        yield Numbers(lambda: {"heat": self.step * HEAT})


def unpooled(value, pool):
    """As stage.js reads it."""
    if isinstance(value, dict):
        return pool[value["$"]] if "$" in value else {name: unpooled(part, pool) for name, part in value.items()}
    return [unpooled(part, pool) for part in value] if isinstance(value, list) else value
