"""Kinds: what four ways to tell places say of one patch, on one grid: learned, sinusoidal, relative, rotary."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from vizkit.analysis.attention.positions import sinusoidal, sinusoidal_2d
from vizkit.analysis.remarks.positions import told_apart
from vizkit.figure.canvas.rows import Rows
from vizkit.models.probes.positions import biased_layers, kind, learned_table, relative_bias, rope_waves
from vizkit.traces import Attention, NotApplicable
from vizkit.views.blocks import Block, Line, Map, Numbers, Tile, Tiles, first_said
from vizkit.views.controls import choice
from vizkit.views.rows_of import similarity_for_browser
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
        first = first_layer(of)
        if first is None:
            raise NotApplicable(f"{of.name} has no layer whose tokens lie on a grid.")
        maps = dict(every(of, first))
        chosen = self.kind if self.kind in maps else next(iter(maps))
        drawn = {name: rows.row_of(rows.query_id(of.asked))[0] for name, rows in maps.items()}
        said_by = sentences(maps[chosen], chosen)
        rows, columns = first.query.grid or (0, 0)
        own = {"sinusoids": "fixed sinusoids", "relative": "relative bias"}.get(chosen, chosen) in kind(of.loaded)
        whose = "the model's own" if own else f"computed for the grid of {of.name}"
        yield Line(f"{WORDS[chosen]} · {rows} × {columns} places · {whose}")
        yield Map(
            maps[chosen],
            of.asked,
            "Positions in",
            SHARE if chosen == "relative" else QUANTITY,
            said=said_by.get(maps[chosen].query_id(of.asked), ""),
            said_by=said_by,
        )
        shares = {name: name == "relative" for name in drawn}
        yield Tiles(
            "The same patch in each kind; shares to their own largest",
            tuple(Tile(WORDS[name], row, unit="%" * shares[name]) for name, row in drawn.items()),
            tuple((maps[name].low, float(row.max()) if shares[name] else 1) for name, row in drawn.items()),
            "The same patch. Click to see it large.",
            "kind",
            tuple(drawn),
            chosen,
            100,
        )
        yield Numbers(partial(numbers, drawn))


def first_layer(of: Subject) -> Attention | None:
    return next((layer for layer in of.layers if layer.query.grid and layer.key.grid), None)


def every(of: Subject, first: Attention) -> Iterator[tuple[str, Rows]]:
    """What there is for this model, on the grid of its first layer; cosines on one scale, also for models beside it."""
    low = min(lowest(each) for each in (of, *of.beside))
    for name, rows in cosines(of, first).items():
        yield name, replace(rows, low=low)
    if biased_layers(of.loaded.model):
        yield "relative", by_bias(relative_bias(of.loaded, 0).bias, first)


def lowest(of: Subject) -> float:
    """Of all cosines, rounded down to a tenth."""
    first = first_layer(of)
    values = [rows.values.min() for rows in cosines(of, first).values()] if first else []
    return math.floor(10 * float(min(values, default=0))) / 10


def cosines(of: Subject, first: Attention) -> Mapping[str, Rows]:
    def make() -> dict[str, Rows]:
        tokens = replace(first.query, special=())
        return {
            name: similarity_for_browser(table.flatten(0, 1), tokens, of.asked) for name, table in tables(of, first)
        }

    return of.kept(("cosines of positions", of.asked), make)


def tables(of: Subject, first: Attention) -> Iterator[tuple[str, Tensor]]:
    """Vectors (row, column, channel) whose cosine says how near two places are."""
    grid = first.query.grid
    assert grid is not None
    learned = learned_table(of.loaded)
    if learned is not None and learned.shape[:2] == grid:
        yield "learned", learned
    channels = 4 * max(1, (learned.shape[-1] if learned is not None else 64 * first.heads) // 4)
    yield "sinusoids", sinusoidal_2d(grid, channels)
    yield "one row", sinusoidal(math.prod(grid), channels).unflatten(0, grid)
    if "rotary" in kind(of.loaded):
        yield "rotary", rope_waves(of.loaded).permute(1, 2, 0, 3).flatten(2)  # all heads: the mean of their cosines
    else:
        yield "rotary", sinusoidal_2d(grid, 4 * max(1, channels // first.heads // 4))


def by_bias(bias: Tensor, first: Attention) -> Rows:
    """The weights that the bias alone gives, in every window the same."""
    share = bias.softmax(-1).mean(0).numpy()
    groups = np.broadcast_to(share, (len(first.query_ids), *share.shape))
    own = first.query.special, first.key.special
    return Rows(groups, first.key.grid, first.query.grid, first.query_ids.numpy(), first.key_ids.numpy(), *own)


def sentences(rows: Rows, which: str) -> dict[int, str]:
    """What is said of every patch that can ask, by its id."""
    asking = np.arange(rows.values.shape[-2]) if rows.query_ids is None else rows.query_ids.ravel()
    first, columns = len(rows.query_special), (rows.query_grid or (0, 1))[1]

    def said(query: int) -> str:
        near, cell = torch.from_numpy(rows.row_of(query)[0]), divmod(query - first, columns)
        return first_said(told_apart(near, cell, WORDS[which], shares=which == "relative"))

    return {query: said(query) for query in asking.tolist() if query >= first}


def numbers(drawn: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name.replace(" ", "_"): row for name, row in drawn.items()}
