"""Learned: how alike the learned positions of two patches are, and the table as colours."""

from dataclasses import replace
from functools import partial
from typing import Literal

import numpy as np
from torch import Tensor

from vizkit.analysis.attention.positions import ByDistance, by_distance, cosine_grid, pca_rgb, sinusoidal_2d
from vizkit.analysis.remarks import positions
from vizkit.analysis.remarks.remark import percent
from vizkit.figure.charts import curves
from vizkit.figure.sheet import enlarged, sheet
from vizkit.figure.tiles import tiles
from vizkit.models.probes.positions import learned_table, resampled
from vizkit.traces import NotApplicable, Tokens
from vizkit.views.blocks import Blocks, Chart, Columns, Folded, Heading, Line, Map, Numbers, Picture, Said, first_said
from vizkit.views.controls import choice
from vizkit.views.rows_of import similarity_for_browser
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

TIMES = {"own": 1.0, "half": 0.5, "double": 2.0}
SIDE_PX = 280


class Learned(View):
    """Cosine similarity of the learned positions of two patches."""

    grid: Literal["own", "half", "double"] = choice(
        "Grid",
        ("own", "half", "double"),
        "For a picture of another size the table is resampled, as timm does it: bicubic, antialiased.",
        words={"own": "as learned", "half": "half as many a side", "double": "twice as many"},
        key="learned_grid",
    )

    how = How(
        "The map shows how similar the learned position of the chosen patch is to all others. A trained model has "
        "learned rows and columns by itself: a bright cross and a bright spot. Click a patch to choose it; all "
        "tiles at once are behind the line below.",
        r"S_{ij} = \cos(e_i, e_j)",
        "what attention does with it; equal vectors only mean that position does not distinguish two places.",
        "Dosovitskiy et al. 2020, fig. 7 centre",
    )

    def title(self, of: Subject) -> str:
        return "Likeness of learned positions"

    def show(self, of: Subject) -> Blocks:
        table = learned_table(of.loaded)
        if table is None:
            raise NotApplicable(f"{of.name} has no learned table of positions.")
        rows, columns, channels = table.shape
        grid = (max(1, int(rows * TIMES[self.grid])), max(1, int(columns * TIMES[self.grid])))
        tables = {"as learned": table} | ({} if self.grid == "own" else {"resampled": resampled(of.loaded, grid)})
        *_, shown = tables.values()
        kinds, colours, crossed = of.kept(
            ("learned positions", self.grid),
            lambda: (distances(table, shown), tuple(coloured(tables)), first_said(positions.learned(shown))),
        )
        places = Tokens("positions", (), grid, stride=1.0)
        words = "" if shown is table else f" · resampled from {rows} × {columns}"
        yield Line(f"{grid[0]} × {grid[1]} positions of {channels} channels{words}")
        over = Map(
            similarity_for_browser(shown.flatten(0, 1), places, of.asked),
            of.asked,
            "Similarity of positions in",
            "cosine with the position of the chosen patch",
            said=crossed,
        )
        fading = Said(first_said(positions.fading_by_distance(kinds))), by_distance_chart(kinds)
        if of.beside:
            yield Columns(((over,), colours), (5, 4))
            yield from fading
        else:
            yield Columns(((over,), colours, fading), (5, 4, 5))
        everything = f"All {rows * columns} positions at once"
        yield Folded(everything, lambda: [Picture(tiles(cosine_grid(table).numpy()), everything, "", 0.6)])
        near = kinds["learned positions"]
        yield Numbers(partial(dict, table=table, distance=near.distance, mean=near.mean, highest=near.high))


def coloured(tables: dict[str, Tensor]) -> Blocks:
    """In three main components; a resampled table beside the learned one."""
    mains = [pca_rgb(each) for each in tables.values()]
    rgb = [enlarged((each.rgb.numpy() * 255).round().astype(np.uint8), SIDE_PX) for each in mains]
    share = percent(float(mains[-1].explained.sum()))
    words = f"Like colours, like positions: three main components as red, green and blue, {share} of the variance."
    yield Heading("The table as colours")
    yield Picture(sheet(rgb, [*tables]) if len(rgb) > 1 else rgb[0], "Learned positions as colours", words)


def distances(table: Tensor, shown: Tensor) -> dict[str, ByDistance]:
    """Of the table, of sinusoids, for which nothing was learned, and of what it is resampled to, in its own steps."""
    rows, columns, channels = table.shape
    kinds = {"learned positions": by_distance(table)}
    if channels % 4 == 0:
        kinds["sinusoids"] = by_distance(sinusoidal_2d((rows, columns), channels))
    if shown is not table:
        other = by_distance(shown)
        kinds["resampled ones"] = replace(other, distance=other.distance * rows / len(shown))
    return kinds


def by_distance_chart(kinds: dict[str, ByDistance]) -> Chart:
    lines = {name: (each.distance.numpy(), each.mean.numpy()) for name, each in kinds.items()}
    figure = curves(lines, "distance in patches", "mean cosine", "Similarity by distance", mode="lines+markers")
    figure.update_yaxes(range=[min(0.0, *(float(line.min()) for _, line in lines.values())) - 0.03, 1.03])
    return Chart(figure, "Cosine of learned positions by distance")
