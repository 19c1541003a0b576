"""What every patch says, as coloured cells over what the model saw: a class each, the probability of one class, or
what it restores."""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from jaxtyping import Int

from vizkit.figure.charts import Figure, colour_axis, framed, laid_out, literal, lying, squared
from vizkit.figure.palette import CEILING, DARK, FLOOR, LIGHT, OTHERS
from vizkit.figure.scales import Places, Scale
from vizkit.image import RGB, Pixels, zoomed
from vizkit.percent import in_percent

HEIGHT, OPACITY = 460, 0.62
COVER = 0.88


def class_cells(
    seen: str,
    size_hw: tuple[int, int],
    said: Int[np.ndarray, "row column"],
    names: Sequence[Sequence[str]],
    shares: Places,
    legend: Sequence[tuple[int, str, str]],
    form: str = ".1%",
    rest: str = "other classes",
) -> Figure:
    """`seen`: the model's input as a data URL, of `size_hw` pixels. `names`, `shares`: the class of each patch and its
    probability, or value, written in the `form`. `legend`: (class, name, colour); those that are not in it are grey,
    and called `rest`."""
    import plotly.graph_objects as go

    place = {label: at for at, (label, *_) in enumerate(legend)}
    last = len(legend)
    index = np.vectorize(lambda label: place.get(int(label), last), otypes=[int])(said)
    colours = [*(colour for *_, colour in legend), OTHERS]
    steps = [(edge / len(colours), colour) for at, colour in enumerate(colours) for edge in (at, at + 1)]
    texts = [[literal(name) for name in row] for row in names]
    heat = go.Heatmap(
        z=index,
        zmin=-0.5,
        zmax=last + 0.5,
        colorscale=steps,
        showscale=False,
        opacity=OPACITY,
        text=texts,
        customdata=shares,
        xgap=1,
        ygap=1,
        hovertemplate=f"%{{text}}: %{{customdata:{form}}}<extra></extra>",
    )
    words = [*(name for _, name, _ in legend), *([rest] if (index == last).any() else [])]
    marks = [
        go.Scatter(
            x=[None],
            y=[None],
            mode="markers",
            name=literal(name),
            showlegend=True,
            marker={"symbol": "square", "size": 12, "color": colour},
        )
        for name, colour in zip(words, colours, strict=False)
    ]
    return _over(seen, size_hw, said.shape, [heat, *marks])


def painted_cells(picture: RGB, colours: Sequence[Sequence[str]], opacity: float = OPACITY) -> Pixels:
    """A picture under cells of these colours, row by row, at least 320 pixels wide."""
    from PIL import ImageColor

    zoom = max(1, -(-320 // picture.shape[1]))
    large = zoomed(picture, zoom)
    cells = np.array([[ImageColor.getrgb(colour)[:3] for colour in row] for row in colours], float)
    sides = zip(large.shape[:2], cells.shape[:2], strict=True)
    down, right = (np.arange(side) * count // side for side, count in sides)
    return np.rint((1 - opacity) * large + opacity * cells[down[:, None], right]).astype(np.uint8)


def share_cells(seen: str, size_hw: tuple[int, int], shares: Places, name: str, scale: Scale) -> Figure:
    """What is called `name` at each patch."""
    import plotly.graph_objects as go

    form = ".1%" if scale.unit == "%" else ".2f"
    hover = f"%{{z:{form}}}<extra>{literal(name)}</extra>"
    heat = go.Heatmap(
        z=shares, colorbar=lying(literal(name)), hovertemplate=hover, **colour_axis(scale, CEILING, FLOOR)
    )
    return _over(seen, size_hw, shares.shape, [heat])


def restored_cells(
    seen: str,
    size_hw: tuple[int, int],
    shares: Places,
    chosen: tuple[int, int] | None,
    scale: Scale,
    named: Collection[Sequence[int]] = (),
) -> Figure:
    """What each region restores, on a signed `scale`: above 0 red, below 0 blue. Cells can be clicked and carry their
    number, row by row from 1; `chosen` is framed, `named` are framed thinly with what they restore."""
    import plotly.graph_objects as go

    heat = go.Heatmap(
        z=shares, colorbar=lying("restored share"), hoverinfo="skip", xgap=1, ygap=1, **colour_axis(scale, CEILING, 0.0)
    )
    figure = _over(seen, size_hw, shares.shape, [heat, _points(shares)])
    for row, column in named:
        framed(figure, row, column, width=2)
        words = {"text": in_percent(shares[row, column]), "font": {"color": LIGHT, "size": 12}, "showarrow": False}
        figure.add_annotation(x=column, y=row, **words)
    return figure if chosen is None else framed(figure, *chosen)


def _points(values: Places) -> Any:
    """A heat map cannot be clicked, so an unseen point lies on every cell."""
    import plotly.graph_objects as go

    rows, columns = np.indices(values.shape).reshape(2, -1)
    unseen, texts = {"marker": {"opacity": 0}}, [f"restores {in_percent(value)}" for value in values.ravel()]
    return go.Scatter(
        x=columns,
        y=rows,
        mode="markers",
        customdata=[*range(1, values.size + 1)],
        text=texts,
        marker={"size": 14, "opacity": 0},
        selected=unseen,
        unselected=unseen,
        showlegend=False,
        hovertemplate="%{text}<extra></extra>",
    )


def numbered_cells(
    seen: str, size_hw: tuple[int, int], grid: tuple[int, int], order: Sequence[int], kept: bool
) -> Figure:
    """Cells in the order in which they were taken, from 1. `kept`: they alone are seen, else they are covered."""
    import plotly.graph_objects as go

    covered = np.full(grid[0] * grid[1], 0.0 if kept else np.nan)
    covered[list(order)] = np.nan if kept else 0.0
    cover = [[0, OTHERS], [1, OTHERS]]
    heat = go.Heatmap(z=covered.reshape(grid), colorscale=cover, opacity=COVER, showscale=False, hoverinfo="skip")
    rows, columns = np.divmod(np.array(order, int), grid[1])
    texts = [str(number) for number in range(1, len(order) + 1)]
    numbers = go.Scatter(
        x=columns,
        y=rows,
        mode="markers+text",
        text=texts,
        hoverinfo="skip",
        showlegend=False,
        textfont={"color": LIGHT, "size": 12},
        marker={"symbol": "square", "size": 15, "color": DARK, "opacity": 0.7},
    )
    return _over(seen, size_hw, grid, [heat, numbers])


def _over(seen: str, size_hw: tuple[int, int], grid: tuple[int, ...], traces: Sequence[Any]) -> Figure:
    """Cells of a grid over a picture, each at its place."""
    import plotly.graph_objects as go

    down, right = grid[0] / size_hw[0], grid[1] / size_hw[1]
    picture = go.Image(source=seen, x0=right / 2 - 0.5, dx=right, y0=down / 2 - 0.5, dy=down, hoverinfo="skip")
    figure = laid_out([picture, *traces], "", "", "", HEIGHT)
    squared(figure)
    figure.update_xaxes(visible=False, range=[-0.5, grid[1] - 0.5])
    return figure.update_yaxes(visible=False, range=[grid[0] - 0.5, -0.5])
