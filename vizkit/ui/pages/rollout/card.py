"""One model's card on the Rollout page: the row over the image, its growth by layer, its masses, the full matrix."""

import io
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from vizkit.figure.canvas.rows import Rows
from vizkit.image import Picture, prepare, unprepare
from vizkit.ui import export, reading
from vizkit.ui.pages.rollout.choice import QUERIES, Choice, Ready
from vizkit.ui.session import explained
from vizkit.ui.session.shown import Shown, cursor, in_box
from vizkit.ui.widgets import canvases
from vizkit.ui.widgets.query_map import show_map
from vizkit.ui.widgets.tiles import Tile, tiles

if TYPE_CHECKING:
    from torch import Tensor

    from vizkit.analysis.attention.fusion import Fusion
    from vizkit.analysis.attribution.layer_product import Query
    from vizkit.analysis.attribution.rollout import Rollout
    from vizkit.traces import Attention, Tokens

DISTILLED = ("cls", "dist", "cls+dist", "mean")
MOST_TOKENS = 1600  # of which the full matrix is shown: the work grows with the cube


def card(index: int, each: Ready, picture: Picture, choice: Choice) -> None:
    from vizkit.geometry import cell_of, id_at

    one, trace, tokens, depth = each.one, each.trace, each.tokens, each.depth
    cell = cell_of(tokens, id_at(tokens, in_box(cursor(), one.box_xyxy, picture)) or 0)
    query = cell if choice.asked == "patch" and cell else choice.asked
    start, upto = min(choice.start, depth), min(max(choice.depth, choice.start), depth)
    key = explained.key_of(one, picture)
    settings = choice.fusion, choice.discard, start - 1, choice.residual
    grown = explained.rolled(key, query, *settings, trace)
    found = grown[upto - start]
    here = each.grid_after(upto)
    coarser = (
        f" of that layer's {here[0]} × {here[1]}" if here and here != tokens.grid and choice.asked == "patch" else ""
    )
    st.caption(f"layers {start} to {upto} of {depth} · row of {whose(found, choice.asked)}{coarser}")
    content = in_browser(found, tokens, query)
    rows = all_tokens(each, key, settings) if choice.full else None
    if rows is not None and upto == depth:
        content = all_rows(content, query, tokens, rows)
    low, top = limits([found], grown, choice.scale)[0]
    content = replace(content, low=low, top=top)
    asking = replace(one, query=query if isinstance(query, str) else cursor())
    show_map(f"rollout{index}_{one.source}", content, asking, picture, choice.draw, "Rollout of", masses(found),
             query_key="rollout_query")  # fmt: skip
    if words := how_followed(each.layers):
        st.caption(words)
    growth(index, one, picture, choice, grown, start, upto)
    if {"cls", "dist"} <= set(tokens.special):
        named = [explained.rolled(key, name, *settings, trace)[upto - start] for name in DISTILLED]
        distilled(index, one, picture, choice, named)
    if rows is not None:
        matrix(each, picture, found.tokens, rows)
    reading.proof(trace)
    export.save_maps(f"rollout{index}", f"{trace.model}_rollout", picture, one.box_xyxy,
                     {found.query: export.Drawing(found.grid.numpy())}, lambda: numbers(grown, start))  # fmt: skip


def whose(found: "Rollout", asked: str) -> str:
    named = {"cls": "the class token", "dist": "the distillation token", "cls+dist": "both tokens, their mean",
             "mean": "the mean of all places"}  # fmt: skip
    words = named.get(found.query, f"[{found.query}]" if asked != "patch" else f"the patch at {found.query}")
    return f"{words}, which the head reads" if asked == "cls" and found.query != "cls" else words


def masses(found: "Rollout") -> list[tuple[str, float]]:
    """What the image, each special token and padding take, as the bars below the picture."""
    bars = [("on the image", float(found.grid.sum())), *((f"[{name}]", mass) for name, mass in found.special.items())]
    return [*bars, *([("padding", found.padding)] if found.padding > 1e-6 else [])]


def how_followed(layers: "list[Attention]") -> str:
    """One sentence for models whose layers do not all see all tokens."""
    pooled = any(not layer.learned for layer in layers)
    windows = any(len(layer.weights) > 1 for layer in layers if layer.learned)
    parts = ["Inside a layer mass moves within its window, and shifted windows carry it across"] if windows else []
    if pooled:
        parts.append("a merged token hands its mass on to the tokens it was made of, in equal parts")
    return "; ".join(parts) + f", down to patches of {layers[0].key.stride:g} pixels." if parts else ""


def in_browser(found: "Rollout", tokens: "Tokens", query: "Query") -> Rows:
    """One row as a card reads it: the share of every special token and place of the input."""
    from vizkit.geometry import id_of

    special, asks = found.tokens.special, (found.query,)
    if isinstance(query, tuple):
        asks, wanted = tokens.special, id_of(tokens, query)
    elif query in tokens.special:
        asks, wanted = tokens.special, tokens.special.index(query)
    else:
        wanted = 0
    row = np.concatenate([np.array([found.special[name] for name in special]), found.grid.numpy().ravel()])[None]
    return Rows(
        row.astype(np.float32), found.tokens.grid, tokens.grid, np.array([wanted]), None, asks, special, verb="draws"
    )


def all_tokens(each: Ready, key: tuple, settings: "tuple[Fusion, float, int, float]") -> "Tensor | None":
    """The full matrix, or None with a sentence where that is too much."""
    most = max(len(tokens) for layer in each.layers for tokens in (layer.query, layer.key))
    if most > MOST_TOKENS and len(each.tokens) > MOST_TOKENS:
        st.caption(f":material/block: No full matrix: {most:,} tokens take {most:,} times the work of this row.")
        return None
    return explained.rolled_matrix(key, *settings, each.trace)


def all_rows(one: Rows, query: "Query", tokens: "Tokens", rows: "Tensor") -> Rows:
    """Every row, so that hovering shows them; `one` where that would be too much, or this query is not among them."""
    other = (isinstance(query, str) and query not in tokens.special) or rows.shape[1] != one.values.shape[-1]
    if rows.numel() > canvases.MAX_MATRIX or other:
        return one
    return replace(one, values=rows.numpy(), query_ids=None)


def limits(maps: "list[Rollout]", grown: "list[Rollout]", scale: str) -> list[tuple[float, float]]:
    """The values of the darkest and the brightest colour of every map."""
    tops = [float(each.grid.max()) for each in maps]
    if scale == "shared":
        tops = [max(float(each.grid.max()) for each in grown)] * len(maps)
    lows = [float(each.grid.min()) if scale == "from lowest" else 0.0 for each in maps]
    return list(zip(lows, tops, strict=True))


# ---- rows beside each other ------------------------------------------------------------------------------------------
def growth(
    index: int, one: Shown, picture: Picture, choice: Choice, grown: "list[Rollout]", start: int, upto: int
) -> None:
    if len(grown) < 2:
        return
    st.markdown("**Layer by layer**")

    def pick(place: int) -> None:
        st.session_state["rollout_depth"] = start + place

    maps = [Tile(f"{start + i}", each.grid.numpy(), unit="%") for i, each in enumerate(grown)]
    tiles(f"growth{index}_{one.source}", maps, one, picture, choice.draw, limits(grown, grown, choice.scale),
          label="The row after a layer. Click to see it large.", chosen=upto - start, on_pick=pick,
          tile_px=66)  # fmt: skip


def distilled(index: int, one: Shown, picture: Picture, choice: Choice, rows: "list[Rollout]") -> None:
    st.markdown("**The rows of a distilled model**")

    def pick(place: int) -> None:
        st.session_state["rollout_query"] = DISTILLED[place]

    maps = [Tile(QUERIES[name], row.grid.numpy(), unit="%") for name, row in zip(DISTILLED, rows, strict=True)]
    tiles(f"distilled{index}_{one.source}", maps, one, picture, choice.draw, limits(rows, rows, choice.scale),
          label="Whose row. Click to see it large.", tile_px=66, on_pick=pick,
          chosen=DISTILLED.index(choice.asked) if choice.asked in DISTILLED else None)  # fmt: skip


def matrix(each: Ready, picture: Picture, tokens: "Tokens", rows: "Tensor") -> None:
    """All rows as one picture, with their patches on the axes where these are large enough to be seen."""
    from vizkit.figure.attention.matrix import blocks
    from vizkit.figure.attention.matrix import matrix as drawn

    if max(rows.shape) > 400:
        drawing = blocks(rows.numpy())
    else:
        preprocessing = each.one.loaded.preprocessing
        seen = unprepare(prepare(picture.rgb, preprocessing)[0], preprocessing)
        drawing = drawn(rows.numpy(), *(on_axis(axis, count, seen) for axis, count in zip(
            (each.tokens, tokens), rows.shape, strict=True)))  # fmt: skip
    st.image(drawing, alt="Rollout of all tokens as a matrix", width="stretch")
    st.caption(f"All layers: {rows.shape[0]} queries down, {rows.shape[1]} tokens of the input across, largest "
               f"{float(rows.max()):.1%}.")  # fmt: skip


def on_axis(tokens: "Tokens", count: int, seen: np.ndarray) -> "list[np.ndarray | str]":
    """The pixels or the special name of each of the last `count` tokens."""
    from vizkit.geometry import pixel_box

    found: list[np.ndarray | str] = []
    for token in range(len(tokens) - count, len(tokens)):
        box = pixel_box(tokens, token, (seen.shape[0], seen.shape[1]))
        if box is None:
            found.append(tokens.special[token])
        else:
            x0, y0, x1, y1 = (round(edge) for edge in box)
            found.append(seen[y0 : max(y1, y0 + 1), x0 : max(x1, x0 + 1)])
    return found


def numbers(grown: "list[Rollout]", start: int) -> bytes:
    """Every layer's row as NPZ: places, and what special tokens and padding take."""
    buffer = io.BytesIO()
    np.savez(
        buffer,
        places=np.stack([each.grid.numpy() for each in grown]),
        layer=np.arange(start, start + len(grown)),
        special=np.array([list(each.special.values()) for each in grown]),
        special_names=np.array(list(grown[-1].special)),
        padding=np.array([each.padding for each in grown]),
        query=np.array(grown[-1].query),
    )
    return buffer.getvalue()
