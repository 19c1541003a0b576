"""A dual-scale ViT: two grids on one image, how their tokens stand side by side, and the merging of their scores."""

from typing import Any

import numpy as np
import streamlit as st
from torch import Tensor

from vizkit.figure.canvas.rows import Rows
from vizkit.figure.patches import pulled_apart
from vizkit.geometry import id_at, name_of, pixel_box, window_ids
from vizkit.image import Picture, prepare, unprepare
from vizkit.models import pixels_of
from vizkit.models.families.dual_scale import Partners, Streams, partners
from vizkit.ui import reading
from vizkit.ui.pages.architecture import worth
from vizkit.ui.pages.architecture.alpha import Held, curve, predictions
from vizkit.ui.session import cached
from vizkit.ui.session.shown import Shown
from vizkit.ui.views import Page
from vizkit.ui.widgets.controls import choose_head
from vizkit.ui.widgets.query_map import show_map
from vizkit.ui.widgets.remark import of_layer, remark
from vizkit.ui.widgets.tiles import Tile, tiles
from vizkit.views import rows_of


def view(page: Page) -> None:
    shown, picture = page.focus, page.picture
    held = _held_of(shown, picture)
    tokens = held.streams.tokens
    point = shown.query if isinstance(shown.query, tuple) else (0.5, 0.5)
    token_id = id_at(tokens, point)
    assert token_id is not None
    pair = partners(shown.loaded, token_id)
    alpha, head = controls(shown, held.streams)
    columns = st.columns([4, 4, 3])
    with columns[0]:
        st.markdown(f"**{len(pair.fine):,} fine patches, {len(pair.coarse):,} coarse ones in blue: click one**")
        show_map("dual_grids", _grids_for_browser(pair), shown, picture, "image only", "Patches of")
    with columns[1]:
        st.markdown(f"**Merged attention of block {merge_block(shown)}**")
        content = rows_of.layer_for_browser(held.streams.attention(alpha), head, shown.query, False)
        show_map("dual_attention", content, shown, picture, "over image", "Merged attention of")
        remark(of_layer(shown, held.streams.attention(alpha), merge_block(shown), head))
    with columns[2]:
        predictions(shown, held, alpha)
    left, right = st.columns([1, 2])
    with left:
        beside(shown, picture, pair)
    with right:
        scores(shown, picture, held.streams, token_id, alpha, head)
    curve(shown, held, alpha)
    reading.how(
        "The image is cut twice. Each coarse patch stands beside the fine ones inside it, both streams run through the "
        "same blocks, and then one attention mixes their scores: at α = 1 only those of the fine stream count, at "
        "α = 0 only those of the coarse one. The values, and so all detail, are the fine stream's at any α.",
        r"S = \alpha\,S^{(\mathrm{fine})} + (1-\alpha)\,S^{(\mathrm{coarse})}, \quad "
        r"S^{(p)} = \frac{Q^{(p)} {K^{(p)}}^\top}{\sqrt{d_k}}, \quad O = \mathrm{softmax}(S)\,V^{(\mathrm{fine})}",
        "what a model would do that was trained with another α: the blocks after the merging only know their own.",
        "Badzohreh 2024, a thesis without code; where it is silent, our reading: see networks/dual_scale.py",
    )
    worth.section()


def _held_of(shown: Shown, picture: Picture) -> Held:
    """Both streams up to the merging block: the model runs so far once for each image."""
    from vizkit.models.families.dual_scale import streams

    def make() -> Held:
        with cached.device_lock():
            return Held(streams(shown.loaded, pixels_of(shown.loaded, picture.rgb)))

    return cached.made(shown.source, picture, shown.loaded, ("dual streams",), make)


def merge_block(shown: Shown) -> int:
    model: Any = shown.loaded.model
    return model.merge_block


def controls(shown: Shown, streams: Streams) -> tuple[float, int | None]:
    """(α, head from 0 or None for the mean). The model's own α is taken exactly, though the slider rounds it."""
    own = round(streams.alpha, 2)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        with st.container(width=330):
            chosen = st.slider(
                "α at inference",
                0.0,
                1.0,
                own,
                0.01,
                key="dual_alpha",
                bind="query-params",
                help="1: the scores of the fine stream alone. 0: those of the coarse one.",
            )
        st.button(
            f"Back to {own:.2f}",
            key="dual_own",
            icon=":material/undo:",
            disabled=chosen == own,
            on_click=_put_back,
            args=(own,),
        )
        head = choose_head("dual_head", len(streams.fine_scores))
    kind = "learned" if streams.learned else "fixed in training"
    st.caption(
        f"The model's own α is **{streams.alpha:.4f}**, {kind}. {before(merge_block(shown))} ran once for this "
        f"image, on {len(streams.tokens):,} fine tokens and as many copies of the coarse ones. A new α runs block "
        f"{merge_block(shown)} and what follows, on the streams that were kept; an earlier α runs nothing again."
    )
    return (streams.alpha if chosen == own else float(chosen)), head


def before(merging: int) -> str:
    """What runs on both streams."""
    return "The embedding" if merging == 1 else "Block 1" if merging == 2 else f"Blocks 1 to {merging - 1}"


def _put_back(own: float) -> None:
    st.session_state["dual_alpha"] = own


# ---- alignment -------------------------------------------------------------------------------------------------------
def _grids_for_browser(pair: Partners) -> Rows:
    """Both grids and nothing else: a click on a fine patch outlines its coarse one."""
    fine, coarse = pair.fine.grid, pair.coarse.grid
    assert fine is not None
    assert coarse is not None
    ratio = fine[0] // coarse[0]
    ids = window_ids(fine, (ratio, ratio)).numpy()
    nothing, regions = np.zeros((*ids.shape, ids.shape[1]), np.float32), np.zeros_like(ids)
    return Rows(
        nothing, fine, fine, ids, ids, query_regions=regions, key_regions=regions, second_grid=coarse, kind="pick"
    )


def beside(shown: Shown, picture: Picture, pair: Partners) -> None:
    """The coarse patch and the fine ones inside it, numbered as papers do, from 1."""
    seen = unprepare(prepare(picture.rgb, shown.loaded.preprocessing)[0], shown.loaded.preprocessing)
    box = pixel_box(pair.coarse, pair.coarse_id, (seen.shape[0], seen.shape[1]))
    assert box is not None
    x0, y0, x1, y1 = (round(edge) for edge in box)
    crop = np.ascontiguousarray(seen[y0:y1, x0:x1])
    ratio = round(len(pair.fine_ids) ** 0.5)
    first = pair.coarse_id * len(pair.fine_ids)
    numbers = ", ".join(str(n + 1) for n in pair.fine_ids)
    st.markdown("**Their tokens beside each other**")
    with st.container(horizontal=True, vertical_alignment="center"):
        for drawn, alt in (
            (pulled_apart(crop, (1, 1), side_px=120, numbers=False), f"Coarse patch {pair.coarse_id + 1}"),
            (pulled_apart(crop, (ratio, ratio), side_px=120, numbers=False), f"Fine patches {numbers}"),
        ):
            st.image(drawn, alt=alt, width=120)
    st.markdown(
        f"Coarse patch **{pair.coarse_id + 1}** stands beside fine patches **{numbers}** (counted row by row from 1): "
        f"rows {first + 1} to {first + len(pair.fine_ids)} of both streams, the coarse patch {len(pair.fine_ids)} "
        "times."
    )


# ---- scores ----------------------------------------------------------------------------------------------------------
def scores(shown: Shown, picture: Picture, streams: Streams, token_id: int, alpha: float, head: int | None) -> None:
    assert streams.tokens.grid is not None
    grid = streams.tokens.grid

    def row(values: Tensor) -> np.ndarray:  # head query key
        mean = values.mean(0) if head is None else values[head]
        return mean[token_id].numpy().reshape(grid)

    maps = [row(values) for values in (streams.fine_scores, streams.coarse_scores, streams.merged(alpha))]
    weights = row(streams.attention(alpha).weights[0])
    fine, coarse = streams.tokens.stride, streams.tokens.stride * _ratio_of(shown)
    names = (f"S of {fine:g} × {fine:g}", f"S of {coarse:g} × {coarse:g}", f"merged S, α = {alpha:.2f}")
    notes = ("the fine stream", "the coarse stream, by its copies", "α · fine + (1 − α) · coarse")
    limit = float(max(abs(values).max() for values in maps)) or 1.0
    drawn = [Tile(n, values, note, signed=True) for n, values, note in zip(names, maps, notes, strict=True)]
    st.markdown(f"**The scores of {name_of(streams.tokens, token_id)}, merged, and after the softmax**")
    tiles(
        f"dual_scores_{shown.source}",
        [*drawn, Tile("attention", weights, "softmax of the merged scores", unit="%")],
        shown,
        picture,
        "map only",
        [*[(-limit, limit)] * 3, (0.0, float(weights.max()))],
        label="One row of a matrix, laid on the grid of fine patches",
        tile_px=145,
    )
    which = f"Head {head + 1}" if head is not None else "Mean over heads; the softmax is taken in every head"
    st.caption(f"{which}. The three scores share one scale.")


def _ratio_of(shown: Shown) -> int:
    model: Any = shown.loaded.model
    return model.ratio
