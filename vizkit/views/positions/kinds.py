"""Kinds: what four ways to tell places say of one patch, on one grid: learned, sinusoidal, relative, rotary."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from math import floor
from typing import ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from vizkit.analysis.attention.positions import similarity, sinusoidal, sinusoidal_2d
from vizkit.analysis.remarks.positions import told_apart
from vizkit.figure.canvas.rows import Rows
from vizkit.models.probes.positions import biased_layers, kind, learned_table, relative_bias, rope_similarity
from vizkit.traces import Attention, NotApplicable
from vizkit.views.blocks import Block, Line, Map, Numbers, Tile, Tiles, first_said
from vizkit.views.controls import choice
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

WORDS = {
    "learned": "learned",
    "sinusoids": "sinusoidal",
    "one row": "sinusoidal, in one row",
    "rotary": "rotary",
    "relative": "relative, of layer 1",
}
QUANTITY = "cosine with the position of the chosen patch"
SHARE = "weight that the bias alone would give, mean of the heads"


@dataclass(frozen=True)
class Kinds(View):
    """How near two patches are for four ways to tell places: learned, sinusoidal, relative and rotary."""

    kind: Literal["learned", "sinusoids", "one row", "rotary", "relative"] = choice(
        "Positions",
        tuple(WORDS),
        "Of a model that has none of it the first kind that it has.",
        words=WORDS,
        key="positions_kind",
    )

    how: ClassVar = How(
        "Every map is of the chosen patch: bright places have a similar position. Click a patch, or a small map to see "
        "it large. A learned table and a relative bias are the model's own; sinusoids, and rotations where the model "
        "has none, are computed for its grid and its number of channels.",
        r"\cos(e_i, e_j), \qquad \tfrac{2}{d}\sum_k \cos\!\big((p_i - p_j)\,\omega_k\big), \qquad "
        r"\mathrm{softmax}(B)_{ij}",
        "what attention makes of it: the product of query and key comes first.",
        "Dosovitskiy et al. 2020; Vaswani et al. 2017; Liu et al. 2021; Su et al. 2021",
    )

    def title(self, of: Subject) -> str:
        return f"Positions: {WORDS[self.kind]}"

    def show(self, of: Subject) -> Iterator[Block]:
        first = next((layer for layer in of.layers if layer.query.grid and layer.key.grid), None)
        if first is None:
            raise NotApplicable(f"{of.name} has no layer whose tokens lie on a grid.")
        maps: dict[str, Rows] = dict(of.kept("position kinds", lambda: tuple(every(of, first))))
        chosen = self.kind if self.kind in maps else next(iter(maps))
        low = min(rows.low for rows in maps.values() if rows.kind == "similarity")  # one scale for all cosines
        maps = {name: replace(rows, low=low) if rows.kind == "similarity" else rows for name, rows in maps.items()}
        drawn = {name: rows.row_of(rows.query_id(of.asked))[0] for name, rows in maps.items()}
        yield Line(f"{WORDS[chosen]} · {first.query.grid[0]} × {first.query.grid[1]} places")  # pyright: ignore
        yield Map(
            maps[chosen],
            of.asked,
            "Positions in",
            SHARE if chosen == "relative" else QUANTITY,
            said=first_said(told_apart(torch.from_numpy(drawn[chosen]), of.cell(first.query), WORDS[chosen])),
        )
        yield Tiles(
            "The same patch in each kind: cosines on one scale, the share of a bias on its own",
            tuple(Tile(WORDS[name], row, unit="%" if name == "relative" else "") for name, row in drawn.items()),
            tuple((0, float(row.max())) if name == "relative" else (low, 1) for name, row in drawn.items()),
            "The same patch. Click to see it large.",
            "kind",
            tuple(drawn),
            chosen,
            100,
        )
        yield Numbers(partial(numbers, drawn))


def every(of: Subject, first: Attention) -> Iterator[tuple[str, Rows]]:
    """What there is for this model, on the grid of its first layer."""
    tokens = first.query
    assert tokens.grid is not None
    rows, columns = tokens.grid
    table = learned_table(of.loaded)
    if table is not None and table.shape[:2] == tokens.grid:
        yield "learned", cosines(similarity(table.flatten(0, 1)), tokens.grid)
    channels = 4 * max(1, (table.shape[-1] if table is not None else 64 * first.heads) // 4)
    yield "sinusoids", cosines(similarity(sinusoidal_2d(tokens.grid, channels).flatten(0, 1)), tokens.grid)
    yield "one row", cosines(similarity(sinusoidal(rows * columns, channels)), tokens.grid)
    if "rotary" in kind(of.loaded):
        offsets = rope_similarity(of.loaded).mean(0)
        row, column = torch.arange(rows), torch.arange(columns)
        down, right = (each[:, None] - each + len(each) - 1 for each in (row, column))
        alike = offsets[down[:, None, :, None], right[None, :, None, :]].reshape(rows * columns, -1)
    else:
        width = 4 * max(1, channels // first.heads // 4)
        alike = similarity(sinusoidal_2d(tokens.grid, width).flatten(0, 1))
    yield "rotary", cosines(alike, tokens.grid)
    if biased_layers(of.loaded.model):
        yield "relative", by_bias(relative_bias(of.loaded, 0).bias, first)


def cosines(alike: Tensor, grid: tuple[int, int]) -> Rows:
    """From the lowest of this kind, in tenths, to 1."""
    low = floor(10 * float(alike.min())) / 10
    return Rows(alike.numpy(), grid, grid, bounds=(-1.0, 1.0), low=low, top=1.0, kind="similarity")


def by_bias(bias: Tensor, first: Attention) -> Rows:
    """The weights that the bias alone gives, in every window the same."""
    share = bias.softmax(-1).mean(0).numpy()
    groups = np.broadcast_to(share, (len(first.query_ids), *share.shape))
    own = first.query.special, first.key.special
    return Rows(groups, first.key.grid, first.query.grid, first.query_ids.numpy(), first.key_ids.numpy(), *own)


def numbers(drawn: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name.replace(" ", "_"): row for name, row in drawn.items()}
