"""The Patches page: the image as the sequence that a transformer reads, and what it costs."""

from typing import TYPE_CHECKING

import streamlit as st

from vizkit.image import Picture, prepare, unprepare
from vizkit.ui import reading
from vizkit.ui.pages.patches.cost import cost
from vizkit.ui.session import cached
from vizkit.ui.session.chosen import picture as chosen_picture
from vizkit.ui.session.shown import Shown, choose_view, focus_of, keep_valid, one_after_another, side_by_side
from vizkit.ui.widgets import canvases
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.query_map import show_map

if TYPE_CHECKING:
    from torch import Tensor

    from vizkit.traces import Features, Tokens

VIEWS = ("Cut", "Compare in depth", "Filters", "Norms", "Cost")


def view(picture: Picture, sources: list[str]) -> None:
    chosen = choose_view("patches_view", VIEWS)
    if chosen == "Cost":
        cost()
    elif chosen == "Cut":
        cut(picture, sources)
    elif chosen == "Compare in depth":
        compare(picture, sources)
    else:
        with_focus(picture, sources, filters if chosen == "Filters" else norms)


# ---- cut -------------------------------------------------------------------------------------------------------------
@st.fragment
def cut(picture: Picture, sources: list[str]) -> None:
    """The model's own input pulled apart, and everything about the patch under the cursor."""
    found = side_by_side(picture, sources)
    for index, (column, one) in enumerate(found):
        with column:
            reading.guarded(cut_one, index, one, picture)
    reading.how(
        "The picture is what this model really gets: resized, cropped, and cut into patches in reading order, numbered "
        "from 1. Click a patch in the small picture: its pixels become one row of numbers, and a linear layer turns "
        "that row into the vector the transformer works with.",
        r"x_p \in \mathbb{R}^{N \times P^2 C}, \quad z_0 = [x_{\text{class}};\, x_p E] + E_{pos}, \quad N = HW / P^2",
        "which patches matter for the answer.",
        "Dosovitskiy et al. 2020, eq. 1",
    )


def cut_one(index: int, one: Shown, picture: Picture) -> None:
    from vizkit.analysis.attention.patches import patchify
    from vizkit.figure.patches import pulled_apart, strip
    from vizkit.geometry import cell_of, id_at, name_of

    tokens = first_tokens(one)
    assert tokens.grid is not None
    pixels = prepare(picture.rgb, one.loaded.preprocessing)[0]
    point = one.query if not isinstance(one.query, str) else (0.5, 0.5)
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
    seen = unprepare(pixels, one.loaded.preprocessing)
    st.image(
        pulled_apart(seen, tokens.grid, number), alt=f"The input of {one.source} cut into patches", width="stretch"
    )
    pick(index, one, picture, tokens)
    import torch

    flat = patchify(torch.from_numpy(pixels), patch)[number].numpy()
    st.markdown(f"**Patch {number + 1}** · {name_of(tokens, chosen)}")
    st.image(strip(flat), alt="The numbers of the patch, blue below zero, red above", width="stretch")
    st.caption(f"its {len(flat)} numbers, colour by colour, row by row: {reading.listed(flat)}")
    embedded = cached.patch_embedding(one.source, picture, one.loaded)
    vector = embedded.vectors[cell].numpy()
    st.image(strip(vector), alt="The embedded patch, blue below zero, red above", width="stretch")
    st.caption(f"its embedding of {len(vector)} numbers, before positions are added: {reading.listed(vector)}")
    if embedded.feature_map is not None:
        hybrid(index, embedded.feature_map)


def hybrid(index: int, feature_map: "Tensor") -> None:
    """What a hybrid embeds instead of pixels."""
    from vizkit.figure.charts import heat_map

    channels, rows, columns = feature_map.shape
    st.caption(f"This hybrid embeds no pixels: first a CNN makes {rows} × {columns} places of {channels} channels.")
    strength = feature_map.norm(dim=0).numpy()
    figure = heat_map(strength, "column", "row", "Length of the CNN's vectors", height=300)
    chart(figure, f"hybrid_{index}", "Length of the CNN's vector at every place")


def first_tokens(one: Shown) -> "Tokens":
    from vizkit.analysis.attention.attention_map import layers
    from vizkit.traces import NotApplicable

    tokens = next((layer.query for layer in layers(one.trace) if layer.query.grid), None)
    if tokens is None:
        raise NotApplicable(
            "A convolutional network slides over the image and cuts no patches; see its stages in Explore."
        )
    return tokens


def pick(index: int, one: Shown, picture: Picture, tokens: "Tokens") -> None:
    """The small picture to click in."""
    content = canvases.grid_for_browser(tokens)
    show_map(f"cut{index}_{one.source}", content, one, picture, "image only", "Click a patch to read its numbers.")


# ---- similarity through depth ----------------------------------------------------------------------------------------
@st.fragment
def compare(picture: Picture, sources: list[str]) -> None:
    controls = st.container()
    found = side_by_side(picture, sources)
    depth = max((len(one.trace.features) for _, one in found), default=0)
    if not depth:
        return
    keep_valid("block", range(1, depth + 1))
    with controls, st.container(width=320):
        block = int(st.slider("After block", 1, max(depth, 2), value=1, key="block", bind="query-params"))
    for index, (column, one) in enumerate(found):
        with column:
            reading.guarded(compare_one, index, one, picture, block)
    reading.how(
        "Click a patch: bright places have vectors that point the same way. Move the slider: after the first blocks "
        "mostly neighbours and like colours are alike, later whole objects or the whole background.",
        r"\cos(x_i, x_j) = \frac{x_i \cdot x_j}{\lVert x_i \rVert \lVert x_j \rVert}",
        "whether the model uses that likeness.",
        "Dosovitskiy et al. 2020; Raghu et al. 2021",
    )


def compare_one(index: int, one: Shown, picture: Picture, block: int) -> None:
    features = chosen_features(one, block)
    st.caption(f"`{features.name}` · {features.values.shape[1]} channels")
    content = canvases.similarity_for_browser(features.values, features.tokens, one.query)
    show_map(f"like{index}_{one.source}", content, one, picture, "map only", "Similarity of the chosen patch in")


def chosen_features(one: Shown, block: int) -> "Features":
    from vizkit.traces import NotApplicable

    if not one.trace.features:
        raise NotApplicable(f"{one.source} does not hand out the vectors between its blocks.")
    return one.trace.features[min(block, len(one.trace.features)) - 1]


# ---- filters, norms --------------------------------------------------------------------------------------------------
def with_focus(picture: Picture, sources: list[str], draw) -> None:  # noqa: ANN001
    found = one_after_another(picture, sources)
    if found:
        reading.guarded(draw, focus_of(found))


def filters(one: Shown) -> None:
    from vizkit.analysis.attention.patches import filters as components
    from vizkit.figure.charts import bars
    from vizkit.figure.patches import filter_tiles
    from vizkit.traces import NotApplicable

    weight = cached.patch_embedding(one.source, chosen_picture(), one.loaded).weight
    if weight is None:
        raise NotApplicable("This model embeds the feature map of a CNN: its filters have no colours to show.")
    found = components(weight)
    left, right = st.columns([3, 2])
    with left:
        st.markdown(f"**First {len(found.components)} principal components of {len(weight)} filters**")
        st.image(filter_tiles(found.components.numpy()), alt="Principal components of the patch filters", width=530)
        st.markdown("**The filters themselves** (the first 28)")
        st.image(filter_tiles(weight[:28].numpy()), alt="Patch-embedding filters", width=530)
    with right:
        names = [str(i + 1) for i in range(min(14, len(found.explained)))]
        figure = bars(names, found.explained[:14].tolist(), "share of the variance", "Explained by component")
        chart(figure, "filters_explained", "Share of the variance that each component explains")
    reading.how(
        "Each tile is one pattern that the patch embedding answers to. A trained model shows smooth colours, edges and "
        "waves, few of which explain most of the variance; an untrained one shows noise.",
        None, "what later layers make of these answers.", "Dosovitskiy et al. 2020, fig. 7 left",
    )  # fmt: skip


def norms(one: Shown) -> None:
    from vizkit.analysis.attention.patches import token_norms
    from vizkit.figure.charts import dots_by_depth, heat_map

    found = token_norms(one.trace)
    keep_valid("block", range(1, len(found) + 1))
    left, right = st.columns(2)
    with left:
        lengths = [layer.norms.numpy() for layer in found]
        figure = dots_by_depth(lengths, "length of the token's vector", "Every token", what="token")
        chart(figure, "norms_all", "Length of every token by layer")
    with right:
        block = int(st.slider("After block", 1, max(2, len(found)), key="block", bind="query-params"))
        layer, tokens = found[min(block, len(found)) - 1], one.trace.features[min(block, len(found)) - 1].tokens
        if tokens.grid:
            places = layer.norms[len(tokens.special) :].view(*tokens.grid).numpy()
            names = [[str(n + 1) for n in range(side)] for side in tokens.grid]
            figure = heat_map(places, "column", "row", f"After {layer.name}", x_names=names[1], y_names=names[0])
            chart(figure, "norms_map", f"Length of the tokens after {layer.name}, by place")
        st.caption(
            f"median {layer.median:.2f} · outliers above {layer.threshold:.2f}: {int(layer.outliers.sum())} of "
            f"{len(layer.norms)} tokens"
        )
    reading.how(
        "A dot is a token. In large models a few patches of plain background become far longer than the rest: the "
        "model stores something global there; registers give it another place.",
        r"\lVert x_{l,i} \rVert_2 > \text{median} + 5\,\text{MAD}", "what is stored.", "Darcet et al. 2023, fig. 3",
    )  # fmt: skip
