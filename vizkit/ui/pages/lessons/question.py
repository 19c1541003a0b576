"""A question on the page: how each kind is answered, and what is said then."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from vizkit.figure.canvas.rows import text64
from vizkit.figure.palette import OPACITIES, colours
from vizkit.figure.scales import SHARES, robust
from vizkit.image import digest_of
from vizkit.lessons.checking import given
from vizkit.lessons.judging import Judged, first_grid, grid_of, marked, options, rule_of
from vizkit.lessons.lesson import LIMITS, SHARE, Question, Step
from vizkit.lessons.prose import Prose
from vizkit.ui.canvas import picture_url, script_canvas
from vizkit.ui.pages.lessons import kept
from vizkit.ui.plain import plain
from vizkit.ui.session.subjects import NamedSubject
from vizkit.views.rules import several

HINTS = {
    "point": "Click a patch, or choose one with the arrow keys and Enter.",
    "draw": "Paint patches: drag, or use the arrow keys and Enter.",
}
FOUND = "Dashed: you. Solid: the model."


def written(text: Prose, of: NamedSubject, **known: Any) -> str:
    return text.markdown(text.filled(of, **known), plain)


def ask(step: Step, question: Question, of: NamedSubject, key: str) -> None:
    """The question with its hint; of a place the picture asks. LessonError, NotApplicable where it has no answer."""
    for expression in question.expressions:
        expression.value(of)
    st.markdown(f"**{written(question.asks, of)}**")
    say = partial(kept.say, key)
    if question.kind == "number":
        _number(question, key, say)
    elif question.kind == "choice":
        for number, words in enumerate(options(question, of)):
            st.button(plain(words), key=f"{key}|{number}", on_click=say, args=(number,), width="stretch")
    elif question.kind == "order":
        _order(options(question, of), key, say)
    else:
        st.caption(HINTS[question.kind])
    if step.hint is not None:
        with st.expander("Hint", icon=":material/lightbulb:"):
            st.markdown(written(step.hint, of))


def _number(question: Question, key: str, say: Callable[[Any], None]) -> None:
    share = question.unit == SHARE
    unit = "per cent" if share else plain(question.unit)
    low, high = LIMITS.get(question.unit, (None, None))
    label = f"Your guess, in {unit}" if unit else "Your guess"
    if low is not None:
        label = f"Your guess, a {unit} from {low:g} to {high:g}".replace("-", "−")

    def take() -> None:
        if (value := st.session_state[f"{key}|typed"]) is not None:
            say(float(value) / (100 if share else 1))

    with st.form(f"{key}|form", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        st.number_input(label, low, high, None, step=None, format="%g", key=f"{key}|typed", width=220)
        st.form_submit_button("This is my guess", type="primary", on_click=take)


def _order(texts: list[str], key: str, say: Callable[[Any], None]) -> None:
    chosen = st.multiselect(
        "From the largest to the smallest", range(len(texts)), format_func=lambda at: texts[at], key=f"{key}|chosen"
    )
    whole = len(chosen) == len(texts)
    st.button(
        "This is my guess", type="primary", key=f"{key}|order", disabled=not whole, on_click=say, args=(list(chosen),)
    )


def reveal(step: Step, found: Judged, of: NamedSubject, key: str) -> None:
    """What the model answers, and how near the guess came; then the reader's own words."""
    assert step.question is not None
    st.markdown(f"**{written(step.question.asks, of)}**")
    icon = "check_circle" if found.right else "insights"
    st.markdown(f":{'green' if found.right else 'primary'}[:material/{icon}:] **{plain(found.sentence)}**")
    if step.reveal is not None:
        st.markdown(written(step.reveal, of, **given(found)))
    if step.why is not None:
        name = f"{key}|why"
        st.session_state.setdefault(f"{name}|typed", str(kept.store().get(name, "")))
        st.text_area(
            written(step.why, of),
            key=f"{name}|typed",
            height=80,
            max_chars=kept.LONGEST_WHY,
            placeholder="In your own words; nobody marks it.",
            on_change=lambda: kept.say(name, st.session_state[f"{name}|typed"] or None),
        )
    look: Any = {"type": "tertiary", "icon": ":material/undo:"}
    st.button("Guess again", key=f"{key}|again", on_click=kept.say, args=(key, None), **look)


def picture(step: Step, found: Judged | None, of: NamedSubject, key: str, words: str) -> None:
    """The picture as the model sees it: what is asked before the guess, and both answers after it."""
    question = step.question
    mode = question.kind if question and question.kind in HINTS and found is None else "look"
    values = found.values if found else grid_of(question, of) if question and mode != "look" else None
    grid = first_grid(of) if values is None else tuple(values.shape)
    shown = np.zeros(0, np.uint8)
    if found is not None and found.values is not None:
        values_shown = found.values.numpy()
        scale = robust([values_shown]) if question and question.unit else SHARES
        shown = scale.of(values_shown).levels(values_shown).ravel()
    seen = of.seen_rgb
    data = {
        "image": picture_url(digest_of(seen), seen),
        "size": seen.shape[:2],
        "grid": grid,
        "mode": mode,
        "epoch": f"{key}|{mode}|{grid}",
        "values": text64(shown),
        "colours": text64(colours()),
        "opacity": OPACITIES["over image"],
        "guessed": found.guessed if found else (),
        "best": found.best if found else (),
        "marked": tuple(filter(None, [marked(step, of, grid)])),
        "label": f"The image as {of.name} sees it, in {grid[0]} × {grid[1]} patches. {HINTS.get(mode, words)}",
        "hint": HINTS.get(mode, ""),
        "words": f"{words} Bright: large {question.unit}." if len(shown) and question and question.unit else words,
    }
    asks = question if question and question.kind in HINTS else None
    rule = several(_nothing, 0)
    if asks:
        rule = rule_of(asks) if asks.kind == "draw" else several(rule_of(asks), 1)

    def hear(told: tuple[Any, ...]) -> None:
        if asks and told:
            kept.say(key, told if asks.kind == "draw" else told[0])

    script_canvas("vizkit_guess")(f"guess_{key}", data, guess=(rule, hear))


def _nothing(told: object) -> None:
    return None
