"""The view Compare in depth: whose vector points the same way as that of the chosen patch, after every block."""

from typing import TYPE_CHECKING

import streamlit as st

from vizkit.image import Picture
from vizkit.ui import reading
from vizkit.ui.session.shown import Shown, keep_valid
from vizkit.ui.views import Page
from vizkit.ui.widgets import canvases
from vizkit.ui.widgets.query_map import show_map

if TYPE_CHECKING:
    from vizkit.traces import Features


def view(page: Page) -> None:
    controls = st.container()
    found = page.columns()
    depth = max((len(one.trace.features) for _, one in found), default=0)
    if not depth:
        return
    keep_valid("block", range(1, depth + 1))
    with controls, st.container(width=320):
        block = int(st.slider("After block", 1, max(depth, 2), value=1, key="block", bind="query-params"))
    for index, (column, one) in enumerate(found):
        with column:
            reading.guarded(compare, index, one, page.picture, block)
    reading.how(
        "Click a patch: bright places have vectors that point the same way. Move the slider: after the first blocks "
        "mostly neighbours and like colours are alike, later whole objects or the whole background.",
        r"\cos(x_i, x_j) = \frac{x_i \cdot x_j}{\lVert x_i \rVert \lVert x_j \rVert}",
        "whether the model uses that likeness.",
        "Dosovitskiy et al. 2020; Raghu et al. 2021",
    )


def compare(index: int, one: Shown, picture: Picture, block: int) -> None:
    features = chosen_features(one, block)
    st.caption(f"`{features.name}` · {features.values.shape[1]} channels")
    content = canvases.similarity_for_browser(features.values, features.tokens, one.query)
    show_map(f"like{index}_{one.source}", content, one, picture, "map only", "Similarity of the chosen patch in")


def chosen_features(one: Shown, block: int) -> "Features":
    from vizkit.traces import NotApplicable

    if not one.trace.features:
        raise NotApplicable(f"{one.source} does not hand out the vectors between its blocks.")
    return one.trace.features[min(block, len(one.trace.features)) - 1]
