"""Learned: how alike the learned positions of two patches are, on the model's own grid or resampled to another one."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

import numpy as np
from torch import Tensor

from vizkit.analysis.attention.positions import ByDistance, by_distance, cosine_grid, pca_rgb, sinusoidal_2d
from vizkit.analysis.remarks import positions
from vizkit.analysis.remarks.remark import percent
from vizkit.figure.charts import curves
from vizkit.figure.tiles import tiles
from vizkit.models.probes.positions import learned_table, resampled
from vizkit.traces import NotApplicable, Tokens
from vizkit.views.blocks import Block, Chart, Columns, Folded, Heading, Line, Map, Numbers, Picture, Said, first_said
from vizkit.views.controls import choice
from vizkit.views.rows_of import similarity_for_browser
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

FINER = {"own": 1.0, "half": 0.5, "double": 2.0}


@dataclass(frozen=True)
class Learned(View):
    """Cosine similarity of the learned positions of two patches."""

    grid: Literal["own", "half", "double"] = choice(
        "Grid",
        tuple(FINER),
        "For pictures of another size a table is resampled to their grid of patches.",
        words={"own": "its own", "half": "half as fine", "double": "twice as fine"},
        key="positions_grid",
    )

    how: ClassVar = How(
        "The map shows how similar the learned position of the chosen patch is to all others. A trained model has "
        "learned rows and columns by itself: a bright cross and a bright spot. Places with like colours beside it have "
        "like vectors. Click a patch to choose it; all tiles at once are behind the line below.",
        r"S_{ij} = \cos(e_i, e_j)",
        "what attention does with it; equal vectors only mean that position does not distinguish two places.",
        "Dosovitskiy et al. 2020, fig. 7 centre",
    )

    def title(self, of: Subject) -> str:
        return "Likeness of learned positions"

    def show(self, of: Subject) -> Iterator[Block]:
        table = learned_table(of.loaded)
        if table is None:
            raise NotApplicable(f"{of.name} has no learned table of positions.")
        own, words = table.shape[:2], ""
        if self.grid != "own":
            table = resampled(of.loaded, (finer(own[0], self.grid), finer(own[1], self.grid)))
            words = f" · resampled from {own[0]} × {own[1]}, bicubic"
        rows, columns, channels = table.shape
        places = Tokens("positions", (), (rows, columns), stride=1.0)
        alike = similarity_for_browser(table.flatten(0, 1), places, of.asked, low(of))
        yield Line(f"{rows} × {columns} positions of {channels} channels{words}")
        over = Map(
            alike,
            of.asked,
            "Similarity of positions in",
            "cosine with the position of the chosen patch",
            said=first_said(positions.learned(table)),
        )
        yield Columns(((over,), tuple(coloured(table))), (3, 2))
        yield from likeness(table)
        yield Folded(f"All {rows * columns} positions at once", partial(all_tiles, table))
        yield Numbers(partial(numbers, table))


def finer(side: int, grid: str) -> int:
    return max(2, round(side * FINER[grid]))


def low(of: Subject) -> float:
    """The darkest colour: the lowest cosine of this table and of those beside it, rounded down to a tenth."""
    tables = (learned_table(each.loaded) for each in (of, *of.beside))
    lowest = min(float(cosine_grid(table).min()) for table in tables if table is not None)
    return math.floor(10 * lowest) / 10


def coloured(table: Tensor) -> Iterator[Block]:
    """The table in three main components."""
    colours = pca_rgb(table)
    words = f"three main components as red, green and blue, {percent(float(colours.explained.sum()))} of the variance"
    yield Heading("The same vectors as colours")
    yield Picture(enlarged(colours.rgb.numpy()), "A colour for every position", words, 0.36)


def likeness(table: Tensor) -> Iterator[Block]:
    """By distance, beside that of sinusoids of as many channels, for which nothing was learned."""
    rows, columns, channels = table.shape
    near, lines = by_distance(table, whole=True), dict[str, ByDistance]()
    if channels % 4 == 0:
        lines["sinusoids"] = by_distance(sinusoidal_2d((rows, columns), channels), whole=True)
        yield Said(first_said(positions.fades(near, lines["sinusoids"])))
    lines = {"learned": near, **lines}
    drawn = {name: (each.distance.numpy(), each.mean.numpy()) for name, each in lines.items()}
    figure = curves(drawn, "distance in patches", "mean cosine", "Similarity by distance", mode="lines+markers")
    figure.update_yaxes(range=[min(0.0, *(float(each.mean.min()) for each in lines.values())), 1.03])
    yield Chart(figure, "Cosine of learned positions by distance")


def all_tiles(table: Tensor) -> Iterator[Block]:
    yield Picture(tiles(cosine_grid(table).numpy()), "Similarity of every position to every other", "", 0.6)


def enlarged(rgb: np.ndarray, side_px: int = 280) -> np.ndarray:
    zoom = max(1, side_px // max(rgb.shape[:2]))
    return (rgb * 255).round().astype(np.uint8).repeat(zoom, 0).repeat(zoom, 1)


def numbers(table: Tensor) -> dict[str, np.ndarray]:
    near = by_distance(table)
    return {
        "table": table.numpy(),
        "distance": near.distance.numpy(),
        "mean": near.mean.numpy(),
        "highest": near.high.numpy(),
    }
