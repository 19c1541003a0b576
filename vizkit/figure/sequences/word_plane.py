"""Words on a plane, written at their places and coloured by what kind of words they are."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from vizkit.figure.charts import laid_out, literal
from vizkit.figure.palette import CLASSES, OTHERS
from vizkit.figure.saved.panels import meet
from vizkit.percent import in_percent

if TYPE_CHECKING:
    import plotly.graph_objects as go


SIDES = (
    "top center",
    "bottom center",
    "middle right",
    "middle left",
    "top right",
    "top left",
    "bottom right",
    "bottom left",
)
FONT_PX, GAP_PX, AROUND_PX = 12, 6, 110


def word_plane(
    places: Float[np.ndarray, "word 2"],
    words: Sequence[str],
    kinds: Sequence[str],
    explained: Sequence[float] = (),
    title: str = "",
    *,
    named: Sequence[int] | None = None,
    joined: Sequence[int] = (),
    order: Sequence[str] = (),
    height: int = 460,
    width: int = 640,
) -> "go.Figure":
    """A name for every word and a colour for every kind, "" for grey. `explained`: the share of the variance along each
    axis, 0 to 1. `named`: numbers of the words that are written, all if None; the others are dots, read by pointing at
    them. `joined`: numbers of words that a line goes through, such as one word at two places. `order`: of all kinds, so
    that one has the same colour in several pictures. `width`: about that of the plot, in pixels: names that would
    overlap are left out.
    """
    import plotly.graph_objects as go

    drawn = []
    if len(joined) > 1:
        ends = places[list(joined)]
        line = {"color": OTHERS, "width": 2, "dash": "dot"}
        drawn.append(
            go.Scatter(x=ends[:, 0], y=ends[:, 1], mode="lines", line=line, showlegend=False, hoverinfo="skip")
        )
    known = [*order, *sorted(set(kinds) - {*order}, key=lambda kind: (kind == "", kinds.index(kind)))]
    beside = _beside(
        places,
        [word if named is None or at in named else "" for at, word in enumerate(words)],
        (width, height - AROUND_PX),
    )
    for number, kind in enumerate(known):
        if kind not in kinds:
            continue
        own = [at for at, other in enumerate(kinds) if other == kind]
        written = [literal(words[at]) if at in beside else "" for at in own]
        meant = [named is None or at in named for at in own]
        colour = CLASSES[number % len(CLASSES)] if kind else OTHERS
        drawn.append(
            go.Scatter(
                x=places[own, 0],
                y=places[own, 1],
                mode="markers+text",
                name=literal(kind or "others"),
                text=written,
                textposition=[beside.get(at, SIDES[0]) for at in own],
                textfont={"size": FONT_PX},
                cliponaxis=False,
                customdata=[literal(words[at]) for at in own],
                hovertemplate="%{customdata}<extra></extra>",
                marker={
                    "color": colour,
                    "size": [8 if each else 5 for each in meant],
                    "opacity": [1 if each else 0.55 for each in meant],
                },
            )
        )
    x, y = (f", {in_percent(share)} of the variance" for share in explained) if explained else ("", "")
    figure = laid_out(drawn, f"component 1{x}", f"component 2{y}", title, height)
    for axis, update in enumerate((figure.update_xaxes, figure.update_yaxes)):
        low, high = float(places[:, axis].min()), float(places[:, axis].max())
        room = (0.1 if axis == 0 else 0.06) * ((high - low) or 1.0)
        update(range=[low - room, high + room])
    return figure


def _beside(places: Float[np.ndarray, "word 2"], words: Sequence[str], size_px: tuple[int, int]) -> dict[int, str]:
    """On which side of its place each word is written; none where on every side it would lie over another."""
    spread = np.ptp(places, axis=0)
    spread[spread == 0] = 1.0
    at = ((places - places.min(0)) / spread / (1.2, 1.12) * size_px).tolist()
    written = [at[i] for i, word in enumerate(words) if word]
    taken = [(x - 3.0, y - 3.0, x + 3.0, y + 3.0) for x, y in written]  # dots, which no name may hide
    found: dict[int, str] = {}
    for index in sorted((i for i, word in enumerate(words) if word), key=lambda i: -at[i][1]):
        wide, tall = 0.6 * FONT_PX * len(words[index]), 1.25 * FONT_PX
        for side in SIDES:
            x = at[index][0] + {"center": -wide / 2, "right": GAP_PX, "left": -wide - GAP_PX}[side.split()[1]]
            y = at[index][1] + {"top": GAP_PX, "middle": -tall / 2, "bottom": -tall - GAP_PX}[side.split()[0]]
            box = (x, y, x + wide, y + tall)
            if not any(meet(box, other) for other in taken):
                taken.append(box)
                found[index] = side
                break
    return found
