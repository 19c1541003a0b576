"""Precision against recall, a line for each class and their mean."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float

from vizkit.figure.charts import Figure, curves
from vizkit.figure.palette import OTHERS

Curve = Float[np.ndarray, "_recall"]


def precision_recall(
    recall: Curve, lines: Mapping[str, Curve], colours: Sequence[str], mean: tuple[str, Curve]
) -> Figure:
    """Shares from 0 to 1. The mean, by its name, is grey and thick."""
    every = {mean[0]: mean[1], **lines}
    figure = curves({name: (recall, line) for name, line in every.items()}, "recall", "precision")
    for drawn, colour in zip(figure.data, [OTHERS, *colours], strict=True):
        drawn.line = {"color": colour, "width": 5 if colour == OTHERS else 1.5}
    figure.update_xaxes(range=[0, 1.01])
    return figure.update_yaxes(range=[0, 1.02])
