"""What changes with the steps of a run: lines over a logarithmic axis, and rows of filters."""

from collections.abc import Mapping
from itertools import cycle

import numpy as np
from jaxtyping import Float, Int

from vizkit.figure.charts import LOGARITHMIC, Figure, laid_out, line, literal
from vizkit.figure.palette import CLASSES, OTHERS
from vizkit.image import Pixels, zoomed

STEPS, REST = "step, logarithmic", "the others"
GAP_PX = 1
ZOOM = 4


def by_step(
    steps: Int[np.ndarray, " step"],
    lines: Mapping[str, Float[np.ndarray, " step"]],
    y: str,
    *,
    others: Mapping[str, Float[np.ndarray, " step"]] | None = None,
    log: bool = False,
    level: tuple[float, str] | None = None,
    reach: tuple[float, float] | None = None,
    percent: bool = False,
) -> Figure:
    """A line in a colour of its own for each name. `others`: more of them, thin and grey below those, with one word of
    the legend; the first of `lines` is then the thickest. A line has its own name under the pointer. `log`: the other
    axis too. `level`: a height to compare with, and what it is. `reach`: the ends of the y axis, None for those of the
    lines. `percent`: of shares."""
    drawn, told = [], {"mode": "lines+markers", "marker": {"size": 4}}
    for at, (name, values) in enumerate((others or {}).items()):
        grey = {"legendgroup": REST, "showlegend": at == 0, "hovertemplate": _hover(name, percent), "mode": "lines"}
        drawn.append(line(steps, values, REST, OTHERS, 1, **grey))
    for (name, values), colour in zip(lines.items(), cycle(CLASSES), strict=False):
        thick = 3.5 if others and name == next(iter(lines)) else 1.5
        drawn.append(line(steps, values, literal(name), colour, thick, hovertemplate=_hover(name, percent), **told))
    if level:
        drawn.append(line(steps[[0, -1]], [level[0]] * 2, literal(level[1]), OTHERS, 1.5, "dash"))
    figure = laid_out(drawn, STEPS, y, height=360)
    figure.update_xaxes(LOGARITHMIC)
    return figure.update_yaxes(LOGARITHMIC if log else {"range": reach, "tickformat": ".0%" if percent else None})


def _hover(name: str, percent: bool) -> str:
    return f"{literal(name)}, step %{{x:,}}: %{{y:{'.0%' if percent else '.3g'}}}<extra></extra>"


def filter_pixels(filters: Float[np.ndarray, "step filter height width channel"]) -> Pixels:
    """0 is grey, the largest weight of all white, or black where it is negative; white between the filters. A
    row for each step, a column for each filter."""
    largest = float(np.abs(filters).max()) or 1.0
    levels = np.round(127.5 * (1 + filters / largest)).astype(np.uint8)
    levels = levels if levels.shape[-1] == 3 else levels[..., :1].repeat(3, -1)
    framed = np.pad(levels, ((0, 0), (0, 0), (0, GAP_PX), (0, GAP_PX), (0, 0)), constant_values=255)
    rows, columns = framed.shape[0] * framed.shape[2], framed.shape[1] * framed.shape[3]
    return zoomed(framed.transpose(0, 2, 1, 3, 4).reshape(rows, columns, 3), ZOOM)
