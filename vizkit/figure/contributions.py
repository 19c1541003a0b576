"""When an answer appears: what the head says after every layer, what each layer adds to it, and what each head."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from vizkit.figure.charts import Figure, heat_map, laid_out, literal
from vizkit.figure.palette import OTHERS, faint

ROW_PX, HEAD_PX, MARGIN_PX, GAP = 210, 14, 90, 0.03
HOVER = "%{x}: %{y:+.3f}"


def appearing(
    said: Mapping[str, tuple[str, Float[np.ndarray, " layer"]]],
    quantity: str,
    added: Sequence[Figure] = (),
    marked: int | None = None,
    *,
    form: str = "",
) -> Figure:
    """Rows over one axis of layers: above the lines of `said`, for each name a colour and what is read after every
    layer, in `quantity`, written in the `form`; below them `added`. `marked`: a layer, from 1."""
    import plotly.graph_objects as go

    lines = [
        go.Scatter(
            x=[str(layer) for layer in range(1, len(values) + 1)],
            y=values,
            name=literal(name),
            mode="lines+markers",
            line={"color": colour},
            hovertemplate=f"after layer %{{x}}: %{{y:{form or '.3f'}}}",
        )
        for name, (colour, values) in said.items()
    ]
    upper = laid_out(lines, "layer", quantity).update_yaxes(tickformat=form or None)
    if form:
        upper.update_yaxes(range=[-0.03, 1.03])
    rows: list[Any] = [*([upper] if lines else []), *added]
    heights = [each.layout.height if each.data[0].type == "heatmap" else ROW_PX for each in rows]
    inside = 1 - GAP * (len(rows) - 1)
    figure, top = laid_out([], "layer", "", height=sum(heights) + MARGIN_PX, barmode="relative"), 1.0
    for at, (row, height) in enumerate(zip(rows, heights, strict=True), 1):
        share = inside * height / sum(heights)
        domain = [max(0.0, top - share), top]
        figure.layout[f"yaxis{at}"] = row.layout.yaxis.to_plotly_json() | {"domain": domain, "anchor": "x"}
        for trace in row.data:
            figure.add_trace(trace)
            figure.data[-1].update(yaxis=f"y{at}" if at > 1 else "y")
            if trace.type == "heatmap":
                figure.data[-1].colorbar.update(len=share, y=sum(domain) / 2)
        top -= share + GAP
    names = dict.fromkeys(str(name) for row in rows[::-1] for trace in row.data for name in trace.x)
    order = sorted(names, key=lambda name: (name == "biases", int(name) if name.isdecimal() else 0))
    figure.update_xaxes(type="category", categoryorder="array", categoryarray=order, anchor=f"y{len(rows)}")
    if marked is not None:
        # By its place, as plotly takes a name that is a number for one; a layer that has no place is among the first.
        place = order.index(str(marked)) if str(marked) in order else 0
        edge = {"xref": "x", "x0": place, "x1": place, "yref": "paper", "y0": 0, "y1": 1}
        figure.add_shape(type="line", line={"color": OTHERS, "width": 1.5, "dash": "dot"}, **edge)
    return figure


def contributions(
    first: float,
    attention: Float[np.ndarray, " layer"],
    mlp: Float[np.ndarray, " layer"],
    last: float,
    before: int = 0,
    number: str = "logit",
) -> Figure:
    """A `number` as a sum: bars for what each layer adds, grey, as colours are classes, and a line for the sum so far.
    `first`: of the embedding, and of the layers `before`; `last`: of the biases."""
    import plotly.graph_objects as go

    layers = [str(number) for number in range(before + 1, before + len(mlp) + 1)]
    entering = f"up to {before}" if before else "embedding"
    names = [entering, *layers, "biases"]
    so_far = first + np.concatenate([[0.0], np.cumsum(attention + mlp), [float(np.sum(attention + mlp)) + last]])
    bars = (
        ("attention", layers, attention, OTHERS),
        ("MLP", layers, mlp, faint(OTHERS, 0.6)),
        ("the rest", [entering, "biases"], [first, last], faint(OTHERS, 0.25)),
    )
    sum_so_far = go.Scatter(
        x=names,
        y=so_far,
        name="sum so far",
        mode="lines+markers",
        line={"color": OTHERS, "width": 1.5, "dash": "dot"},
        marker={"size": 5},
        hovertemplate=HOVER,
    )
    drawn = [go.Bar(x=x, y=y, name=name, marker_color=colour, hovertemplate=HOVER) for name, x, y, colour in bars]
    figure = laid_out([*drawn, sum_so_far], "layer", f"added to the {number}", barmode="relative")
    return figure.update_xaxes(type="category", categoryorder="array", categoryarray=names)


def heads_added(heads: Float[np.ndarray, "layer head"], before: int = 0, number: str = "logit") -> Figure:
    """What each head adds to a `number`: layers across, after those `before`, heads down."""
    (layers, count), first = heads.shape, before + 1
    figure = heat_map(
        heads.T,
        "layer",
        "head",
        signed=True,
        square=False,
        x_names=[*map(str, range(first, first + layers))],
        y_names=[*map(str, range(1, count + 1))],
        height=max(110, HEAD_PX * count),
        quantity=f"to the {number}",
    )
    figure.update_xaxes(type="category")  # layers and heads are names: two of them have no halves between
    return figure.update_yaxes(type="category")
