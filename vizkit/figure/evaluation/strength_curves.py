"""Probability against the strength of a change: one line for each model, with a rule at the chosen strength."""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from vizkit.figure.charts import laid_out, rule
from vizkit.figure.palette import CLASSES
from vizkit.figure.template import literal

if TYPE_CHECKING:
    import plotly.graph_objects as go

DASHES = ("solid", "dash", "dot", "dashdot")
SYMBOLS = ("circle", "square", "triangle-up", "diamond")
LINES, GLYPHS = ("━", "╍", "┅", "╌"), "●■▲◆"


def strength_curves(
    names: Sequence[str],
    strengths: Sequence[float],
    shares: Sequence[np.ndarray | None],
    at: int,
    unit: str,
    *,
    percent: bool = False,
) -> "go.Figure":
    """`shares`: of each name its values, 0 to 1, at all `strengths`, None where they are not known yet. `at`: index of
    the strength that is marked. Told apart by colour, dash and shape; see `legend`."""
    import plotly.graph_objects as go

    drawn = [
        go.Scatter(
            x=list(strengths),
            y=values,
            mode="lines+markers",
            name=literal(name),
            line={"color": colour, "width": 2.2, "dash": dash},
            marker={"symbol": symbol, "size": [9 if index == at else 0 for index in range(len(strengths))]},
            hovertemplate=f"%{{x:{'.0%' if percent else '.3g'}}}: %{{y:.1%}}<extra>{literal(name)}</extra>",
        )
        for name, values, colour, dash, symbol in zip(names, shares, CLASSES, DASHES, SYMBOLS, strict=False)
        if values is not None
    ]
    figure = laid_out(drawn, unit, "probability", height=210, showlegend=False)
    rule(figure, strengths[at])
    figure.update_xaxes(range=[0, strengths[-1]], nticks=4, tickformat=".0%" if percent else None)
    return figure.update_yaxes(range=[-0.02, 1.02], tickformat=".0%", tickvals=[0, 0.5, 1])


def legend(names: Sequence[str]) -> str:
    """The lines of all charts once, as HTML that wraps; names are shown as they are, whatever they contain."""
    parts = [
        f'<span style="white-space:nowrap;margin-right:1.4em"><span style="color:{colour}">{line}{glyph}{line}</span> '
        f"{escape(name)}</span>"
        for name, colour, line, glyph in zip(names, CLASSES, LINES, GLYPHS, strict=False)
    ]
    return " ".join(parts)
