"""Which label was answered by which class, how often; cells can be clicked."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int

from vizkit.figure.charts import UNSEEN, Figure, laid_out, literal, squared
from vizkit.figure.class_bars import distinct
from vizkit.figure.palette import DARK, OTHERS, SIGNED, ramp
from vizkit.percent import in_percent

CELL_PX = 28
MOST_NUMBERED = 16  # with more labels the cells are too narrow for numbers


def confusion(labels: Sequence[str], answers: Sequence[str], counts: Int[np.ndarray, "label answer"]) -> Figure:
    """Rows are labels, row 0 on top; columns are answers. Mistakes are red, by their share of the row up to the largest
    one; right answers are grey, empty cells stay empty.

    A heat map cannot be clicked, so a point lies on every cell, which carries (label, answer).
    """
    import plotly.graph_objects as go

    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    right = np.eye(*counts.shape, dtype=bool)
    top = float(shares[~right].max(initial=0)) or 1.0
    zero, reds = 1 / (1 + top), ramp(SIGNED, 0.6, 0.8)  # the scale begins at −1
    rows, columns = ([literal(name) for name in distinct(names)] for names in (labels, answers))
    figure = laid_out([], "answer", "label", height=110 + CELL_PX * len(rows)).add_heatmap(
        x=columns,
        y=rows,
        z=np.where(counts > 0, np.where(right, -shares, shares), np.nan),
        zmin=-1,
        zmax=top,
        colorscale=[[0, OTHERS], [zero, OTHERS], [zero, reds[0]], [1, reds[-1]]],
        showscale=False,
        hoverinfo="skip",
        xgap=1,
        ygap=1,
    )
    at = np.argwhere(counts > 0).tolist()
    numbered = len(rows) <= MOST_NUMBERED
    figure.add_trace(
        go.Scatter(
            x=[columns[column] for _, column in at],
            y=[rows[row] for row, _ in at],
            mode="markers+text" if numbered else "markers",
            textfont={"color": DARK, "size": [12 if counts[cell] < 100 else 9 for cell in map(tuple, at)]},
            text=[f"{counts[row, column]:,}" for row, column in at] if numbered else None,
            customdata=[(labels[row], answers[column]) for row, column in at],
            hovertemplate=[
                f"label: {rows[row]}<br>answer: {columns[column]}<br>{counts[row, column]:,} images, "
                f"{in_percent(shares[row, column])} of this label<extra></extra>"
                for row, column in at
            ],
            **UNSEEN,
        )
    )
    for update in (figure.update_xaxes, figure.update_yaxes):
        update(type="category", dtick=1, showgrid=False)
    return squared(figure).update_xaxes(tickangle=-90).update_yaxes(autorange="reversed", constraintoward="top")
