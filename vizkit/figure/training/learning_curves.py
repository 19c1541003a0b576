"""Learning curves: a line for each run or teaching, the mean of several runs in a band from lowest to highest."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vizkit.figure.charts import LOGARITHMIC, laid_out, literal
from vizkit.figure.palette import CLASSES, OTHERS, faint

if TYPE_CHECKING:
    import plotly.graph_objects as go

Numbers = Sequence[int | float]
LEGEND_ROW = 22  # pixels; the legend takes its rows from the plot
SYMBOLS = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
RAW = 0.35  # opacity of a line beside its smoothed self
MOST_DOTS = 60  # of more epochs the line alone


@dataclass(frozen=True)
class Curve:
    """One line, epoch by epoch; of several runs the mean, and the lowest and highest of them. `smooth`: the same
    smoothed, where it is to be drawn over it. `place`: of its colour, where not all lines of a table are drawn."""

    name: str
    epochs: Numbers
    mean: Numbers
    low: Numbers = ()
    high: Numbers = ()
    smooth: Numbers = ()
    place: int | None = None


def learning_curves(
    lines: Sequence[Curve],
    y: str,
    *,
    x: str = "epoch",
    percent: bool = False,
    whole: bool = False,
    log: bool = False,
    height: int = 340,
) -> "go.Figure":
    """Told apart by colour and shape, with one hover line across all of them. `whole`: the axis goes from 0 to 1, so
    that figures can be compared. `log`: a logarithmic y axis."""
    style = ".1%" if percent else ".4g"
    drawn = [part for index, line in enumerate(lines) for part in parts(line, index, style)]
    legend = len(lines) > 1
    rows = LEGEND_ROW * max(0, len(lines) - 3) if legend else 0
    figure = laid_out(drawn, x, y, height=height + rows, showlegend=legend, hovermode="x unified")
    last = max((line.epochs[-1] for line in lines if len(line.epochs)), default=1)
    figure.update_xaxes(
        rangemode="tozero",
        dtick=1 if x == "epoch" and last <= 8 else None,
        hoverformat=".4~g",
        unifiedhovertitle={"text": f"{x} %{{x}}"},
        showspikes=True,
        spikemode="across",
        spikesnap="cursor",
        spikethickness=1,
        spikedash="dot",
        spikecolor=OTHERS,
    )
    if log:
        return figure.update_yaxes(LOGARITHMIC | ({"tickformat": ".0%"} if percent else {}))
    ticks = {"tickformat": ".3~p"} if percent else {"exponentformat": "power"}  # 87.5 %, and no µ for millionths
    return figure.update_yaxes(ticks, range=[0, 1.02] if whole else None)


def parts(line: Curve, index: int, style: str) -> list[Any]:
    """Its line with points, or its smoothed line over its faint one, and below them the band where its runs differ."""
    import plotly.graph_objects as go

    place = index if line.place is None else line.place
    colour, symbol, name = CLASSES[place % len(CLASSES)], SYMBOLS[place % len(SYMBOLS)], literal(line.name)
    hover = f"%{{y:{style}}}"
    drawn = []
    if list(line.low) != list(line.high):
        hover += f" (%{{customdata[0]:{style}}} to %{{customdata[1]:{style}}})"
        drawn = [
            go.Scatter(
                x=[*line.epochs, *reversed(line.epochs)],
                y=[*line.high, *reversed(line.low)],
                fill="toself",
                fillcolor=faint(colour, 0.18),
                line={"width": 0},
                mode="lines",
                hoverinfo="skip",
                showlegend=False,
                legendgroup=name,
            )
        ]
    values, dots = line.mean, len(line.epochs) <= MOST_DOTS
    if len(line.smooth):
        drawn.append(
            go.Scatter(
                x=list(line.epochs),
                y=list(line.mean),
                mode="lines",
                showlegend=False,
                line={"color": faint(colour, RAW), "width": 1.5},
                hoverinfo="skip",
                legendgroup=name,
            )
        )
        dots = dots and list(line.smooth) == list(line.mean)[: len(line.smooth)]
        hover, values = hover if dots else f"{hover}, raw %{{text:{style}}}", line.smooth
    points = go.Scatter(
        x=list(line.epochs)[: len(values)],  # of a run that is played, those that have come
        y=list(values),
        mode="lines+markers" if dots else "lines",
        name=name,
        legendgroup=name,
        line={"color": colour, "width": 2.5},
        marker={"size": 6, "symbol": symbol},
        customdata=[*zip(line.low, line.high, strict=True)] or None,
        text=list(line.mean) if len(line.smooth) else None,
        hovertemplate=f"{hover}<extra>{name}</extra>",
    )
    return [*drawn, points]
