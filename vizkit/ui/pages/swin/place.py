"""One stage and block of a Swin, as the address says it: what the views of the Swin page are about."""

from dataclasses import dataclass

import streamlit as st

from vizkit.models.probes.swin_stages import Stage, hierarchy
from vizkit.traces import Tokens
from vizkit.ui.session.shown import Shown, keep_valid


@dataclass(frozen=True)
class Place:
    """One block of a Swin. `stage`, `block` (in its stage) and `layer` (among all blocks) count from 0.

    `grid`, `window` and `shift` are (rows, columns) in tokens; the shift is the one that is really applied.
    `pad_first`: see `geometry.window_ids`.
    """

    stage: int
    block: int
    layer: int
    path: str
    tokens: Tokens
    grid: tuple[int, int]
    window: tuple[int, int]
    shift: tuple[int, int]
    pad_first: bool


def choose_place(shown: Shown, chosen: str) -> Place:
    """The stage and the block of the address; `chosen`: "block", "stage" or "" says which controls are drawn."""
    stages = hierarchy(shown.loaded, shown.trace.image_size)
    names = [str(s + 1) for s in range(len(stages))]
    keep_valid("swin_stage", names)
    if not chosen:
        return _place_of(stages, 0, 0)
    with st.container(horizontal=True, vertical_alignment="bottom", width="content"):
        stage = st.segmented_control(
            "Stage", names, default=names[0], required=True, key="swin_stage", bind="query-params"
        )
        index, block = int(stage or names[0]) - 1, 0
        if chosen == "block":
            blocks = [str(b + 1) for b in range(len(stages[index].blocks))]
            keep_valid("swin_block", blocks)
            usual = blocks[min(1, len(blocks) - 1)]  # the first that shifts, where any does
            picked = st.segmented_control(
                "Block", blocks, default=usual, required=True, key="swin_block", bind="query-params"
            )
            block = int(picked or usual) - 1
    place = _place_of(stages, index, block)
    st.caption(words(stages[index], place, chosen))
    return place


def words(stage: Stage, place: Place, chosen: str) -> str:
    rows, columns = place.grid
    parts = [f"{rows} × {columns} tokens of {stage.tokens.stride:.0f} pixels", f"{stage.channels} channels"]
    if chosen == "block":
        parts += [f"{stage.heads} heads", f"windows of {place.window[0]} × {place.window[1]} tokens"]
        down, right = place.shift
        whole = place.window[0] >= rows and place.window[1] >= columns
        by = f"{down} tokens" if down == right else f"{down} down and {right} right"
        parts.append(f"shifted by {by}" if down or right else "one window, no shift" if whole else "not shifted")
    return " · ".join(parts)


def _place_of(stages: tuple[Stage, ...], stage: int, block: int) -> Place:
    chosen = stages[stage]
    cut = chosen.blocks[block]
    return Place(
        stage, block, chosen.first_layer + block, cut.path, chosen.tokens, chosen.grid, cut.window, cut.shift,
        chosen.pad_first,
    )  # fmt: skip
