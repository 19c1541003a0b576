"""Words beside the pictures: what is shown, how true it is, how to read it, and what it does not show."""

import contextlib
import re
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import streamlit as st

from vizkit.ui.plain import plain

if TYPE_CHECKING:
    from vizkit.check import Check
    from vizkit.models import Loaded
    from vizkit.traces import Attention, Trace


def layer_line(trace: "Trace", attention: "Attention | None", layer: int, head: int | None) -> str:
    if attention is None:
        count = len(trace.features)
        why = " · its attention has no softmax" if trace.linear else ""
        return f"stage {min(layer, count)} of {count} · strength of features{why}" if count else "no stages"
    count = sum(a.learned for a in trace.attention)
    fused = attention.weights.shape[1]
    which = f"mean of {attention.heads} heads"
    if head is not None and fused == attention.heads:  # for very many weights the mean alone is recorded
        which = f"head {min(head + 1, fused)} of {attention.heads}"
    grid = attention.key.grid
    size = f" · {grid[0]} × {grid[1]} places" if grid else ""
    return f"layer {min(layer, count)} of {count} · `{attention.name}` · {which}{size}"


def why_no_map(attention: "Attention | None") -> str:
    if attention is not None and attention.key.name == "channels":
        return "This layer mixes channels, not places: it attends to no place in the image."
    return "Where the tokens of this layer lie in the image is not known, so no map is drawn."


PROOF = """The proof that this picture is what the model computed.

**For this very picture:** every row of attention sums to one; every attention layer was recorded, where their number is
known without the recording; and in each of them, for a few queries (rows), which are others for every picture, the
weights that meet the values are those shown and give the layer's own output. Of a changed model also that each layer
gives, for a few queries, what the changes make of its own scores.

**Once for this model at this input size:** the prediction is the same with and without recording; and where small
squares of a picture are changed, the tokens change that are said to lie there.

**The largest differences:** """


def proof(trace: "Trace") -> None:
    """The badge: what was checked for this very picture, and what once at its size; red where it does not agree. The
    numbers of all comparisons stand in its help, and where one fails in the badge."""
    check = trace.check
    for note in trace.notes:
        if note != check.failure:  # that one stands above the picture, see `shown.accepted`
            st.caption(f":material/info: {plain(note)}")
    logits, numbers = compared("logits", check.logit_error), numbers_of(check)
    if check.layers_expected == 0:
        text, help_text = logits, "Compared once for this model at this input size."
    else:
        text, help_text = agreement(check) if check.passed else numbers, f"{PROOF}{numbers}."
    badge = f":green[:material/verified: {text}]" if check.passed else f":red[:material/error: {text}]"
    st.caption(badge, help=help_text)


def numbers_of(check: "Check") -> str:
    """Every comparison by itself."""
    outputs = f"{compared('outputs', check.output_error)}{check.compared}"
    changes = "" if check.edit_error is None else within("changes", check.edit_error)
    rows, logits = within("rows", check.row_sum_error), compared("logits", check.logit_error)
    return " · ".join(filter(None, [rows, outputs, changes, logits, check.layers, check.places]))


def agreement(check: "Check") -> str:
    """What agrees in few words: the largest difference, and all that was not compared."""
    errors = {"outputs": check.output_error, "logits": check.logit_error, "changes": check.edit_error}
    made = [error for error in errors.values() if error is not None]
    agrees = within("agrees with the model", max(made), "exactly") if made else within("rows", check.row_sum_error)
    missing = [compared(what, None) for what in ("outputs", "logits") if errors[what] is None]
    rows = check.compared and f"{check.compared.removeprefix(' in ')} compared"
    places = check.places if check.places_found < check.places_claimed else ""
    return " · ".join(filter(None, [agrees, rows, *missing, check.layers, places]))


def compared(what: str, error: float | None) -> str:
    return f"{what} not compared" if error is None else within(what, error)


def within(what: str, error: float, exact: str = "exact") -> str:
    return f"{what} {exact}" if error == 0 else f"{what} within {error:.0e}"


def about(loaded: "Loaded") -> str:
    height, width = loaded.preprocessing.size_hw
    count = loaded.parameters
    size = f"{count / 1e6:.1f} M" if count >= 1e6 else f"{count / 1e3:.0f} k"
    parts = [
        f"{size} parameters",
        f"input {height} × {width} pixels",
        plain(loaded.source),
        plain(licence_words(loaded.licence)),
    ]
    if not loaded.head.exclusive:
        parts.insert(0, loaded.head.title)
    if not loaded.trained:
        parts.insert(0, "**untrained: its predictions mean nothing**")
    return " · ".join(parts)


def licence_words(licence: str) -> str:
    """As it is written by its authors, from a model card's identifier: "MIT licence" from "mit"."""
    written = {"mit": "MIT", "apache-2.0": "Apache 2.0", "bsd-3-clause": "BSD 3-Clause"}
    name = written.get(licence.lower()) or re.sub(r"^cc-(.*)-(\d.*)$", lambda m: f"CC {m[1].upper()} {m[2]}", licence)
    return f"licence {name}" if name.startswith(("no", "unknown")) else f"{name} licence"


_QUAD = re.compile(r",?\s*\\q?quad\s*")
_SIDE: ContextVar[Any] = ContextVar("where the help stands at the side", default=None)


def at_side() -> bool:
    """The switch in the page's line: whether the help stays open beside the pictures, for the whole session."""
    return st.toggle("Help at the side", key="help_at_side", persist_state="session",
                     help="“How to read this” stays open beside the pictures; on a phone below them.")  # fmt: skip


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


def _place() -> Any:  # noqa: ANN401
    """Where the help goes: closed below the pictures, or open at their side; None where it stands there already,
    because a part of the view alone is drawn again."""
    side = _SIDE.get()
    if side is None and st.session_state.get("help_at_side"):
        return None
    if side is None:
        return st.expander("How to read this", icon=":material/menu_book:")
    return side.expander("How to read this", icon=":material/menu_book:", expanded=True)


def attention() -> None:
    if (place := _place()) is not None:
        place.markdown(
            r"""
A bright place has a large weight: the marked query attends strongly to it in this layer. The weights of all places,
special tokens and padding sum to one. Hover to preview, click or use the arrow keys to choose a patch; every model has
a grid of its own.

$$\text{weights} = \mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}} + \text{mask}\right)$$

The dark border was cut off before the model saw the image. For a network without attention, or whose attention has no
softmax, the length of the feature vector at each place is drawn instead.

**What it does not show:** why the model predicts a class. A weight says how a layer mixes its tokens; the values that
it mixes, and everything after, are not in the picture (Jain & Wallace 2019).
*Source: Vaswani et al. 2017, eq. 1; Dosovitskiy et al. 2020; windows: Liu et al. 2021.*
"""
        )


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


def guarded(draw: Callable[..., None], *given: Any) -> None:  # noqa: ANN401
    """Draw a view, or say in its place why it has no meaning for this model."""
    from vizkit.traces import NotApplicable

    try:
        draw(*given)
    except NotApplicable as sentence:
        st.info(plain(sentence), icon=":material/block:")
