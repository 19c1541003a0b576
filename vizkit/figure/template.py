"""The one look of all charts: what Streamlit's theme leaves open. Fonts and the colours of text, grid and ground come
from the page, light or dark; they replace ours in the browser."""

from functools import cache
from html import escape
from typing import TYPE_CHECKING

from vizkit.figure.palette import CLASSES, SCALE, SIGNED, ramp

if TYPE_CHECKING:
    import plotly.graph_objects as go

CONFIG = {"displayModeBar": False}
TITLED_PX = 44  # above the plot; without a title UNTITLED_PX
UNTITLED_PX = 12


@cache
def template() -> "go.layout.Template":
    """Read only. Axes cannot be dragged: without a toolbar a finger that scrolls would lose the view."""
    import plotly.graph_objects as go

    axis = {"fixedrange": True, "automargin": True}
    scale = ramp(SCALE)
    bar = {"thickness": 10, "outlinewidth": 0, "nticks": 5}
    return go.layout.Template(
        layout={
            "colorway": CLASSES,
            "colorscale": {"sequential": scale, "sequentialminus": scale, "diverging": ramp(SIGNED)},
            "margin": {"l": 0, "r": 8, "t": UNTITLED_PX, "b": 8},
            "xaxis": axis,
            "yaxis": axis,
            "hovermode": "closest",
            "dragmode": False,
            "bargap": 0.25,
            # Below the axis title, over the whole width: a legend at the side would squeeze the plot on a phone.
            "legend": {
                "orientation": "h",
                "itemsizing": "constant",
                "x": 0,
                "y": 0,
                "yref": "container",
                "yanchor": "bottom",
            },
        },
        data={"heatmap": [{"colorscale": scale, "colorbar": bar, "hoverongaps": False}]},
    )


def literal(name: str) -> str:
    """A name as it is written: plotly takes text for HTML."""
    return escape(name, quote=False)
