"""What a token attends to inside its window: by head, with and without the relative position bias, masked, padded."""

import numpy as np
import streamlit as st
from torch import Tensor

from vizkit.analysis.remarks import swin
from vizkit.analysis.swin.shifted_windows import whole
from vizkit.analysis.swin.window_attention import Sides, lost_to_padding, moved, regions, sides
from vizkit.figure.attention.mosaic import mosaic
from vizkit.figure.canvas.rows import Rows
from vizkit.figure.swin.window_map import window_map
from vizkit.geometry import id_at, name_of
from vizkit.image import Picture
from vizkit.models import pixels_of
from vizkit.models.probes.window_parts import WindowParts
from vizkit.ui import reading
from vizkit.ui.pages.swin.place import choose_place
from vizkit.ui.session import cached
from vizkit.ui.session.shown import Shown
from vizkit.ui.views import Page
from vizkit.ui.widgets import canvases
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.controls import choose_head
from vizkit.ui.widgets.query_map import show_map
from vizkit.ui.widgets.remark import remark

NAMES = {"both": "content + bias: the model", "content": "content alone", "bias": "bias alone"}
NUMBERS_UP_TO = 8  # tokens on a side of the window for which every cell has room for its number


def view(page: Page) -> None:
    shown, picture = page.focus, page.picture
    place = choose_place(shown, "block")
    parts, sides = computed(shown, picture, place.layer)
    chosen = choose_head("window_head", len(parts.relative))
    query_id, window, position = _place_of_query(shown, parts)
    for column, (name, words) in zip(st.columns(3), NAMES.items(), strict=True):
        with column:
            st.markdown(f"**{words}**")
            weights = fused(getattr(sides, name), chosen)
            content = for_browser(weights, parts, sides, window, position)
            show_map(f"window_{name}", content, shown, picture, "over image", f"Weights of {words}, of")
            by_head(getattr(sides, name)[window, :, position].unflatten(1, parts.window).numpy(), words)
    masked = int(parts.masked[window, position].sum())
    differs = moved(sides.both, sides.content, parts.ids)
    remark(swin.bias_moves(differs, place.layer + 1))
    st.caption(
        f"{name_of(parts.tokens, query_id)} · window {window + 1} of {len(parts.ids)} · "
        + (f"{masked} of {parts.ids.shape[1]} keys masked, hatched · " if masked else "nothing masked for it · ")
        + f"the bias moves {_spanned(differs.tolist())} of the attention of this layer's heads"
    )
    proof(parts)
    st.markdown("**The chosen token's row, step by step**")
    row_by_row(parts, sides, chosen, window, position)
    reading.guarded(padding, parts, query_id)
    reading.how(
        "The blue outline is the window, the only tokens that the chosen one can see in this block; hatched ones stand "
        "in it only because the grid was rolled round its edge, and the mask takes them out. Content is the product "
        "of query and key, the bias depends only on how far up, down, left or right a key lies; the pictures show both "
        "together and each alone.",
        r"\begin{gathered} \mathrm{softmax}\!\left(\tfrac{QK^\top}{\sqrt{d}} + B + M\right), \; "
        r"M_{ij} \in \{0, -100\} \\ \text{v2: } \cos(q_i, k_j)\,/\,\tau + B_{ij} + M_{ij} \end{gathered}",
        "shares that add up: softmax mixes content and bias, so the right two pictures do not sum to the left one.",
        "Liu et al. 2021, eq. 4 and § 3.2; Liu et al. 2022, eq. 2 and 3",
    )


def _spanned(shares: list[float]) -> str:
    low, high = f"{min(shares):.0%}", f"{max(shares):.0%}"
    return low if low == high else f"{low} to {high}"


def computed(shown: Shown, picture: Picture, layer: int) -> tuple[WindowParts, Sides]:
    """The layer taken apart in all its windows; the model runs once for each layer and image."""
    from vizkit.models.probes.window_parts import window_parts

    def make() -> tuple[WindowParts, Sides]:
        with cached.device_lock():
            parts = window_parts(shown.loaded, pixels_of(shown.loaded, picture.rgb), layer)
        return parts, sides(parts.content, parts.relative, parts.masked)

    return cached.made(shown.source, picture, shown.loaded, ("windows", layer), make)


def _place_of_query(shown: Shown, parts: WindowParts) -> tuple[int, int, int]:
    """(id of the token under the cursor, its window, its position in it)."""
    query_id = id_at(parts.tokens, shown.query if isinstance(shown.query, tuple) else (0.5, 0.5))
    window, position = (parts.ids == query_id).nonzero()[0].tolist()
    assert query_id is not None
    return query_id, window, position


def fused(weights: Tensor, head: int | None) -> Tensor:
    return weights.mean(1) if head is None else weights[:, head]


def for_browser(weights: Tensor, parts: WindowParts, sides: Sides, window: int, position: int) -> Rows:
    """All windows as a card reads them; above `canvases.MAX_MATRIX` weights only the chosen row."""
    values, ids, query_ids, region = weights.numpy(), parts.ids.numpy(), parts.ids.numpy(), regions(parts.masked)
    key_regions = query_regions = region.numpy()
    if values.size > canvases.MAX_MATRIX:
        values, ids, key_regions = values[window, position][None, None], ids[window][None], key_regions[window][None]
        query_ids, query_regions = query_ids[window, position][None, None], query_regions[window, position][None, None]
    grid = parts.tokens.grid
    return Rows(values, grid, grid, query_ids, ids, query_regions=query_regions, key_regions=key_regions)


def proof(parts: WindowParts) -> None:
    ok = parts.score_error <= 1e-5 and parts.branch_error <= 1e-4
    text = (
        f"content + bias + mask = scores, {reading.within('', parts.score_error).strip()} · "
        f"{reading.within('branch', parts.branch_error)}"
    )
    st.caption(
        f":green[:material/verified: {text}]" if ok else f":red[:material/error: {text}]",
        help="What is added up here is what the layer gave to its softmax, and its weights times its values, "
        "projected, are the layer's output (relative difference).",
    )


def _names_in(parts: WindowParts, window: int) -> tuple[list[str], list[str]]:
    """Rows and columns of the grid, counted from 1, along the window; a dash where there is only padding."""
    assert parts.tokens.grid is not None
    ids = parts.ids[window].view(parts.window).numpy()
    rows = [str(line.max() // parts.tokens.grid[1] + 1) if line.max() >= 0 else "–" for line in ids]
    columns = [str(line.max() % parts.tokens.grid[1] + 1) if line.max() >= 0 else "–" for line in ids.T]
    return rows, columns


def row_by_row(parts: WindowParts, sides: Sides, head: int | None, window: int, position: int) -> None:
    """Content, bias, their sum, weights: one row each, laid out as the window. The mean of heads adds up as well."""

    def mean(values: Tensor) -> np.ndarray:  # head key
        return (values.mean(0) if head is None else values[head]).view(parts.window).numpy()

    content, bias = mean(parts.content[window, :, position]), mean(parts.relative[:, position])
    limit = float(max(abs(content).max(), abs(bias).max(), abs(content + bias).max())) or 1.0
    hidden = parts.masked[window, position].view(parts.window).numpy()
    padded = (parts.ids[window] < 0).view(parts.window).numpy()
    rows, columns = _names_in(parts, window)
    room = max(parts.window) <= NUMBERS_UP_TO
    weights = np.where(hidden, np.nan, 100 * mean(sides.both[window, :, position]))  # 0 where hidden
    steps = (
        ("content: q · k, scaled", content, True),
        ("+ relative position bias", bias, True),
        ("= scores", content + bias, True),
        ("weights after softmax, %", weights, False),
    )
    across = parts.window[1]
    for index, (column, (name, values, signed)) in enumerate(zip(st.columns(4), steps, strict=True)):
        figure = window_map(
            values, name, hidden=hidden, padded=padded, row_names=rows, column_names=columns,
            query=divmod(position, across), signed=signed, limit=limit if signed else None,
            digits=(1 if limit >= 1 or not signed else 2) if room else None,
        )  # fmt: skip
        with column:
            chart(figure, f"window_row_{index}", name)
    words = [
        "Mean over heads" if head is None else f"Head {head + 1}",
        "the first three share one scale; rows and columns are those of the grid; framed: the token itself.",
        *(["Hatched: masked, −100 is added and nothing is left."] if hidden.any() else []),
        *(["Struck through: padding."] if padded.any() else []),
    ]
    st.caption("; ".join(words[:2]) + " " + " ".join(words[2:]))


def by_head(maps: np.ndarray, words: str) -> None:
    """(head, row, column): every head's weights of the chosen token, as its window lies on the rolled grid."""
    across = max(n for n in range(1, 9) if len(maps) % n == 0 and (n <= 4 or len(maps) > 8))
    rows = [maps[start : start + across] for start in range(0, len(maps), across)]
    st.image(mosaic(rows, tile=288 // across), alt=f"Every head's weights in the window, {words}", width="content")
    st.caption(f"heads 1 to {len(maps)} in the window, each to its maximum")


def padding(parts: WindowParts, query_id: int) -> None:
    """Where the grid is padded, and how much every token attends to it."""
    if not bool((parts.ids < 0).any()):
        return
    assert parts.tokens.grid is not None
    lost = lost_to_padding(parts.weights, parts.ids)
    grid, window = parts.tokens.grid, parts.window
    size = (grid[0] + -grid[0] % window[0], grid[1] + -grid[1] % window[1])
    ids = whole(parts.ids, size, window).numpy()
    st.markdown("**Padding**")
    st.caption(
        f"Windows of {window[0]} × {window[1]} do not divide {grid[0]} × {grid[1]} tokens, so {size[0] - grid[0]} rows "
        f"and {size[1] - grid[1]} columns of zeros are added. No mask is made for them; that of a shift covers some by "
        f"chance. The chosen token gives "
        f"{float(lost[parts.ids == query_id]):.1%} of its attention to them, all tokens together "
        f"{float(lost.nanmean()):.1%}."
    )
    figure = window_map(
        100 * whole(lost, size, window).numpy(),
        "attention lost to padding, %, on the grid as the block cuts it",
        hidden=np.zeros(size, bool),
        padded=ids < 0,
        row_names=[str(n // grid[1] + 1) if n >= 0 else "–" for n in ids.max(1)],
        column_names=[str(n % grid[1] + 1) if n >= 0 else "–" for n in ids.max(0)],
        lines=window,
        height=min(520, 140 + 24 * size[0]),
    )
    chart(figure, "window_padding", "Windows over the padded grid")
