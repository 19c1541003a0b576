"""The maps of one query in all layers and heads, as one block in which a head is chosen."""

import base64
from dataclasses import replace
from typing import TYPE_CHECKING

from vizkit.analysis.attention.attention_map import all_heads, find_query, layers
from vizkit.figure.canvas.rows import cell_box, text64
from vizkit.figure.palette import colours
from vizkit.figure.scales import LINEAR, Scale
from vizkit.geometry import Box, name_of
from vizkit.views.blocks import Canvas, Tile, Tiles
from vizkit.views.rules import one_of, tuple_of, whole

if TYPE_CHECKING:
    from vizkit.analysis.attention.attention_map import Query
    from vizkit.traces import Attention, Trace


def heads_of(
    trace: "Trace", query: "Query", layer: int, head: int | None, scale: Scale, picks: tuple[str, str, str]
) -> Canvas:
    """`layer` and `head` from 1 are framed, all heads where that is None. A click sets the fields `picks` to a layer, a
    head and "attention", "" for none."""
    recorded, maps = layers(trace), all_heads(trace, query)
    described, cells, levels, start = [], dict[tuple[int, int], Tile](), list[bytes](), 0
    for number, (own, shown) in enumerate(zip(maps, recorded, strict=True), 1):
        rows, columns = (0, 0) if own is None else own.shape[1:]
        count = shown.heads if own is None else len(own)
        largest = [] if own is None else own.amax((1, 2)).tolist()
        described.append({"heads": count, "rows": rows, "columns": columns, "start": start, "tops": largest})
        start += count * rows * columns
        if own is None:
            continue
        places, at, asks = places_seen(shown, query), place_of(shown, query), cell_of(shown, query)
        for index, each in enumerate(own.numpy(), 1):
            settled = scale.of(each, places, at)
            levels.append(settled.levels(each).tobytes())
            cells[index, number] = Tile("", each, scale=settled, asks=asks)
    quantity = "each map from 0 to its own largest weight" if scale.kind == LINEAR else "times an equal share"
    bar = replace(scale, top=scale.top or 1.0)
    ends = ((0.0, "0"), (1.0, "largest")) if scale.kind == LINEAR else bar.ticks
    most = max(each["heads"] for each in described)
    alt = f"Attention of {whose(trace, query)} in all layers and heads of {trace.model}"
    return Canvas(
        "vizkit_heads",
        {
            "maps": base64.b64encode(b"".join(levels)).decode(),
            "layers": described,
            "layer": layer - 1,
            "head": None if head is None else head - 1,
            "colours": text64(colours()),
            "scale": bar.packed() | {"ticks": ends},
            "quantity": quantity,
            "hint": "Under each map its largest weight on a patch."
            + " –: this layer has fewer heads." * (len({each["heads"] for each in described}) > 1),
        },
        f"{alt}. Use the arrow keys to choose.",
        {"pick": (tuple_of(whole(1, len(maps)), whole(1, most), one_of(("attention",))), picks)},
        (_still(cells, most, len(maps), (head, layer), f"{alt}, {quantity}"),),
    )


def _still(
    cells: "dict[tuple[int, int], Tile]", heads: int, depth: int, chosen: tuple[int | None, int], alt: str
) -> Tiles:
    """As the canvas has them, by (head, layer): layers across, heads down; a place is empty where a layer has fewer."""
    values = tuple((head, layer) for head in range(1, heads + 1) for layer in range(1, depth + 1))
    columns = tuple(f"layer {layer}" for layer in range(1, depth + 1))
    rows = tuple(f"head {head}" for head in range(1, heads + 1))
    maps = tuple(cells.get(each, Tile("", None)) for each in values)
    return Tiles("", maps, alt, "", values, chosen, 70, columns=columns, rows=rows)


def places_seen(layer: "Attention", query: "Query") -> int:
    """How many places the query can attend to: in a model with windows those of its own."""
    group = int((layer.query_ids == find_query(layer, query)[0]).any(1).nonzero()[0])
    return int((layer.key_ids[group] >= len(layer.key.special)).sum())


def place_of(layer: "Attention", query: "Query") -> int | None:
    """Its own place among those of the keys, row by row."""
    at = find_query(layer, query)[0] - len(layer.query.special)
    return at if at >= 0 and layer.query.grid == layer.key.grid else None


def cell_of(layer: "Attention", query: "Query") -> Box | None:
    """Where the query lies, as fractions (x0, y0, x1, y1) of what the model saw; None of a token without a place."""
    at, grid = find_query(layer, query)[0] - len(layer.query.special), layer.query.grid
    return None if at < 0 or grid is None else cell_box(divmod(at, grid[1]), grid)


def whose(trace: "Trace", query: "Query") -> str:
    """The token that asks, in words; where later layers have another grid, also its place there."""
    first, *later = dict.fromkeys(_asking(each, query) for each in layers(trace))
    return f"{first}{''.join(f', in later layers {name}' for name in later)}"


def chosen(trace: "Trace", query: "Query") -> str:
    """The same for a heading that does not follow the cursor: a patch by its place in the first layer alone."""
    first = layers(trace)[0]
    name = name_of(first.query, find_query(first, query)[0])
    return name if isinstance(query, str) else f"the chosen patch, {name},"


def _asking(layer: "Attention", query: "Query") -> str:
    name = name_of(layer.query, find_query(layer, query)[0])
    return f"{name} of {' × '.join(map(str, layer.query.grid))}" if layer.query.grid and name[0] != "[" else name
