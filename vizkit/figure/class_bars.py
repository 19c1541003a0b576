"""A bar for each class: one bar now, and a tick where it stood before."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from vizkit.figure.charts import laid_out
from vizkit.figure.palette import OTHERS
from vizkit.figure.template import INK, literal

if TYPE_CHECKING:
    import plotly.graph_objects as go

FLOOR = 1e-6  # where a logarithmic axis begins; a shorter bar is drawn as nothing
ROW_PX = 38  # name and number above, bar below: a bar is as wide as its column, in which a name may be long
SIDE_PX = 12  # room for half a number at the ends of the axis
LOWER = 0.24  # of a row: from its middle to that of its bar
POWERS = {1e-6: "10⁻⁶", 1e-4: "10⁻⁴", 1e-2: "10⁻²", 1.0: "1"}


def class_bars(
    names: Sequence[str],
    values: Sequence[float],
    colours: Sequence[str],
    *,
    before: Sequence[float] | None = None,
    log: bool = False,
    signed: bool = False,
    top: float = 1.0,
    title: str = "",
) -> "go.Figure":
    """Horizontal bars, the first on top, each with its name and number. `before`: where a tick stands in each row.
    `log`: the axis from 10⁻⁶ on. `signed`: zero in the middle. `top`: what the longest bar may be, which should not
    change while a slider moves, or all bars seem to.
    """
    import plotly.graph_objects as go

    low = FLOOR if log else -top if signed else 0.0
    row = np.arange(len(names))
    shown = [literal(name) for name in distinct(names)]
    numbers = [in_short(value, signed) for value in values]
    hover = {"customdata": [*zip(shown, numbers, strict=True)],
             "hovertemplate": "%{customdata[0]}: %{customdata[1]}<extra></extra>"}  # fmt: skip
    drawn: list[Any] = [
        go.Bar(x=np.clip(values, low, None).tolist(), y=row + LOWER, width=0.38, orientation="h",
               marker={"color": list(colours), "cornerradius": 3}, **hover),
        go.Scatter(x=[low] * len(row), y=row, text=shown, textposition="top right", **_WORDS),
        go.Scatter(x=[top] * len(row), y=row, text=numbers, textposition="top left", **_WORDS),
    ]  # fmt: skip
    if before is not None:
        tick = {"symbol": "line-ns", "size": 20, "line": {"width": 3, "color": OTHERS}}
        drawn.append(go.Scatter(x=np.clip(before, low, None).tolist(), y=row + LOWER, mode="markers", marker=tick,
                                cliponaxis=False, hoverinfo="skip"))  # fmt: skip
    figure = laid_out(drawn, title, "", height=ROW_PX * len(row) + (64 if title else 36), showlegend=False)
    figure.update_layout(margin={"l": SIDE_PX, "r": SIDE_PX, "t": 0})
    figure.update_xaxes(range=[low, top], showgrid=True, nticks=4)
    if log:
        figure.update_xaxes(type="log", range=np.log10([low, top]).tolist(), tickvals=[*POWERS],
                            ticktext=[*POWERS.values()])  # fmt: skip
    figure.update_yaxes(visible=False, range=[len(row) - 0.45, -0.55])
    return figure


_WORDS: dict[str, Any] = {"mode": "text", "textfont": {"size": 14, "color": INK}, "cliponaxis": False,
                          "hoverinfo": "skip"}  # fmt: skip


def in_short(value: float, signed: bool = False) -> str:
    """A number as short as it can be read from afar: 0.936, 2e-4, −0.075."""
    small = 0 < abs(value) < 9.5e-4
    number = re.sub("e-0*", "e-", f"{abs(value):.0e}") if small else f"{abs(value):.3f}"
    return ("−" if value < 0 else "+" if signed else "") + number


def reach(*values: Sequence[float]) -> float:
    """A round number, a power of two, that no bar goes beyond: an axis that stands still while bars move a little."""
    largest = max((abs(value) for each in values for value in each), default=0.0)
    return float(2.0 ** np.ceil(np.log2(largest))) if largest > 1e-12 else 1.0


def distinct(names: Sequence[str]) -> list[str]:
    """Rows of one name would be drawn over each other; ImageNet has two cranes."""
    return [name if name not in names[:i] else f"{name} ({i + 1})" for i, name in enumerate(names)]
