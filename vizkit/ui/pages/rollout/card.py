"""One model's card on the Rollout page: the row over the image, its growth by layer, its masses, the full matrix."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import streamlit as st
from torch import Tensor

from vizkit.analysis.attention.fusion import Fusion
from vizkit.analysis.attribution.layer_product import Query
from vizkit.analysis.attribution.rollout import Rollout
from vizkit.analysis.remarks import places
from vizkit.analysis.remarks.remark import Remark
from vizkit.figure.attention.matrix import blocks
from vizkit.figure.attention.matrix import matrix as drawn
from vizkit.figure.canvas.rows import Rows
from vizkit.geometry import cell_of, id_at, id_of, pixel_box
from vizkit.image import Picture, prepare, unprepare
from vizkit.report.kinds import Multiplied
from vizkit.report.kinds.rollout import ends
from vizkit.traces import Attention, Tokens
from vizkit.ui import reading
from vizkit.ui.pages.rollout.choice import QUERIES, Choice, Ready
from vizkit.ui.session import explained, saved
from vizkit.ui.session.shown import Shown, cursor, in_box
from vizkit.ui.widgets import canvases
from vizkit.ui.widgets.query_map import show_map
from vizkit.ui.widgets.remark import covered_by_insect, remark
from vizkit.ui.widgets.save import save
from vizkit.ui.widgets.tiles import Tile, tiles

DISTILLED = ("cls", "dist", "cls+dist", "mean")
MOST_TOKENS = 1600  # of which the full matrix is shown: the work grows with the cube


def card(index: int, ready: Ready, picture: Picture, choice: Choice) -> None:
    shown, trace, tokens, depth = ready.shown, ready.trace, ready.tokens, ready.depth
    cell = cell_of(tokens, id_at(tokens, in_box(cursor(), shown.box_xyxy, picture)) or 0)
    query = cell if choice.query == "patch" and cell else choice.query
    start, upto = min(choice.start, depth), min(max(choice.depth, choice.start), depth)
    key = explained.key_of(shown, picture)
    settings = choice.fusion, choice.discard, start - 1, choice.residual
    grown = explained.rolled(key, query, *settings, trace)
    rolled = grown[upto - start]
    here = ready.grid_after(upto)
    coarser = (
        f" of that layer's {here[0]} × {here[1]}" if here and here != tokens.grid and choice.query == "patch" else ""
    )
    st.caption(f"layers {start} to {upto} of {depth} · row of {whose(rolled, choice.query)}{coarser}")
    content = _in_browser(rolled, tokens, query)
    rows = _all_tokens(ready, key, settings) if choice.full else None
    if rows is not None and upto == depth:
        content = _all_rows(content, query, tokens, rows)
    low, top = ends(rolled, grown, choice.scale)
    content = replace(content, low=low, top=top)
    asking = replace(shown, query=query if isinstance(query, str) else cursor())
    show_map(f"rollout{index}_{shown.source}", content, asking, picture, choice.draw, "Rollout of", masses(rolled),
             query_key="rollout_query")  # fmt: skip
    remark(*_what_stands_out(shown, rolled, grown, start))
    if words := _how_followed(ready.layers):
        st.caption(words)
    growth(index, shown, picture, choice, grown, start, upto)
    if {"cls", "dist"} <= set(tokens.special):
        named = [explained.rolled(key, name, *settings, trace)[upto - start] for name in DISTILLED]
        distilled(index, shown, picture, choice, named)
    if rows is not None:
        matrix(ready, picture, rolled.tokens, rows)
    reading.proof(trace)
    shows = Multiplied(query, *settings[:2], choice.residual, start, upto, choice.scale)
    save(f"rollout{index}", {"": saved.item_of(shown, shows, choice.draw)}, saved.inputs_of(shown, picture))


def _what_stands_out(shown: Shown, rolled: Rollout, grown: list[Rollout], start: int) -> Iterator[Remark | None]:
    """The share on a drawn insect by layer or of this row, or how concentrated it is."""
    covered = covered_by_insect(shown, (rolled.grid.shape[0], rolled.grid.shape[1]))
    who = whose(rolled, rolled.query)
    if covered is not None and start == 1:
        sums = [float(each.grid.sum()) for each in grown]
        shares = [float((each.grid * covered).sum()) / total if total else 0.0
                  for each, total in zip(grown, sums, strict=True)]  # fmt: skip
        yield places.from_layer_on(shares, float(covered.mean()), f"rollout of {who}")
    yield places.where(rolled.grid, covered, f"what {who} takes from the image")


def whose(rolled: Rollout, query: str) -> str:
    named = {"cls": "the class token", "dist": "the distillation token", "cls+dist": "both tokens, their mean",
             "mean": "the mean of all places"}  # fmt: skip
    words = named.get(rolled.query, f"[{rolled.query}]" if query != "patch" else f"the patch at {rolled.query}")
    return f"{words}, which the head reads" if query == "cls" and rolled.query != "cls" else words


def masses(rolled: Rollout) -> list[tuple[str, float]]:
    """What the image, each special token and padding take, as the bars below the picture."""
    bars = [("on the image", float(rolled.grid.sum())), *((f"[{name}]", mass) for name, mass in rolled.special.items())]
    return [*bars, *([("padding", rolled.padding)] if rolled.padding > 1e-6 else [])]


def _how_followed(layers: list[Attention]) -> str:
    """One sentence for models whose layers do not all see all tokens."""
    pooled = any(not layer.learned for layer in layers)
    windows = any(len(layer.weights) > 1 for layer in layers if layer.learned)
    parts = (
        ["Within a layer attention stays inside its window, and shifted windows connect the windows"] if windows else []
    )
    if pooled:
        parts.append("a merged token's share is divided equally among the tokens it was made of")
    return "; ".join(parts) + f", down to patches of {layers[0].key.stride:g} pixels." if parts else ""


def _in_browser(rolled: Rollout, tokens: Tokens, query: Query) -> Rows:
    """One row as a card reads it: the share of every special token and place of the input."""
    special, asks = rolled.tokens.special, (rolled.query,)
    if isinstance(query, tuple):
        asks, position = tokens.special, id_of(tokens, query)
    elif query in tokens.special:
        asks, position = tokens.special, tokens.special.index(query)
    else:
        position = 0
    row = np.concatenate([np.array([rolled.special[name] for name in special]), rolled.grid.numpy().ravel()])[None]
    return Rows(
        row.astype(np.float32), rolled.tokens.grid, tokens.grid, np.array([position]), None, asks, special, verb="draws"
    )


def _all_tokens(ready: Ready, key: tuple, settings: tuple[Fusion, float, int, float]) -> Tensor | None:
    """The full matrix, or None with a sentence where that is too much."""
    most = max(len(tokens) for layer in ready.layers for tokens in (layer.query, layer.key))
    if most > MOST_TOKENS and len(ready.tokens) > MOST_TOKENS:
        st.caption(f":material/block: No full matrix: {most:,} tokens take {most:,} times the work of this row.")
        return None
    return explained.rolled_matrix(key, *settings, ready.trace)


def _all_rows(content: Rows, query: Query, tokens: Tokens, rows: Tensor) -> Rows:
    """Every row, so that hovering shows them; `content` where that is too much, or lacks this query."""
    other = (isinstance(query, str) and query not in tokens.special) or rows.shape[1] != content.values.shape[-1]
    if rows.numel() > canvases.MAX_MATRIX or other:
        return content
    return replace(content, values=rows.numpy(), query_ids=None)


def limits(maps: list[Rollout], grown: list[Rollout], scale: str) -> list[tuple[float, float]]:
    """The values of the darkest and the brightest colour of every map."""
    return [ends(rolled, grown, scale) for rolled in maps]


# ---- rows beside each other ------------------------------------------------------------------------------------------
def growth(
    index: int, shown: Shown, picture: Picture, choice: Choice, grown: list[Rollout], start: int, upto: int
) -> None:
    if len(grown) < 2:
        return
    st.markdown("**Layer by layer**")

    def pick(place: int) -> None:
        st.session_state["rollout_depth"] = start + place

    maps = [Tile(f"{start + i}", rolled.grid.numpy(), unit="%") for i, rolled in enumerate(grown)]
    tiles(f"growth{index}_{shown.source}", maps, shown, picture, choice.draw, limits(grown, grown, choice.scale),
          label="The row after a layer. Click to see it large.", chosen=upto - start, on_pick=pick,
          tile_px=66)  # fmt: skip


def distilled(index: int, shown: Shown, picture: Picture, choice: Choice, rows: list[Rollout]) -> None:
    st.markdown("**The rows of a distilled model**")

    def pick(place: int) -> None:
        st.session_state["rollout_query"] = DISTILLED[place]

    maps = [Tile(QUERIES[name], row.grid.numpy(), unit="%") for name, row in zip(DISTILLED, rows, strict=True)]
    tiles(f"distilled{index}_{shown.source}", maps, shown, picture, choice.draw, limits(rows, rows, choice.scale),
          label="Whose row. Click to see it large.", tile_px=66, on_pick=pick,
          chosen=DISTILLED.index(choice.query) if choice.query in DISTILLED else None)  # fmt: skip


def matrix(ready: Ready, picture: Picture, tokens: Tokens, rows: Tensor) -> None:
    """All rows as one picture, with their patches on the axes where these are large enough to be seen."""
    if max(rows.shape) > 400:
        drawing = blocks(rows.numpy())
    else:
        preprocessing = ready.shown.loaded.preprocessing
        seen = unprepare(prepare(picture.rgb, preprocessing)[0], preprocessing)
        drawing = drawn(rows.numpy(), *(_on_axis(axis, count, seen) for axis, count in zip(
            (ready.tokens, tokens), rows.shape, strict=True)))  # fmt: skip
    st.image(drawing, alt="Rollout of all tokens as a matrix", width="stretch")
    st.caption(f"All layers: {rows.shape[0]} queries down, {rows.shape[1]} tokens of the input across, largest "
               f"{float(rows.max()):.1%}.")  # fmt: skip


def _on_axis(tokens: Tokens, count: int, seen: np.ndarray) -> list[np.ndarray | str]:
    """The pixels or the special name of each of the last `count` tokens."""
    labels: list[np.ndarray | str] = []
    for token in range(len(tokens) - count, len(tokens)):
        box = pixel_box(tokens, token, (seen.shape[0], seen.shape[1]))
        if box is None:
            labels.append(tokens.special[token])
        else:
            x0, y0, x1, y1 = (round(edge) for edge in box)
            labels.append(seen[y0 : max(y1, y0 + 1), x0 : max(x1, x0 + 1)])
    return labels
