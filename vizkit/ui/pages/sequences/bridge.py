"""The view From words to patches: one encoder block on a sentence and on an image, side by side."""

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from vizkit.ui import reading
from vizkit.ui.pages.sequences import strips, typed
from vizkit.ui.pages.sequences.bridge_steps import Image, Sentence, steps_of
from vizkit.ui.pages.sequences.steps import walked_of
from vizkit.ui.plain import plain
from vizkit.ui.session import cached, saved
from vizkit.ui.session.address import go_to
from vizkit.ui.session.shown import Shown, keep_valid, title
from vizkit.ui.views import Page
from vizkit.ui.widgets.save import save

if TYPE_CHECKING:
    from vizkit.models.probes.from_parts import Inside

CANVAS, SIDE_PX = "sequence_bridge", 170


def view(page: Page) -> None:
    shown = page.focus
    row = st.container(horizontal=True, vertical_alignment="bottom")
    with row:
        model = typed.choose_any({typed.TRANSFORMER: typed.TITLES[typed.TRANSFORMER]})
    words = typed.choose_text(model, row)
    inside = _inside_of(page, shown)
    walked, words, _ = walked_of(model, words)
    rows, across = inside.model.patch_embed.grid_size
    with st.container(horizontal=True, vertical_alignment="bottom"):
        word = _slider("Word", "bridge_word", len(words), min(6, len(words)))
        patch = _slider("Patch", "bridge_patch", rows * across, rows // 2 * across + across // 2 + 1)
        layer = _slider("Layer", "bridge_layer", min(len(walked.encoder), len(inside.model.blocks)), 1)
    text = Sentence(walked, words, word, layer)
    image = Image(inside, patch, layer, _weights(shown, layer, patch + inside.model.num_prefix_tokens))
    left, right = st.columns(2, gap="large")
    left.markdown(
        " ".join(f":{'primary' if at == word else 'gray'}-badge[{plain(each)}]" for at, each in enumerate(words))
    )
    right.image(_apart(shown, image), alt=f"The model's input, patch {patch + 1} framed", width=SIDE_PX)
    steps = steps_of(text, image)
    of = f"{model.name} {words} {shown.source} {page.picture.digest} {word} {patch} {layer}"
    name = title(shown.source)
    columns = (f"“{words[word]}” in a sentence", f"patch {patch + 1} of an image")
    content = strips.for_browser(steps, of, f"A word and a patch through the same block, {name}", columns=columns)
    strips.mount(CANVAS, content)
    st.caption(
        f":green[:material/verified: The numbers are the models’ own: {plain(typed.title_of(model))}, "
        f"{reading.within('logits', walked.error)}; {plain(name)}, {reading.within('logits', inside.logit_error)}]"
    )
    with st.container(horizontal=True):
        if st.button("Patches: how an image is cut", icon=":material/grid_view:", key="bridge_patches"):
            go_to("pages/patches.py")
        st.button("Translate: the sentence’s model at work", icon=":material/translate:", key="bridge_translate",
                  on_click=_to_translate)  # fmt: skip
        what = (" | ".join(columns), f"{typed.title_of(model)}; {name}")
        panels = strips.panels(steps, (", text", ", image"))
        save("bridge", {"": saved.charts_of("From words to patches", what, *panels)}, saved.NOTHING)
    reading.how(
        "Left a word, right a patch, the same step of the same block. Of the whole model only the beginning, the place "
        "of the norms and the end are others: an image is a sentence of patches.",
        r"z_0 = \sqrt{d}\,E_{w} + p \ \text{(text)}, \qquad z_0 = [x_{\mathrm{cls}};\, x_p W_E] + p \ \text{(image)}",
        "that both have learned alike: their weights have nothing in common.",
        "Vaswani et al. 2017; Dosovitskiy et al. 2020, eq. 1 to 4",
    )


def _slider(label: str, key: str, count: int, usual: int) -> int:
    """From 0."""
    keep_valid(key, range(1, count + 1))
    value = st.slider(label, 1, max(2, count), usual, key=key, bind="query-params", width=220, disabled=count < 2)
    return min(int(value), count) - 1


def _inside_of(page: Page, shown: Shown) -> "Inside":
    from vizkit.models import pixels_of
    from vizkit.models.probes.from_parts import inside

    def make() -> "Inside":
        with cached.device_lock():
            return inside(shown.loaded, pixels_of(shown.loaded, page.picture.rgb))

    return cached.made(shown.source, page.picture, shown.loaded, ("from parts",), make)


def _weights(shown: Shown, layer: int, token: int):  # noqa: ANN202
    """The row of a token in every head, where all rows were recorded."""
    from vizkit.analysis.attention.attention_map import layers

    recorded = layers(shown.trace)
    if layer >= len(recorded) or recorded[layer].weights.shape[-2] != recorded[layer].weights.shape[-1]:
        return None
    return recorded[layer].weights[0, :, token].float()


def _apart(shown: Shown, image: Image) -> np.ndarray:
    """The model's input as its patches, the chosen one framed."""
    from vizkit.figure.patches import pulled_apart
    from vizkit.image import unprepare

    seen = unprepare(image.inside.pixels.numpy(), shown.loaded.preprocessing)
    return pulled_apart(seen, image.inside.model.patch_embed.grid_size, image.patch, side_px=2 * SIDE_PX, numbers=False)


def _to_translate() -> None:
    st.session_state["sequences_view"] = "Translate"
