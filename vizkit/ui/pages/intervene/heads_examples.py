"""One head of the atlas: what it does in numbers, and the pictures where it matters most, with where it looks."""

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from vizkit.analysis.attention.head_atlas import HeadAtlas
from vizkit.figure.overlay import overlay
from vizkit.image import Preprocessing
from vizkit.ui.pages.intervene.chosen_edits import change
from vizkit.ui.pages.intervene.heads_measured import IMAGES
from vizkit.ui.plain import plain
from vizkit.ui.session import cached
from vizkit.ui.session.remembered import remembered
from vizkit.ui.session.shown import Shown

if TYPE_CHECKING:
    from vizkit.models import Loaded

SIDE_PX, SHOWN_PX = 160, 120


def show(shown: Shown, atlas: HeadAtlas, ablation: str, index: int) -> None:
    """`index`: the place of the head in `atlas.names`."""
    layer, head = atlas.names[index]
    importance = atlas.importance.get(ablation)
    st.markdown(f"**Layer {layer + 1}, head {head + 1}**")
    st.button("Switch it off in Switches", key=f"heads_off_{layer}_{head}", icon=":material/toggle_off:",
              on_click=_switch_off, args=(layer, head))  # fmt: skip
    if importance is None or not importance.examples:
        return
    with cached.device_lock():
        maps = examples(shown.source, cached.weights_of(shown.source), shown.loaded.preprocessing, atlas.data,
                        importance.examples[index], layer, head, shown.loaded)  # fmt: skip
    with st.container(horizontal=True, gap="small"):
        for picture, label in maps:
            st.image(picture, plain(label), width=SHOWN_PX, alt=f"Where the head looks in {label}")
    st.caption(f"The test pictures whose answer loses the most without it: where {_who(shown)} in this head.")


def _who(shown: Shown) -> str:
    return "the class token looks" if "cls" in shown.special() else "patches look on average"


def _switch_off(layer: int, head: int) -> None:
    from vizkit.models import Edit

    change((Edit("heads", layer, head),))
    st.session_state["intervene_view"] = "Switches"


@remembered
def examples(
    source: str,
    weights: tuple[int, int] | None,
    preprocessing: Preprocessing,
    data: str,
    rows: tuple[int, ...],
    layer: int,
    head: int,
    _loaded: "Loaded",
) -> list[tuple[np.ndarray, str]]:
    """Pictures with the map of a head over each, and what they show."""
    from vizkit.analysis.attention.attention_map import head_map, layers
    from vizkit.evaluation.inside.few_pictures import few_pictures
    from vizkit.image import unprepare
    from vizkit.models import family

    pictures = few_pictures(_loaded, data, IMAGES)
    out = []
    for row in rows:
        pixels = pictures.pixels(range(row, row + 1))
        attention = layers(family(_loaded.model).trace(_loaded, pixels))[layer]
        seen = unprepare(pixels[0].numpy(), preprocessing)
        zoom = max(1, -(-SIDE_PX // min(seen.shape[:2])))
        seen = seen.repeat(zoom, 0).repeat(zoom, 1)
        box = (0.0, 0.0, float(seen.shape[1]), float(seen.shape[0]))
        map_ = head_map(attention, head)
        drawn = seen if map_ is None else overlay(seen, map_.numpy(), box)
        out.append((drawn, pictures.images.labels[pictures.images.targets[row]]))
    return out
