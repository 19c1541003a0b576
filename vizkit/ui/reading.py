"""Words beside the pictures: what is shown, how true it is, how to read it, and what it does not show."""

import contextlib
import re
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import streamlit as st

from vizkit.ui.plain import plain

if TYPE_CHECKING:
    from vizkit.traces import Trace


PROOF = """The proof that this figure is what the model computed.

**For this very image:** every row of attention sums to one; every attention layer was recorded, where their number is
known without the recording; and in each of them, for a few queries (rows), which are others for every image, the
weights that meet the values are those shown and give the layer's own output. Of a changed model also that each layer
gives, for every query, what the changes make of its own scores. Of a model with an image processor of its own, that the
input is what that processor gives.

**Once for this model at this input size:** the prediction is the same with and without recording; and where small
squares of an image are changed, the tokens change that are said to lie there, measured on noise; of a model that
decides by the image, such as which tokens it leaves out, on this very image.

**The largest differences:** """


def proof(trace: "Trace | None", own: str = "", *, holds: bool = True) -> None:
    """The badge: what was checked for this very picture, and what once at its size; red where it does not agree. The
    numbers of all comparisons stand in its help, and where one fails in the badge. `own`: what else was compared, in
    its place while the trace itself agrees, and alone where there is no trace."""
    if trace is None:
        st.caption(badge(plain(own), holds))
        return
    check = trace.check
    for note in trace.notes:
        if note != check.failure:  # that one stands above the picture, see `shown.accepted`
            st.caption(f":material/info: {plain(note)}")
    once = "Compared once for this model at this input size."
    help_text = once if check.layers_expected == 0 else f"{PROOF}{check.numbers}."
    text = (plain(own) or f"Checked: {check.said}") if check.passed else check.numbers
    st.caption(badge(text, check.passed and holds), help=help_text)


def badge(text: str, agrees: bool) -> str:
    return f":green[:material/verified: {text}]" if agrees else f":red[:material/error: {text}]"


_QUAD = re.compile(r",?\s*\\q?quad\s*")
_SIDE: ContextVar[Any] = ContextVar("where the help stands at the side", default=None)


def at_side() -> bool:
    """The switch in the page's line: whether the help stays open beside the figures, for the whole session."""
    return st.toggle(
        "Help at the side",
        key="help_at_side",
        persist_state="session",
        help="“How to read this” stays open beside the figures.",
    )


@contextlib.contextmanager
def columns() -> Iterator[None]:
    """Around what a view draws: with the help in a narrower column at its right, where that was wanted."""
    if not st.session_state.get("help_at_side"):
        yield
        return
    main, side = st.columns([3, 1], gap="medium")
    token = _SIDE.set(side)
    try:
        with main:
            yield
    finally:
        _SIDE.reset(token)


def _place() -> Any:
    """Where the help goes: closed below the pictures, or open at their side; None where it stands there already,
    because a part of the view alone is drawn again."""
    side = _SIDE.get()
    if side is None and st.session_state.get("help_at_side"):
        return None
    if side is None:
        return st.expander("How to read this", icon=":material/menu_book:")
    return side.expander("How to read this", icon=":material/menu_book:", expanded=True)


def how(words: str, formula: str | None, not_shown: str, source: str) -> None:
    """The reading help of a view: two sentences, the formula, what it does not show, the source."""
    if (place := _place()) is None:
        return
    with place:
        st.markdown(words)
        # A narrow column cuts a long line off; one with an alignment of its own stays whole.
        parts = [formula or ""] if r"\begin" in (formula or "") or _SIDE.get() is None else _QUAD.split(formula or "")
        for part in filter(None, parts):
            st.latex(part)
        st.markdown(f"**What it does not show:** {not_shown}  \n*Source: {source}.*")


def guarded(draw: Callable[..., None], *given: Any) -> None:
    """Draw a view, or say in its place why it has no meaning for this model."""
    from vizkit.traces import NotApplicable

    try:
        draw(*given)
    except NotApplicable as sentence:
        st.info(plain(sentence), icon=":material/block:")
