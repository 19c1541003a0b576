"""Merging: how four tokens become one between two stages, on the tokens of this picture."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

import numpy as np
import torch.nn.functional as F

from vizkit.analysis.attention.positions import pca_rgb
from vizkit.analysis.remarks import swin
from vizkit.analysis.swin.merged_colours import turned_to
from vizkit.figure.charts import bars
from vizkit.figure.feature_map import feature_map, neighbours
from vizkit.figure.patches import strip
from vizkit.models.probes.patch_merging import NEIGHBOURS, Merged, leaving, merged, merging_layer
from vizkit.models.probes.swin_stages import hierarchy
from vizkit.views.blocks import Block, Chart, Columns, Heading, Line, Map, Numbers, Picture, Said
from vizkit.views.controls import choice
from vizkit.views.rows_of import grid_for_browser
from vizkit.views.subject import Subject
from vizkit.views.swin.place import stages, within
from vizkit.views.view import How, View

CORNERS = {(0, 0): "top left", (1, 0): "bottom left", (0, 1): "top right", (1, 1): "bottom right"}
NAMES = [f"{n + 1} {CORNERS[at]}" for n, at in enumerate(NEIGHBOURS)]
EXACT = 1e-4
Cell = tuple[int, int]


def with_merging(of: Sequence[Subject]) -> list[str]:
    """All stages but the last."""
    return stages(of)[:-1] or ["1"]


@dataclass(frozen=True)
class Merging(View):
    """How four tokens become one between two stages."""

    stage: str | None = choice("After stage", with_merging, "Nothing is merged after the last.", key="merging_stage")
    colours: Literal["main components", "lengths"] = choice(
        "Colours",
        ("main components", "lengths"),
        "The three main components of the tokens' vectors as red, green and blue, or the length of each vector.",
        key="merging_colours",
    )

    alone: ClassVar = True
    overlays: ClassVar = False
    how: ClassVar = How(
        "Four neighbours stand side by side as one long vector, are normalised, and a linear map halves it: a quarter "
        "of the tokens, each twice as wide and standing for four times the pixels. Within a picture places of one "
        "colour have similar vectors; the colours of the second are turned to match the first as well as they can, but "
        "an equal colour in both is no equal token.",
        r"\begin{gathered} y = W\,\mathrm{LN}\big([x_{00};\, x_{10};\, x_{01};\, x_{11}]\big), \quad "
        r"W \in \mathbb{R}^{2C \times 4C} \\ \text{v2: } y = \mathrm{LN}(W [x_{00}; \dots]) \end{gathered}",
        "which of the numbers matter later. A long part of one neighbour may be undone by another's.",
        "Liu et al. 2021, § 3.1; Liu et al. 2022",
    )

    def title(self, of: Subject) -> str:
        return f"Patch merging after stage {self.number(of) + 1}"

    def number(self, of: Subject) -> int:
        """The stage, from 0."""
        known = with_merging([of])
        return int(self.stage if self.stage in known else known[0]) - 1

    def show(self, of: Subject) -> Iterator[Block]:
        number = self.number(of)
        merging_layer(of.loaded, number)  # says so where there is none
        made: Merged = of.kept(("merged", number), partial(made_of, of, number))
        tokens = hierarchy(of.loaded)[number + 1].tokens
        cell = of.cell(tokens)
        assert cell is not None
        pick = Map(grid_for_browser(tokens), of.asked, f"Click a token of stage {number + 2} in", "", room=False)
        before, after = self.pictures(made, cell)
        yield Columns(
            (
                (Heading(f"Click a token of stage {number + 2}"), pick),
                (Heading("What leaves the stage"), before),
                (Heading("What the next stage gets"), after),
            )
        )
        row, column = cell
        yield Said(swin.merges(made.before.shape[-1], made.after.shape[-1], made.parts[row, column], NAMES).words)
        if self.colours != "lengths":
            yield Line(
                "The colours of the second are turned to match the first: an equal colour in both is no equal token."
            )
        yield Heading(f"The token of row {row + 1}, column {column + 1}: its four neighbours in the order of the model")
        yield from vectors(of, made, cell)
        yield Numbers(partial(numbers, made, cell))

    def pictures(self, made: Merged, cell: Cell) -> tuple[Picture, Picture]:
        """The tokens before and after, in one system of colours, the chosen ones framed."""
        (row, column), (rows, across, _) = cell, made.before.shape
        own = (row, column, row + 1, column + 1)
        four = (2 * row, 2 * column, min(2 * row + 2, rows), min(2 * column + 2, across))
        if self.colours == "lengths":
            lengths = [each.norm(dim=-1).numpy() for each in (made.before, made.after)]
            top = max(float(each.max()) for each in lengths)
            words = [f"length of the vectors, one scale from 0 to {top:.1f}"] * 2
            drawn = [each / top for each in lengths]
        else:
            first = pca_rgb(made.before)
            padded = F.pad(first.rgb.movedim(-1, 0)[None], (0, across % 2, 0, rows % 2), mode="replicate")
            second = turned_to(F.avg_pool2d(padded, 2)[0].movedim(0, -1), made.after)
            words = [f"colours hold {float(each.explained.sum()):.0%} of the variance" for each in (first, second)]
            drawn = [each.rgb.numpy() for each in (first, second)]
        pictures = []
        for values, vectors, framed, said in zip(drawn, (made.before, made.after), (four, own), words, strict=True):
            down, right, channels = vectors.shape
            count = f"{down} × {right} tokens of {channels} numbers"
            pictures.append(
                Picture(feature_map(values, framed, top=1.0), f"{count}, a colour each", f"{count} · {said}")
            )
        return pictures[0], pictures[1]


def made_of(of: Subject, number: int) -> Merged:
    return merged(of.loaded, leaving(of.loaded, of.pixels, of.seen, number), number)


def vectors(of: Subject, made: Merged, cell: Cell) -> Iterator[Block]:
    """The chosen token's four neighbours, and what becomes of them."""
    row, column = cell
    large = neighbours(pixels(of, made, cell), list(NEIGHBOURS))
    figure = bars(NAMES, made.parts[row, column].tolist(), "length", "Contribution of each")
    four = Picture(large, "The pixels of the four neighbours, numbered in their order")
    each = Chart(figure, "What each of four neighbours contributes to the merged token")
    channels, mapped = made.before.shape[-1], made.mapped.shape[-1]
    steps = [
        (f"1 2 3 4 side by side: 4 × {channels} numbers", made.beside),
        *([(f"after LayerNorm: {4 * channels} numbers", made.normalised)] if made.norm_first else []),
        (f"after the linear map: {mapped} numbers", made.mapped),
        *([] if made.norm_first else [(f"after LayerNorm: {mapped} numbers", made.normalised)]),
    ]
    right: list[Block] = []
    for name, values in steps:
        vector = values[row, column].numpy()
        low, high, length = vector.min(), vector.max(), np.linalg.norm(vector)
        words = f"{name}, from {low:.2f} (blue) to {high:.2f} (red) · length {length:.2f}"
        right.append(Picture(strip(vector, height=26, width=1024), name, words))
    own = f"gives {within(made.error)} the same" if made.error <= EXACT else "gives something else"
    right.append(Line(f"Checked: the model's own layer {own}."))
    yield Columns(((four,), tuple(right), (each,)), (1, 3, 1.6))


def pixels(of: Subject, made: Merged, cell: Cell) -> np.ndarray:
    """The part of the model's input that the four neighbours stand for; an edge is repeated where they are padding."""
    seen, (rows, columns) = of.seen_rgb, made.before.shape[:2]
    height, width = round(2 * seen.shape[0] / rows), round(2 * seen.shape[1] / columns)
    down = (cell[0] * height + np.arange(height)).clip(max=seen.shape[0] - 1)
    across = (cell[1] * width + np.arange(width)).clip(max=seen.shape[1] - 1)
    return np.ascontiguousarray(seen[down][:, across])


def numbers(made: Merged, cell: Cell) -> dict[str, np.ndarray]:
    """Of all tokens what leaves and what comes next; of the chosen one every step."""
    own = {name: getattr(made, name)[cell].numpy() for name in ("beside", "normalised", "mapped", "parts")}
    return {"before": made.before.numpy(), "after": made.after.numpy(), **own}
