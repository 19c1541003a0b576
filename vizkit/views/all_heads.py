"""The maps of one query in all layers and heads, as one block in which a head is chosen."""

import base64
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.attention.attention_map import all_heads, find_query, layers
from vizkit.figure.canvas.rows import text64
from vizkit.figure.palette import colours
from vizkit.geometry import name_of
from vizkit.views.blocks import Canvas, Tile, Tiles
from vizkit.views.rules import one_of, tuple_of, whole

if TYPE_CHECKING:
    from vizkit.analysis.attention.attention_map import Query
    from vizkit.traces import Attention, Trace


def heads_of(
    trace: "Trace", query: "Query", layer: int, head: int | None, shared: bool, picks: tuple[str, str, str]
) -> Canvas:
    """`layer` and `head` from 1 are framed, all heads where that is None; `shared`: colours end at the largest weight
    of a layer, not of each map. A click sets the fields `picks` to a layer, a head and "attention", "" for none."""
    recorded, maps = layers(trace), all_heads(trace, query)
    described, small, limits, start = [], [], [], 0
    for number, (own, heads) in enumerate(zip(maps, (each.heads for each in recorded), strict=True), 1):
        tops = [] if own is None else _tops(own, shared)
        rows, columns = (0, 0) if own is None else own.shape[1:]
        count = heads if own is None else len(own)
        largest = [] if own is None else own.amax((1, 2)).tolist()
        described.append({"heads": count, "rows": rows, "columns": columns, "start": start, "tops": largest})
        start += count * rows * columns
        for index, top in enumerate(tops):
            small.append(Tile(f"{number}.{index + 1}", own[index].numpy(), unit="%"))  # pyright: ignore[reportOptionalSubscript]
            limits.append((0.0, top))
    scale = (
        f"{'each layer' if shared else 'each map'}'s own largest weight{'' if shared else ', which stands below it'}"
    )
    most = max(each["heads"] for each in described)
    alt = f"Attention of {whose(trace, query)} in all layers and heads of {trace.model}"
    return Canvas(
        "vizkit_heads",
        {
            "maps": base64.b64encode(b"".join(_eight_bits(own, shared) for own in maps if own is not None)).decode(),
            "layers": described,
            "layer": layer - 1,
            "head": None if head is None else head - 1,
            "colours": text64(colours()),
            "scale": scale,
            "hint": "Columns are layers, rows are heads. Click a map to see it large.",
        },
        f"{alt}. Use the arrow keys to choose.",
        {"pick": (tuple_of(whole(1, len(maps)), whole(1, most), one_of(("attention",))), picks)},
        (Tiles("", tuple(small), tuple(limits), f"{alt}, colours up to {scale}", tile_px=70),),
    )


def whose(trace: "Trace", query: "Query") -> str:
    """The token that asks, in words; where later layers have another grid, also its place there."""
    first, *later = dict.fromkeys(_asking(each, query) for each in layers(trace))
    return f"{first}{''.join(f', later {name}' for name in later)}"


def _asking(layer: "Attention", query: "Query") -> str:
    name = name_of(layer.query, find_query(layer, query)[0])
    return f"{name} of {' × '.join(map(str, layer.query.grid))}" if layer.query.grid and name[0] != "[" else name


def _tops(maps: Float[Tensor, "head row column"], shared: bool) -> list[float]:
    own = maps.amax((1, 2))
    return (own.max().expand_as(own) if shared else own).clamp(min=1e-12).tolist()


def _eight_bits(maps: Float[Tensor, "head row column"], shared: bool) -> bytes:
    tops = torch.tensor(_tops(maps, shared))[:, None, None]
    return (maps / tops * 255).round().clamp(0, 255).byte().numpy().tobytes()
