"""Which label was answered by which class, how often; cells can be clicked."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int, UInt8

from vizkit.figure.charts import UNSEEN, Figure, framed, laid_out, literal, squared
from vizkit.figure.class_bars import distinct
from vizkit.figure.palette import CLASSES, DARK, OTHERS, SIGNED, colours, rgb_of
from vizkit.percent import in_percent

CELL_PX = 28
MOST_NUMBERED = 16  # with more labels the cells are too narrow for numbers
REDS = colours(SIGNED)[[153, 204]]  # of no mistakes, and of the most


def shares_of(counts: Int[np.ndarray, "label answer"]) -> Float[np.ndarray, "label answer"]:
    """Of the images of each label, 0 to 1."""
    return counts / np.maximum(counts.sum(1, keepdims=True), 1)


def largest_mistake(counts: Int[np.ndarray, "label answer"]) -> float:
    """The largest share of a label that one wrong answer has, 0 to 1."""
    return float(shares_of(counts)[~np.eye(*counts.shape, dtype=bool)].max(initial=0))


def grounds(counts: Int[np.ndarray, "label answer"], top: float) -> UInt8[np.ndarray, "label answer 3"]:
    """The colour of every cell: mistakes are red, by their share of the row up to `top`; right answers are grey, empty
    cells white."""
    red = np.minimum(shares_of(counts) / (top or 1.0), 1.0)[..., None]
    painted = (1 - red) * REDS[0] + red * REDS[1]
    painted[np.eye(*counts.shape, dtype=bool)] = rgb_of(OTHERS)
    painted[counts == 0] = 255
    return painted.round().astype(np.uint8)


def confusion(
    labels: Sequence[str],
    answers: Sequence[str],
    counts: Int[np.ndarray, "label answer"],
    top: float,
    chosen: tuple[str | None, str | None] = (None, None),
) -> Figure:
    """Rows are labels, row 0 on top; columns are answers. Cells have the colours of `grounds`, empty ones none; the
    `chosen` one has a frame.

    A heat map cannot be clicked, so a point lies on every cell, which carries (label, answer).
    """
    import plotly.graph_objects as go

    shares, right, top = shares_of(counts), np.eye(*counts.shape, dtype=bool), top or 1.0
    zero, reds = 1 / (1 + top), ["rgb({}, {}, {})".format(*red) for red in REDS.tolist()]  # the scale begins at −1
    rows, columns = ([literal(name) for name in distinct(names)] for names in (labels, answers))
    figure = laid_out([], "answer", "label", height=110 + CELL_PX * len(rows)).add_heatmap(
        x=columns,
        y=rows,
        z=np.where(counts > 0, np.where(right, -shares, shares), np.nan),
        zmin=-1,
        zmax=top,
        colorscale=[[0, OTHERS], [zero, OTHERS], [zero, reds[0]], [1, reds[1]]],
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
                f"label: {rows[row]}<br>answer: {columns[column]}<br>"
                f"{counts[row, column]:,} image{'s' * bool(counts[row, column] > 1)}, "
                f"{in_percent(shares[row, column])} of this label<extra></extra>"
                for row, column in at
            ],
            **UNSEEN,
        )
    )
    if chosen[0] in labels and chosen[1] in answers:
        framed(figure, labels.index(chosen[0]), answers.index(chosen[1]), colour=CLASSES[0])
    for update in (figure.update_xaxes, figure.update_yaxes):
        update(type="category", dtick=1, showgrid=False)
    return squared(figure).update_xaxes(tickangle=-90).update_yaxes(autorange="reversed", constraintoward="top")
