"""The cards of the Explore page: what one image does in one to four models, side by side, under one cursor."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import streamlit as st

from vizkit.analysis.attention.attention_map import attention_map, layers
from vizkit.analysis.remarks import attention, places
from vizkit.image import Picture
from vizkit.report.kinds import Heads
from vizkit.ui import reading
from vizkit.ui.session import cached, saved
from vizkit.ui.session.shown import Shown, focus_of
from vizkit.ui.views import Page
from vizkit.ui.widgets import canvases
from vizkit.ui.widgets.attention_card import Choice, card, choices
from vizkit.ui.widgets.remark import covered_by_insect, remark, sentence

if TYPE_CHECKING:
    from vizkit.analysis.remarks.remark import Remark
from vizkit.ui.widgets.save import save

GUIDE = "_first_steps"  # how often they have been called for


def view(page: Page) -> None:
    controls = st.container(horizontal=True, vertical_alignment="bottom")
    columns = page.columns()
    if not columns:
        return
    with controls:
        choice = choices([shown for _, shown in columns])
        st.button("First steps", key="first_steps", icon=":material/lightbulb:", type="tertiary", on_click=_again)
    for index, (column, shown) in enumerate(columns):
        with column:
            guide = (st.session_state.get(GUIDE, 0), sentence(*grown(shown, page.picture))) if index == 0 else None
            card(index, shown, page.picture, choice, guide)
    mosaic([shown for _, shown in columns], page.picture, choice)
    reading.attention()


def _again() -> None:
    st.session_state[GUIDE] = st.session_state.get(GUIDE, 0) + 1


def mosaic(shown: list[Shown], picture: Picture, choice: Choice) -> None:
    able = [model for model in shown if model.heads]
    if not able:
        return
    st.subheader("All layers and heads")
    focus = focus_of(able)
    canvases.mosaic(
        f"mosaic_{focus.source}",
        focus.trace,
        focus.query,
        min(choice.layer, focus.depth) - 1,
        choice.head,
        choice.shared,
    )
    remark(*grown(focus, picture))
    item = saved.item_of(focus, Heads(focus.query, choice.shared))
    save("mosaic", {"": item}, saved.inputs_of(focus, picture))


def grown(shown: Shown, picture: Picture) -> "tuple[Remark | None, ...]":
    """Of all layers and heads, so once for a query: a slider changes nothing of it."""
    kept = ("with depth", shown.query)
    return cached.made(shown.source, picture, shown.loaded, kept, lambda: tuple(with_depth(shown)))


def with_depth(shown: Shown) -> "Iterator[Remark | None]":
    """How the insect's share grows from layer to layer, or how far attention goes."""
    recorded = layers(shown.trace)
    maps = [attention_map(layer, shown.query) for layer in recorded if layer.key.grid]
    shares, area = [], 0.0
    for seen in maps:
        covered = covered_by_insect(shown, (seen.places.shape[0], seen.places.shape[1]))
        if covered is None:
            break
        area = float(covered.mean())
        shares.append(float((seen.places * covered).sum()))
    if isinstance(shown.query, str) and len(shares) == len(recorded):
        yield places.from_layer_on(shares, area, attention.called(shown.query))
    yield attention.with_depth(shown.trace, shown.query)
