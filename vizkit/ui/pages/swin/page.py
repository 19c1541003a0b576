"""The Swin page: which Swin, which stage and block, and which view of them."""

import streamlit as st

from vizkit.image import Picture
from vizkit.ui import reading
from vizkit.ui.pages.swin import beside, changes, cost, merging, reach, shift, stages, window
from vizkit.ui.pages.swin.place import choose_place
from vizkit.ui.plain import plain
from vizkit.ui.session import cached
from vizkit.ui.session.shown import Shown, attempt, choose_view, cursor, explain_refusal, focus_of, title

VIEWS = {  # name → (its view, what is chosen for it)
    "Stages": (stages.view, ""),
    "Shift": (shift.view, ""),  # asks itself: its small example has no model
    "Window": (window.view, "block"),
    "Reach": (reach.view, ""),
    "Merging": (merging.view, "stage"),
    "Cost": (cost.view, ""),
    "Beside a ViT": (beside.view, ""),
    "Switched off": (changes.view, "block"),
}
SWIN = "bundled:insects_swin"


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
