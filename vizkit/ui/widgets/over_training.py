"""A view over training: the switch, and the steps of the run that is shown."""

from collections.abc import Sequence

import streamlit as st

from vizkit.ui.session import chosen
from vizkit.ui.session.address import drop, put
from vizkit.ui.session.subjects import NamedSubject
from vizkit.ui.widgets.stage import scrubber
from vizkit.views.train.after_step import ASKED, FIELD, steps
from vizkit.work_folder import at_or_before, parted

WIDTH_PX = 270


def step(of: Sequence[NamedSubject]) -> int | None:
    """The step after which these models are shown; None where it is off, or none of them is a run."""
    asked = st.session_state.get(FIELD, st.query_params.get(FIELD, ""))
    asked = int(asked) if str(asked).isascii() and str(asked).isdigit() and len(str(asked)) < 13 else None
    kept = _kept(of)
    if asked is None or not kept:
        drop(FIELD)
        return None
    st.session_state[FIELD] = at_or_before(asked, kept)
    put(FIELD, str(st.session_state[FIELD]))
    return st.session_state[FIELD]


def choose(of: Sequence[NamedSubject], now: int | None) -> None:
    """What is drawn beside the controls of a view that can be played."""
    kept, key = _kept(of), f"_{FIELD}"
    st.session_state[key] = now is not None
    st.toggle(
        "Over training",
        key=key,
        on_change=_switched,
        args=(now or kept[-1],),
        help="The same view after each step whose weights the run has kept, on one scale.",
    )
    if now is None:
        return
    with st.container(width=WIDTH_PX):
        scrubber(f"{FIELD}_play", FIELD, ASKED, kept, now)
    run = next(parted(each.source)[0] for each in of if steps(each))
    first = f"{run}@{kept[0]}"
    if first not in chosen.sources() and run in chosen.sources():
        st.button(f"Step {kept[0]} beside it", key="first_step", type="tertiary", on_click=chosen.add, args=(first,))


def _switched(to: int) -> None:
    st.session_state[FIELD] = to if st.session_state[f"_{FIELD}"] else None


def _kept(of: Sequence[NamedSubject]) -> list[int]:
    return sorted({each for one in of for each in steps(one)})
