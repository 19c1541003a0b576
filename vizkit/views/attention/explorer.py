"""Explorer: a head of a layer, or all of them fused, as a map and as the whole matrix."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.attention.attention_map import Query, find_query, layers
from vizkit.analysis.attention.fusion import Fusion, fuse
from vizkit.analysis.attention.value_weighted import value_weighted
from vizkit.analysis.remarks import places
from vizkit.figure.attention.matrix import matrix, on_axis, with_names
from vizkit.figure.canvas.rows import Rows
from vizkit.figure.scales import SHARES
from vizkit.geometry import name_of
from vizkit.models.probes.parts import attention_parts
from vizkit.traces import Attention, NotApplicable, Trace
from vizkit.views.all_heads import heads_of
from vizkit.views.blocks import Blocks, Canvas, Columns, Heading, Line, Map, Numbers, Picture, Proof, first_said
from vizkit.views.controls import choice, layer, most_heads, query, switch
from vizkit.views.explore import asked_of, sentences
from vizkit.views.rules import one_of
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

MOST_ON_AXES = 1600  # tokens; a matrix of more is no picture that can be read
FUSED: dict[Fusion, str] = {
    "mean": "the mean of all heads",
    "max": "the largest weights of any head",
    "min": "the smallest weights of all heads",
}


def ways(of: Sequence[Subject]) -> list[str]:
    return [*FUSED, *map(str, range(1, 1 + most_heads(of)))]


class Explorer(View):
    """A head of a layer, or all of them fused, as a map and as the whole matrix."""

    layer: int = layer("Layer", "A model with fewer layers shows its last.", default=2, key="layer")
    query: str | tuple[int, int] = query("Query", "Whose row is drawn over the picture.", key="query")
    fusion: str = choice(
        "Heads",
        ways,
        "One head by its number, or all heads as one matrix: max is what any head attends to, min what all attend to.",
        default="mean",
        key="fusion",
        listed=True,
    )
    by_values: bool = switch(
        "Weight by values",
        "‖α f(x)‖: a large weight on a short vector contributes little.",
        key="value_weighted",
        runs=True,
    )

    alone = True
    how = How(
        "Each row of the matrix belongs to the token at its left end and shows how it attends to all others; the "
        "framed row is the map. Max shows what any head attends to, min what all heads attend to; weighting by values "
        "reduces keys with short values.",
        r"\lVert \alpha_{ij} f(x_j) \rVert, \quad f(x) = (xW_V + b_V)\,W_O^h",
        "what the residual connection and the MLP add.",
        "Vaswani et al. 2017; Kobayashi et al. 2020, eq. 5",
    )

    def title(self, of: Subject) -> str:
        trace, number, _ = self.traced(of)
        return f"Attention: {self.called(trace, number).replace(' · ', ', ')}"

    def show(self, of: Subject) -> Blocks:
        trace, number, asked = self.traced(of)
        shown, query_id = layers(trace)[number - 1], find_query(layers(trace)[number - 1], asked)[0]
        group = int((shown.query_ids == query_id).any(1).nonzero()[0])
        rows = Rows(
            self.weights(of, shown, number, group).numpy(),
            shown.key.grid,
            shown.query.grid,
            shown.query_ids[group].numpy(),
            shown.key_ids[group].numpy(),
            shown.query.special,
            shown.key.special,
            scale=replace(SHARES, unit="") if self.by_values else SHARES,
            kind="length" if self.by_values else "",
            verb="gets" if self.by_values else "",
        )
        window = f" · window {group + 1} of {len(shown.weights)}" if len(shown.weights) > 1 else ""
        what = "weight times the length of what it brings" if self.by_values else "share of the query's attention"
        otherwise, said_by = self.sentences(of, shown, number, rows)
        said = said_by.get(query_id, otherwise)
        over = Map(rows, asked, "Attention of", what, said=said, picks="query", said_by=said_by)
        line = Line(f"{self.called(trace, number)}{window}")
        yield Columns(((line, over), tuple(self.whole(of, shown, rows, query_id))))
        yield Heading(f"All layers and heads: attention of {name_of(shown.query, query_id)}")
        way = self.way(shown)
        framed = way + 1 if isinstance(way, int) else None
        yield heads_of(trace, asked, number, framed, SHARES, picks=("layer", "fusion", ""))
        yield Proof(trace)
        yield Numbers(partial(numbers, rows, query_id))

    # ---- what is computed --------------------------------------------------------------------------------------------
    def traced(self, of: Subject) -> tuple[Trace, int, Query]:
        """(the trace, the layer from 1, who asks)."""
        asked = asked_of(of, self.query)
        trace = of.trace(asked)
        if not layers(trace):
            raise NotApplicable(f"{trace.no_attention}.")
        return trace, min(self.layer, len(layers(trace))), asked

    def way(self, shown: Attention) -> Fusion | int:
        """How heads become one matrix, or which one it is, from 0. Of very many weights the mean alone is recorded."""
        alone = shown.weights.shape[1] < shown.heads
        fused: Fusion = "max" if self.fusion == "max" else "min" if self.fusion == "min" else "mean"
        return fused if alone or self.fusion in FUSED else min(int(self.fusion), shown.heads) - 1

    def called(self, trace: Trace, number: int) -> str:
        shown = layers(trace)[number - 1]
        way = self.way(shown)
        which = f"head {way + 1} of {shown.heads}" if isinstance(way, int) else f"{way} of {shown.heads} heads"
        return f"layer {number} of {len(layers(trace))} · {which}"

    def weights(self, of: Subject, shown: Attention, number: int, group: int) -> Float[Tensor, "query key"]:
        """NotApplicable where what a weight brings is not known."""
        heads, way = shown.weights[group].float(), self.way(shown)
        if self.by_values:
            kept = "parts", number, group
            parts = of.kept(kept, partial(attention_parts, of.loaded, of.pixels, number - 1, window=group))
            if not parts.plain:
                raise NotApplicable(
                    "This layer normalises or gates its heads before the projection; the norm has no meaning."
                )
            heads = value_weighted(parts.weights, parts.value, parts.out_weight)
        return heads[way] if isinstance(way, int) else fuse(heads, way)

    def sentences(self, of: Subject, shown: Attention, number: int, rows: Rows) -> tuple[str, dict[int, str]]:
        """(what stands out over all queries; by the id of each query what stands out in its row): of the mean and of a
        head by the rules of a layer, of others by where they lie."""
        if shown.key.grid is None:
            return "", {}
        way, asked = self.way(shown), np.asarray(rows.query_ids).tolist()
        if not self.by_values and way not in ("max", "min"):
            head = way if isinstance(way, int) else None
            return of.kept(("said", number, head, tuple(asked)), partial(sentences, of, shown, number, head))
        covered = of.covered(shown.key.grid)
        subject = f"the attention of head {way + 1}" if isinstance(way, int) else FUSED[way]
        subject += ", weighted by values," if self.by_values else ""
        maps = {query: torch.from_numpy(rows.row_of(query)[0]) for query in asked if query >= 0}
        return "", {query: first_said(places.where(row, covered, subject)) for query, row in maps.items()}

    # ---- the whole matrix --------------------------------------------------------------------------------------------
    def whole(self, of: Subject, shown: Attention, rows: Rows, query_id: int) -> Blocks:
        """In the colours of the map; an equal share is that among all keys."""
        queries, keys = rows.values.shape
        if max(queries, keys) > MOST_ON_AXES:
            yield Line(f"{queries:,} × {keys:,} weights are too many for a picture of the whole matrix.")
            return
        yield Line("the whole matrix, in times an equal share; the framed row is the map")
        alt = "The whole matrix of attention, a row for each query and a column for each key."
        data = rows.pack() | {"marked": query_id, "scale": rows.scale.of(rows.values).packed()}
        tells = {"query": (one_of(shown.query.special), "query")}
        yield Canvas("vizkit_matrix", data, alt, tells, (self.on_paper(of, shown, rows, query_id),), of, "query")

    def on_paper(self, of: Subject, shown: Attention, rows: Rows, query_id: int) -> Picture:
        queries, keys = (np.asarray(ids).tolist() for ids in (rows.query_ids, rows.key_ids))
        seen, scale = of.seen_rgb, rows.scale.of(rows.values)
        patches = on_axis(shown.query, queries, seen), on_axis(shown.key, keys, seen)
        cells = matrix(rows.values, *patches, scale=scale, marked=queries.index(query_id))
        return Picture(
            with_names(cells, "keys", "queries", scale),
            "Attention matrix with its patches on the axes",
            "In times an equal share: every doubling is one step of colour.",
        )


def numbers(rows: Rows, query_id: int) -> dict[str, np.ndarray]:
    """The matrix with the tokens of its rows and columns, and the query's row over the picture."""
    row, special = rows.row_of(query_id)
    return {
        **({"places": row.astype(np.float32)} if rows.key_grid else {}),
        "special": np.array([*special.values()], np.float32),
        "special_names": np.array([*special], dtype=str),
        "matrix": rows.values,
        "query_ids": np.asarray(rows.query_ids),
        "key_ids": np.asarray(rows.key_ids),
    }
