"""Relative: the bias that a layer adds by the offset of two patches, or the similarity of their rotations."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from vizkit.analysis.remarks import positions
from vizkit.figure.canvas.rows import text64
from vizkit.figure.charts import framed, heat_map
from vizkit.figure.palette import SIGNED, colours
from vizkit.models.probes.positions import RelativeBias, biased_layers, kind, relative_bias, rope_similarity
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Block, Canvas, Chart, Columns, Line, Numbers, Said, first_said
from vizkit.views.controls import controls, number, rule_of
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

ACROSS = 4  # maps in a row
RIGHT, BELOW = "columns right of the query", "rows below the query"


def most_layers(of: Sequence[Subject]) -> int:
    return max((len(biased_layers(each.loaded.model)) for each in of), default=1) or 1


def most_heads(of: Sequence[Subject]) -> int:
    biased: list[Any] = [layer for each in of for _, layer in biased_layers(each.loaded.model)]
    rotated = [len(rope_similarity(each.loaded)) for each in of if "rotary" in kind(each.loaded)]
    return max([*(layer.num_heads for layer in biased), *rotated], default=1)


def most_places(of: Sequence[Subject]) -> int:
    """Of the first window, than which later ones are never larger."""
    biased = (each.loaded for each in of if biased_layers(each.loaded.model))
    return max((prod(relative_bias(loaded, 0).window) for loaded in biased), default=1)


def side(offsets: int) -> int:
    """Of the window whose offsets these are."""
    return (offsets + 1) // 2


@dataclass(frozen=True)
class Relative(View):
    """What a score gains or loses by the offset of two patches."""

    layer: int = number("Layer", 1, most_layers, 1, "Whose bias is shown.", key="bias_layer", plays=True)
    head: int = number("Head", 1, most_heads, 1, "Whose table is large.", key="rope_head")
    query: int = number(
        "Query", 0, most_places, 0, "Its place in the window, counted from 1 row by row; 0: the middle.",
        key="bias_query", inside=True,
    )  # fmt: skip

    alone: ClassVar = True
    overlays: ClassVar = False
    how: ClassVar = How(
        "Point at a key in the window: its offset from the query picks one entry of the table, which is added to the "
        "score before softmax. Click to move the query: the window is another part of the same table, for pairs of one "
        "offset share one number. Of a model that rotates (RoPE) a cell says how much of a product of equal vectors is "
        "left at that offset.",
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
            yield Said(first_said(positions.rotations(heads)))
            shown = heads[min(self.head, len(heads)) - 1].numpy()
            yield table(shown, 1.0, "Similarity of rotations by offset", "cosine", 460)
        layers = biased_layers(of.loaded.model)
        if not layers and not arrays:
            raise NotApplicable(f"{of.name} has no relative positions: neither a bias by offset nor rotations.")
        if layers:
            at = min(self.layer, len(layers))
            bias = relative_bias(of.loaded, at - 1)
            arrays |= {"bias": bias.by_offset.numpy(), "index": bias.index.numpy()}
            rows, columns = bias.window
            yield Line(
                f"layer {at} of {len(layers)} · window {rows} × {columns} · {len(bias.bias)} heads, one scale for all"
            )
            yield from self.biased(of, bias)
        yield Numbers(partial(dict, arrays))

    def biased(self, of: Subject, bias: RelativeBias) -> Iterator[Block]:
        """A window, the table that it is a part of, and those of all heads, on one scale. Of a bias without a sign
        (Swin v2) the colours begin at the mean of the head: a constant added to all keys changes nothing."""
        around, (rows, columns) = bias.around, bias.window
        head, middle = min(self.head, len(around)) - 1, (rows // 2) * columns + columns // 2
        query = min(self.query, rows * columns) - 1 if self.query else middle
        own = bool((around < 0).any())
        means = around.mean((1, 2)) * (not own)
        drawn = (around - means[:, None, None]).numpy()
        limit = float(np.abs(drawn).max()) or 1.0
        quantity = "added to the score" if own else "added to the score, less the mean of the head"
        data = {
            "values": text64(around.numpy().astype("<f4")),
            "means": means.tolist(),
            "rows": rows,
            "columns": columns,
            "limit": limit,
            "head": head,
            "query": query,
            "quantity": quantity,
            "signed": text64(colours(SIGNED)),
        }
        asked = controls(self)
        tells = {name: (rule_of(asked[name], [of]), name) for name in ("head", "query")}
        still = tuple(on_paper(drawn, head, divmod(query, columns), limit, quantity))
        yield Canvas("vizkit_bias", data, "Point at a key; a click moves the query.", tells, still)
        bounded = positions.saturation(around) if bias.table is None else None
        yield Said(first_said(positions.bias(around), bounded, positions.range_of(around, head)))


def on_paper(
    drawn: Float[np.ndarray, "head down right"], head: int, query: tuple[int, int], limit: float, quantity: str
) -> Iterator[Block]:
    """The same without a pointer: the window, the table in which it is framed, and every head."""
    (down, right), (row, column) = drawn.shape[1:], query
    rows, columns = side(down), side(right)
    top, left = rows - 1 - row, columns - 1 - column
    window = heat_map(
        drawn[head, top : top + rows, left : left + columns], RIGHT, BELOW, f"Window, query in row {row + 1}, column "
        f"{column + 1}", signed=True, limit=limit, height=300, quantity=quantity,
        x_names=offsets(-column, columns), y_names=offsets(-row, rows),
    )  # fmt: skip
    whole = table(drawn[head], limit, f"Table of head {head + 1}, framed: this window", quantity)
    framed(whole.figure, top, left, rows, columns)
    yield Columns(((Chart(framed(window, row, column), "What every key of the window gets"),), (whole,)))
    for start in range(0, len(drawn), ACROSS):
        heads = range(start, min(start + ACROSS, len(drawn)))
        each = [(table(drawn[at], limit, f"Head {at + 1}", quantity),) for at in heads]
        yield Columns((*each, *((),) * (min(ACROSS, len(drawn)) - len(each))))


def table(values: Float[np.ndarray, "down right"], limit: float, title: str, quantity: str, height: int = 300) -> Chart:
    down, right = values.shape
    figure = heat_map(
        values, RIGHT, BELOW, title, signed=True, limit=limit, height=height, quantity=quantity,
        x_names=offsets(1 - side(right), right), y_names=offsets(1 - side(down), down),
    )  # fmt: skip
    return Chart(figure, title)


def offsets(first: int, count: int) -> list[str]:
    return [f"{offset:+d}" if offset else "0" for offset in range(first, first + count)]
