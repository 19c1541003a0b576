"""The view Compare in depth: cosine similarity of the chosen patch with all others, after every block."""

import streamlit as st

from vizkit.analysis.attention.positions import depth_beside, similarity_to
from vizkit.analysis.remarks import patches
from vizkit.analysis.remarks.remark import Remark
from vizkit.geometry import id_at
from vizkit.image import Picture
from vizkit.models import pixels_of
from vizkit.models.probes.interventions.stream import after_blocks
from vizkit.traces import Features, NotApplicable
from vizkit.ui import reading
from vizkit.ui.session import cached
from vizkit.ui.session.shown import Shown, keep_valid
from vizkit.ui.views import Page
from vizkit.ui.widgets import canvases
from vizkit.ui.widgets.query_map import show_map
from vizkit.ui.widgets.remark import remark

SHARE = "Counted in the blocks of the deepest model; every other is shown at the same share of its own depth."


def view(page: Page) -> None:
    controls = st.container()
    columns = page.columns()
    depth = max((len(blocks_of(shown, page.picture)[1]) for _, shown in columns), default=0)
    if not depth:
        return
    keep_valid("block", range(1, depth + 1))
    with controls, st.container(width=320):
        block = int(st.slider("After block", 1, max(depth, 2), value=1, key="block", bind="query-params", help=SHARE))
    for index, (column, shown) in enumerate(columns):
        with column:
            reading.guarded(compare, index, shown, page.picture, block / depth)
    reading.how(
        "Click a patch: bright places have similar vectors. Move the slider: after the first blocks mostly neighbours "
        "and patches of similar colour are similar, later whole objects or the whole background.",
        r"\cos(x_i, x_j) = \frac{x_i \cdot x_j}{\lVert x_i \rVert \lVert x_j \rVert}",
        "whether the model uses that similarity.",
        "Dosovitskiy et al. 2020; Raghu et al. 2021",
    )


def blocks_of(shown: Shown, picture: Picture) -> tuple[str, tuple[Features, ...]]:
    """As `after_blocks`, of a picture once."""

    def run() -> tuple[str, tuple[Features, ...]]:
        with cached.device_lock():
            return after_blocks(shown.loaded, shown.trace, pixels_of(shown.loaded, picture.rgb))

    return cached.made(shown.source, picture, shown.loaded, ("after blocks",), run)


def compare(index: int, shown: Shown, picture: Picture, share: float) -> None:
    noun, blocks = blocks_of(shown, picture)
    if not blocks:
        raise NotApplicable(f"{shown.name} does not give the vectors between its blocks.")
    number = depth_beside(share, len(blocks))
    features, which = blocks[number - 1], f"{noun} {number} of {len(blocks)}"
    st.caption(f"{which} · `{features.name}` · {features.values.shape[1]} channels")
    content = canvases.similarity_for_browser(features.values, features.tokens, shown.query)
    show_map(f"like{index}_{shown.source}", content, shown, picture, "map only", "Similarity of the chosen patch in")
    remark(alike(shown, features, which))


def alike(shown: Shown, features: Features, after: str) -> Remark | None:
    chosen = None if isinstance(shown.query, str) else id_at(features.tokens, shown.query)
    if chosen is None or features.tokens.grid is None:
        return None
    first, (rows, columns) = len(features.tokens.special), features.tokens.grid
    return patches.alike(similarity_to(features.values, chosen)[first : first + rows * columns], after)
