"""What patch and image size cost: live controls, the numbers of one layer, and curves against resolution."""

import streamlit as st

from vizkit.analysis.attention.patches import cost
from vizkit.analysis.remarks import patches
from vizkit.analysis.swin.cost_curves import cost_curves
from vizkit.figure.charts import curves
from vizkit.traces import NotApplicable
from vizkit.ui import reading
from vizkit.ui.plain import plain
from vizkit.ui.views import Page
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.remark import remark

DIMS = {"Tiny": (192, 3), "Small": (384, 6), "Base": (768, 12), "Large": (1024, 16), "Huge": (1280, 16)}


def view(page: Page) -> None:
    del page  # no model is run
    with st.container(horizontal=True, vertical_alignment="bottom"):
        size = int(st.number_input("Image size", 16, 2048, 224, 1, key="cost_size", bind="query-params", width=130))
        patch = int(st.number_input("Patch size", 1, 128, 16, 1, key="cost_patch", bind="query-params", width=130))
        name = st.selectbox("Width", list(DIMS), index=2, key="cost_width", bind="query-params", width=130)
    dim, heads = DIMS[name]
    try:
        counts = cost((size, size), patch, dim, heads)
    except NotApplicable as sentence:
        st.warning(plain(sentence), icon=":material/straighten:")
        return
    with st.container(horizontal=True):
        st.metric("Patches", f"{counts.tokens:,}", border=True)
        st.metric("Numbers in a patch", f"{counts.flattened:,}", border=True)
        st.metric("Multiply–adds of one layer", f"{counts.flops / 1e9:.2f} G", border=True)
        st.metric("Attention weights of one layer", f"{counts.weight_bytes / 2**20:,.1f} MiB", border=True)
    lines = cost_curves(dim, heads)
    figure = curves(lines, "image side (px)", "multiply–adds of one layer", "Cost against resolution", log=True)
    remark(patches.quadratic(counts.tokens, dim))
    chart(figure, "cost_curve", "Multiply–adds of one layer against the side of the image, global and in windows")
    reading.how(
        "Halving the patch gives four times the tokens and sixteen times the pairs. Windows of fixed size grow with "
        "the number of tokens only.",
        r"4hwC^2 + 2(hw)^2C \quad\text{against}\quad 4hwC^2 + 2M^2hwC",
        "the cost of the MLPs, or what your hardware makes of it.",
        "Liu et al. 2021, eq. 1 and 2",
    )
