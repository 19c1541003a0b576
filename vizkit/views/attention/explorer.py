"""Explorer: the heads of a layer fused, as a map and as the whole matrix."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

import numpy as np
import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor

from vizkit.analysis.attention.attention_map import Query, find_query, layers
from vizkit.analysis.attention.fusion import fuse
from vizkit.analysis.attention.value_weighted import value_weighted
from vizkit.analysis.remarks import attention, places
from vizkit.figure.attention.matrix import DECADES, matrix, with_names
from vizkit.figure.canvas.rows import Rows
from vizkit.geometry import name_of, pixel_box
from vizkit.models.probes.parts import attention_parts
from vizkit.traces import Attention, NotApplicable, Tokens, Trace
from vizkit.views.all_heads import heads_of
from vizkit.views.blocks import Block, Columns, Heading, Line, Map, Numbers, Picture, Proof, first_said
from vizkit.views.controls import choice, layer, query, switch
from vizkit.views.explore import asked_of
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

Patch = UInt8[np.ndarray, "_ _ 3"] | str
MOST_ON_AXES = 1600  # tokens; a matrix of more is no picture that can be read


@dataclass(frozen=True)
class Explorer(View):
    """The heads of a layer fused, as a map and as the whole matrix."""

    layer: int = layer("Layer", "A model with fewer layers shows its last.", default=2, key="layer")
    query: str | tuple[int, int] = query("Query", "Whose row is drawn over the picture.", key="query")
    fusion: Literal["mean", "max", "min"] = choice(
        "Heads",
        ("mean", "max", "min"),
        "How the heads of the layer become one matrix: max is what any head attends to, min what all attend to.",
        key="fusion",
    )
    by_values: bool = switch(
        "Weight by values",
        "‖α f(x)‖: a large weight on a short vector contributes little.",
        key="value_weighted",
        runs=True,
    )

    alone: ClassVar = True
    how: ClassVar = How(
        "Each row of the matrix belongs to the patch at its left end and shows how it attends to all others; the "
        "framed row is the map. Max shows what any head attends to, min what all heads attend to; weighting by values "
        "reduces keys with short values.",
        r"\lVert \alpha_{ij} f(x_j) \rVert, \quad f(x) = (xW_V + b_V)\,W_O^h",
        "what the residual connection and the MLP add.",
        "Vaswani et al. 2017; Kobayashi et al. 2020, eq. 5",
    )

    def title(self, of: Subject) -> str:
        trace, number, _ = self.traced(of)
        return f"Attention: layer {number} of {len(layers(trace))}, {self.fusion} of {self.heads(trace, number)} heads"

    def show(self, of: Subject) -> Iterator[Block]:
        trace, number, asked = self.traced(of)
        shown, query_id = layers(trace)[number - 1], find_query(layers(trace)[number - 1], asked)[0]
        group = int((shown.query_ids == query_id).any(1).nonzero()[0])
        fused = self.fused(of, shown, number, group)
        rows = Rows(
            fused.numpy(),
            shown.key.grid,
            shown.query.grid,
            shown.query_ids[group].numpy(),
            shown.key_ids[group].numpy(),
            shown.query.special,
            shown.key.special,
        )
        window = f" · window {group + 1} of {len(shown.weights)}" if len(shown.weights) > 1 else ""
        what = "weight times the length of what it brings" if self.by_values else "share of the query's attention"
        over = Map(
            rows,
            asked,
            "Fused attention of",
            what,
            said=self.sentence(of, shown, number, rows, query_id),
            picks="query",
        )
        line = Line(
            f"layer {number} of {len(layers(trace))} · {self.fusion} of {self.heads(trace, number)} heads{window}"
        )
        yield Columns(((line, over), tuple(self.whole(of, shown, group, fused, query_id))))
        yield Heading(f"All layers and heads: attention of {name_of(shown.query, query_id)}")
        yield heads_of(trace, asked, number, None, shared=False, picks=("layer", ""))
        yield Proof(trace)
        yield Numbers(partial(numbers, fused, shown, group, query_id))

    # ---- what is computed --------------------------------------------------------------------------------------------
    def traced(self, of: Subject) -> tuple[Trace, int, Query]:
        """(the trace, the layer from 1, who asks)."""
        asked = asked_of(of, self.query)
        trace = of.trace(asked)
        if not layers(trace):
            raise NotApplicable(f"{trace.no_attention}.")
        return trace, min(self.layer, len(layers(trace))), asked

    def heads(self, trace: Trace, number: int) -> int:
        return layers(trace)[number - 1].heads

    def fused(self, of: Subject, shown: Attention, number: int, group: int) -> Float[Tensor, "query key"]:
        """NotApplicable where what a weight brings is not known."""
        weights = shown.weights[group].float()
        if not self.by_values:
            return fuse(weights, self.fusion)
        kept = "parts", number, group
        parts = of.kept(kept, partial(attention_parts, of.loaded, of.pixels, number - 1, window=group))
        if not parts.plain:
            raise NotApplicable(
                "This layer normalises or gates its heads before the projection; the norm has no meaning."
            )
        return fuse(value_weighted(parts.weights, parts.value, parts.out_weight), self.fusion)

    def sentence(self, of: Subject, shown: Attention, number: int, rows: Rows, query_id: int) -> str:
        """Of this very map: that of the mean by the rules of a layer, others by where they lie."""
        if shown.key.grid is None:
            return ""
        covered = of.covered(shown.key.grid)
        if self.fusion == "mean" and not self.by_values:
            own = attention.of_rows(shown, number, None, covered).get(query_id)
            return first_said(own, attention.of_head(shown, number, None))
        subject = {
            "mean": "the mean of all heads",
            "max": "the largest weights of any head",
            "min": "the smallest weights of all heads",
        }[self.fusion]
        subject += ", weighted by values," if self.by_values else ""
        return first_said(places.where(torch.from_numpy(rows.row_of(query_id)[0]), covered, subject))

    # ---- the whole matrix --------------------------------------------------------------------------------------------
    def whole(
        self, of: Subject, shown: Attention, group: int, fused: Float[Tensor, "query key"], query_id: int
    ) -> Iterator[Block]:
        queries, keys = (ids[group].tolist() for ids in (shown.query_ids, shown.key_ids))
        if max(len(queries), len(keys)) > MOST_ON_AXES:
            yield Line(f"{len(queries):,} × {len(keys):,} weights are too many for a picture of the whole matrix.")
            return
        yield Line("the whole matrix: each row is a query, each column a key; the framed row is the map")
        seen, top = of.seen_rgb, float(fused.max())
        cells = matrix(
            fused.numpy(),
            on_axis(shown.query, queries, seen),
            on_axis(shown.key, keys, seen),
            log=True,
            marked=queries.index(query_id),
        )
        steps = [top / 10 ** (DECADES - step) for step in range(DECADES + 1)]
        words = [f"{value:.2g}" if self.by_values else f"{100 * value:.2g} %" for value in steps]
        yield Picture(
            with_names(cells, "keys", "queries", (f"{words[0]} or less", *words[1:])),
            "Attention matrix with its patches on the axes",
            f"Colours are logarithmic, from a thousandth of the largest weight, {words[-1]}, to the largest.",
        )


def on_axis(tokens: Tokens, ids: list[int], seen: UInt8[np.ndarray, "height width 3"]) -> list[Patch]:
    """What stands at each token: its pixels, its special name, a dash for padding."""
    patches: list[Patch] = []
    for token in ids:
        box = pixel_box(tokens, token, (seen.shape[0], seen.shape[1])) if token >= 0 else None
        if box is not None:
            x0, y0, x1, y1 = (round(edge) for edge in box)
            patches.append(seen[y0 : max(y1, y0 + 1), x0 : max(x1, x0 + 1)])
        else:
            patches.append("-" if token < 0 else tokens.special[token] if token < len(tokens.special) else "?")
    return patches


def numbers(fused: Float[Tensor, "query key"], shown: Attention, group: int, query_id: int) -> dict[str, np.ndarray]:
    """The matrix with the tokens of its rows and columns, and the query's row over the picture."""
    ids: Int[Tensor, " key"] = shown.key_ids[group]
    row = fused[shown.query_ids[group].tolist().index(query_id)]
    every = torch.zeros(len(shown.key)).index_add(0, ids[ids >= 0], row[ids >= 0].float().cpu())
    first = len(shown.key.special)
    places = {"places": every[first:].reshape(shown.key.grid).numpy()} if shown.key.grid else {}
    return places | {
        "special": every[:first].numpy(),
        "special_names": np.array(shown.key.special, dtype=str),
        "matrix": fused.numpy(),
        "query_ids": shown.query_ids[group].numpy(),
        "key_ids": ids.numpy(),
    }
