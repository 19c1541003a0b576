"""Relative: the bias that a layer adds by the offset of two patches, or the similarity of their rotations."""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.remarks import positions
from vizkit.figure.canvas.rows import text64
from vizkit.figure.palette import CLASSES, DARK, SIGNED, colours
from vizkit.figure.sheet import enlarged, outlined, sheet
from vizkit.models.probes.positions import biased_layers, kind, relative_bias, rope_similarity
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Blocks, Canvas, Line, Numbers, Picture, Said
from vizkit.views.controls import number
from vizkit.views.rules import tuple_of, whole
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

INKS = (CLASSES[1], DARK)  # of the key, and of the query or its window

ADDED = "What each key gains or loses", "is added to the score", "added to the score"
ROTATED = "What is left for each key", "is what is left of a product of equal vectors", "cosine"
RANKED = (
    "; colours by rank: equal steps are equal numbers of entries. A constant added to all keys changes nothing: only "
    "differences count"
)


def tables(of: Sequence[Subject]) -> Iterator[Tensor]:
    """Of all rotations and layers (head, down, right), the first of one where there is none."""
    yield torch.zeros(1, 1, 1)
    for loaded in (each.loaded for each in of):
        yield from [rope_similarity(loaded)] if "rotary" in kind(loaded) else []
        yield from (relative_bias(loaded, layer).by_offset for layer in range(len(biased_layers(loaded.model))))


def most_layers(of: Sequence[Subject]) -> int:
    return max([1, *(len(biased_layers(each.loaded.model)) for each in of)])


def most_heads(of: Sequence[Subject]) -> int:
    return max(map(len, tables(of)))


def most_places(of: Sequence[Subject]) -> int:
    """In a window."""
    return max((table.shape[1] // 2 + 1) * (table.shape[2] // 2 + 1) for table in tables(of))


class Relative(View):
    """What a score gains or loses by the offset of two patches."""

    layer: int = number("Layer", 1, most_layers, 1, "Whose bias is shown.", key="bias_layer", plays=True)
    head: int = number(
        "Head",
        1,
        most_heads,
        1,
        "Whose table is large.",
        key="rope_head",
        inside=True,
    )
    query: int = number(
        "Query", 0, most_places, 0, "Its place in the window, row by row; 0: the middle.", key="bias_query", inside=True
    )
    key: int = number("Key", 0, most_places, 0, "Its place; 0: the one that gains most.", key="bias_key", inside=True)

    alone = True
    overlays = False
    how = How(
        "Point at a patch of the window: the score of the white query with it gets the marked entry of the table. "
        "Pairs of one offset share one entry, which stands where its key lies from the query: so the outlined part of "
        "the table is the window itself, and another query outlines another. Click the small table of a head to see "
        "it large. Of a model that rotates (RoPE) an entry says how much of a product of equal vectors is left.",
        r"\mathrm{softmax}\!\left(QK^\top/\sqrt{d} + B\right), \quad B_{ij} = \hat B[\,p_i - p_j\,]",
        "where a head attends: the product of query and key is added to it.",
        "Liu et al. 2021, eq. 4; Su et al. 2021",
    )

    def title(self, of: Subject) -> str:
        return f"Relative positions: layer {self.layer}, head {self.head}"

    def show(self, of: Subject) -> Blocks:
        arrays: dict[str, Tensor] = {}
        if "rotary" in kind(of.loaded):
            turned = rope_similarity(of.loaded)
            arrays["rotations"] = turned
            yield from self.drawn(turned, "rotations", ROTATED, positions.rotations(turned))
        layers = biased_layers(of.loaded.model)
        if not layers and not arrays:
            raise NotApplicable(f"{of.name} has no relative positions: neither a bias by offset nor rotations.")
        if layers:
            layer = min(self.layer, len(layers))
            bias = relative_bias(of.loaded, layer - 1)
            values = bias.by_offset
            arrays |= {"bias": values, "index": bias.index}
            bounded = positions.saturation(values) if bias.table is None and float(values.min()) >= 0 else None
            head = min(self.head, len(values)) - 1
            said = positions.range_of(values.flip(1, 2), head), positions.bias(values) or bounded
            yield from self.drawn(values, f"layer {layer} of {len(layers)}", ADDED, *said)
        yield Numbers(partial(dict, arrays))

    def drawn(
        self, values: Float[Tensor, "head down right"], what: str, words: tuple[str, str, str], *said: str | None
    ) -> Blocks:
        """A window as its query sees it, the table that it is a part of, and those of all heads, on one scale. Numbers
        without a sign (Swin v2), which may stand at the ends of their range, have the colours of their ranks."""
        heads, (rows, columns) = len(values), (side // 2 + 1 for side in values.shape[1:])
        limit, signed, most = float(values.abs().max()) or 1.0, bool((values < 0).any()), rows * columns
        low = -limit if signed else float(values.min())
        shares = (values.numpy() / limit + 1) / 2 if signed else ranks(values.numpy())
        tones, ramp = (255 * shares).round().astype(np.uint8), colours(SIGNED) if signed else colours()
        query = self.query - 1 if 0 < self.query <= most else rows // 2 * columns + columns // 2
        head, (row, column) = min(self.head, heads) - 1, divmod(query, columns)
        top, left = rows - 1 - row, columns - 1 - column  # of the window in the table
        window = slice(top, top + rows), slice(left, left + columns)
        key = self.key - 1 if 0 < self.key <= most else int(values.flip(1, 2)[head][window].argmax())
        y, x = divmod(key, columns)
        gained, does, quantity = words
        table = f"Table of head {head + 1}"
        ends = f"{low:+.2g} {quantity}".replace("-", "−"), f"+{limit:.2g}"
        data = {
            "window": (rows, columns),
            "values": text64(values.numpy().astype("<f4")),
            "tones": text64(tones),
            "colours": text64(ramp),
            "pair": (query, key),
            "head": head,
            "heads": heads,
            "gained": gained,
            "does": does,
            "ends": ends,
        }
        pictures = ramp[tones[:, ::-1, ::-1]]  # an entry stands where its key lies from the query
        large = [
            outlined(pictures[head][window], [(y, x, 1, 1), (row, column, 1, 1)], INKS),
            outlined(pictures[head], [(top + y, left + x, 1, 1), (top, left, rows, columns)], INKS),
        ]
        small = sheet([enlarged(each, 80) for each in pictures], [f"head {n + 1}" for n in range(heads)], 8)
        place = whole(1, most)
        yield Line(f"{what} · window {rows} × {columns} · one scale for all heads{'' if signed else RANKED}")
        yield Canvas(
            "vizkit_bias",
            data,
            "A window, and the table of relative positions. Arrow keys choose the key, with Shift the query.",
            {"pair": (tuple_of(place, place), ("query", "key")), "head": (whole(1, heads), "head")},
            (
                Picture(sheet(large, [gained, table]), table, f"colours from {ends[0]} to {ends[1]}"),
                Picture(small, "The tables of all heads", "all heads, in the same colours", min(1.0, heads / 8)),
            ),
        )
        yield Said(" ".join(each for each in said if each))


def ranks(values: Float[np.ndarray, "head down right"]) -> Float[np.ndarray, "head down right"]:
    """The share of all values that are smaller, 0 to 1; equal values have the rank of their middle."""
    ordered = np.sort(values, axis=None)
    first, last = (np.searchsorted(ordered, values, side) for side in ("left", "right"))
    return (first + last - 1) / 2 / max(values.size - 1, 1)
