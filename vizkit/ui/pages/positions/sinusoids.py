"""The view Sinusoids: the fixed table of waves, its rows and columns, and how similar two positions are."""

import numpy as np
import streamlit as st

from vizkit.analysis.attention.positions import by_distance, similarity, sinusoidal, sinusoidal_2d
from vizkit.analysis.remarks.positions import fading
from vizkit.figure.charts import curves, heat_map
from vizkit.ui import reading
from vizkit.ui.session import saved
from vizkit.ui.views import Page
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.remark import remark
from vizkit.ui.widgets.save import save


def view(page: Page) -> None:
    del page  # no model is run

    with st.container(horizontal=True, vertical_alignment="bottom"):
        dim = st.select_slider(
            "Channels", [16, 32, 64, 128, 256], value=64, key="sin_dim", bind="query-params", width=220
        )
        count = st.select_slider(
            "Positions", [16, 49, 64, 100, 196], 64, key="sin_count", bind="query-params", width=220
        )
        position = int(st.slider("Position", 0, int(count) - 1, 10, key="sin_position", bind="query-params", width=220))
    table = sinusoidal(int(count), int(dim))
    left, right = st.columns(2)
    with left:
        figure = heat_map(
            table.numpy(), "channel", "position", "One row is added to one patch", signed=True, square=False
        )
        chart(figure, "sin_table", "Table of positions and channels")
        values = {f"position {position}": (np.arange(int(dim)), table[position].numpy())}
        row = curves(values, "channel", "value", "One row")
        chart(row, "sin_row", f"Row {position} of the table")
    with right:
        waves = {
            f"channel {c}": (np.arange(int(count)), table[:, c].numpy()) for c in (0, 1, int(dim) // 4, int(dim) // 2)
        }
        columns = curves(waves, "position", "value", "Some columns: fast waves first")
        chart(columns, "sin_waves", "Four columns by position")
        # All rows of the table have the same length, so both similarities are one curve.
        name = f"cosine = dot product ÷ {int(dim) // 2}"
        alike = similarity(table)[position]
        lines = {name: (np.arange(int(count)), alike.numpy())}
        like = curves(lines, "position", "similarity", f"Similarity to position {position}")
        chart(like, "sin_like", f"Similarity to position {position}")
        remark(fading(alike, position))
    side = max(2, round(int(count) ** 0.5))
    flat, separate = (
        by_distance(sinusoidal(side * side, int(dim)).view(side, side, int(dim))),
        by_distance(sinusoidal_2d((side, side), int(dim))),
    )
    lines = {
        "1-D, patches in a row": (flat.distance.numpy(), flat.mean.numpy()),
        "2-D, half row, half column": (separate.distance.numpy(), separate.mean.numpy()),
    }
    name = f"Similarity by distance on a {side} × {side} grid"
    near = curves(lines, "distance in patches", "mean cosine", name)
    chart(near, "sin_2d", name)
    said = (f"{count} positions of {dim} channels",)
    save("sinusoids", {"": saved.charts_of("Sinusoids", said, figure, row, columns, like, near)}, saved.NOTHING)
    reading.how(
        "Every position gets its own pattern of slow and fast waves; near positions are similar, distant ones are "
        "not. With one index for all patches the end of a row is near the start of the next; separate halves for row "
        "and column keep both dimensions.",
        r"PE_{(p,2i)} = \sin(p / 10000^{2i/d}), \quad PE_{(p,2i+1)} = \cos(p / 10000^{2i/d})",
        "what a model makes of it: learned, 1-D and 2-D tables do about equally well in ViT, none is clearly worse.",
        "Vaswani et al. 2017, § 3.5; Dosovitskiy et al. 2020, appendix D.4",
    )
