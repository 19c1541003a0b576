"""One number for each cell of a window: what is masked hatched, padding crossed out, the query framed."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool

from vizkit.figure.charts import Figure, cells, laid_out, line, squared
from vizkit.figure.palette import CLASSES, OTHERS, faint
from vizkit.figure.scales import LINEAR, Places, Scale

HATCH, CROSS = OTHERS, faint(OTHERS, 0.5)
FRAME = CLASSES[0]


def window_map(
    values: Places,
    title: str,
    scale: Scale,
    *,
    hidden: Bool[np.ndarray, "row column"],
    padded: Bool[np.ndarray, "row column"],
    row_names: Sequence[str],
    column_names: Sequence[str],
    query: tuple[int, int] | None = None,
    lines: tuple[int, int] | None = None,
    digits: int | None = None,
    height: int = 270,
) -> Figure:
    """Row 0 on top; NaN stays empty. `hidden`: cells that the query may not see; `padded`: cells that are no token,
    drawn empty.

    `row_names`, `column_names`: what stands on the axes. `lines`: the side of the windows, whose borders are drawn.
    `digits` writes numbers into the cells; else a colour bar stands beside them.
    """
    import plotly.graph_objects as go

    rows, columns = values.shape
    shown = np.where(padded, np.nan, values)
    value = "z" if scale.kind == LINEAR else "customdata"
    bar = {"showscale": digits is None, "colorbar": {"thickness": 8}}
    hover = f"row %{{y}}, column %{{x}} of the image: %{{{value}:.3g}}<extra></extra>"
    heat = go.Heatmap(hovertemplate=hover, xgap=1, ygap=1, **bar, **cells(shown, scale, digits), textfont_size=11)
    drawn = [heat, strokes(hidden & ~padded, 3, HATCH), strokes(padded, 1, CROSS)]
    if query is not None:
        row, column = query
        x, y = column + 0.5 * np.array([-1, 1, 1, -1, -1]), row + 0.5 * np.array([-1, -1, 1, 1, -1])
        drawn.append(line(x, y, colour=FRAME, width=3))
    if lines is not None:
        right, down = columns - 0.5, rows - 0.5
        places = [([x - 0.5] * 2, [-0.5, down]) for x in range(lines[1], columns, lines[1])]
        places += [([-0.5, right], [y - 0.5] * 2) for y in range(lines[0], rows, lines[0])]
        drawn += [line(*place, colour=FRAME, width=1) for place in places]
    figure = laid_out(drawn, "column", "row", title, height, showlegend=False)
    for update, names, count in (
        (figure.update_xaxes, column_names, columns),
        (figure.update_yaxes, row_names, rows),
    ):
        every = -(-count // 14)
        update(tickvals=list(range(0, count, every)), ticktext=list(names[::every]))
    figure.update_xaxes(range=[-0.5, columns - 0.5])
    figure.update_yaxes(range=[rows - 0.5, -0.5])
    return squared(figure)


def strokes(these: Bool[np.ndarray, "row column"], count: int, colour: str) -> dict[str, Any]:
    """`count` diagonals across every cell of `these`, as one trace."""
    x, y = [], []
    for row, column in np.argwhere(these):
        for n in range(count):
            off = (n + 1) * 2 / (count + 1) - 1  # the diagonals x + y = off of a cell from −½ to ½
            begin, end = max(-0.5, off - 0.5), min(0.5, off + 0.5)
            x += [column + begin, column + end, None]
            y += [row - begin + off, row - end + off, None]
    return line(x, y, colour=colour, width=1.5)
