"""Learning curves: a line for each run or teaching, the mean of several runs in a band from lowest to highest."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from vizkit.figure.charts import LOGARITHMIC, Figure, Numbers, band, laid_out, line, literal
from vizkit.figure.palette import CLASSES, OTHERS, faint

LEGEND_ROW = 22  # pixels; the legend takes its rows from the plot
SYMBOLS = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
DOT_PX = 6
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
    log: bool = False,
    height: int = 340,
) -> Figure:
    """Told apart by colour and shape, with one hover line across all of them. `log`: a logarithmic y axis."""
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
    if x == "epoch":  # before one has ended too, and its points stand clear of the frame
        figure.update_xaxes(range=[0, 1.04 * max(1, last)])
    if log:
        return figure.update_yaxes(LOGARITHMIC | ({"tickformat": ".0%"} if percent else {}))
    ends = {"clipmin": -0.02, "clipmax": 1.02}  # of one value alone plotly would draw as much above it
    shares = {"tickformat": ".3~p", "autorangeoptions": ends}  # 87.5 %
    ticks = shares if percent else {"exponentformat": "power"}  # no µ for millionths
    return figure.update_yaxes(ticks)


def parts(curve: Curve, index: int, style: str) -> list[Any]:
    """Its line with points, or its smoothed line over its faint one, and below them the band where its runs differ."""
    place = index if curve.place is None else curve.place
    colour, symbol, name = CLASSES[place % len(CLASSES)], SYMBOLS[place % len(SYMBOLS)], literal(curve.name)
    hover = f"%{{y:{style}}}"
    drawn = []
    if list(curve.low) != list(curve.high):
        hover += f" (%{{customdata[0]:{style}}} to %{{customdata[1]:{style}}})"
        drawn = [band(curve.epochs, curve.low, curve.high, colour, name)]
    values, dots = curve.mean, len(curve.epochs) <= MOST_DOTS
    if len(curve.smooth):
        pale = faint(colour, RAW)
        room = {"mode": "lines+markers", "marker": {"size": DOT_PX, "opacity": 0}}  # axes stand still while dots come
        drawn.append(line(list(curve.epochs), list(curve.mean), colour=pale, width=1.5, legendgroup=name, **room))
        dots = dots and list(curve.smooth) == list(curve.mean)[: len(curve.smooth)]
        hover, values = hover if dots else f"{hover}, raw %{{text:{style}}}", curve.smooth
    points = line(
        list(curve.epochs)[: len(values)],  # of a run that is played, those that have come
        list(values),
        name,
        colour,
        mode="lines+markers" if dots else "lines",
        legendgroup=name,
        marker={"size": DOT_PX, "symbol": symbol},
        customdata=[*zip(curve.low, curve.high, strict=True)] or None,
        text=list(curve.mean) if len(curve.smooth) else None,
        hovertemplate=f"{hover}<extra>{name}</extra>",
    )
    return [*drawn, points]
