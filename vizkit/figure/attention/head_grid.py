"""A number for every head of a model, layers down, heads across; cells can be clicked."""

from collections.abc import Collection

import numpy as np
from jaxtyping import Float

from vizkit.figure.charts import UNSEEN, Figure, framed, heat_map, lying
from vizkit.figure.palette import DARK, LIGHT, OTHERS
from vizkit.figure.scales import robust

CELL_PX = 34
PALE = 0.9
MOST_NUMBERED = 12  # with more heads the cells are too narrow for numbers


def head_grid(
    values: Float[np.ndarray, "layer head"],
    *,
    signed: bool = False,
    share: bool = False,
    chosen: tuple[int, int] | None = None,
    chance: Collection[tuple[int, int]] = (),
    quantity: str = "",
) -> Figure:
    """`share`: written in percent; `chosen`: (layer, head) from 0, framed; `chance`: those whose number may be chance,
    pale and in brackets. NaN where a layer has fewer heads. A point on every cell, which carries "layer.head" from 1,
    takes the clicks."""
    import plotly.graph_objects as go

    layers, heads = values.shape
    scale, form = robust([values], "%" if share else "", signed=signed), ".0%" if share else ".3g"
    figure = heat_map(values, "head", "layer", scale=scale, square=False, height=150 + CELL_PX * layers)
    bar = lying(" · ".join(filter(None, (quantity, scale.said))))
    figure.update_traces(hoverinfo="skip", xgap=1, ygap=1, colorbar=bar)
    at = np.argwhere(np.isfinite(values)).tolist()
    top = float(np.nanmax(np.abs(values), initial=0)) or 1.0
    low = 0.0 if signed else float(np.nanmin(values, initial=top))
    # Strong colours at both ends of a signed scale are dark, at the upper end of the other one light.
    strong = {
        (r, c): (abs(values[r, c]) / top if signed else (values[r, c] - low) / ((top - low) or 1)) > 0.6 for r, c in at
    }
    inks = [LIGHT if strong[r, c] == signed and (r, c) not in chance else DARK for r, c in at]
    numbered, may_be = heads <= MOST_NUMBERED, ", may be chance"
    texts = [f"{values[r, c]:{'.0%' if share else 'z.2f'}}" for r, c in at]  # z: no minus before a zero
    texts = [f"({text})" if (r, c) in chance else text for text, (r, c) in zip(texts, at, strict=True)]
    figure.add_trace(
        go.Scatter(
            x=[column for _, column in at],
            y=[row for row, _ in at],
            mode="markers+text" if numbered else "markers",
            text=texts if numbered else None,
            textfont={"color": inks},
            customdata=[f"{row + 1}.{column + 1}" for row, column in at],
            hovertemplate=[
                f"layer {r + 1}, head {c + 1}: {values[r, c]:{form}}{may_be * ((r, c) in chance)}<extra></extra>"
                for r, c in at
            ],
            **UNSEEN,
        )
    )
    if chance:
        veil = np.full(values.shape, np.nan)
        veil[tuple(np.transpose([*chance]))] = 0.0
        limits = {"zmin": figure.data[0].zmin, "zmax": figure.data[0].zmax}
        white = {"colorscale": [[0, LIGHT], [1, LIGHT]], "opacity": PALE, "showscale": False, "hoverinfo": "skip"}
        figure.add_trace(go.Heatmap(z=veil, **limits, **white))
    if chosen is not None:
        framed(figure, *chosen, colour=OTHERS)
    numbers = [str(n + 1) for n in range(heads)]
    figure.update_xaxes(tickvals=[*range(heads)], ticktext=numbers, automargin=True, title_standoff=52)
    return figure.update_yaxes(tickvals=[*range(layers)], ticktext=[str(n + 1) for n in range(layers)])
