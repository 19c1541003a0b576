"""Learned: how alike the learned positions of two patches are, and the table as colours."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from torch import Tensor

from vizkit.analysis.attention.positions import by_distance, cosine_grid, pca_rgb, sinusoidal_2d
from vizkit.analysis.remarks import positions
from vizkit.figure.charts import curves
from vizkit.figure.tiles import tiles
from vizkit.models.probes.positions import learned_table, resampled
from vizkit.traces import NotApplicable, Tokens
from vizkit.views.blocks import Block, Chart, Columns, Folded, Line, Map, Numbers, Picture, first_said
from vizkit.views.rows_of import similarity_for_browser
from vizkit.views.subject import Subject
from vizkit.views.view import How, View


@dataclass(frozen=True)
class Learned(View):
    """Cosine similarity of the learned positions of two patches."""

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
        yield Line(f"{rows} × {columns} positions of {channels} channels")
        tokens = Tokens("positions", (), (rows, columns), stride=1.0)
        yield Map(
            similarity_for_browser(table.flatten(0, 1), tokens, of.asked),
            of.asked,
            "Similarity of positions in",
            "cosine with the position of the chosen patch, −1 to 1",
            said=first_said(positions.learned(table)),
        )
        yield Columns(tuple((picture,) for picture in coloured(of, table)))
        yield Chart(likeness(table), "Cosine of learned positions by distance")
        yield Folded(f"All {rows * columns} positions at once", partial(all_tiles, table))
        yield Numbers(partial(numbers, table))


def coloured(of: Subject, table: Tensor) -> Iterator[Picture]:
    """The table in three main components, and the same when it is resampled to twice as many places."""
    rows, columns, _ = table.shape
    own, doubled = pca_rgb(table), pca_rgb(resampled(of.loaded, (2 * rows, 2 * columns)))
    share = f"three main components ({float(own.explained.sum()):.0%} of the variance)"
    for colours, words in ((own, share), (doubled, f"resampled to {2 * rows} × {2 * columns}")):
        yield Picture(enlarged(colours.rgb.numpy()), words, words, 0.36)


def likeness(table: Tensor):  # noqa: ANN201 - a figure of plotly, which views do not import
    """By distance, beside that of sinusoids of as many channels, for which nothing was learned."""
    rows, columns, channels = table.shape
    near = by_distance(table)
    lines = {
        "learned, mean": (near.distance.numpy(), near.mean.numpy()),
        "learned, highest": (near.distance.numpy(), near.high.numpy()),
    }
    if channels % 4 == 0:
        waves = by_distance(sinusoidal_2d((rows, columns), channels))
        lines["sinusoids, mean"] = (waves.distance.numpy(), waves.mean.numpy())
    figure = curves(lines, "distance in patches", "cosine", "Similarity by distance")
    return figure.update_yaxes(range=[-1.03, 1.03])  # the same for models side by side


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
