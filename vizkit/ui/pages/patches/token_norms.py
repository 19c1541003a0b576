"""The view Token norms by layer: how long the vectors of all tokens are after every layer, and where the long ones lie.

Far longer patches than all others (Darcet et al. 2024) stand out as a line above the band, and on the image as spots.
"""

import streamlit as st

from vizkit.analysis.attention.token_norms import lines_of, token_norms
from vizkit.analysis.remarks import patches
from vizkit.figure.attention.token_lengths import token_lengths
from vizkit.geometry import id_at, name_of
from vizkit.report.kinds import Features
from vizkit.ui import reading
from vizkit.ui.session import saved
from vizkit.ui.session.shown import CENTRE, keep_valid, title
from vizkit.ui.views import Page
from vizkit.ui.widgets import canvases
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.query_map import show_map
from vizkit.ui.widgets.remark import remark
from vizkit.ui.widgets.save import save


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
        figure = token_lengths(lines_of(norms, places), index)
        chart(figure, "norms_by_layer", "Norms of the tokens by layer")
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
    items = {"Norms by layer": saved.charts_of("Norms of the tokens", (f"Model: {title(shown.source)}",), figure)}
    if features.tokens.grid:
        items["Norms after this layer"] = saved.item_of(shown, Features(index + 1))
    save("norms", items, saved.inputs_of(shown, page.picture))
    reading.how(
        "The band holds the middle half of the patches. A line far above it is a few patches with far larger norms "
        "than all others, mostly on plain background: the model stores global information there. In models with "
        "registers the registers have large norms and the patches do not.",
        r"\lVert x_{l,i} \rVert_2, \quad \text{outlier: above median} + 5\,\text{MAD}",
        "what is stored.",
        "Darcet et al. 2024, fig. 3 and 7",
    )
