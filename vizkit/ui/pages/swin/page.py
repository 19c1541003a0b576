"""The Swin page: which Swin, which stage and block, and which view of them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from vizkit.image import Picture
from vizkit.ui import reading
from vizkit.ui.pages.swin import beside, changes, cost, merging, reach
from vizkit.ui.pages.swin import shift as swin_shift
from vizkit.ui.pages.swin import stages as swin_stages
from vizkit.ui.pages.swin import window as swin_window
from vizkit.ui.plain import plain
from vizkit.ui.session import cached
from vizkit.ui.session.shown import Shown, attempt, choose_view, cursor, explain_refusal, focus_of, keep_valid, title

if TYPE_CHECKING:
    from vizkit.models.probes.swin_stages import Stage
    from vizkit.traces import Tokens

VIEWS = {  # name → (its view, what is chosen for it)
    "Stages": (swin_stages.view, ""),
    "Shift": (swin_shift.view, ""),  # asks itself: its small example has no model
    "Window": (swin_window.view, "block"),
    "Reach": (reach.view, ""),
    "Merging": (merging.view, "stage"),
    "Cost": (cost.view, ""),
    "Beside a ViT": (beside.view, ""),
    "Switched off": (changes.view, "block"),
}
SWIN = "bundled:insects_swin"


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
    tokens: "Tokens"
    grid: tuple[int, int]
    window: tuple[int, int]
    shift: tuple[int, int]
    pad_first: bool


def view(picture: Picture, sources: list[str]) -> None:
    one_swin(picture, sources, choose_view("swin_view", tuple(VIEWS)))


@st.fragment
def one_swin(picture: Picture, sources: list[str], name: str) -> None:
    found = swins(picture, sources)
    if found:
        reading.guarded(draw, focus_of(found), picture, name)


def draw(one: Shown, picture: Picture, name: str) -> None:
    view, chosen = VIEWS[name]
    view(one, picture, choose_place(one, chosen))


def swins(picture: Picture, sources: list[str]) -> list[Shown]:
    """The chosen models that are Swins, run; a sentence about the others. Without any, the bundled one."""
    others = [source for source in sources if is_another(source)]
    wanted = [source for source in sources if source not in others]
    if others:
        names = plain(" and ".join(title(source) for source in others))
        verb = "is not a Swin" if len(others) == 1 else "are not Swins"
        rest = "" if wanted else f" This page shows the bundled {title(SWIN)} instead."
        st.caption(f":material/info: {names} {verb} and {'has' if len(others) == 1 else 'have'} no windows.{rest}")
    shown = []
    for source in wanted or [SWIN]:
        with st.spinner(f"Running {plain(title(source))} …"):
            result = attempt(source, picture, st.session_state.get("query") or "patch", cursor())
        if isinstance(result, Shown):
            shown.append(result)
        else:
            explain_refusal(source, *result)
    return shown


def is_another(source: str) -> bool:
    """Whether the model loads and is something else; what refuses to load says so when it is shown."""
    from vizkit.models.probes.swin_stages import is_swin

    try:
        return not is_swin(cached.model(source))
    except Exception:
        return False


def choose_place(one: Shown, chosen: str) -> Place:
    """The stage and the block of the address; `chosen`: "block", "stage" or "" says which controls are drawn."""
    from vizkit.models.probes.swin_stages import hierarchy

    stages = hierarchy(one.loaded, one.trace.image_size)
    names = [str(s + 1) for s in range(len(stages))]
    keep_valid("swin_stage", names)
    if not chosen:
        return place_of(stages, 0, 0)
    with st.container(horizontal=True, vertical_alignment="bottom"):
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
    place = place_of(stages, index, block)
    st.caption(words(stages[index], place, chosen))
    return place


def words(stage: "Stage", place: Place, chosen: str) -> str:
    rows, columns = place.grid
    parts = [f"{rows} × {columns} tokens of {stage.tokens.stride:.0f} pixels", f"{stage.channels} channels"]
    if chosen == "block":
        parts += [f"{stage.heads} heads", f"windows of {place.window[0]} × {place.window[1]} tokens"]
        down, right = place.shift
        whole = place.window[0] >= rows and place.window[1] >= columns
        by = f"{down} tokens" if down == right else f"{down} down and {right} right"
        parts.append(f"shifted by {by}" if down or right else "one window, no shift" if whole else "not shifted")
    return " · ".join(parts)


def place_of(stages: "tuple[Stage, ...]", stage: int, block: int) -> Place:
    chosen = stages[stage]
    cut = chosen.blocks[block]
    return Place(
        stage, block, chosen.first_layer + block, cut.path, chosen.tokens, chosen.grid, cut.window, cut.shift,
        chosen.pad_first,
    )  # fmt: skip
