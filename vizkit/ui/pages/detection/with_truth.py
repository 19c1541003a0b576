"""Views that compare with what is really there: drawn scenes, of which it is known."""

from typing import TYPE_CHECKING

import streamlit as st

from vizkit.ui.pages.detection.given import DRAWN, Given

if TYPE_CHECKING:
    from vizkit.models.detection.matching import Things


def truth_or_offer(given: Given) -> "Things | None":
    """What is in a drawn scene; of other pictures a sentence, and a way to the drawn ones."""
    things = given.things
    if things is None:
        st.info("What is really in this picture is not known, so nothing can be matched with it.")
        st.button("Show a drawn scene", icon=":material/bug_report:", on_click=_draw, key="det_draw")
    return things


def _draw() -> None:
    st.session_state["det_of"] = DRAWN
