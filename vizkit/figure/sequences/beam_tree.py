"""A beam search as a tree: every text that was kept on the way, from left to right."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from vizkit.figure.charts import laid_out, literal
from vizkit.figure.palette import CLASSES, OTHERS

if TYPE_CHECKING:
    import plotly.graph_objects as go

ROW_PX = 54


@runtime_checkable
class Hypothesis(Protocol):
    """A text so far: its last word, how many words it has, and the number of the text that it goes on from."""

    @property
    def word(self) -> str: ...
    @property
    def depth(self) -> int: ...
    @property
    def parent(self) -> int | None: ...
    @property
    def probability(self) -> float: ...
    @property
    def log_probability(self) -> float: ...


def beam_tree(tree: Sequence[Hypothesis], best: Sequence[int]) -> "go.Figure":
    """`tree`: parents before children; `best`: the numbers of the texts on the way to the answer, drawn in colour.

    In every step the most probable text stands on top.
    """
    import plotly.graph_objects as go

    height = {}
    for depth in range(max(each.depth for each in tree) + 1):
        now = [i for i, each in enumerate(tree) if each.depth == depth]
        now.sort(key=lambda i: -tree[i].log_probability)
        height |= {i: -rank for rank, i in enumerate(now)}
    chosen = set(best)
    drawn = []
    for inside, ink, width in ((False, OTHERS, 1), (True, CLASSES[0], 3)):
        x, y = [], []
        for i, each in enumerate(tree):
            if each.parent is not None and (i in chosen) is inside:
                x += [tree[each.parent].depth, each.depth, None]
                y += [height[each.parent], height[i], None]
        drawn.append(go.Scatter(x=x, y=y, mode="lines", line={"color": ink, "width": width}, hoverinfo="skip"))
    words = go.Scatter(
        x=[each.depth for each in tree],
        y=[height[i] for i in range(len(tree))],
        mode="markers+text",
        marker={"size": 9, "color": [CLASSES[0] if i in chosen else OTHERS for i in range(len(tree))]},
        text=[literal(each.word or "[BEGIN]") for each in tree],
        textposition="top center",
        textfont={"size": 13},
        customdata=[(each.probability, each.log_probability) for each in tree],
        hovertemplate="%{text}: %{customdata[0]:.2%} after the word before<br>"
        "log probability of the whole %{customdata[1]:.3f}<extra></extra>",
        cliponaxis=False,
    )
    rows = 1 - min(height.values())
    figure = laid_out([*drawn, words], "step", "", height=90 + ROW_PX * rows, showlegend=False)
    figure.update_xaxes(dtick=1, showgrid=False, zeroline=False, range=[-0.6, tree[-1].depth + 0.6])
    return figure.update_yaxes(visible=False, range=[0.4 - rows, 0.75])
