"""One number for each pair of classes."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from vizkit.figure.charts import heat_map, literal, lying
from vizkit.figure.class_bars import distinct
from vizkit.figure.scales import SHARES

if TYPE_CHECKING:
    import plotly.graph_objects as go

CELL_PX = 24


def class_matrix(names: Sequence[str], times: np.ndarray, row: str, column: str, value: str) -> "go.Figure":
    """Times an equal share by (row, column), row 0 on top; NaN is left empty. `row`, `column` and `value` say what
    these are."""
    shown, scale = [literal(name) for name in distinct(names)], replace(SHARES, equal=1.0)
    figure = heat_map(times, "", "", x_names=shown, y_names=shown, scale=scale, height=150 + CELL_PX * len(shown))
    hover = f"{row}: %{{y}}<br>{column}: %{{x}}<br>{value}: %{{customdata:.3g}}<extra></extra>"
    figure.update_traces(hovertemplate=hover, xgap=1, ygap=1, colorbar=lying(value))
    for update in (figure.update_xaxes, figure.update_yaxes):
        update(type="category", dtick=1)
    return figure.update_xaxes(tickangle=-90)
