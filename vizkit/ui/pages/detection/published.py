"""The view Published: DETR against Faster R-CNN, as the paper reports them."""

import streamlit as st

from vizkit.analysis.comparison.published import DETECTION, DETECTION_TABLE
from vizkit.figure.charts import paired_bars
from vizkit.figure.evaluation.accuracy_cost import Point, accuracy_cost
from vizkit.ui import reading
from vizkit.ui.views import Page
from vizkit.ui.widgets.chart import chart

AP = (
    r"\text{AP} = \tfrac1{10} \sum_{t \in \{.5, .55, \dots, .95\}} \int_0^1 \text{precision}_t(r)\,dr, \quad "
    r"r = \text{recall}"
)
SIZES = {"small": "ap_small", "medium": "ap_medium", "large": "ap_large"}


def view(page: Page) -> None:
    del page
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown("**What it costs**")
        points = [Point(row.name, row.family, float(row.gflops), float(row.ap)) for row in DETECTION]
        chart(
            accuracy_cost(points, "GFLOPS", "AP (%)"),
            "det_published",
            "AP against GFLOPS: " + ", ".join(f"{row.name} {row.ap:g}" for row in DETECTION),
        )
    with right:
        st.markdown("**By the size of the object**")
        bars = {size: [getattr(row, field) for row in DETECTION] for size, field in SIZES.items()}
        chart(
            paired_bars([row.name for row in DETECTION], bars, "AP (%)"),
            "det_published_sizes",
            "AP of small, medium and large objects",
        )
    st.dataframe(
        {
            "Model": [row.name for row in DETECTION],
            "Parameters (M)": [round(row.parameters / 1e6) for row in DETECTION],
            "GFLOPS": [row.gflops for row in DETECTION],
            "Images/s (V100)": [row.frames_per_s for row in DETECTION],
            "AP": [row.ap for row in DETECTION],
            "AP50": [row.ap50 for row in DETECTION],
            "AP75": [row.ap75 for row in DETECTION],
            "AP small": [row.ap_small for row in DETECTION],
            "AP medium": [row.ap_medium for row in DETECTION],
            "AP large": [row.ap_large for row in DETECTION],
        },
        hide_index=True,
        column_config={
            name: st.column_config.NumberColumn(format="%.1f")
            for name in ("AP", "AP50", "AP75", "AP small", "AP medium", "AP large")
        },
    )
    st.caption(
        f"{DETECTION_TABLE.measured} Source: {DETECTION_TABLE.citation}. The page Evaluate has it to sort and "
        "filter, beside other tables."
    )
    reading.how(
        "Left, up is better and left is cheaper. Right: DETR is ahead on large objects and behind on small ones, of "
        "which its coarse memory keeps little.",
        AP,
        DETECTION_TABLE.does_not_show,
        DETECTION_TABLE.citation,
    )
