"""What every query costs for every thing, with two ways to choose one query for each thing."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from vizkit.figure.charts import Figure, framed, heat_map
from vizkit.figure.palette import CLASSES

Pairs = Sequence[tuple[int, int]]


def cost_matrix(costs: Float[np.ndarray, "query thing"], names: Sequence[str], optimal: Pairs, greedy: Pairs) -> Figure:
    """Queries down, things across, the cheapest darkest. `optimal`: pairs (query, thing), framed; `greedy`: those that
    are others, in a second colour. A legend says which is which."""
    import plotly.graph_objects as go

    queries = [f"query {number}" for number in range(len(costs))]
    figure = heat_map(
        costs,
        "thing",
        "query",
        x_names=names,
        y_names=queries,
        digits=2,
        height=60 + 27 * len(costs),
        square=False,
        bar=False,
    )
    figure.update_traces(hovertemplate="%{y}, %{x}: cost %{z:.2f}<extra></extra>")
    others = set(greedy) - set(optimal)
    best = "Hungarian, least in all" if others else "Hungarian and greedy"
    for name, colour, pairs in (("greedy, cheapest pair first", CLASSES[1], others), (best, CLASSES[4], set(optimal))):
        for query, thing in sorted(pairs):
            framed(figure, query, thing, colour=colour, width=4)
        if pairs:
            look = {"symbol": "square-open", "size": 12, "color": colour, "line": {"width": 4}}
            figure.add_trace(go.Scatter(x=[None], y=[None], mode="markers", marker=look, name=name, showlegend=True))
    figure.update_layout(legend_traceorder="reversed")
    return figure.update_xaxes(side="top")
