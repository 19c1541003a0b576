"""Plots with axes, as plotly figures: heat maps, curves, dots by depth, bars."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from vizkit.figure.palette import CLASSES, DARK, OTHERS, SCALE, SIGNED, faint, ramp
from vizkit.figure.scales import LINEAR, Places, Scale, between, robust

if TYPE_CHECKING:
    from plotly.graph_objects import Figure
else:
    Figure = Annotated[Any, "a figure"]  # plotly is imported with the first chart

Numbers = Sequence[int | float]
CONFIG = {"displayModeBar": False}
TITLED_PX = 44  # above the plot; without a title UNTITLED_PX
UNTITLED_PX = 12


@cache
def template() -> Any:
    """Read only. Axes cannot be dragged: without a toolbar a finger that scrolls would lose the view."""
    import plotly.graph_objects as go

    axis = {"fixedrange": True, "automargin": True}
    scale = ramp(SCALE)
    bar = {"thickness": 10, "outlinewidth": 0, "nticks": 5}
    return go.layout.Template(
        layout={
            "colorway": CLASSES,
            "colorscale": {"sequential": scale, "sequentialminus": scale, "diverging": ramp(SIGNED)},
            "margin": {"l": 0, "r": 8, "t": UNTITLED_PX, "b": 8},
            "xaxis": axis,
            "yaxis": axis,
            "hovermode": "closest",
            "dragmode": False,
            "bargap": 0.25,
            # Below the axis title, over the whole width: a legend at the side would squeeze the plot on a phone.
            "legend": {
                "orientation": "h",
                "itemsizing": "constant",
                "x": 0,
                "y": 0,
                "yref": "container",
                "yanchor": "bottom",
            },
        },
        data={"heatmap": [{"colorscale": scale, "colorbar": bar, "hoverongaps": False}]},
    )


def literal(name: str) -> str:
    """A name as it is written: plotly takes text for HTML."""
    return escape(name, quote=False)


HEIGHT, STEPS = 340, 17
MOST_MARKED = 14  # whole numbers on an axis; of more, plotly chooses some


TITLES = ("title_text", "xaxis_title_text", "yaxis_title_text")


UNSEEN: dict[str, Any] = {
    "marker": {"size": 8, "opacity": 0},
    "selected": {"marker": {"opacity": 0}},
    "unselected": {"marker": {"opacity": 0}, "textfont": {"color": DARK}},
    "showlegend": False,
}
"""Dots that are clicked in the cells of a heat map; larger ones would take the clicks of their neighbours. After a
click the numbers of all stay."""
LOGARITHMIC = {"type": "log", "tickformat": "~g"}
"""An axis, with whole numbers beside its ticks: without a format, plotly writes the 5 of 50 alone."""


def laid_out(traces: Iterable[Any], x: str, y: str, title: str = "", height: int = HEIGHT, **more: Any) -> Figure:
    """Every figure begins here, so that all have the one template."""
    import plotly.graph_objects as go

    said = {name: words for name, words in zip(TITLES, (title, x, y), strict=True) if words}
    margin = {"margin_t": TITLED_PX} if title else {}
    figure = go.Figure(list(traces), layout={"height": height, **more, **said, **margin})
    figure.layout._validate = False  # plotly would check it again for every figure: 4 of 7 ms
    figure.layout.template = template()
    figure.layout._validate = True
    return figure


def colour_axis(scale: Scale, ceiling: float = 1.0, floor: float = 1.0) -> dict[str, Any]:
    """A linear scale as a heat map takes it: where there is little, what lies below is seen, from opacity `floor`."""
    levels = np.linspace(0, 255, STEPS).round().astype(np.uint8)
    shades = zip(ramp(scale.palette, steps=STEPS), scale.opacities(levels, floor, ceiling).tolist(), strict=True)
    colours = [f"rgba{rgb[3:-1]}, {opacity:.2f})" for rgb, opacity in shades]
    ends = {"zmin": scale.low, "zmax": scale.top, "colorscale": colours if floor < 1 else ramp(scale.palette)}
    marks = [scale.low + at * ((scale.top or 0.0) - scale.low) for at, _ in scale.ticks]
    return ends | {"colorbar_tickvals": marks, "colorbar_ticktext": [text for _, text in scale.ticks]}


def cells(values: Places, scale: Scale, digits: int | None = None) -> dict[str, Any]:
    """Values in the colours of any scale, as a heat map takes them. By doublings the places along the bar are drawn,
    and the values themselves stand beside them. `digits`: of numbers in the cells."""
    if digits is not None:  # a heat map writes no customdata into its cells
        number = f"{{:z.{digits}f}}".format
        written = [[number(x).replace("-", "−") if np.isfinite(x) else "" for x in row] for row in values]
        return cells(values, scale) | {"text": written, "texttemplate": "%{text}"}
    if scale.kind == LINEAR:
        return colour_axis(scale) | {"z": values}
    scale = scale.of(values[np.isfinite(values)])
    marks = {"colorbar_tickvals": [at for at, _ in scale.ticks], "colorbar_ticktext": [text for _, text in scale.ticks]}
    drawn = {"z": scale.positions(values), "zmin": 0, "zmax": 1, "colorscale": ramp(scale.palette)}
    return drawn | marks | {"customdata": values, "meta": {"equal": scale.equal}}


def squared(figure: Figure) -> Figure:
    """Cells as high as they are wide."""
    axis = {"constrain": "domain", "showgrid": False, "zeroline": False}
    return figure.update_layout(xaxis=axis, yaxis={**axis, "scaleanchor": "x"})


def heat_map(
    values: np.ndarray,
    x: str,
    y: str,
    title: str = "",
    *,
    signed: bool = False,
    x_names: Sequence[str] | None = None,
    y_names: Sequence[str] | None = None,
    digits: int | None = None,
    height: int = HEIGHT,
    limit: float | None = None,
    scale: Scale | None = None,
    square: bool = True,
    quantity: str = "",
    bar: bool = True,
) -> Figure:
    """(row, column), row 0 on top. Signed values get a diverging scale with white at zero. `digits` writes numbers,
    beside which colours need no `bar`. `square`: no, where rows and columns count different things. `quantity`: what
    the colours are. `scale`: another than that of all these values, or up to `limit`."""
    import plotly.graph_objects as go

    known = between(-limit if signed else 0.0, limit, signed=signed) if limit else None
    scale = scale or known or robust([values], signed=signed)
    words = " · ".join(filter(None, (quantity, scale.said)))
    named = {"title": {"text": words, "side": "right"}} if words else {}
    heat = go.Heatmap(x=x_names, y=y_names, colorbar=named, showscale=bar, **cells(values, scale, digits))
    figure = laid_out([heat], x, y, title, height)
    figure.update_yaxes(autorange="reversed")
    return squared(figure) if square else figure


def framed(
    figure: Figure, row: int, column: int, rows: int = 1, columns: int = 1, *, colour: str = DARK, width: int = 3
) -> Figure:
    """A frame round cells, from `row` down and from `column` to the right, counted as the first cell of the figure."""
    x0, y0, line = column - 0.5, row - 0.5, {"color": colour, "width": width}
    return figure.add_shape(type="rect", x0=x0, y0=y0, x1=x0 + columns, y1=y0 + rows, line=line)


def lying(title: str) -> dict[str, object]:
    """A colour bar above the cells, where it takes no width from them, with room for what stands at its ends."""
    return {"orientation": "h", "y": 1.0, "yanchor": "bottom", "len": 0.8, "title": {"text": title, "side": "top"}}


def curves(
    lines: Mapping[str, tuple[np.ndarray, np.ndarray]],
    x: str,
    y: str,
    title: str = "",
    *,
    log: bool = False,
    mode: str = "lines",
    marked: Mapping[float, str] | None = None,
) -> Figure:
    """One line for each name: (x values, y values). `log`: both axes logarithmic. `mode`: "lines+markers" for dots.
    `marked`: rules at these x, "solid" or "dot"."""
    import plotly.graph_objects as go

    drawn = [go.Scatter(x=xs, y=ys, mode=mode, name=literal(name)) for name, (xs, ys) in lines.items()]
    figure = laid_out(drawn, x, y, title)
    for at, dash in (marked or {}).items():
        rule(figure, at, dash)
    if log:
        figure.update_xaxes(LOGARITHMIC)
        figure.update_yaxes(LOGARITHMIC)
    return figure


def line(
    x: Any,
    y: Any,
    name: str = "",
    colour: str | None = None,
    width: float | int = 2.5,
    dash: str | None = None,
    **more: Any,
) -> dict[str, Any]:
    """A line as `laid_out` takes it: without a `name` the legend and the pointer pass over it. `more`: of plotly's
    scatter."""
    silent = {} if name else {"showlegend": False, "hoverinfo": "skip"}
    ink = {"color": colour, "width": width, "dash": dash}
    return {"type": "scatter", "x": x, "y": y, "mode": "lines", "name": name or None, "line": ink, **silent, **more}


def band(x: Numbers, low: Numbers, high: Numbers, colour: str, group: str) -> dict[str, Any]:
    """What lies between `low` and `high`, pale; it comes and goes with the lines of its `group`."""
    area = {"fill": "toself", "fillcolor": faint(colour, 0.18), "legendgroup": group}
    return line([*x, *reversed(x)], [*high, *reversed(low)], width=0, **area)


def rule(figure: Figure, x: float, dash: str = "solid") -> None:
    """A vertical line that marks a place."""
    figure.add_vline(x=x, line={"color": OTHERS, "width": 1.5, "dash": dash})


def dots_by_depth(
    values: Sequence[np.ndarray],
    y: str,
    title: str = "",
    *,
    spread: Sequence[np.ndarray] | None = None,
    top: float | None = None,
    depth: int = 0,
    height: int = HEIGHT,
    marked: tuple[int, int] | None = None,
    legend: bool = True,
) -> Figure:
    """One dot for each head against the layer that it stands in; whiskers for a spread. `top` and `depth`: where the
    axes end at least, the same for charts side by side. A dot's own data are its layer and its head, from 1; that of
    `marked` has a ring."""
    import plotly.graph_objects as go

    layer = np.concatenate([np.full(len(v), i + 1) for i, v in enumerate(values)])
    head = np.concatenate([np.arange(len(v)) + 1 for v in values])
    jitter = np.concatenate([np.linspace(-0.2, 0.2, len(v)) if len(v) > 1 else np.zeros(1) for v in values])
    error = None if spread is None else {"array": np.concatenate(spread), "thickness": 1, "width": 0}
    own = list(zip(layer.tolist(), head.tolist(), strict=True))
    hover = "layer %{customdata[0]}, head %{customdata[1]}: %{y:.3g}<extra></extra>"
    dots = go.Scatter(
        x=layer + jitter,
        y=np.concatenate(values),
        mode="markers",
        # Without the ends of the scale, which one of the two pages would swallow.
        marker={"color": head, "colorscale": ramp(SCALE, 0.25, 0.8), "size": 8},
        error_y=error,
        customdata=own,
        showlegend=False,
        hovertemplate=hover,
    )
    drawn = [dots, *(_one_dot_for_each(int(head.max(initial=0))) if legend else ())]
    if marked in own:
        at = own.index(marked)
        place = {"x": [layer[at] + jitter[at]], "y": [np.concatenate(values)[at]], "customdata": [marked]}
        ring = {"symbol": "circle-open", "size": 16, "line": {"width": 2}, "color": OTHERS}
        drawn.append(go.Scatter(mode="markers", marker=ring, showlegend=False, hovertemplate=hover, **place))
    figure = laid_out(drawn, "layer", y, title, height)
    figure.update_yaxes(rangemode="tozero", range=None if top is None else [0, top])
    depth = max(depth, len(values))
    figure.update_xaxes(dtick=1 if depth <= MOST_MARKED else None, range=[0.5, depth + 0.5])
    return figure


def _one_dot_for_each(count: int) -> list[Any]:
    """The legend of dots whose colour is a number from 1 to `count`; of many the first, the middle and the last."""
    import plotly.graph_objects as go

    if count < 2:
        return []
    shown = range(1, count + 1) if count <= 8 else (1, (count + 1) // 2, count)
    ends = {"cmin": 1, "cmax": count, "colorscale": ramp(SCALE, 0.25, 0.8), "size": 8}
    return [
        go.Scatter(
            x=[None],
            y=[None],
            mode="markers",
            name=f"head {number}",
            showlegend=True,
            marker={"color": [number], **ends},
        )
        for number in shown
    ]


def bars(names: Sequence[str], values: Sequence[float], x: str, title: str = "") -> Figure:
    """Horizontal bars, the first on top."""
    import plotly.graph_objects as go

    drawn = go.Bar(x=list(values), y=[literal(name) for name in names], orientation="h")
    figure = laid_out([drawn], x, "", title, 110 + 26 * len(names))
    figure.update_yaxes(autorange="reversed", type="category")  # digits are names
    return figure


def paired_bars(names: Sequence[str], values: Mapping[str, Sequence[float]], x: str, title: str = "") -> Figure:
    """Horizontal bars of several kinds beside each other for every name, the first on top."""
    import plotly.graph_objects as go

    shown = [literal(name) for name in names]
    drawn = [go.Bar(x=list(each), y=shown, orientation="h", name=literal(kind)) for kind, each in values.items()]
    figure = laid_out(drawn, x, "", title, 130 + 26 * len(names) * len(values), barmode="group")
    figure.update_yaxes(autorange="reversed", type="category")
    return figure
