"""Learning curves: a line for each run or teaching, the mean of several runs in a band from lowest to highest."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vizkit.figure.charts import laid_out
from vizkit.figure.palette import CLASSES, faint
from vizkit.figure.template import literal

if TYPE_CHECKING:
    import plotly.graph_objects as go

Numbers = Sequence[int | float]
LEGEND_ROW = 22  # pixels; the legend takes its rows from the plot
SYMBOLS = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")


@dataclass(frozen=True)
class Curve:
    """One line, epoch by epoch; of several runs the mean, and the lowest and highest of them."""

    name: str
    epochs: Numbers
    mean: Numbers
    low: Numbers = ()
    high: Numbers = ()


def learning_curves(
    lines: Sequence[Curve], y: str, *, percent: bool = False, whole: bool = False, height: int = 340
) -> "go.Figure":
    """Told apart by colour and shape. `whole`: the axis goes from 0 to 1, so that figures can be compared."""
    drawn = [part for index, line in enumerate(lines) for part in parts(line, index, ".1%" if percent else ".4g")]
    rows = LEGEND_ROW * max(0, len(lines) - 3)
    figure = laid_out(drawn, "epoch", y, height=height + rows, showlegend=len(lines) > 1)
    last = max((line.epochs[-1] for line in lines if len(line.epochs)), default=1)
    figure.update_xaxes(rangemode="tozero", dtick=1 if last <= 8 else None)
    return figure.update_yaxes(tickformat=".0%" if percent else None, range=[0, 1.02] if whole else None)


def parts(line: Curve, index: int, style: str) -> list[Any]:
    """Its line with points, and below it the band where its runs differ."""
    import plotly.graph_objects as go

    colour, name = CLASSES[index % len(CLASSES)], literal(line.name)
    hover = f"epoch %{{x:.3~g}}: %{{y:{style}}}"
    band = []
    if list(line.low) != list(line.high):
        hover += f"<br>%{{customdata[0]:{style}}} to %{{customdata[1]:{style}}}"
        band = [go.Scatter(x=[*line.epochs, *reversed(line.epochs)], y=[*line.high, *reversed(line.low)],
                           fill="toself", fillcolor=faint(colour, 0.18), line={"width": 0}, mode="lines",
                           hoverinfo="skip", showlegend=False, legendgroup=name)]  # fmt: skip
    points = go.Scatter(
        x=list(line.epochs), y=list(line.mean), mode="lines+markers", name=name, legendgroup=name,
        line={"color": colour, "width": 2.5}, marker={"size": 6, "symbol": SYMBOLS[index % len(SYMBOLS)]},
        customdata=[*zip(line.low, line.high, strict=True)] or None,
        hovertemplate=f"{hover}<extra>{name}</extra>",
    )  # fmt: skip
    return [*band, points]
