"""Numbers by layer: what was measured as lines, what a paper reports as open marks."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from vizkit.figure.charts import MOST_MARKED, Figure, laid_out, line
from vizkit.figure.palette import CLASSES, OTHERS


def by_layer(
    lines: dict[str, Float[np.ndarray, " layer"]],
    y: str,
    *,
    published: Sequence[tuple[int, float, str]] = (),
    first: int = 1,
    reach: tuple[float, float] = (0.0, 1.0),
) -> Figure:
    """One line with points for each name; its x begins at `first`. `published`: (layer, value, what)."""
    drawn = [
        line(
            np.arange(len(values)) + first,
            values,
            name,
            colour,
            mode="lines+markers",
            marker={"size": 8},
            hovertemplate=f"layer %{{x}}: %{{y:.3f}}<extra>{name}</extra>",
        )
        for (name, values), colour in zip(lines.items(), CLASSES, strict=False)
    ]
    if published:
        at, values, words = zip(*published, strict=True)
        drawn.append(
            line(
                at,
                values,
                "published",
                mode="markers",
                text=words,
                marker={"symbol": "diamond-open", "size": 12, "color": OTHERS, "line": {"width": 2}},
                hovertemplate="%{text}: %{y:.2f}<extra>published</extra>",
            )
        )
    last = max([first + max(len(values) for values in lines.values()) - 1, *(layer for layer, _, _ in published)])
    figure = laid_out(drawn, "layer", y)
    figure.update_xaxes(dtick=1 if last <= MOST_MARKED else None, range=[first - 0.4, last + 0.4])
    figure.update_yaxes(range=[reach[0] - 0.04 * (reach[1] - reach[0]), reach[1] + 0.04 * (reach[1] - reach[0])])
    return figure
