"""Relative: the bias that a layer adds by the offset of two patches, or the similarity of their rotations."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from vizkit.analysis.remarks import positions
from vizkit.figure.attention.bias_map import bias_map, ranks
from vizkit.figure.canvas.rows import text64
from vizkit.figure.charts import heat_map
from vizkit.figure.palette import SIGNED, colours
from vizkit.models.probes.positions import RelativeBias, biased_layers, kind, relative_bias, rope_similarity
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Block, Canvas, Chart, Columns, Folded, Line, Numbers, Said, first_said
from vizkit.views.controls import number
from vizkit.views.rules import tuple_of, whole
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

ADDED = "added to the score"
MOST_WRITTEN = 16  # numbers in a row that can be read


def most_heads(of: Sequence[Subject]) -> int:
    """Of a layer with a bias, or that rotate each in its own way."""
    counts = [len(rope_similarity(each.loaded)) for each in of if "rotary" in kind(each.loaded)]
    for each in of:
        layers = len(biased_layers(each.loaded.model))
        counts += [len(relative_bias(each.loaded, layer).bias) for layer in range(layers)]
    return max(counts, default=1)


def most_layers(of: Sequence[Subject]) -> int:
    return max((len(biased_layers(each.loaded.model)) for each in of), default=1) or 1


def most_places(of: Sequence[Subject]) -> int:
    """In a window."""
    found = [relative_bias(each.loaded, 0).window for each in of if biased_layers(each.loaded.model)]
    return max((rows * columns for rows, columns in found), default=1)


@dataclass(frozen=True)
class Relative(View):
    """What a score gains or loses by the offset of two patches."""

    layer: int = number("Layer", 1, most_layers, 1, "Whose bias is shown.", key="bias_layer", plays=True)
    head: int = number("Head", 1, most_heads, 1, "In a layer with fewer heads its last.", key="rope_head")
    query: int = number(
        "Query", 0, most_places, 0, "Its place in the window, row by row; 0: the middle.", key="bias_query", inside=True
    )
    key: int = number("Key", 0, most_places, 0, "Its place; 0: the one that gains most.", key="bias_key", inside=True)

    alone: ClassVar = True
    overlays: ClassVar = False
    how: ClassVar = How(
        "Point at a patch of the window: the score of the white query with it gets the marked entry of the table. "
        "Pairs of one offset share one entry, which stands where its key lies from the query: so the outlined part of "
        "the table is the window itself, and another query outlines another. "
        "Of a model that rotates (RoPE) the picture says how much of a product of equal vectors is left.",
        r"\mathrm{softmax}\!\left(QK^\top/\sqrt{d} + B\right), \quad B_{ij} = \hat B[\,p_i - p_j\,]",
        "where a head attends: the product of query and key is added to it.",
        "Liu et al. 2021, eq. 4; Su et al. 2021",
    )

    def title(self, of: Subject) -> str:
        return f"Relative positions: layer {self.layer}, head {self.head}"

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
            yield from self.window(bias, min(self.layer, len(layers)))
            yield Folded("Which entry of the table each pair of places reads", partial(index_table, bias))
        yield Numbers(partial(dict, arrays))

    def window(self, bias: RelativeBias, layer: int) -> Iterator[Block]:
        """The bias of every key of one query, and the table it is read from, on one scale for all heads. A bias without
        a sign (Swin v2) has the colours of its own range, and where most of it stands at an end of that, of its ranks.
        """
        values = bias.by_offset
        head = min(self.head, len(values)) - 1
        signed = bool((values < 0).any())
        ranked = not signed and positions.saturated(values) > 0.5
        bounded = positions.saturation(values) if not signed and bias.table is None else None
        limit = float(values.abs().max()) or 1.0
        low = -limit if signed else float(values.min())
        shares = ranks(values.numpy()) if ranked else (values.numpy() - low) / (max(limit, low + 1e-6) - low)
        rows, columns = bias.window
        query = self.query - 1 if 0 < self.query <= rows * columns else rows // 2 * columns + columns // 2
        row = bias.bias[head, bias.prefix + query, bias.prefix :]
        key = self.key - 1 if 0 < self.key <= rows * columns else int(row.argmax())
        gained = f"What each key {'gains or loses' if signed else 'gains'}"
        whole_table = f"Table of head {head + 1}, {2 * rows - 1} × {2 * columns - 1} offsets"
        data = {
            "window": bias.window,
            "values": text64(values[head].numpy().astype("<f4")),
            "tones": text64((255 * shares[head]).round().astype(np.uint8)),
            "colours": text64(colours(SIGNED) if signed else colours()),
            "pair": (query, key),
            "titles": (gained, whole_table),
            "ends": (f"{low:+.2g} {ADDED}".replace("-", "−"), f"+{limit:.2g}"),
        }
        yield Canvas(
            "vizkit_bias",
            data,
            "A window, and the table of relative positions. Arrow keys choose the key, with Shift the query.",
            {"pair": (tuple_of(whole(1, rows * columns), whole(1, rows * columns)), ("query", "key"))},
            (Columns(tuple(charts(bias, head, query, (gained, whole_table), limit, None if signed else ranked))),),
        )
        yield Said(first_said(positions.bias(values), bounded, positions.range_of(values)))
        scale = "; colours by rank: equal steps are equal numbers of entries" if ranked else ""
        constant = "" if signed else ". A constant added to all keys changes nothing: only differences count"
        yield Line(
            f"layer {layer} · window {rows} × {columns} · head {head + 1} of {len(values)}, one scale for all heads"
            f"{scale}{constant}"
        )


def charts(
    bias: RelativeBias, head: int, query: int, titles: tuple[str, str], limit: float, ranked: bool | None
) -> Iterator[tuple[Block, ...]]:
    """On paper: the window's keys, and the table. `ranked`: None of a bias with a sign."""
    rows, columns = bias.window
    window = bias.bias[head, bias.prefix + query, bias.prefix :].view(rows, columns).numpy()
    signed: Any = {"signed": ranked is None, "limit": limit, "height": 300, "quantity": ADDED}
    yield (Chart(heat_map(window, "column of the key", "row of the key", titles[0], **signed), titles[0]),)
    names: Any = {"x_names": offsets(columns - 1), "y_names": offsets(rows - 1)}
    seen = bias.by_offset.flip(1, 2).numpy()  # an entry stands where its key lies from the query
    if ranked is None:
        table = heat_map(seen[head], "columns right of the query", "rows below the query", titles[1], **signed, **names)
    else:
        table = bias_map(seen, head, ranked=ranked, **names)
    yield (Chart(table, titles[1]),)


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
