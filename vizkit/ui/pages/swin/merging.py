"""Patch merging on real features: four neighbours become one token of twice the width."""

from collections.abc import Sequence

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from torch import Tensor

from vizkit.analysis.attention.positions import pca_rgb
from vizkit.analysis.remarks import swin
from vizkit.figure.charts import bars
from vizkit.figure.feature_map import feature_map, neighbours
from vizkit.figure.patches import strip
from vizkit.geometry import id_at
from vizkit.image import Picture, prepare, unprepare
from vizkit.models import pixels_of
from vizkit.models.probes.patch_merging import NEIGHBOURS, Merged
from vizkit.models.probes.swin_stages import Stage, hierarchy
from vizkit.ui import reading
from vizkit.ui.pages.swin.place import choose_place
from vizkit.ui.session import cached
from vizkit.ui.session.shown import Shown
from vizkit.ui.views import Page
from vizkit.ui.widgets import canvases
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.query_map import show_map
from vizkit.ui.widgets.remark import remark

COLOURS = ("main components", "lengths")
CORNERS = {(0, 0): "top left", (1, 0): "bottom left", (0, 1): "top right", (1, 1): "bottom right"}


def view(page: Page) -> None:
    shown, picture = page.focus, page.picture
    place = choose_place(shown, "stage")
    stages = hierarchy(shown.loaded, shown.trace.image_size)
    table(stages, place.stage)
    merged = _merged_of(shown, picture, place.stage)
    tokens = stages[place.stage + 1].tokens
    token_id = id_at(tokens, shown.query if isinstance(shown.query, tuple) else (0.5, 0.5))
    assert token_id is not None
    assert tokens.grid is not None
    cell = divmod(token_id, tokens.grid[1])
    colours = st.segmented_control(
        "Colours", COLOURS, default=COLOURS[0], required=True, key="merging_colours", bind="query-params",
        help="The three main components of the tokens' vectors as red, green and blue, or the length of each vector.",
    )  # fmt: skip
    columns = st.columns(4)
    with columns[0]:
        st.markdown("**Click a token of the next stage**")
        show_map("merging_pick", canvases.grid_for_browser(tokens), shown, picture, "image only", "Tokens of")
    maps(merged, cell, colours == COLOURS[1], columns[1:])
    vectors(shown, picture, merged, cell)
    reading.how(
        "Four neighbours stand side by side as one long vector, are normalised, and a linear map halves it: a quarter "
        "of the tokens, each twice as wide and standing for four times the pixels. Places of one colour have "
        "similar vectors; the colours of two pictures mean different things.",
        r"\begin{gathered} y = W\,\mathrm{LN}\big([x_{00};\, x_{10};\, x_{01};\, x_{11}]\big), \quad "
        r"W \in \mathbb{R}^{2C \times 4C} \\ \text{v2: } y = \mathrm{LN}(W [x_{00}; \dots]) \end{gathered}",
        "which of the numbers matter later. A long part of one neighbour may be undone by another's.",
        "Liu et al. 2021, § 3.1; Liu et al. 2022",
    )


def table(stages: tuple[Stage, ...], chosen: int) -> None:
    """What a token stands for in every stage."""
    st.table(
        [
            {
                "stage": f"**{index + 1}**" if index == chosen else str(index + 1),
                "grid": f"{stage.grid[0]} × {stage.grid[1]}",
                "tokens": f"{len(stage.tokens):,}",
                "channels": str(stage.channels),
                "a token's pixels": f"{stage.tokens.stride:.0f} × {stage.tokens.stride:.0f} = "
                f"{stage.tokens.stride**2:,.0f}",
                "numbers in all": f"{len(stage.tokens) * stage.channels:,}",
            }
            for index, stage in enumerate(stages)
        ]
    )


def _merged_of(shown: Shown, picture: Picture, stage: int) -> Merged:
    from vizkit.models.probes.patch_merging import leaving, merged, merging_layer

    merging_layer(shown.loaded, stage)  # says so after the last stage

    def make() -> Merged:
        with cached.device_lock():
            features = leaving(shown.loaded, pixels_of(shown.loaded, picture.rgb), shown.trace, stage)
            return merged(shown.loaded, features, stage)

    return cached.made(shown.source, picture, shown.loaded, ("merged", stage), make)


def maps(merged: Merged, cell: tuple[int, int], lengths: bool, columns: Sequence[DeltaGenerator]) -> None:
    row, column = cell
    own = (row, column, row + 1, column + 1)
    rows, across, _ = merged.before.shape
    four = (2 * row, 2 * column, min(2 * row + 2, rows), min(2 * column + 2, across))
    steps: list[tuple[str, Tensor, tuple[int, int, int, int]]] = [
        ("What leaves the stage", merged.before, four),
        ("Four side by side", merged.beside, own),
        ("What the next stage gets", merged.after, own),
    ]
    for place, (name, values, chosen) in zip(columns, steps, strict=True):
        rows, across, channels = values.shape
        if lengths:
            shown, words = values.norm(dim=-1).numpy(), "length of the vectors"
        else:
            colours = pca_rgb(values)
            shown, words = colours.rgb.numpy(), f"{float(colours.explained.sum()):.0%} of the variance"
        with place:
            st.markdown(f"**{name}**")
            st.image(feature_map(shown, chosen), alt=f"{name}, one colour for each token", width="stretch")
            st.caption(f"{rows} × {across} tokens of {channels} numbers · {words}")


def vectors(shown: Shown, picture: Picture, merged: Merged, cell: tuple[int, int]) -> None:
    """The chosen token's four neighbours, and what becomes of them."""
    row, column = cell
    st.markdown(f"**The token of row {row + 1}, column {column + 1}: its four neighbours in the order of the model**")
    left, right = st.columns([1, 3])
    with left:
        st.image(
            neighbours(pixels(shown, picture, merged, cell), list(NEIGHBOURS)),
            alt="The pixels of the four neighbours, numbered in their order",
            width="content",
        )
        names = [f"{n + 1} {CORNERS[at]}" for n, at in enumerate(NEIGHBOURS)]
        figure = bars(names, merged.parts[row, column].tolist(), "length", "Contribution of each")
        said = swin.largest_part(merged.parts[row, column], names)
        chart(figure, "merging_parts", "What each of four neighbours contributes to the merged token")
        remark(said)
    with right:
        channels = merged.before.shape[-1]
        steps = [
            (f"1 2 3 4 side by side: 4 × {channels} numbers", merged.beside),
            *([(f"after LayerNorm: {4 * channels}", merged.normalised)] if merged.norm_first else []),
            (f"after the linear map: {merged.mapped.shape[-1]}", merged.mapped),
            *([] if merged.norm_first else [(f"after LayerNorm: {merged.mapped.shape[-1]}", merged.normalised)]),
        ]
        for name, values in steps:
            vector = values[row, column].numpy()
            st.markdown(name)
            st.image(strip(vector, height=26, width=1024), alt=name, width="stretch")
            low, high, length = vector.min(), vector.max(), np.linalg.norm(vector)
            st.caption(f"from {low:.2f} (blue) to {high:.2f} (red) · length {length:.2f}")
        text = f"the model's own layer gives the same, {reading.within('', merged.error).strip()}"
        st.caption(f":green[:material/verified: {text}]" if merged.error <= 1e-4 else f":red[:material/error: {text}]")


def pixels(shown: Shown, picture: Picture, merged: Merged, cell: tuple[int, int]) -> np.ndarray:
    """The part of the model's input that the four neighbours stand for; an edge is repeated where they are padding."""
    seen = unprepare(prepare(picture.rgb, shown.loaded.preprocessing)[0], shown.loaded.preprocessing)
    rows, columns = merged.before.shape[:2]
    height, width = round(2 * seen.shape[0] / rows), round(2 * seen.shape[1] / columns)
    down = (cell[0] * height + np.arange(height)).clip(max=seen.shape[0] - 1)
    across = (cell[1] * width + np.arange(width)).clip(max=seen.shape[1] - 1)
    return np.ascontiguousarray(seen[down][:, across])
