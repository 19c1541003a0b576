"""Transformer in transformer: words that attend to words inside one patch, and patches that attend to patches."""

from dataclasses import replace

import numpy as np
import streamlit as st

from vizkit.analysis.attention.attention_map import layers
from vizkit.figure.patches import pulled_apart
from vizkit.geometry import Box, cell_of, id_at, name_of, pixel_box
from vizkit.image import Picture, prepare, unprepare
from vizkit.traces import Attention
from vizkit.ui import reading
from vizkit.ui.session.shown import Shown, keep_valid
from vizkit.ui.views import Page
from vizkit.ui.widgets.controls import choose_head
from vizkit.ui.widgets.query_map import show_map
from vizkit.ui.widgets.remark import of_layer, remark
from vizkit.ui.widgets.tiles import Tile, tiles
from vizkit.views import rows_of

SCALES = ("from 0", "from lowest")


def view(page: Page) -> None:
    shown, picture = page.focus, page.picture
    recorded = layers(shown.trace)
    inner = [layer for layer in recorded if not layer.query.special]
    outer = [layer for layer in recorded if layer.query.special]
    block, inner_head, outer_head = controls(inner, outer)
    inside, outside = inner[block], outer[block]
    patches = outside.query
    token = id_at(patches, shown.query if isinstance(shown.query, tuple) else (0.5, 0.5))
    cell = None if token is None else cell_of(patches, token)
    assert token is not None
    assert cell is not None
    assert patches.grid is not None
    patch, box = cell[0] * patches.grid[1] + cell[1], _box_of(shown, patches.grid, cell)
    weights = _rows_inside(inside, patch, inner_head)
    rows, columns = _side_of(inside)
    if not shown.loaded.trained:
        st.markdown("**Random weights: nothing here was learned, and most weights are nearly equal**")
    left, right = st.columns([5, 4])
    with left:
        st.markdown(f"**Outer: {name_of(patches, token)} attends to {len(patches) - 1} patches**")
        content = rows_of.layer_for_browser(outside, outer_head, shown.query, False)
        show_map("tnt_outer", content, shown, picture, "over image", "Outer attention of")
        remark(of_layer(shown, outside, block + 1, outer_head))
        scale = cut(shown, picture, inside, patch, weights)
    with right:
        st.markdown(f"**Inner: its {rows} × {columns} words attend to each other**")
        words(shown, picture, inside, weights, scale, box)
    reading.how(
        "Two transformers run in every block. Inside each patch its words attend to one another only; then "
        "their outputs are added to the patch, and patches attend to patches. Each small map on the right is the "
        "clicked patch once more, with the weights of one of its words.",
        r"Y^i \leftarrow Y^i + \mathrm{MSA}_{\mathrm{in}}(\mathrm{LN}(Y^i)), \quad "
        r"Z^i \leftarrow Z^i + \mathrm{FC}(\mathrm{Vec}(Y^i)), \quad "
        r"Z \leftarrow Z + \mathrm{MSA}_{\mathrm{out}}(\mathrm{LN}(Z))",
        "what the sum of both does to the prediction; a word reaches other patches only through its own patch.",
        "Han et al. 2021, eq. 1 to 6 (arXiv 2103.00112)",
    )


def controls(inner: list[Attention], outer: list[Attention]) -> tuple[int, int | None, int | None]:
    """(block, head inside, head outside), from 0; None for the mean."""
    blocks = range(1, len(outer) + 1)
    keep_valid("tnt_block", blocks)
    chosen = []
    with st.container(horizontal=True, vertical_alignment="bottom"):
        with st.container(width=260):
            block = st.slider("Block", 1, max(2, len(outer)), min(2, len(outer)), key="tnt_block", bind="query-params")
        for key, name, layers in (("tnt_inner", "Inner head", inner), ("tnt_outer_head", "Outer head", outer)):
            chosen.append(choose_head(key, layers[0].heads, name, 130))
    return min(int(block), len(outer)) - 1, chosen[0], chosen[1]


def _box_of(shown: Shown, grid: tuple[int, int], cell: tuple[int, int]) -> Box:
    """The patch in pixels of the picture."""
    x0, y0, x1, y1 = shown.box_xyxy
    wide, tall = (x1 - x0) / grid[1], (y1 - y0) / grid[0]
    return (x0 + cell[1] * wide, y0 + cell[0] * tall, x0 + (cell[1] + 1) * wide, y0 + (cell[0] + 1) * tall)


def _rows_inside(layer: Attention, patch: int, head: int | None) -> np.ndarray:
    """(word, word) weights inside one patch."""
    weights = layer.weights[patch]
    return (weights.mean(0) if head is None else weights[head]).numpy()


def _side_of(layer: Attention) -> tuple[int, int]:
    """(rows, columns) of words in a patch."""
    count = layer.query_ids.shape[1]
    across = layer.query_ids[0].diff().argmax().item() + 1 if count > 1 else 1
    return count // int(across), int(across)


def cut(shown: Shown, picture: Picture, layer: Attention, patch: int, weights: np.ndarray) -> str:
    """The clicked patch cut into its numbered words, and the scale of their maps, which is chosen beside it."""
    rows, columns = _side_of(layer)
    with st.container(horizontal=True, vertical_alignment="center"):
        drawn = pulled_apart(_pixels_of_patch(shown, picture, layer, patch), (rows, columns), side_px=220, numbers=True)
        st.image(drawn, alt=f"The patch cut into {rows} × {columns} words", width=150)
        with st.container(width=260):
            scale = st.segmented_control(
                "Scale",
                SCALES,
                default=SCALES[0],
                required=True,
                key="tnt_scale",
                bind="query-params",
                help="From 0: equal weights have equal colours. From lowest: small differences are stretched; see the "
                "numbers.",
            )
            st.caption(
                f"{layer.heads} inner heads · {len(weights)} words in each of {len(layer.weights):,} patches · largest "
                f"weight here {weights.max():.1%}, uniform would be {1 / len(weights):.1%}"
            )
    return scale or SCALES[0]


def words(shown: Shown, picture: Picture, layer: Attention, weights: np.ndarray, scale: str, box: Box) -> None:
    """One small map of the patch for each of its words."""
    rows, columns = _side_of(layer)
    maps = [Tile(f"word {n + 1}", row.reshape(rows, columns), unit="%") for n, row in enumerate(weights)]
    low = 0.0 if scale == SCALES[0] else float(weights.min())
    with st.container(width=104 * columns):  # as many in a line as words lie beside each other, on a phone too
        tiles(
            f"tnt_inner_{shown.source}",
            maps,
            replace(shown, box_xyxy=box),
            picture,
            "map only",
            [(low, float(weights.max()))] * len(maps),
            label="Attention of this word to the words of its patch",
            tile_px=78,
        )


def _pixels_of_patch(shown: Shown, picture: Picture, layer: Attention, patch: int) -> np.ndarray:
    """The part of the model's input that the words of a patch cover."""
    seen = unprepare(prepare(picture.rgb, shown.loaded.preprocessing)[0], shown.loaded.preprocessing)
    ids = layer.query_ids[patch].tolist()
    first, last = (pixel_box(layer.query, n, (seen.shape[0], seen.shape[1])) for n in (ids[0], ids[-1]))
    assert first is not None
    assert last is not None
    return np.ascontiguousarray(seen[round(first[1]) : round(last[3]), round(first[0]) : round(last[2])])
