"""The view Explorer: the heads of a layer fused, as a map and as the whole matrix."""

import numpy as np
import streamlit as st

from vizkit.analysis.attention.attention_map import layers
from vizkit.analysis.attention.fusion import Fusion
from vizkit.geometry import pixel_box
from vizkit.image import Picture, prepare, unprepare
from vizkit.models.probes.parts import Parts
from vizkit.report.kinds import Fused, Heads
from vizkit.report.kinds.fused import fused_heads
from vizkit.ui import reading
from vizkit.ui.pages.attention import chosen_parts
from vizkit.ui.session import saved
from vizkit.ui.session.shown import Shown
from vizkit.ui.views import Page
from vizkit.ui.widgets import canvases
from vizkit.ui.widgets.query_map import show_map
from vizkit.ui.widgets.remark import of_layer, remark
from vizkit.ui.widgets.save import save

FUSIONS: dict[str, Fusion] = {"mean": "mean", "max": "max", "min": "min"}


def view(page: Page) -> None:
    shown, picture = page.focus, page.picture
    parts, _, _ = chosen_parts.chosen_parts(shown, picture)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        fusion = FUSIONS[
            st.segmented_control(
                "Heads", list(FUSIONS), default="mean", required=True, key="fusion", bind="query-params"
            )
        ]
        weighted = st.toggle(
            "Weight by values",
            key="value_weighted",
            bind="query-params",
            help="‖α f(x)‖: a large weight on a short vector contributes little.",
        )
    fused = fused_heads(parts, fusion, weighted)
    left, right = st.columns([2, 3])
    with left:
        st.caption(chosen_parts.name_of_layer(parts))
        show_map(
            "explorer_map", canvases.rows_for_browser(fused, parts), shown, picture, "over image", "Fused attention of"
        )
        layer = min(int(st.session_state["layer"]), shown.depth)
        remark(of_layer(shown, layers(shown.trace)[layer - 1], layer, None))
    with right:
        from vizkit.figure.attention.matrix import matrix

        thumbs = _patches_of(shown, picture, parts)
        picture_of = matrix(
            fused.numpy(), [thumbs[i] for i in parts.query_ids.tolist()], [thumbs[i] for i in parts.key_ids.tolist()]
        )
        st.image(picture_of, alt="Attention matrix with its patches on the axes", width="stretch")
        st.caption(f"queries down, keys across · largest {float(fused.max()):.3g}")
    items = {
        "The fused heads": saved.item_of(shown, Fused(shown.query, layer, fusion, weighted)),
        "All layers and heads": saved.item_of(shown, Heads(shown.query)),
    }
    save("explorer", items, saved.inputs_of(shown, picture))
    canvases.mosaic("attention_mosaic", shown.trace, shown.query, int(st.session_state["layer"]) - 1, None, False)
    reading.how(
        "Each row of the matrix belongs to the patch at its left end and shows how it attends to all others. Max "
        "shows what any head attends to, min what all heads attend to; weighting by values reduces keys with short "
        "values.",
        r"\lVert \alpha_{ij} f(x_j) \rVert, \quad f(x) = (xW_V + b_V)\,W_O^h",
        "what the residual connection and the MLP add.",
        "Vaswani et al. 2017; Kobayashi et al. 2020, eq. 5",
    )


def _patches_of(shown: Shown, picture: Picture, parts: Parts) -> dict[int, np.ndarray | str]:
    """What stands on the axes for every token id: its pixels, its special name, or a dash for padding."""
    seen = unprepare(prepare(picture.rgb, shown.loaded.preprocessing)[0], shown.loaded.preprocessing)
    patches: dict[int, np.ndarray | str] = {-1: "-"}
    for token in {*parts.query_ids.tolist(), *parts.key_ids.tolist()} - {-1}:
        box = pixel_box(parts.tokens, token, seen.shape[:2])
        if box is None:
            patches[token] = parts.tokens.special[token] if token < len(parts.tokens.special) else "?"
        else:
            x0, y0, x1, y1 = (round(edge) for edge in box)
            patches[token] = seen[y0 : max(y1, y0 + 1), x0 : max(x1, x0 + 1)]
    return patches
