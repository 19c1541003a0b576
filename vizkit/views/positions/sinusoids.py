"""Sinusoids: the fixed table of waves, its rows and columns, and how similar two positions are."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

import numpy as np
import torch

from vizkit.analysis.attention.positions import by_distance, similarity, sinusoidal, sinusoidal_2d, waves
from vizkit.analysis.remarks.positions import fading, of_two_dimensions
from vizkit.figure.charts import curves, heat_map
from vizkit.views.blocks import Block, Chart, Columns, Numbers, Said, first_said
from vizkit.views.controls import choice, number
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

COUNTS = ("16", "49", "64", "100", "196")
MOST = int(COUNTS[-1])
FINE = 20  # points of a wave between two positions


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
        "Positions", COUNTS, "How many places there are.", default="64", key="sin_count"
    )
    position: int = number(
        "Position", 1, MOST, 11, "Counted from 1; in the formula from 0.", key="sin_position", plays=True
    )

    overlays: ClassVar = False
    how: ClassVar = How(
        "Every position gets its own pattern of slow and fast waves; near positions are similar, distant ones are "
        "not. With one index for all patches the end of a row is near the start of the next; separate halves for row "
        "and column keep both dimensions.",
        r"PE_{(p,2i)} = \sin(p / 10000^{2i/d}), \quad PE_{(p,2i+1)} = \cos(p / 10000^{2i/d})",
        "what a model makes of it: learned, 1-D and 2-D tables do about equally well in ViT, none is clearly worse.",
        "Vaswani et al. 2017, § 3.5; Dosovitskiy et al. 2020, appendix D.4",
    )

    def title(self, of: Subject) -> str:
        return f"Sinusoids: {self.count} positions of {self.dim} channels"

    def show(self, of: Subject) -> Iterator[Block]:
        count, dim = int(self.count), int(self.dim)
        position = min(self.position, count) - 1
        table = sinusoidal(count, dim)
        # All rows of the table have the same length, so both similarities are one curve.
        alike = similarity(table)[position]
        yield Said(first_said(fading(alike, position)))
        places, positions = np.arange(1, count + 1), np.linspace(0, count - 1, FINE * (count - 1) + 1)
        whole = heat_map(
            table.numpy(),
            "channel",
            "position",
            "One row is added to one patch",
            signed=True,
            square=False,
            quantity="value",
            x_names=[str(channel + 1) for channel in range(dim)],
            y_names=[str(place) for place in places],
        )
        whole.add_hrect(position - 0.5, position + 0.5, line_width=2)
        fine = waves(torch.from_numpy(positions), dim)
        here = {position + 1.0: "dot"}
        named = {f"channel {c + 1}": (positions + 1, fine[:, c].numpy()) for c in (0, 1, dim // 4, dim // 2)}
        columns = curves(named, "position", "value", "Some columns: fast waves first", marked=here)
        pairs = np.arange(1, dim // 2 + 1)
        halves = {"sine": (pairs, table[position, 0::2].numpy()), "cosine": (pairs, table[position, 1::2].numpy())}
        row = curves(halves, "pair of channels", "value", f"The row of position {position + 1}")
        cosine = {f"cosine = dot product ÷ {dim // 2}": (places, alike.numpy())}
        like = curves(cosine, "position", "similarity", f"Similarity to position {position + 1}", marked=here)
        yield Columns(
            (
                (
                    Chart(whole, "Table of positions and channels"),
                    Chart(row, f"The row of position {position + 1}: sine and cosine of every pair"),
                ),
                (
                    Chart(columns, "Four columns by position"),
                    Chart(like, f"Similarity to position {position + 1}"),
                ),
            )
        )
        side = max(2, round(count**0.5))
        one, two = sinusoidal(side * side, dim).view(side, side, dim), sinusoidal_2d((side, side), dim)
        flat, separate = by_distance(one), by_distance(two)
        lines = {
            "1-D, patches in a row": (flat.distance.numpy(), flat.mean.numpy()),
            "2-D, half row, half column": (separate.distance.numpy(), separate.mean.numpy()),
        }
        article = "an" if side == 8 else "a"
        name = f"Similarity by distance on {article} {side} × {side} grid"
        yield Said(first_said(of_two_dimensions(one, two)))
        yield Chart(curves(lines, "distance in patches", "mean cosine", name), name)
        arrays = {
            "table": table.numpy(),
            "similarity": alike.numpy(),
            "distance": flat.distance.numpy(),
            "mean_1d": flat.mean.numpy(),
            "mean_2d": separate.mean.numpy(),
        }
        yield Numbers(partial(dict, arrays))
