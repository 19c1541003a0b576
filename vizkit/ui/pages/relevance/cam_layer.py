"""The layer at which class activation maps are made: a setting that few change."""

import streamlit as st

from vizkit.analysis.attention.attention_map import layers
from vizkit.analysis.attribution.methods import METHODS
from vizkit.ui.plain import plain
from vizkit.ui.session.shown import Shown, keep_valid, title

HEAD = "before the head"
FAMILIES = ("vit", "swin", "gradual_reduction", "cnn")


def choose(index: int, shown: Shown, several: bool) -> str:
    """Of the `index`-th model; "" for the features before the head, which are usual."""
    options = {HEAD: "", **names(shown)}
    if len(options) == 1:
        return ""
    what = " and ".join(method.title for method in METHODS.values() if method.layered)
    key = f"cam_layer{index + 1 if index else ''}"
    keep_valid(key, [*options])
    chosen = st.selectbox(
        f"Layer of {what}" + (f" in {plain(title(shown.source))}" if several else ""), [*options], key=key,
        bind="query-params",
        help="Earlier layers have finer cells that have seen less of the image, and know less of the class.",
    )  # fmt: skip
    return options[chosen]


def names(shown: Shown) -> dict[str, str]:
    """What a reader calls the layers that can be chosen, and their names in the trace; the first layer first."""
    from vizkit.models import family_of

    family = family_of(shown.loaded.model)
    if family not in FAMILIES:
        return {}
    if family == "cnn" and not shown.trace.attention:
        return {_with_cells(f.name, f.tokens.grid): f.name for f in shown.trace.features}
    placed = ((i, layer) for i, layer in enumerate(layers(shown.trace), 1) if layer.key.grid)
    return {_with_cells(f"layer {i}", layer.key.grid): layer.name for i, layer in placed}


def _with_cells(name: str, grid: tuple[int, int] | None) -> str:
    return f"{name} · {' × '.join(map(str, grid))} cells" if grid else name
