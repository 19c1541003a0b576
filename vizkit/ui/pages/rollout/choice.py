"""What can be chosen on the Rollout page: whose row, how layers are multiplied, how it is drawn."""

from dataclasses import dataclass
from typing import cast

import streamlit as st

from vizkit.analysis.attention.fusion import Fusion
from vizkit.report.kinds.rollout import Scale
from vizkit.traces import Attention, Tokens, Trace
from vizkit.ui.session.shown import Shown, keep_valid
from vizkit.ui.widgets.controls import choose_drawing, more
from vizkit.ui.widgets.player import player

QUERIES = {
    "cls": "class",
    "dist": "distillation",
    "cls+dist": "class + distillation",
    "mean": "mean of places",
    "patch": "patch",
}
SCALES = ("from 0", "from lowest", "shared")


@dataclass(frozen=True)
class Choice:
    """`query`: a key of QUERIES or a special token. `start` and `depth` count layers from 1: those from start to depth
    are multiplied."""

    query: str
    fusion: Fusion
    discard: float
    residual: float
    start: int
    depth: int
    scale: Scale
    draw: str
    full: bool


@dataclass(frozen=True)
class Ready:
    """A model that rollout can follow. `layers`: those that are multiplied; `tokens`: those with a row."""

    shown: Shown
    trace: Trace
    layers: list[Attention]

    @property
    def tokens(self) -> Tokens:
        return next(layer.query for layer in reversed(self.layers) if layer.query.grid)

    @property
    def depth(self) -> int:
        return sum(layer.learned for layer in self.layers)

    def grid_after(self, layer: int) -> tuple[int, int] | None:
        """The grid on which layer `layer`, counted from 1, has its queries."""
        end = [i for i, attention in enumerate(self.layers) if attention.learned][layer - 1]
        return next((attention.query.grid for attention in self.layers[end::-1] if attention.query.grid), None)


def choices(able: list[Ready]) -> Choice:
    depth = max(ready.depth for ready in able)
    special = dict.fromkeys(name for ready in able for layer in ready.layers for name in layer.query.special)
    named = [name for name in QUERIES if name in ("cls", "mean", "patch") or set(name.split("+")) <= set(special)]
    options = [*named, *(name for name in special if name not in named and name != "pool")]
    keep_valid("rollout_query", options)
    keep_valid("rollout_depth", range(1, depth + 1))
    keep_valid("rollout_start", range(1, depth + 1))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        query = st.pills(
            "Whose row", options, default="cls", required=True, key="rollout_query", bind="query-params", wrap=True,
            format_func=lambda name: QUERIES.get(name, f"[{name}]"),
            help="“Class” is the class token; in a model without one it is what the head reads instead, a pool or the "
            "mean. A click in a picture chooses that patch.",
        )  # fmt: skip
        fusion = st.segmented_control(
            "Heads", ["mean", "max", "min"], default="mean", required=True, key="rollout_fusion", bind="query-params",
            help="How the heads of a layer become one matrix. Rows are divided by their sum afterwards.",
        )  # fmt: skip
    with st.container(horizontal=True, vertical_alignment="bottom"):
        discard = st.slider(
            "Discard", 0.0, 0.95, 0.0, 0.05, key="rollout_discard", bind="query-params", width=150,
            help="This share of each layer's weights, the smallest, is set to zero; never what a token keeps itself.",
        )  # fmt: skip
        residual = st.slider(
            "Residual", 0.0, 1.0, 0.5, 0.05, key="rollout_residual", bind="query-params", width=150,
            help="The weight of the residual connection: 0: attention alone, 1: the identity. The paper takes 0.5.",
        )  # fmt: skip
        start = st.slider(
            "From layer", 1, max(2, depth), 1, key="rollout_start", bind="query-params", width=150, disabled=depth < 2,
            help="Layers before it are left out, as if they were the identity.",
        )  # fmt: skip
        upto = st.slider(
            "Up to layer", 1, max(2, depth), depth, key="rollout_depth", bind="query-params", width=150,
            disabled=depth < 2, help="Where the product ends: step through the layers to see the row develop.",
        )  # fmt: skip
        with st.container(width=110):
            player("rollout_play", "rollout_depth", int(start), depth, "Play the layers one after another")
        opened = more()
    with opened:
        scale = st.segmented_control(
            "Colours", SCALES, default=SCALES[0], required=True, key="rollout_scale", bind="query-params",
            help="From 0 to each map's largest value; from its lowest, which shows small differences; or from 0 to one "
            "value for all layers of a model.",
        )  # fmt: skip
        draw = choose_drawing()
        full = st.toggle(
            "Full matrix", key="rollout_full", bind="query-params",
            help="The rows of all tokens at once, as a picture; with the query “patch”, hovering then shows any "
            "patch's row. It takes the work of one row for every token.",
        )  # fmt: skip
    fused = fusion if fusion in ("max", "min") else "mean"
    return Choice(query or "cls", fused, float(discard), float(residual), int(start), int(upto), cast(Scale, scale),
                  draw, full)  # fmt: skip
