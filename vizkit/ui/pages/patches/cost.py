"""What patch and image size cost: live controls, the numbers of one layer, and curves against resolution."""

import streamlit as st

from vizkit.analysis.attention.patches import cost
from vizkit.analysis.remarks import patches
from vizkit.analysis.swin.cost_curves import cost_curves
from vizkit.figure.charts import curves
from vizkit.traces import NotApplicable
from vizkit.ui import reading
from vizkit.ui.plain import plain
from vizkit.ui.session import saved
from vizkit.ui.views import Page
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.remark import remark
from vizkit.ui.widgets.save import save

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
        st.metric("Patches", f"{counts.tokens:,}", border=True, height="stretch")
        st.metric("Numbers in a patch", f"{counts.flattened:,}", border=True, height="stretch")
        parts = f"attention {counts.attention / 1e9:.2f} G · MLP {counts.mlp / 1e9:.2f} G"
        whole = f"{counts.layer / 1e9:.2f} G"
        st.metric("Multiply–adds of one layer", whole, parts, "off", border=True, delta_arrow="off", height="stretch")
        weights = f"{counts.weight_bytes / 2**20:,.1f} MiB"
        st.metric("Attention weights of one layer", weights, border=True, height="stretch")
    lines = cost_curves(dim, heads)
    figure = curves(lines, "image side (px)", "multiply–adds", "One layer, attention and MLP", log=True)
    remark(patches.quadratic(counts.tokens, dim))
    chart(figure, "cost_curve", "Multiply–adds of one layer against the side of the image, global and in windows")
    save("cost", {"": saved.charts_of("Cost of one layer", (f"Width: {name}, {dim} channels",), figure)}, saved.NOTHING)
    reading.how(
        "Halving the patch gives four times the tokens and sixteen times the pairs. In windows of fixed size "
        "pairs grow with the number of tokens only. The MLP is four times as wide as a token, as in a ViT.",
        r"\underbrace{4hwC^2 + 2(hw)^2C}_{\text{attention, global}} \quad\text{or}\quad "
        r"\underbrace{4hwC^2 + 2M^2hwC}_{\text{in windows}} \quad\text{and}\quad \underbrace{8hwC^2}_{\text{MLP}}",
        "special tokens, norms and biases, or what your hardware makes of it.",
        "Liu et al. 2021, eq. 1 and 2",
    )
