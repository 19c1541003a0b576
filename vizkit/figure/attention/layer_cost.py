"""What one layer costs against the side of the image: a line for each way of cutting, and a dot at what is chosen."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from vizkit.figure.charts import curves
from vizkit.figure.palette import CLASSES

if TYPE_CHECKING:
    import plotly.graph_objects as go

SIDES_PX = (16, 64, 224, 384, 512, 768, 1024, 2048)
HEIGHT = 310


def layer_cost(lines: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> "go.Figure":
    """`lines`: (sides in pixels, multiply–adds), as of `cost_curves`, and the dot "chosen". Windows are dashed in the
    colour of patches of the same size."""
    drawn = {short(name): line for name, line in lines.items()}
    figure = curves(drawn, "image side (px)", "multiply–adds", "One layer, attention and MLP", log=True)
    for name in drawn:
        patches, _, windows = name.partition(",")
        colour = CLASSES[list(drawn).index(patches)]
        figure.update_traces(line={"color": colour, "dash": "dash" if windows else "solid"}, selector={"name": name})
    figure.update_traces(mode="markers", marker={"size": 12, "color": CLASSES[5]}, selector={"name": "chosen"})
    figure.update_xaxes(tickvals=SIDES_PX, ticktext=[f"{side:,}" for side in SIDES_PX])
    figure.update_yaxes(tickformat="~s")  # 1 G, as the numbers beside it, where plotly would write 1 B
    return figure.update_layout(height=HEIGHT)


def short(name: str) -> str:
    """For a legend on a phone: "4 px, windows"."""
    return name.replace(" patches", "").partition(" of ")[0]
