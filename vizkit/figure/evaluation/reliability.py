"""How often a model is right where it gives its answer a certain probability, as a Vega-Lite chart."""

from collections.abc import Sequence
from typing import Any

Spec = dict[str, Any]
HEIGHT = 260
DIAGONAL = "#8a8fa3"  # stands out from a white and from a nearly black page


def reliability(
    low: Sequence[float],
    width: float,
    confidence: Sequence[float],
    accuracy: Sequence[float],
    images: Sequence[int],
    colour: str,
) -> Spec:
    """A bar for each bin of probability, from `low` on: the share right. On the dashed diagonal a model is as often
    right as it says. Bins with few of the images are pale: their share is unsure."""
    import pandas as pd

    most = max(images, default=1)
    table = pd.DataFrame({
        "low": low, "high": [each + width for each in low], "confidence": confidence, "accuracy": accuracy,
        "images": images, "weight": [0.35 + 0.65 * (count / most) ** 0.5 for count in images],
    })  # fmt: skip
    unit = {"type": "quantitative", "scale": {"domain": [0, 1], "nice": False}}
    ticks = {"values": [0, 0.25, 0.5, 0.75, 1], "format": ".2~f", "gridOpacity": 0.5, "domain": False}
    return {
        "datasets": {"bins": table, "diagonal": pd.DataFrame({"at": [0.0, 1.0]})},
        "height": HEIGHT,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "layer": [
            {
                "data": {"name": "bins"},
                "mark": {"type": "rect", "color": colour, "cornerRadius": 1},
                "encoding": {
                    "x": unit | {"field": "low", "axis": ticks | {"title": "probability of the answer"}},
                    "x2": {"field": "high"},
                    "y": unit | {"field": "accuracy", "axis": ticks | {"title": "share right"}},
                    "y2": {"datum": 0},
                    "opacity": {"field": "weight", "type": "quantitative", "scale": None, "legend": None},
                    "tooltip": [
                        {"field": "confidence", "title": "mean probability", "type": "quantitative", "format": ".3f"},
                        {"field": "accuracy", "title": "share right", "type": "quantitative", "format": ".3f"},
                        {"field": "images", "title": "pictures", "type": "quantitative", "format": ","},
                    ],
                },
            },
            {
                "data": {"name": "diagonal"},
                "mark": {"type": "line", "color": DIAGONAL, "strokeDash": [5, 4], "strokeWidth": 2},
                "encoding": {"x": unit | {"field": "at"}, "y": unit | {"field": "at"}},
            },
        ],
    }
