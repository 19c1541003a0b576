"""The table of a layer's relative position bias: what every key of a window gains or loses by where it lies."""

import numpy as np
from jaxtyping import Float, Int
from torch import Tensor

from vizkit.analysis.remarks import positions
from vizkit.figure.canvas.rows import text64
from vizkit.figure.palette import CLASSES, DARK, SIGNED, colours
from vizkit.figure.sheet import enlarged, outlined, sheet
from vizkit.models.probes.positions import relative_bias
from vizkit.views.blocks import Blocks, Canvas, Line, Picture, Said
from vizkit.views.rules import whole
from vizkit.views.subject import Subject
from vizkit.views.swin.place import Size

INKS = (CLASSES[1], DARK)  # of the key, and of the query or its window
RANKED = (
    "; colours by rank: equal steps are equal numbers of entries. A constant added to all keys changes nothing: only "
    "differences count"
)


def bias_table(of: Subject, layer: int, head: int, query: int, ids: Int[Tensor, " place"], grid: Size) -> Blocks:
    """A window as its `query`, a place in it, sees it, the table that it is a part of, and those of all heads, on one
    scale. Numbers without a sign (Swin v2), which may stand at the ends of their range, have the colours of their
    ranks. `layer`, `head` and `query` from 0; `ids`: which tokens of the grid stand in the window."""
    bias = relative_bias(of.loaded, layer)
    values, (rows, columns) = bias.by_offset, bias.window
    heads, limit, signed = len(values), float(values.abs().max()) or 1.0, bool((values < 0).any())
    low = -limit if signed else float(values.min())
    shares = (values.numpy() / limit + 1) / 2 if signed else ranks(values.numpy())
    tones, ramp = (255 * shares).round().astype(np.uint8), colours(SIGNED) if signed else colours()
    row, column = divmod(query, columns)
    top, left = rows - 1 - row, columns - 1 - column  # of the window in the table
    window = slice(top, top + rows), slice(left, left + columns)
    key = int(values.flip(1, 2)[head][window].argmax())
    y, x = divmod(key, columns)
    table, ends = f"Table of head {head + 1}", (f"{low:+.2g} added to the score".replace("-", "−"), f"+{limit:.2g}")
    pictures = ramp[tones[:, ::-1, ::-1]]  # an entry stands where its key lies from the query
    large = [
        outlined(pictures[head][window], [(y, x, 1, 1), (row, column, 1, 1)], INKS),
        outlined(pictures[head], [(top + y, left + x, 1, 1), (top, left, rows, columns)], INKS),
    ]
    small = sheet([enlarged(each, 80) for each in pictures], [f"head {n + 1}" for n in range(heads)], 8)
    bounded = positions.saturation(values) if bias.table is None and not signed else None
    said = positions.range_of(values.flip(1, 2), head), positions.bias(values) or bounded
    yield Said(" ".join(filter(None, said)))
    yield Canvas(
        "vizkit_bias",
        {
            "window": (rows, columns),
            "values": text64(values, "<f4"),
            "tones": text64(tones),
            "ramp": text64(ramp),
            "ids": ids.tolist(),
            "grid": grid,
            "pair": (query, key),
            "head": head,
            "heads": heads,
            "ends": ends,
        },
        "A window, and the table of relative positions. Arrow keys choose the key, a click the query.",
        {"head": (whole(1, heads), "head")},
        (
            Picture(
                sheet(large, ["What each key gains or loses", table]), table, "colours from {} to {}".format(*ends)
            ),
            Picture(small, "The tables of all heads", "all heads, in the same colours", min(1.0, heads / 8)),
        ),
        of,
    )
    yield Line(f"window {rows} × {columns} · one scale for all heads{'' if signed else RANKED}")


def ranks(values: Float[np.ndarray, "head down right"]) -> Float[np.ndarray, "head down right"]:
    """The share of all values that are smaller, 0 to 1; equal values have the rank of their middle."""
    ordered = np.sort(values, axis=None)
    first, last = (np.searchsorted(ordered, values, side) for side in ("left", "right"))
    return (first + last - 1) / 2 / max(values.size - 1, 1)
