"""The view Learned: similarity of a patch's learned position to all others, and the table as colours."""

import numpy as np
import streamlit as st

from vizkit.analysis.attention.positions import by_distance, cosine_grid, pca_rgb
from vizkit.analysis.remarks import positions
from vizkit.figure.charts import curves
from vizkit.figure.tiles import tiles
from vizkit.image import Picture
from vizkit.models.probes.positions import learned_table, resampled
from vizkit.traces import Tokens
from vizkit.ui import reading
from vizkit.ui.session import saved
from vizkit.ui.session.shown import Shown, title
from vizkit.ui.views import Page
from vizkit.ui.widgets import canvases
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.query_map import show_map
from vizkit.ui.widgets.remark import remark
from vizkit.ui.widgets.save import save


def view(page: Page) -> None:
    for index, (column, shown) in enumerate(page.columns()):
        with column:
            reading.guarded(learned, index, shown, page.picture)
    reading.how(
        "Each tile belongs to one patch and shows the similarity of its learned position to all others. A trained "
        "model has learned rows and columns by itself: a bright cross and a bright spot in every tile. Click a patch "
        "to enlarge its tile.",
        r"S_{ij} = \cos(e_i, e_j)",
        "what attention does with it; equal vectors only mean that position does not distinguish two places.",
        "Dosovitskiy et al. 2020, fig. 7 centre",
    )


def learned(index: int, shown: Shown, picture: Picture) -> None:
    table = learned_table(shown.loaded)
    assert table is not None  # the view needs one
    rows, columns, channels = table.shape
    st.caption(f"{rows} × {columns} positions of {channels} channels")
    with st.container(width=520):  # the sentence below it on the same screen
        st.image(tiles(cosine_grid(table).numpy()), alt="Similarity of every position to every other", width="stretch")
    remark(positions.learned(table))
    tokens = Tokens("positions", (), (rows, columns), stride=1.0)
    content = canvases.similarity_for_browser(table.flatten(0, 1), tokens, _in_grid(shown.query))
    show_map(f"position{index}_{shown.source}", content, shown, picture, "map only", "Similarity of positions in")
    colours = pca_rgb(table)
    doubled = pca_rgb(resampled(shown.loaded, (2 * rows, 2 * columns)))
    left, right = st.columns(2)
    words = f"three main components ({float(colours.explained.sum()):.0%} of the variance)"
    left.image(enlarged(colours.rgb.numpy()), caption=words, alt=words, width="stretch")
    words = f"resampled to {2 * rows} × {2 * columns}"
    right.image(enlarged(doubled.rgb.numpy()), caption=words, alt=words, width="stretch")
    near = by_distance(table)
    lines = {"mean": (near.distance.numpy(), near.mean.numpy()), "highest": (near.distance.numpy(), near.high.numpy())}
    figure = curves(lines, "distance in patches", "cosine", "Similarity by distance")
    figure.update_yaxes(range=[-1.03, 1.03])  # the same for models side by side
    chart(figure, f"learned_{index}", "Cosine of learned positions by distance")
    record = saved.charts_of("Likeness of learned positions", (f"Model: {title(shown.source)}",), figure)
    save(f"learned{index}", {"": record}, saved.NOTHING)


def _in_grid(query: "str | tuple[float, float]") -> tuple[float, float]:
    return (0.5, 0.5) if isinstance(query, str) else query


def enlarged(rgb: np.ndarray, side_px: int = 280) -> np.ndarray:
    zoom = max(1, side_px // max(rgb.shape[:2]))
    return (rgb * 255).round().astype(np.uint8).repeat(zoom, 0).repeat(zoom, 1)
