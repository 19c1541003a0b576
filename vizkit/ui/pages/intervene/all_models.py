"""The same changes in every model that is shown: their answers before and after, side by side."""

import streamlit as st

from vizkit.analysis.attention.attention_map import layers
from vizkit.analysis.comparison.pixel_edits import PixelError
from vizkit.figure.class_bars import Axis, ClassBars, reach
from vizkit.figure.palette import class_colours
from vizkit.interventions import Changes
from vizkit.models import EditError
from vizkit.ui.pages.intervene.chosen_edits import changed_trace, of_texts
from vizkit.ui.plain import plain
from vizkit.ui.session.shown import Shown, blocks, title
from vizkit.ui.views import Page

CLASSES = 4


def all_models(page: Page, focus: Shown, changes: Changes, special: int, grid: tuple[int, int]) -> None:
    """`special`, `grid`: how the tokens of the model in focus lie, whose hidden patches others may not have."""
    if len(page.shown) < 2 or not changes:
        return
    st.markdown("**The same changes in every model**: bars after, ticks before")
    for shown, block in zip(page.shown, blocks(len(page.shown)), strict=True):
        with block:
            st.markdown(f"**{plain(title(shown.source))}**")
            own, left_out = changes, ()
            if shown.source != focus.source:
                own = of_another(shown, changes, special, grid)
                left_out = tuple(text for text in changes.texts if text not in own.texts)
            try:
                drawn(page, shown, own)
            except (EditError, PixelError) as sentence:
                st.caption(f":material/block: {plain(str(sentence))}")
            if left_out:
                st.caption(f"Not in this model: {plain(', '.join(left_out)[:200])}")


def of_another(shown: Shown, changes: Changes, special: int, grid: tuple[int, int]) -> Changes:
    """Changes of the image go everywhere, those of heads where there are such heads, hidden patches where the tokens
    lie alike."""
    learned = layers(shown.trace)
    alike = bool(learned) and all(layer.key.grid == grid and len(layer.key.special) == special for layer in learned)
    texts = [str(edit) for edit in changes.model if edit.kind != "blind" or alike]
    return Changes(changes.pixels, of_texts(texts, [layer.heads for layer in learned]).model)


def drawn(page: Page, shown: Shown, changes: Changes) -> None:
    loaded = shown.loaded
    after = changed_trace(shown, page.picture, changes) if changes else shown.trace
    indices = list(dict.fromkeys(index for logits in (shown.trace.logits, after.logits)
                                 for index, _ in loaded.head.top(logits, CLASSES)))[:CLASSES + 1]  # fmt: skip
    first, then = (loaded.head.values(logits)[indices].tolist() for logits in (shown.trace.logits, after.logits))
    signed = not loaded.head.probable
    top = reach(first, then) if signed else 1.0
    colours = class_colours(indices, max(len(loaded.labels), 1 + max(indices, default=0)))
    names = [loaded.label(at) for at in indices]
    st.html(ClassBars(names, then, colours, first, Axis(top, signed=signed)).html())
