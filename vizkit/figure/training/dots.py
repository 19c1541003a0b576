"""Published numbers as dots on one axis, two for each row, with the row that they are compared with as a line."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vizkit.figure.charts import laid_out
from vizkit.figure.palette import CLASSES

if TYPE_CHECKING:
    import plotly.graph_objects as go

SYMBOLS = ("circle", "diamond")


def dots(
    rows: Sequence[str],
    series: dict[str, Sequence[float]],
    baseline: Sequence[float],
    x: str,
) -> "go.Figure":
    """`series`: one or two, name → a value for each row; `baseline`: of each series, drawn from top to bottom."""
    import plotly.graph_objects as go

    drawn = [
        go.Scatter(x=list(values), y=list(rows), mode="markers", name=name,
                   marker={"symbol": symbol, "size": 11, "color": colour},
                   hovertemplate=f"%{{y}}, {name}: %{{x:.1f}}<extra></extra>")
        for (name, values), symbol, colour in zip(series.items(), SYMBOLS, CLASSES, strict=False)
    ]  # fmt: skip
    figure = laid_out(drawn, x, "", height=140 + 30 * len(rows))
    for level, colour in zip(baseline, CLASSES, strict=False):
        figure.add_vline(x=level, line={"color": colour, "width": 1.5, "dash": "dot"})
    figure.update_yaxes(autorange="reversed")
    return figure
