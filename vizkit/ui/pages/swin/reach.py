"""Which pixels can reach a token of the last stage, block by block, and how strongly."""

import numpy as np
import streamlit as st
from torch import Tensor

from vizkit.analysis.attribution.rollout import Rollout, rollout_by_layer, rollout_matrix
from vizkit.analysis.remarks import swin
from vizkit.analysis.swin.receptive_field import Field, holding, reached_after, receptive_fields
from vizkit.analysis.swin.shifted_windows import cut, layout, strangers
from vizkit.figure.canvas.rows import Rows
from vizkit.figure.swin.reach import growth, reach
from vizkit.geometry import id_at
from vizkit.image import Picture
from vizkit.models.probes.swin_stages import Stage, hierarchy
from vizkit.ui import reading
from vizkit.ui.session import cached
from vizkit.ui.session.shown import Shown
from vizkit.ui.views import Page
from vizkit.ui.widgets import canvases
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.query_map import show_map
from vizkit.ui.widgets.remark import remark

HELD = 0.9


def view(page: Page) -> None:
    shown, picture = page.focus, page.picture
    stages = hierarchy(shown.loaded, shown.trace.image_size)
    fields = _fields_of(shown, stages)
    last = fields[-1]
    names = [f"{stage + 1}.{block + 1}" for stage in range(len(stages)) for block in range(len(stages[stage].blocks))]
    grown: list[Rollout] = cached.made(
        shown.source, picture, shown.loaded, ("rollout by layer", last.cell),
        lambda: rollout_by_layer(shown.trace, last.cell),
    )  # fmt: skip
    left, right = st.columns(2)
    with left:
        st.markdown("**How strongly: rollout**")
        show_map("reach_map", for_browser(shown, picture, grown[-1]), shown, picture, "over image", "Rollout of")
    with right:
        st.markdown("**Which pixels at all: after which block they first reach it**")
        box = shown.box_xyxy
        shaded = reach(picture.rgb, reached_after(fields).numpy(), box, _token_box(last, box), len(fields))
        st.image(shaded, alt="The image shaded by the block after which a place reaches the token", width="stretch")
        full = next((name for name, field in zip(names, fields, strict=True) if field.share == 1), None)
        rows, columns = last.grid
        st.caption(
            f"Token in row {last.cell[0] + 1}, column {last.cell[1] + 1} of {rows} × {columns} · "
            + (f"the whole image reaches it after block {full}" if full else f"{last.share:.0%} of the image reach it")
        )
    remark(swin.reach(full, last.share, holding(grown[-1].grid, HELD), HELD))
    round_the_edge(stages)
    figure = growth(
        names,
        [field.share for field in fields],
        [holding(rolled.grid, HELD) for rolled in grown],
        ("can reach it", f"holds {HELD:.0%} of rollout"),
    )
    chart(figure, "reach_growth", "Share of the image that can reach the token, block by block")
    reading.how(
        "Click a place to choose the token of the last stage that lies there: the shades, early blocks dark and late "
        "ones bright, follow windows, shifts and mergings back as sets, and nothing outside them can change the "
        "token, whatever the weights are. The bars give, after every block, the field of all tokens that are merged "
        "into this one, the dots how much of the image holds nine tenths of what rollout traces back from the one in "
        "their middle.",
        r"\begin{gathered} S_{l-1} = S_l \cup \{\, j : \exists\, i \in S_l \text{ that may see } j \,\} \\ "
        r"R = \hat A_L \cdots \hat A_1 \end{gathered}",
        "what the token does with what reaches it. Rollout ignores values, MLPs and normalisation.",
        "Liu et al. 2021, § 3.2; Abnar & Zuidema 2020, eq. 1; effective fields: Luo et al. 2016",
    )


def _fields_of(shown: Shown, stages: tuple[Stage, ...]) -> list[Field]:
    """The field of the last stage's token under the cursor after every block."""
    regions = [
        cut(layout(stage.grid, block.window, block.shift, pad_first=stage.pad_first).regions, block.window)
        for stage in stages
        for block in stage.blocks
    ]
    return receptive_fields(shown.trace, regions, shown.query if isinstance(shown.query, tuple) else (0.5, 0.5))


def round_the_edge(stages: tuple[Stage, ...]) -> None:
    """Say so where a mask lets opposite edges of the image meet: the field then goes on at the other side."""
    met = 0
    for stage in stages:
        for block in stage.blocks:
            windows = layout(stage.grid, block.window, block.shift, pad_first=stage.pad_first)
            padded = windows.ids.numel() > len(stage.tokens)
            met += sum(strangers(windows, window) for window in range(windows.count)) if padded else 0
    if met:
        st.caption(
            ":material/info: The windows do not divide this grid, and the mask of the shifted blocks counts the "
            f"padding too: {met:,} pairs of tokens from opposite edges of the image may see each other. So the field "
            "goes on at the other side; the model really does this."
        )


def _token_box(field: Field, box_xyxy: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
    """A token's share of the model's input, in pixels of the picture."""
    x0, y0, x1, y1 = box_xyxy
    (row, column), (rows, columns) = field.cell, field.grid
    width, height = (x1 - x0) / columns, (y1 - y0) / rows
    return x0 + column * width, y0 + row * height, x0 + (column + 1) * width, y0 + (row + 1) * height


def for_browser(shown: Shown, picture: Picture, rolled: Rollout) -> Rows:
    """The rollout of every token of the last stage, as a card reads it; only the chosen one where they are too many."""
    last = next(layer.query for layer in reversed(shown.trace.attention) if layer.query.grid)
    if len(last) * len(rolled.tokens) <= canvases.MAX_MATRIX:
        rows: Tensor = cached.made(
            shown.source, picture, shown.loaded, ("rollout matrix",), lambda: rollout_matrix(shown.trace)
        )
        values, query_ids = rows.numpy(), None
    else:
        token = id_at(last, shown.query if isinstance(shown.query, tuple) else (0.5, 0.5))
        values, query_ids = rolled.grid.flatten()[None].numpy(), np.array([token])
    return Rows(values, rolled.tokens.grid, last.grid, query_ids)
