"""Sinusoids: the fixed table of waves, and how similar two positions are when counted in one row and on a grid."""

from functools import partial
from math import isqrt
from typing import Any, Literal

import numpy as np
import torch

from vizkit.analysis.attention.positions import similarity_to, sinusoidal, sinusoidal_2d, waves
from vizkit.analysis.remarks.positions import in_two_dimensions
from vizkit.figure.charts import curves, framed, heat_map
from vizkit.views.blocks import Blocks, Chart, Numbers, Said, side_by_side
from vizkit.views.controls import choice, number
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

COUNTS = ("16", "49", "64", "100", "196")
MOST = int(COUNTS[-1])
FINE = 12  # points of a wave between two positions
HEIGHT = 380


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
        "Positions", COUNTS, "How many places there are, on a square grid.", default="196", key="sin_count"
    )
    position: int = number(
        "Position", 1, MOST, 46, "Counted from 1, row by row; in the formula from 0.", key="sin_position", plays=True
    )

    overlays = False
    how = How(
        "Every position gets its own pattern of slow and fast waves; near positions are similar, distant ones are "
        "not. With one index for all patches the end of a row is near the start of the next; separate halves for row "
        "and column keep both dimensions.",
        r"PE_{(p,2i)} = \sin(p / 10000^{2i/d}), \quad PE_{(p,2i+1)} = \cos(p / 10000^{2i/d})",
        "what a model makes of it: learned, 1-D and 2-D tables do about equally well in ViT, none is clearly worse.",
        "Vaswani et al. 2017, § 3.5; Dosovitskiy et al. 2020, appendix D.4",
    )

    def title(self, of: Subject) -> str:
        return f"Sinusoids: {self.count} positions of {self.dim} channels"

    def show(self, of: Subject) -> Blocks:
        count, dim = int(self.count), int(self.dim)
        side, position = isqrt(count), min(self.position, count)
        cell, table = divmod(position - 1, side), sinusoidal(count, dim)
        one, two = (
            similarity_to(each, position - 1).view(side, side)
            for each in (table, sinusoidal_2d((side, side), dim).flatten(0, 1))
        )
        form: Any = {"signed": True, "height": HEIGHT, "first": 1}
        added, near = "The table: one row is added to one patch", f"Similarity to position {position}"
        whole = heat_map(table.numpy(), "channel", "position", added, quantity="value", square=False, **form)
        shown = [Chart(framed(whole, position, 1, 1, dim), added)]
        form |= {"signed": bool(min(one.min(), two.min()) < 0), "limit": 1.0, "quantity": "cosine"}  # one scale
        for values, how in ((one, "counted in one row"), (two, "half row, half column")):
            figure = heat_map(values.numpy(), "column", "row", f"{near}, {how}", **form)
            shown.append(Chart(framed(figure, cell[0] + 1, cell[1] + 1), f"{near}, {how}"))
        yield side_by_side(*shown)
        yield Said(in_two_dimensions(one, two, cell))
        places = torch.linspace(0, count - 1, FINE * (count - 1) + 1, dtype=torch.float64)
        fine, at, pairs = waves(places, dim).numpy(), places.numpy() + 1, np.arange(1, dim // 2 + 1)
        some = {f"channel {c + 1}": (at, fine[:, c]) for c in (0, 1, dim // 4, dim // 2)}
        columns = curves(some, "position", "value", "Some columns: fast waves first", marked={float(position): "dot"})
        mine = table[position - 1].numpy()
        halves = {"sine": (pairs, mine[::2]), "cosine": (pairs, mine[1::2])}
        row = f"The row of position {position}: sine and cosine of every pair"
        yield side_by_side(
            Chart(columns, "Four columns by position"),
            Chart(curves(halves, "pair of channels", "value", row, mode="lines+markers"), row),
        )
        yield Numbers(partial(dict, table=table, similarity=one.flatten(), similarity_2d=two.flatten()))
