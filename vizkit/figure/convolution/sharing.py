"""Numbers of a tensor with a frame around those that are normalised together."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float

from vizkit.figure.charts import Figure, heat_map
from vizkit.figure.palette import CLASSES, OTHERS

FRAME = CLASSES[1]
TICK = 8  # channels between two numbers of the axis


def sharing(
    values: Float[np.ndarray, "image token channel"],
    together: Bool[np.ndarray, "image token channel"] | None,
    chosen: tuple[int, int, int],
    title: str,
    *,
    limit: float,
    spread: float = 1.0,
) -> Figure:
    """Rows are tokens, those of one image below one another, columns channels. `together`: a block of numbers that
    share a mean, framed; `chosen`: a number, as (image, token, channel), framed too. `limit`: of the colours,
    in units of `spread`."""
    images, tokens, channels = values.shape
    flat_values = values.reshape(-1, channels) / spread
    figure = heat_map(flat_values, "channel", "", title, signed=True, limit=limit, square=False, height=330)
    figure.update_traces(colorbar={"thickness": 8, "tickvals": [-limit, 0, limit], "title": {"text": "value"}})
    starts: Sequence[float] = [image * tokens - 0.5 for image in range(1, images)]
    for start in starts:
        figure.add_hline(y=start, line={"color": OTHERS, "width": 3})
    figure.update_yaxes(
        tickvals=[image * tokens + (tokens - 1) / 2 for image in range(images)],
        ticktext=[f"image {image + 1}" for image in range(images)],
        showgrid=False,
        zeroline=False,
    )
    numbers = [1, *range(TICK, channels + 1, TICK)]
    at = [number - 1 for number in numbers]
    figure.update_xaxes(tickvals=at, ticktext=list(map(str, numbers)), showgrid=False, zeroline=False)
    if together is not None:
        flat = together.reshape(-1, channels)
        rows, columns = (np.flatnonzero(flat.any(axis)).tolist() for axis in (1, 0))
        _frame(figure, (columns[0], rows[0], columns[-1], rows[-1]))
    row, column = chosen[0] * tokens + chosen[1], chosen[2]
    _frame(figure, (column, row, column, row))
    return figure


def _frame(figure: Figure, box: tuple[int, int, int, int]) -> None:
    x0, y0, x1, y1 = (float(edge) for edge in box)
    figure.add_shape(type="rect", x0=x0 - 0.5, y0=y0 - 0.5, x1=x1 + 0.5, y1=y1 + 0.5, line={"color": FRAME, "width": 4})
