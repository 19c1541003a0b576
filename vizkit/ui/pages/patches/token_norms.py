"""The view Token norms by layer: how long the vectors of all tokens are after every layer, and where the long ones lie.

Far longer patches than all others (Darcet et al. 2024) stand out as a line above the band, and on the image as spots.
"""

import numpy as np
import streamlit as st

from vizkit.analysis.attention.token_norms import Norms, token_norms
from vizkit.analysis.remarks import patches
from vizkit.figure.charts import curves
from vizkit.geometry import id_at, name_of
from vizkit.ui import reading
from vizkit.ui.session.shown import CENTRE, keep_valid
from vizkit.ui.views import Page
from vizkit.ui.widgets import canvases
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.query_map import show_map
from vizkit.ui.widgets.remark import remark


def view(page: Page) -> None:
    shown = page.focus
    norms = token_norms(shown.trace)
    keep_valid("block", range(1, len(norms) + 1))
    with st.container(width=320):
        block = int(st.slider("Layer", 1, max(2, len(norms)), key="block", bind="query-params"))
    index = min(block, len(norms)) - 1
    layer, features = norms[index], shown.trace.features[index]
    point = CENTRE if isinstance(shown.query, str) else shown.query
    places = [id_at(features.tokens, point) for features in shown.trace.features]
    left, right = st.columns([3, 2])
    with left:
        by_layer(norms, index, places)
    with right:
        st.markdown(f"**Norms after `{layer.name}`**")
        if features.tokens.grid:
            show_map("norms_map", canvases.stage_for_browser(features), shown, page.picture, "over image", "Norms of")
        remark(patches.outliers(layer.patches, int(layer.outliers.sum()), index + 1))
        st.caption(
            f"patches: median {layer.median:.2f}, longest {float(layer.patches.max()):.2f} · outliers above "
            f"{layer.threshold:.2f}: {int(layer.outliers.sum())} of {len(layer.patches)}"
        )
        if (place := places[index]) is not None:
            st.caption(f"under the cursor: {name_of(features.tokens, place)}, {float(layer.norms[place]):.2f}")
    reading.how(
        "The band holds the middle half of the patches. A line far above it is a few patches with far larger norms "
        "than all others, mostly on plain background: the model stores global information there. In models with "
        "registers the registers have large norms and the patches do not.",
        r"\lVert x_{l,i} \rVert_2, \quad \text{outlier: above median} + 5\,\text{MAD}",
        "what is stored.",
        "Darcet et al. 2024, fig. 3 and 7",
    )


def by_layer(norms: tuple[Norms, ...], chosen: int, places: list[int | None]) -> None:
    depth = np.arange(1, len(norms) + 1)
    lines = {
        "lower quartile": np.array([layer.lower for layer in norms]),
        "upper quartile": np.array([layer.upper for layer in norms]),
        "median of the patches": np.array([layer.median for layer in norms]),
        "longest patch": np.array([float(layer.patches.max()) for layer in norms]),
    }
    for name in dict.fromkeys(name for layer in norms for name in layer.special):
        lines[f"[{name}]"] = np.array([layer.special.get(name, np.nan) for layer in norms])
    lines["patch under the cursor"] = np.array(
        [np.nan if i is None else float(layer.norms[i]) for i, layer in zip(places, norms, strict=True)]
    )
    drawn = {name: (depth, values) for name, values in lines.items()}
    figure = curves(
        drawn, "layer", "norm of the token", "Norms by layer", mode="lines+markers", marked={float(chosen + 1): "dot"}
    )
    for name in ("lower quartile", "upper quartile"):
        figure.update_traces(mode="lines", line_width=0, showlegend=False, selector={"name": name})
    figure.update_traces(fill="tonexty", fillcolor="rgba(120, 120, 160, 0.25)", selector={"name": "upper quartile"})
    figure.update_yaxes(rangemode="tozero")
    figure.update_xaxes(dtick=1 if len(norms) <= 12 else None)
    figure.update_layout(legend_traceorder="normal")
    chart(figure, "norms_by_layer", "Norms of the tokens by layer")
