"""Maps before and after all changes, under the one cursor, and their difference."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from vizkit.analysis.attention.attention_map import Query, attention_map, layers
from vizkit.analysis.attribution.explaining import METHODS, explain, why_not
from vizkit.analysis.attribution.rollout import rollout_masses
from vizkit.analysis.attribution.subject import on_cells
from vizkit.figure.canvas.rows import Rows
from vizkit.geometry import cell_of, id_at
from vizkit.image import RGB
from vizkit.interventions import Changes
from vizkit.report.kinds import Relevance
from vizkit.traces import NotApplicable
from vizkit.ui.pages.intervene.chosen_edits import changed_trace
from vizkit.ui.session import saved
from vizkit.ui.session.shown import Shown, keep_valid
from vizkit.ui.sidebar.inputs import picture_named
from vizkit.ui.views import Page
from vizkit.ui.widgets.canvases import layer_for_browser
from vizkit.ui.widgets.query_map import show_map
from vizkit.ui.widgets.save import save
from vizkit.ui.widgets.tiles import Tile, tiles
from vizkit.views.explore import Explore
from vizkit.views.rollout import Rollout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from vizkit.traces import Tokens, Trace

ATTENTION, ROLLOUT, RELEVANCE = "Attention of a layer", "Rollout", "Relevance of the answer"


def maps(page: Page, shown: Shown, after: "Trace", image: RGB, changes: Changes) -> None:
    """`image`: what the model sees after the changes."""
    count = len(layers(after))
    kinds = (ATTENTION, ROLLOUT, RELEVANCE)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kind = RELEVANCE
        if count:
            keep_valid("before_after", kinds)
            kind = st.segmented_control("Map", kinds, default=kinds[0], required=True, key="before_after",
                                        bind="query-params") or kinds[0]  # fmt: skip
        layer = count
        if kind == ATTENTION and count > 1:
            keep_valid("layer", range(1, count + 1))
            layer = st.slider("Layer shown", 1, count, count, key="layer", bind="query-params", width=320)
    try:
        if kind == RELEVANCE:
            shows = relevance(page, shown, changes)
        else:
            shows = followed(page, shown, after, image, bool(changes.pixels), kind, layer)
        item = saved.item_of(shown, shows, edits=changes.texts)
        save("intervene_map", {"": item}, saved.changed_inputs(shown, page.picture, changes.texts, picture_named))
    except NotApplicable as sentence:
        st.info(str(sentence))


def followed(
    page: Page, shown: Shown, after: "Trace", image: RGB, redrawn: bool, kind: str, layer: int
) -> Explore | Rollout:
    """The row of the query in one layer, or through all of them. `redrawn`: the image is another one."""
    traces = (shown.trace, after)
    both = [(of_layer if kind == ATTENTION else rolled)(trace, shown.query, layer) for trace in traces]
    *columns, last = st.columns(3)
    for place, trace, rows, words in zip(columns, traces, one_scale(both), ("Before", "After"), strict=True):
        with place:
            st.markdown(f"**{words}**")
            show_map(f"intervene_{words}", rows, replace(shown, trace=trace), page.picture, "over image",
                     f"{kind} {words.lower()} in", instead=image if redrawn and words == "After" else None)  # fmt: skip
    with last:
        st.markdown("**Difference**")
        difference(page, shown, both[0][1], both[1][1])
    if kind == ATTENTION:
        return Explore(layer=layer, query=shown.query if isinstance(shown.query, str) else "patch")
    return Rollout(asked_by(after, shown.query), depth=len(layers(after)))


def one_scale(maps: "Sequence[tuple[Rows, Tensor]]") -> list[Rows]:
    """The brightest colour is the largest value that any of them shows."""
    top = max(float(grid.max()) for _, grid in maps)
    return [replace(rows, top=top) for rows, _ in maps]


def of_layer(trace: "Trace", query: Query, layer: int) -> "tuple[Rows, Tensor]":
    one = layers(trace)[layer - 1]
    return layer_for_browser(one, None, query, shared=False), attention_map(one, query, None).places


def rolled(trace: "Trace", query: Query, layer: int) -> "tuple[Rows, Tensor]":
    del layer
    tokens, at = rolled_from(trace), asked_by(trace, query)
    one = rollout_masses(trace, at)
    row = np.concatenate([np.array([one.special[name] for name in one.tokens.special]), one.grid.numpy().ravel()])
    special = one.tokens.special
    if isinstance(at, str):
        where, names = 0, (one.query,)
    else:
        where, names = len(tokens.special) + at[0] * (tokens.grid or (1, 1))[1] + at[1], tokens.special
    return Rows(row.astype(np.float32)[None], one.tokens.grid, tokens.grid, np.array([where]), None, names, special,
                verb="draws"), one.grid  # fmt: skip


def rolled_from(trace: "Trace") -> "Tokens":
    """The tokens whose rows a rollout gives: those of the last layer that has a grid."""
    every = layers(trace)
    return next((layer.query for layer in reversed(every) if layer.query.grid), every[-1].query)


def asked_by(trace: "Trace", query: Query) -> str | tuple[int, int]:
    """A special token, or the (row, column) of the patch under the cursor."""
    tokens = rolled_from(trace)
    return query if isinstance(query, str) else cell_of(tokens, id_at(tokens, query) or 0) or "cls"


def relevance(page: Page, shown: Shown, changes: Changes) -> Relevance:
    """Of the answer before the changes, in both."""
    target = shown.loaded.head.target(shown.trace.logits)
    if not shown.loaded.classifies:
        raise NotApplicable(f"{shown.name} gives {shown.loaded.head.gives}: there is no answer to explain.")
    pair = [changed_trace(shown, page.picture, each, target) for each in (Changes(), changes)]
    missing = why_not(pair[0])
    # Of a class, and from the trace alone: a changed model is not run again.
    usable = (name for name, method in METHODS.items() if method.needs == "target" and not method.shares)
    name = next((each for each in usable if each not in missing), None)
    if name is None:
        raise NotApplicable(next(iter(missing.values())))
    before, after = (explain(name, trace).heat for trace in pair)
    st.markdown(f"**{METHODS[name].title} for {shown.loaded.label(target)}**: before, after, difference")
    top = float(max(before.max(), after.max()))
    moved = after - before
    ends = float(moved.abs().max()) or 1.0
    three = [Tile("Before", before.numpy()), Tile("After", after.numpy()),
             Tile("Difference", moved.numpy(), signed=True)]  # fmt: skip
    tiles("intervene_relevance", three, shown, page.picture, "over image", [(0.0, top), (0.0, top), (-ends, ends)],
          label=f"Relevance before and after in {shown.name}", tile_px=200)  # fmt: skip
    return Relevance(name, target)


def difference(page: Page, shown: Shown, before: "Tensor", after: "Tensor") -> None:
    cells = (before.shape[0], before.shape[1])
    moved = (on_cells(after, cells) - before).float().numpy()
    ends = float(np.abs(moved).max()) or 1.0
    words = "Red: more after the changes; blue: less." if np.abs(moved).max() else "Nothing has changed."
    tiles("intervene_difference", [Tile("After − before", moved, words, signed=True, unit="%")], shown, page.picture,
          "over image", [(-ends, ends)], label=f"Difference in {shown.name}", tile_px=200)  # fmt: skip
