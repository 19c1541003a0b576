"""Lenses, the length of the vectors: by layer for special tokens and patches, and on the picture after one layer."""

from functools import partial

import streamlit as st

from vizkit.analysis.attention.token_norms import Norms, lines_of, token_norms
from vizkit.analysis.remarks import patches
from vizkit.figure.attention.token_lengths import token_lengths
from vizkit.figure.charts import heat_map
from vizkit.figure.patch_cells import norm_cells
from vizkit.image import Picture, data_url, prepare, unprepare
from vizkit.ui import reading
from vizkit.ui.export import npz_of
from vizkit.ui.session import saved
from vizkit.ui.session.shown import Shown
from vizkit.ui.widgets.chart import chart
from vizkit.ui.widgets.remark import remark
from vizkit.ui.widgets.save import save


def show(shown: Shown, picture: Picture, layer: int) -> None:
    """`layer` from 1."""
    norms = token_norms(shown.trace)
    index = min(layer, len(norms)) - 1
    here, grid = norms[index], shown.trace.features[index].tokens.grid
    left, right = st.columns(2)
    with left:
        lines = token_lengths(lines_of(norms), index)
        chart(lines, "norms_by_layer", "Norms of the tokens by layer")
    with right:
        st.markdown(f"**Norms after layer {index + 1}**")
        if grid is not None:
            on_picture(shown, picture, here, grid)
        count = int(here.outliers.sum())
        remark(patches.outliers(here.patches, count, index + 1))
        st.caption(
            f"patches: median {here.median:.3g}, longest {float(here.patches.max()):.3g} · framed above "
            f"{here.threshold:.3g}: {count} of {len(here.patches)}"
        )
    keep(shown, norms, index, grid, lines)
    reading.how(
        "In large models without registers a few patches of plain background get vectors far longer than all others: "
        "they store what is true of the whole picture. With registers these are long instead.",
        r"\lVert x_{l,i} \rVert_2, \quad \text{framed: above median} + 5\,\text{MAD}",
        "what is stored.",
        "Darcet et al. 2024, fig. 3 and 7",
    )


def on_picture(shown: Shown, picture: Picture, here: Norms, grid: tuple[int, int]) -> None:
    loaded, first = shown.loaded, len(here.special)
    pixels = prepare(picture.rgb, loaded.preprocessing)[0]
    places = slice(first, first + grid[0] * grid[1])
    lengths, outliers = here.norms[places].reshape(grid).numpy(), here.outliers[places].reshape(grid).numpy()
    figure = norm_cells(data_url(unprepare(pixels, loaded.preprocessing)), (pixels.shape[1], pixels.shape[2]), lengths,
                        outliers)  # fmt: skip
    chart(figure, "lens_norms", f"Norm of every patch after {here.name}; outliers are framed")


def keep(shown: Shown, norms: tuple[Norms, ...], index: int, grid: tuple[int, int] | None, lines: object) -> None:
    here = norms[index]
    numbers = partial(npz_of, **{layer.name: layer.norms.numpy() for layer in norms})
    figures = [lines]
    if grid is not None:
        lengths = here.patches[: grid[0] * grid[1]].reshape(grid).numpy()
        figures.append(heat_map(lengths, "column of patches", "row", f"Norms after {here.name}"))
    item = saved.charts_of("Norms of the tokens", (shown.name,), *figures)
    save("lens_norms", {"": item}, saved.NOTHING, {"All layers (NPZ)": numbers})
