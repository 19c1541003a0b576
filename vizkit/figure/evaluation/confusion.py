"""Which label was answered by which class, how often; cells can be clicked."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int

from vizkit.figure.charts import heat_map, literal, lying
from vizkit.figure.class_bars import distinct
from vizkit.figure.palette import DARK, LIGHT
from vizkit.percent import in_percent

if TYPE_CHECKING:
    import plotly.graph_objects as go

CELL_PX = 28
MOST_NUMBERED = 16  # with more labels the cells are too narrow for numbers


def confusion(labels: Sequence[str], answers: Sequence[str], counts: Int[np.ndarray, "label answer"]) -> "go.Figure":
    """Rows are labels, row 0 on top; columns are answers. Colour is the share of the row; empty cells stay empty.

    A heat map cannot be clicked, so a point lies on every cell, which carries (label, answer).
    """
    import plotly.graph_objects as go

    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    rows, columns = ([literal(name) for name in distinct(names)] for names in (labels, answers))
    figure = heat_map(
        np.where(counts > 0, shares, np.nan),
        "answer",
        "label",
        x_names=columns,
        y_names=rows,
        limit=1.0,
        height=170 + CELL_PX * len(rows),
    )
    bar = lying("share of the label", ".0%") | {"len": 0.9, "tickvals": (0, 0.5, 1)}
    figure.update_traces(hoverinfo="skip", xgap=1, ygap=1, colorbar=bar)
    at = np.argwhere(counts > 0).tolist()
    numbered = len(rows) <= MOST_NUMBERED
    figure.add_trace(
        go.Scatter(
            x=[columns[column] for _, column in at],
            y=[rows[row] for row, _ in at],
            mode="markers+text" if numbered else "markers",
            text=[f"{counts[row, column]:,}" for row, column in at] if numbered else None,
            textfont={"color": [DARK if shares[row, column] > 0.6 else LIGHT for row, column in at]},
            marker={"size": 8, "opacity": 0},  # larger ones would take the clicks of their neighbours
            selected={"marker": {"opacity": 0}},
            unselected={"marker": {"opacity": 0}},
            customdata=[(labels[row], answers[column]) for row, column in at],
            hovertemplate=[
                f"label: {rows[row]}<br>answer: {columns[column]}<br>{counts[row, column]:,} pictures, "
                f"{in_percent(shares[row, column])} of this label<extra></extra>"
                for row, column in at
            ],
            showlegend=False,
        )
    )
    for update in (figure.update_xaxes, figure.update_yaxes):
        update(type="category", dtick=1)
    return figure.update_xaxes(tickangle=-90)
