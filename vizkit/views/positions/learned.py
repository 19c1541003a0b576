"""Learned: how alike the learned positions of two patches are, and the table as colours."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from math import floor
from typing import ClassVar, Literal

import numpy as np
from torch import Tensor

from vizkit.analysis.attention.positions import ByDistance, by_distance, cosine_grid, pca_rgb, sinusoidal_2d
from vizkit.analysis.remarks import positions
from vizkit.figure.charts import curves
from vizkit.figure.tiles import tiles
from vizkit.models.probes.positions import learned_table, resampled
from vizkit.traces import NotApplicable, Tokens
from vizkit.views.blocks import Block, Chart, Columns, Folded, Heading, Line, Map, Numbers, Picture, Said, first_said
from vizkit.views.controls import choice
from vizkit.views.rows_of import similarity_for_browser
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

TIMES = {"own": 1.0, "half": 0.5, "double": 2.0}


@dataclass(frozen=True)
class Learned(View):
    """Cosine similarity of the learned positions of two patches."""

    grid: Literal["own", "half", "double"] = choice(
        "Grid",
        ("own", "half", "double"),
        "For a picture of another size the table is resampled, as timm does it: bicubic, antialiased.",
        words={"own": "as learned", "half": "half as many a side", "double": "twice as many"},
        key="learned_grid",
    )

    how: ClassVar = How(
        "The map shows how similar the learned position of the chosen patch is to all others. A trained model has "
        "learned rows and columns by itself: a bright cross and a bright spot. Click a patch to choose it; all "
        "tiles at once are behind the line below.",
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
        rows, columns, channels = table.shape
        other = {
            "own": (rows, columns),
            "half": (max(1, rows // 2), max(1, columns // 2)),
            "double": (2 * rows, 2 * columns),
        }
        grid = other[self.grid]
        shown = table if self.grid == "own" else resampled(of.loaded, grid)
        said = f"{table.shape[0]} × {table.shape[1]} positions of {channels} channels"
        yield Line(said if self.grid == "own" else f"{said}, resampled to {rows} × {columns}")
        rows_of = similarity_for_browser(shown.flatten(0, 1), Tokens("positions", (), grid, stride=1.0), of.asked)
        likeness = Map(
            replace(rows_of, low=floor(10 * float(rows_of.values.min())) / 10),
            of.asked,
            "Similarity of positions in",
            "cosine with the position of the chosen patch",
            said=first_said(positions.learned(shown)),
        )
        main = pca_rgb(shown)
        share = f"three main components as red, green and blue: {float(main.explained.sum()):.0%} of the variance"
        colours = Picture(
            enlarged(main.rgb.numpy()), "Learned positions as colours", f"Like colours, like positions: {share}."
        )
        yield Columns(((likeness,), (Heading("The table as colours"), colours)), (5, 4))
        yield Said(first_said(positions.fading_by_distance(*distances(table))))
        yield Chart(by_distance_of(table), "Cosine of learned positions by distance")
        yield Folded(f"All {len(table.flatten(0, 1))} positions at once", partial(all_tiles, table))
        yield Numbers(partial(numbers, table))


def distances(table: Tensor) -> tuple[ByDistance, ByDistance | None]:
    """By distance, and that of sinusoids of as many channels, for which nothing was learned."""
    rows, columns, channels = table.shape
    return by_distance(table), by_distance(sinusoidal_2d((rows, columns), channels)) if channels % 4 == 0 else None


def by_distance_of(table: Tensor):  # noqa: ANN201 - a figure of plotly, which views do not import
    near, waves = distances(table)
    lines = {"learned": (near.distance.numpy(), near.mean.numpy())}
    if waves is not None:
        lines["sinusoids, nothing learned"] = (waves.distance.numpy(), waves.mean.numpy())
    figure = curves(lines, "distance in patches", "mean cosine", "Similarity by distance")
    low = min(0.0, *(float(line.min()) for _, line in lines.values()))
    return figure.update_yaxes(range=[low - 0.03, 1.03])


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
