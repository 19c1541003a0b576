"""How often a model is right where it gives its answer a certain probability."""

from collections.abc import Sequence

from vizkit.figure.charts import Figure, laid_out, line
from vizkit.figure.palette import OTHERS, faint


def reliability(
    low: Sequence[float],
    width: float,
    confidence: Sequence[float],
    accuracy: Sequence[float],
    images: Sequence[int],
    colour: str,
    name: str,
) -> Figure:
    """A bar for each bin of probability, from `low` on: the share right. On the dashed diagonal a model is as often
    right as it says. Bins with few of the images are pale: their share is unsure."""
    import plotly.graph_objects as go

    most = max(images, default=1)
    bins = go.Bar(
        x=list(low),
        y=list(accuracy),
        name=name,
        width=width,
        offset=0,
        marker={
            "color": [faint(colour, round(0.35 + 0.65 * (count / most) ** 0.5, 3)) for count in images],
            "line": {"color": colour, "width": 1},
        },
        customdata=[*zip(confidence, images, strict=True)],
        hovertemplate="mean probability %{customdata[0]:.3f}<br>share right %{y:.3f}<br>images: %{customdata[1]:,}"
        "<extra></extra>",
    )
    diagonal = line([0, 1], [0, 1], "as often right as it says", OTHERS, 2, "dash", hoverinfo="skip")
    figure = laid_out([bins, diagonal], "probability of the answer", "share right", height=300, showlegend=False)
    for update in (figure.update_xaxes, figure.update_yaxes):
        update(range=[0, 1], dtick=0.25)
    return figure
