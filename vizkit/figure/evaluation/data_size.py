"""Accuracy against the number of training pictures: a line for each family."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from vizkit.figure.charts import laid_out
from vizkit.figure.evaluation.accuracy_cost import colour_of, ordered
from vizkit.figure.palette import OTHERS

if TYPE_CHECKING:
    import plotly.graph_objects as go

SYMBOLS = {"CNN": "circle", "ViT": "square", "DeiT": "triangle-up", "Swin": "diamond"}


@dataclass(frozen=True)
class Line:
    """One family. Shares from 0 to 1: the mean over seeds with its standard error, at so many training `images`;
    `seeds`: what each of several seeds reached, at each number of images."""

    family: str
    images: Sequence[int]
    mean: Sequence[float]
    error: Sequence[float]
    seeds: Sequence[Sequence[float]] = ()


def data_size(lines: Sequence[Line], chance: float | None, sizes: Sequence[int]) -> "go.Figure":
    """Logarithmic in the pictures; whiskers of one standard error, hollow points for several seeds. `chance`: what a
    guess reaches, a dashed line. `sizes`: the ticks."""
    import plotly.graph_objects as go

    ends = [sizes[0] * 0.82, sizes[-1] * 1.6]  # the last number has room beside it
    families = ordered([line.family for line in lines])
    drawn: list[Any] = [part for line in lines for part in parts(line, colour_of(line.family, families))]
    if chance is not None:
        drawn.append(go.Scatter(x=ends, y=[chance] * 2, mode="lines", name=f"chance {chance:.1%}", hoverinfo="skip",
                                line={"color": OTHERS, "width": 1.5, "dash": "dash"}))  # fmt: skip
    figure = laid_out(drawn, "training images", "test accuracy", height=440, showlegend=True)
    figure.update_xaxes(type="log", range=np.log10(ends).tolist(), tickvals=list(sizes),
                        ticktext=[f"{size:,}" for size in sizes])  # fmt: skip
    return figure.update_yaxes(range=[0, min(1.02, 1.05 * highest(lines))], tickformat=".0%")


def highest(lines: Sequence[Line]) -> float:
    """What a whisker or a seed reaches at most; all, where there is none."""
    ends = [mean + error for line in lines for mean, error in zip(line.mean, line.error, strict=True)]
    seeds = [reached for line in lines for several in line.seeds for reached in several]
    return max([*ends, *seeds], default=1.0)


def parts(line: Line, colour: str) -> list[Any]:
    """Its means with whiskers, and where there are several seeds what each of them reached."""
    import plotly.graph_objects as go

    look = {"name": line.family, "legendgroup": line.family}
    symbol = SYMBOLS.get(line.family, "cross")
    means = go.Scatter(
        x=list(line.images), y=list(line.mean), error_y={"array": list(line.error), "thickness": 2, "width": 0},
        mode="lines+markers", line={"color": colour, "width": 2.5}, marker={"size": 9, "symbol": symbol}, **look,
        hovertemplate="%{x:,} images: %{y:.1%} ± %{error_y.array:.1%}<extra>%{fullData.name}</extra>",
    )  # fmt: skip
    dots = [(images, accuracy) for images, several in zip(line.images, line.seeds, strict=False)
            if len(several) > 1 for accuracy in several]  # fmt: skip
    if not dots:
        return [means]
    x, y = zip(*dots, strict=True)
    hollow = {"size": 8, "symbol": f"{symbol}-open", "color": colour, "line": {"width": 1.5}}
    return [means, go.Scatter(x=x, y=y, mode="markers", marker=hollow, showlegend=False, **look,
                              hovertemplate="one seed: %{y:.1%}<extra>%{fullData.name}</extra>")]  # fmt: skip
