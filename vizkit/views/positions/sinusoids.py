"""Sinusoids: the fixed table of waves, one row of it, and how similar two positions are in one row and on a grid."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from math import isqrt
from typing import Any, ClassVar, Literal

import numpy as np
import torch

from vizkit.analysis.attention.positions import similarity_to, sinusoidal, sinusoidal_2d, waves
from vizkit.analysis.remarks.positions import fading, in_two_dimensions
from vizkit.figure.charts import curves, framed, heat_map
from vizkit.views.blocks import Block, Chart, Columns, Numbers, Said, first_said
from vizkit.views.controls import choice, number
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

HEIGHT = 400
MOST_WAVES, FINE = 50, 8  # positions whose waves are drawn; points of a wave between two


@dataclass(frozen=True)
class Sinusoids(View):
    """A fixed pattern of slow and fast waves for every position."""

    dim: Literal["16", "32", "64", "128", "256"] = choice(
        "Channels",
        ("16", "32", "64", "128", "256"),
        "Numbers in the vector of a position.",
        default="64",
        key="sin_dim",
    )
    count: Literal["16", "49", "64", "100", "196"] = choice(
        "Positions",
        ("16", "49", "64", "100", "196"),
        "How many places there are, on a square grid.",
        default="196",
        key="sin_count",
    )
    position: int = number(
        "Position", 1, 196, 46, "Counted from 1, row by row; the formula counts from 0.", key="sin_position", plays=True
    )

    overlays: ClassVar = False
    how: ClassVar = How(
        "Every position gets its own pattern of slow and fast waves; near positions are similar, distant ones are "
        "not. With one index for all patches the end of a row is near the start of the next; separate halves for row "
        "and column keep both dimensions.",
        r"PE_{(p,2i)} = \sin(p / 10000^{2i/d}), \quad PE_{(p,2i+1)} = \cos(p / 10000^{2i/d}), \quad p = 0, 1, \dots",
        "what a model makes of it: learned, 1-D and 2-D tables do about equally well in ViT, none is clearly worse.",
        "Vaswani et al. 2017, § 3.5; Dosovitskiy et al. 2020, appendix D.4",
    )

    def title(self, of: Subject) -> str:
        return f"Sinusoids: {self.count} positions of {self.dim} channels"

    def show(self, of: Subject) -> Iterator[Block]:
        count, dim = int(self.count), int(self.dim)
        side, position = isqrt(count), min(self.position, count)
        cell = divmod(position - 1, side)
        table = sinusoidal(count, dim)
        one = similarity_to(table, position - 1).view(side, side)
        two = similarity_to(sinusoidal_2d((side, side), dim).flatten(0, 1), position - 1).view(side, side)
        signed = bool(min(one.min(), two.min()) < 0)  # one scale for both
        title = f"Similarity to position {position}"
        yield Columns(
            (
                (whole(table.numpy(), position),),
                (near(one.numpy(), cell, f"{title}, in one row", signed),),
                (near(two.numpy(), cell, f"{title}, half row, half column", signed),),
            )
        )
        yield Said(first_said(in_two_dimensions(one, two, cell)))
        yield Said(first_said(fading(one.flatten(), position - 1)))
        yield Columns(((columns_of(count, dim),), (row_of(table.numpy(), position),)))
        arrays = {"table": table, "similarity": one.flatten(), "similarity_2d": two.flatten()}
        yield Numbers(partial(dict, {name: each.numpy() for name, each in arrays.items()}))


def whole(table: np.ndarray, position: int) -> Chart:
    """The table, with the row of the position framed."""
    form: Any = {"signed": True, "square": False, "quantity": "value", "height": HEIGHT, "first": 1}
    figure = heat_map(table, "channel", "position", "One row is added to one patch", **form)
    return Chart(framed(figure, position, 1, 1, table.shape[1], width=1), "Table of positions and channels")


def near(values: np.ndarray, cell: tuple[int, int], title: str, signed: bool) -> Chart:
    form: Any = {"signed": signed, "limit": 1.0, "quantity": "cosine", "height": HEIGHT, "first": 1}
    figure = heat_map(values, "column", "row", title, **form)
    return Chart(framed(figure, cell[0] + 1, cell[1] + 1), title)


def columns_of(count: int, dim: int) -> Chart:
    """Some channels by position: the curve of each, and its values at whole positions."""
    shown = min(count, MOST_WAVES)
    at = torch.arange((shown - 1) * FINE + 1, dtype=torch.float64) / FINE
    values, some = waves(at, dim).numpy(), (0, dim // 4, dim // 2)
    lines = {f"channel {channel + 1}": (at.numpy() + 1, values[:, channel]) for channel in some}
    figure = curves(lines, "position", "value", "Some columns of the table: fast waves first")
    return Chart(figure, "Three columns by position")


def row_of(table: np.ndarray, position: int) -> Chart:
    """Sines and cosines apart: side by side they would look like noise."""
    pairs = np.arange(1, table.shape[1] // 2 + 1)
    lines = {"sines": (pairs, table[position - 1, ::2]), "cosines": (pairs, table[position - 1, 1::2])}
    title = f"Row {position} of the table"
    figure = curves(lines, "pair of channels", "value", title, mode="lines+markers")
    return Chart(figure.update_yaxes(range=[-1.05, 1.05]), title)
