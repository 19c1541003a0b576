"""Merging: how four tokens become one between two stages, on the tokens of this image."""

from collections.abc import Sequence
from functools import partial
from typing import Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from vizkit.analysis.attention.positions import pca_rgb
from vizkit.analysis.remarks import swin
from vizkit.analysis.swin.merged_colours import turned_to
from vizkit.figure.charts import bars
from vizkit.figure.feature_map import feature_map, neighbours
from vizkit.figure.patches import strip
from vizkit.geometry import cell_of
from vizkit.models.probes.patch_merging import NEIGHBOURS, Merged, leaving, merged, merging_layer
from vizkit.models.probes.swin_stages import hierarchy
from vizkit.percent import in_percent
from vizkit.views.blocks import (
    Block,
    Blocks,
    Chart,
    Columns,
    Heading,
    Hint,
    Line,
    Map,
    Numbers,
    Picture,
    Said,
    side_by_side,
)
from vizkit.views.controls import choice
from vizkit.views.rows_of import grid_for_browser
from vizkit.views.subject import Subject
from vizkit.views.swin.place import part_seen, point, stages, token_at, within
from vizkit.views.view import How, View

SIDES = {(0, 0): "top left", (1, 0): "bottom left", (0, 1): "top right", (1, 1): "bottom right"}
CORNERS = [SIDES[at] for at in NEIGHBOURS]
NAMES = [f"{n} {corner}" for n, corner in enumerate(CORNERS, 1)]
EXACT = 1e-4
Cell = tuple[int, int]


def with_merging(of: Sequence[Subject]) -> list[str]:
    """All stages but the last."""
    return stages(of)[:-1] or ["1"]


class Merging(View):
    """How four tokens become one between two stages."""

    stage: str | None = choice("After stage", with_merging, "Nothing is merged after the last.", key="merging_stage")
    colours: Literal["main components", "lengths"] = choice(
        "Colours",
        ("main components", "lengths"),
        "The three main components of the tokens' vectors as red, green and blue, or the length of each vector.",
        key="merging_colours",
    )

    alone = True
    overlays = False
    how = How(
        "Four tokens stand side by side as one long vector, are normalised, and a linear map halves it: a quarter "
        "of the tokens, each twice as wide and standing for four times the pixels. Within an image places of one "
        "colour have similar vectors; the colours of the second are turned to match the first as well as they can, but "
        "an equal colour in both is no equal token.",
        r"\begin{gathered} y = W\,\mathrm{LN}\big([x_{00};\, x_{10};\, x_{01};\, x_{11}]\big), \quad "
        r"W \in \mathbb{R}^{2C \times 4C} \\ \text{v2: } y = \mathrm{LN}(W [x_{00}; \dots]) \end{gathered}",
        "which of the numbers matter later. A long part of one of the four may be undone by another's.",
        "Liu et al. 2021, § 3.1; Liu et al. 2022",
    )

    def title(self, of: Subject) -> str:
        return f"Patch merging after stage {self.number(of) + 1}"

    def number(self, of: Subject) -> int:
        """The stage, from 0."""
        known = with_merging([of])
        return int(self.stage if self.stage in known else known[0]) - 1

    def show(self, of: Subject) -> Blocks:
        number = self.number(of)
        merging_layer(of.loaded, number)  # says so where there is none
        made: Merged = of.kept(("merged", number), partial(made_of, of, number))
        tokens = hierarchy(of.loaded)[number + 1].tokens
        cell = cell_of(tokens, token_at(of, tokens))
        assert cell is not None
        yield Said(swin.merges(made.before.shape[-1], made.after.shape[-1], made.parts[cell], CORNERS))
        colours, words = self.coloured(made)
        pictures = {
            "The image in {} × {} tokens".format(*made.after.shape): part_seen(of),
            "What leaves the stage": colours[0],
            "What the next stage gets": colours[1],
        }
        lines = [Hint(f"Click a token of stage {number + 2} in any of them."), *map(Line, words)]
        maps = [
            Map(grid_for_browser(tokens), point(of), f"{title}. Click a token of", "", room=False, instead=rgb)
            for title, rgb in pictures.items()
        ]
        yield side_by_side(*((Heading(title), *both) for title, *both in zip(pictures, maps, lines, strict=True)))
        if self.colours != "lengths":
            yield Line(
                "The colours of the second are turned to match the first: an equal colour in both is no equal token."
            )
        row, column = cell
        yield Heading(f"The token of row {row + 1}, column {column + 1}: its four tokens in the order of the model")
        yield vectors(of, made, cell)
        steps = ("beside", "normalised", "mapped", "parts")
        own = {name: getattr(made, name)[cell] for name in steps}
        yield Numbers(lambda: {"before": made.before, "after": made.after, **own})

    def coloured(self, made: Merged) -> tuple[list[np.ndarray], list[str]]:
        """The tokens before and after, in one system of colours, and what there are."""
        pair = (made.before, made.after)
        if self.colours == "lengths":
            lengths = [each.norm(dim=-1) for each in pair]
            top = max(float(each.max()) for each in lengths)
            words = [f"length of the vectors, one scale from 0 to {top:.1f}"] * 2
            colours = [each / top for each in lengths]
        else:
            first = pca_rgb(made.before)
            second = turned_to(F.avg_pool2d(even(first.rgb).movedim(-1, 0), 2).movedim(0, -1), made.after)
            words = [
                f"colours hold {in_percent(float(each.explained.sum()))} of the variance" for each in (first, second)
            ]
            colours = [first.rgb, second.rgb]
        counts = ["{} × {} tokens of {} numbers".format(*each.shape) for each in pair]
        said = [f"{count} · {own}" for count, own in zip(counts, words, strict=True)]
        return [feature_map(even(each).numpy(), top=1.0) for each in colours], said


def even(values: Tensor) -> Tensor:
    """(row, column) or (row, column, channel); an odd edge once more, where the model merges with padding."""
    rows, columns = (torch.arange(side + side % 2).clamp(max=side - 1) for side in values.shape[:2])
    return values[rows][:, columns]


def made_of(of: Subject, number: int) -> Merged:
    return merged(of.loaded, leaving(of.loaded, of.pixels, of.seen, number), number)


def vectors(of: Subject, made: Merged, cell: Cell) -> Columns:
    """The chosen token's four parts, and what becomes of them."""
    large = neighbours(pixels(of, made, cell), list(NEIGHBOURS))
    figure = bars(NAMES, made.parts[cell].tolist(), "length", "Contribution of each")
    four = Picture(large, "The pixels of the four tokens, numbered in their order")
    each = Chart(figure, "What each of four tokens contributes to the merged token")
    channels, normalised = made.before.shape[-1], f"after LayerNorm: {made.normalised.shape[-1]} numbers"
    mapped = {f"after the linear map: {made.mapped.shape[-1]} numbers": made.mapped}
    steps = {f"1 2 3 4 side by side: 4 × {channels} numbers": made.beside}
    steps |= {normalised: made.normalised, **mapped} if made.norm_first else {**mapped, normalised: made.normalised}
    right: list[Block] = []
    for name, values in steps.items():
        vector = values[cell].numpy()
        span = f"from {vector.min():.2f} (blue) to {vector.max():.2f} (red)".replace("-", "−")
        words = f"{name}, {span} · length {np.linalg.norm(vector):.2f}"
        right.append(Picture(strip(vector, height=26, width=1024), name, words))
    own = f"gives {within(made.error)} the same" if made.error <= EXACT else "gives something else"
    right.append(Line(f"Checked: the model's own layer {own}."))
    return side_by_side(four, right, each, widths=(1, 3, 1.6))


def pixels(of: Subject, made: Merged, cell: Cell) -> np.ndarray:
    """The part of the model's input that the four neighbours stand for; an edge is repeated where they are padding."""
    sides = zip(of.seen_rgb.shape, made.before.shape, cell, strict=False)
    spans = [(round(2 * pixels / tokens), pixels, at) for pixels, tokens, at in sides][:2]
    down, across = ((at * side + np.arange(side)).clip(max=pixels - 1) for side, pixels, at in spans)
    return np.ascontiguousarray(of.seen_rgb[down][:, across])
