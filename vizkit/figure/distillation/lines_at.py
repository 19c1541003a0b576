"""Lines along an axis with a rule at the point that a slider has chosen."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vizkit.figure.charts import LOGARITHMIC, Figure, laid_out, line, literal, rule


@dataclass(frozen=True)
class Line:
    """One line; `dash`: "solid", "dash" or "dot"."""

    name: str
    y: Sequence[float] | np.ndarray
    colour: str
    dash: str = "solid"


def lines_at(
    x: np.ndarray,
    lines: Sequence[Line],
    at: float,
    x_title: str,
    y_title: str,
    *,
    log_y: bool = False,
    y_domain: tuple[float, float] | None = None,
    height: int = 380,
) -> Figure:
    """Lines over a logarithmic x axis; a rule and a dot on every line at `at`, between points on the line between
    them. NaN leaves a gap."""
    ys = np.asarray([each.y for each in lines], float)
    if log_y:
        ys = np.where(ys > 0, ys, np.nan)
    if log_y and y_domain:
        ys = np.where(ys >= y_domain[0], ys, np.nan)
    place = int(np.searchsorted(x, at))
    sizes = np.where(np.arange(len(x) + 1) == place, 9, 0)  # a dot at the chosen point alone
    drawn = []
    for each, y in zip(lines, ys, strict=True):
        name, chosen = literal(each.name), np.interp(np.log(at), np.log(x), y)
        drawn.append(
            line(
                np.insert(x, place, at),
                np.insert(y, place, chosen),
                name,
                each.colour,
                dash=each.dash,
                mode="lines+markers",
                marker={"size": sizes, "opacity": 1, "line": {"width": 0}},
                hovertemplate=f"%{{x:.3g}}: %{{y:.3g}}<extra>{name}</extra>",
            )
        )
    figure = laid_out(drawn, x_title, y_title, height=height)
    rule(figure, at)
    figure.update_xaxes(LOGARITHMIC, range=np.log10([x[0], x[-1]]).tolist(), dtick=1)
    if log_y:
        figure.update_yaxes(type="log", exponentformat="power", dtick=1 if y_domain is None else 2)
    if y_domain:
        figure.update_yaxes(range=np.log10(y_domain).tolist() if log_y else list(y_domain))
    elif not log_y:
        figure.update_yaxes(rangemode="tozero")
    return figure
