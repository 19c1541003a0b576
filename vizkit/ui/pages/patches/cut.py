"""The view Cut: the model's own input pulled apart, and the numbers of the patch under the cursor."""

import streamlit as st
import torch
from torch import Tensor

from vizkit.analysis.attention.attention_map import layers, windows_of
from vizkit.analysis.attention.patches import patchify
from vizkit.analysis.remarks import patches
from vizkit.figure.charts import heat_map
from vizkit.figure.patches import pulled_apart, strip
from vizkit.geometry import cell_of, id_at, name_of
from vizkit.image import Picture, prepare, unprepare
from vizkit.traces import NotApplicable, Tokens
from vizkit.ui import reading
from vizkit.ui.session import cached
from vizkit.ui.session.shown import Shown
from vizkit.ui.views import Page
from vizkit.ui.widgets import canvases
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.query_map import show_map
from vizkit.ui.widgets.remark import remark


def view(page: Page) -> None:
    """The model's own input pulled apart, and everything about the patch under the cursor."""
    for index, (column, shown) in enumerate(page.columns()):
        with column:
            reading.guarded(cut, index, shown, page.picture)
    reading.how(
        "The picture is the input of this model: resized, cropped, and cut into patches in reading order, numbered "
        "from 1. Click a patch: its pixels become one row of numbers, and a linear layer turns "
        "that row into the vector the transformer works with.",
        r"x_p \in \mathbb{R}^{N \times P^2 C}, \quad z_0 = [x_{\text{class}};\, x_p E] + E_{pos}, \quad N = HW / P^2",
        "which patches matter for the answer.",
        "Dosovitskiy et al. 2020, eq. 1",
    )


def cut(index: int, shown: Shown, picture: Picture) -> None:
    tokens = _first_tokens(shown)
    assert tokens.grid is not None
    pixels = prepare(picture.rgb, shown.loaded.preprocessing)[0]
    point = shown.query if not isinstance(shown.query, str) else (0.5, 0.5)
    chosen = id_at(tokens, point)
    assert chosen is not None
    cell = cell_of(tokens, chosen)
    assert cell is not None
    patch = round(tokens.stride)
    number = cell[0] * tokens.grid[1] + cell[1]
    special = "".join(f" `[{name}]`" for name in tokens.special)
    st.caption(
        f"{tokens.grid[0]} × {tokens.grid[1]} = {tokens.grid[0] * tokens.grid[1]} patches of {patch} × {patch} × "
        f"{len(pixels)} = {patch * patch * len(pixels)} numbers" + (f" · in front:{special}" if special else "")
    )
    seen = unprepare(pixels, shown.loaded.preprocessing)
    apart = pulled_apart(seen, tokens.grid)
    show_map(
        f"cut{index}_{shown.source}", canvases.grid_for_browser(tokens), shown, picture, "image only",
        "Click a patch to read its numbers. The input of", instead=apart,
    )  # fmt: skip
    remark(patches.tokens(tokens.grid, len(tokens.special), windows_of(shown.trace, tokens)))
    flat = patchify(torch.from_numpy(pixels), patch)[number].numpy()
    st.markdown(f"**Patch {number + 1}** · {name_of(tokens, chosen)}")
    st.image(strip(flat), alt="The numbers of the patch, blue below zero, red above", width="stretch")
    st.caption(f"its {len(flat)} numbers, colour by colour, row by row: {reading.listed(flat)}")
    embedded = cached.patch_embedding(shown.source, picture, shown.loaded)
    vector = embedded.vectors[cell].numpy()
    st.image(strip(vector), alt="The embedded patch, blue below zero, red above", width="stretch")
    st.caption(f"its embedding of {len(vector)} numbers, before positions are added: {reading.listed(vector)}")
    if embedded.feature_map is not None:
        hybrid(index, embedded.feature_map)


def hybrid(index: int, feature_map: Tensor) -> None:
    """What a hybrid embeds instead of pixels."""
    channels, rows, columns = feature_map.shape
    st.caption(f"This hybrid embeds no pixels: first a CNN makes {rows} × {columns} places of {channels} channels.")
    strength = feature_map.norm(dim=0).numpy()
    figure = heat_map(strength, "column", "row", "Length of the CNN's vectors", height=300)
    chart(figure, f"hybrid_{index}", "Length of the CNN's vector at every place")


def _first_tokens(shown: Shown) -> Tokens:
    tokens = next((layer.query for layer in layers(shown.trace) if layer.query.grid), None)
    if tokens is None:
        raise NotApplicable(
            "A convolutional network slides over the image and cuts no patches; see its stages in Explore."
        )
    return tokens
