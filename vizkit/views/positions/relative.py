"""Relative: the bias that a layer adds by the offset of two patches, or the similarity of their rotations."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from vizkit.analysis.remarks import positions
from vizkit.figure.attention.bias_map import bias_map
from vizkit.figure.charts import heat_map
from vizkit.models.probes.positions import RelativeBias, biased_layers, kind, relative_bias, rope_similarity
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Block, Chart, Columns, Folded, Line, Numbers, Said, first_said
from vizkit.views.controls import number
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

ACROSS = 4  # maps in a row
ADDED = "added to the score"
MOST_WRITTEN = 16  # numbers in a row that can be read


def rotated_heads(of: Sequence[Subject]) -> int:
    return max((len(rope_similarity(each.loaded)) for each in of if "rotary" in kind(each.loaded)), default=1)


def most_layers(of: Sequence[Subject]) -> int:
    return max((len(biased_layers(each.loaded.model)) for each in of), default=1) or 1


@dataclass(frozen=True)
class Relative(View):
    """What a score gains or loses by the offset of two patches."""

    layer: int = number("Layer", 1, most_layers, 1, "Whose bias is shown.", key="bias_layer", plays=True)
    head: int = number("Head", 1, rotated_heads, 1, "Of a model that rotates.", key="rope_head", more=True)

    alone: ClassVar = True
    overlays: ClassVar = False
    how: ClassVar = How(
        "The middle is the query; a cell says how much a key at that offset gains or loses before softmax (relative "
        "bias), or how much of a product of equal vectors is left after rotation (RoPE). The index table says which "
        "entry a pair of patches picks: pairs of one offset share one number.",
        r"\mathrm{softmax}\!\left(QK^\top/\sqrt{d} + B\right), \quad B_{ij} = \hat B[\,p_i - p_j\,]",
        "where a head attends: the product of query and key is added to it.",
        "Liu et al. 2021, eq. 4; Su et al. 2021",
    )

    def title(self, of: Subject) -> str:
        return f"Relative positions: layer {self.layer}"

    def show(self, of: Subject) -> Iterator[Block]:
        arrays: dict[str, np.ndarray] = {}
        if "rotary" in kind(of.loaded):
            heads = rope_similarity(of.loaded)
            arrays["rotations"] = heads.numpy()
            down, right = heads.shape[1] // 2, heads.shape[2] // 2
            figure = heat_map(
                heads[min(self.head, len(heads)) - 1].numpy(),
                "columns right",
                "rows down",
                "Similarity of rotations by offset",
                signed=True,
                x_names=offsets(right),
                y_names=offsets(down),
                limit=1.0,
                height=460,
                quantity="cosine",
            )
            yield Said(first_said(positions.rotations(heads)))
            yield Chart(figure, "Similarity of rotations by offset")
        layers = biased_layers(of.loaded.model)
        if not layers and not arrays:
            raise NotApplicable(f"{of.name} has no relative positions: neither a bias by offset nor rotations.")
        if layers:
            bias = relative_bias(of.loaded, min(self.layer, len(layers)) - 1)
            arrays |= {"bias": bias.by_offset.numpy(), "index": bias.index.numpy()}
            yield from by_head(bias)
            yield Folded("Which entry of the table each pair of places reads", partial(index_table, bias))
        yield Numbers(partial(dict, arrays))


def by_head(bias: RelativeBias) -> Iterator[Block]:
    """Every head's bias on one scale. A bias without a sign (Swin v2) has the colours of its own range, and where most
    of it stands at an end of that, those of its ranks."""
    values, limit = bias.by_offset, float(bias.by_offset.abs().max()) or 1.0
    both_signs = bool((values < 0).any())
    ranked = not both_signs and positions.saturated(values) > 0.5
    bounded = positions.saturation(values) if not both_signs and bias.table is None else None
    yield Said(first_said(positions.bias(values), bounded, positions.range_of(values)))
    yield Line(f"{bias.name} · window {bias.window[0]} × {bias.window[1]} · {len(values)} heads, one scale for all")
    down, across = (offsets(side - 1) for side in bias.window)
    charts = []
    for head in range(len(values)):
        if both_signs:
            figure = heat_map(
                values[head].numpy(),
                "columns right",
                "rows down",
                f"Head {head + 1}",
                signed=True,
                x_names=across,
                y_names=down,
                limit=limit,
                height=300,
                quantity=ADDED,
            )
        else:
            figure = bias_map(values.numpy(), head, ranked=ranked, x_names=across, y_names=down)
        charts.append(Chart(figure, f"Bias by offset, head {head + 1}"))
    wide = min(ACROSS, len(charts))
    for start in range(0, len(charts), wide):
        row = charts[start : start + wide]
        yield Columns(tuple((chart,) for chart in row) + ((),) * (wide - len(row)))
    if not both_signs:
        scale = "Colours by rank: equal steps of colour are equal numbers of entries. " if ranked else ""
        yield Line(f"{scale}A constant added to all keys changes nothing: only differences count.")


def index_table(bias: RelativeBias) -> Iterator[Block]:
    digits = 0 if len(bias.index) <= MOST_WRITTEN else None
    figure = heat_map(
        bias.index.numpy().astype(float),
        "key",
        "query",
        "Index table: which entry",
        digits=digits,
        height=460,
        quantity="entry",
    )
    yield Chart(figure, "Which entry of the bias table each pair of places reads")


def offsets(reach: int) -> list[str]:
    return [f"{offset:+d}" if offset else "0" for offset in range(-reach, reach + 1)]
