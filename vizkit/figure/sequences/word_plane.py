"""Words on a plane, written at their places and coloured by what kind of words they are."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from vizkit.figure.charts import laid_out
from vizkit.figure.palette import CLASSES, OTHERS
from vizkit.figure.template import literal

if TYPE_CHECKING:
    import plotly.graph_objects as go

__all__ = ["word_plane"]


def word_plane(
    places: Float[np.ndarray, "word 2"],
    words: Sequence[str],
    kinds: Sequence[str],
    explained: Sequence[float] = (),
    title: str = "",
    *,
    named: Sequence[int] | None = None,
    joined: Sequence[int] = (),
    height: int = 460,
) -> "go.Figure":
    """A name for every word and a colour for every kind, "" for grey. `explained`: the share of the variance along each
    axis, 0 to 1. `named`: numbers of the words that are written, all if None; the others are dots, read by pointing at
    them. `joined`: numbers of words that a line goes through, such as one word at two places."""
    import plotly.graph_objects as go

    drawn = []
    if len(joined) > 1:
        ends = places[list(joined)]
        line = {"color": OTHERS, "width": 2, "dash": "dot"}
        drawn.append(
            go.Scatter(x=ends[:, 0], y=ends[:, 1], mode="lines", line=line, showlegend=False, hoverinfo="skip")
        )
    for number, kind in enumerate(sorted(set(kinds), key=lambda kind: (kind == "", kinds.index(kind)))):
        own = [at for at, other in enumerate(kinds) if other == kind]
        written = [literal(words[at]) if named is None or at in named else "" for at in own]
        colour = CLASSES[number % len(CLASSES)] if kind else OTHERS
        drawn.append(
            go.Scatter(
                x=places[own, 0], y=places[own, 1], mode="markers+text", name=literal(kind or "others"),
                text=written, textposition="top center", textfont={"size": 12},
                customdata=[literal(words[at]) for at in own], hovertemplate="%{customdata}<extra></extra>",
                marker={"color": colour, "size": [8 if text else 5 for text in written],
                        "opacity": [1 if text else 0.55 for text in written]},
            )
        )  # fmt: skip
    x, y = (f", {share:.0%} of the variance" for share in explained) if explained else ("", "")
    return laid_out(drawn, f"component 1{x}", f"component 2{y}", title, height)
