"""Where a reader stands and what was guessed: in the session, in the address, and in the browser's own storage."""

import json
from typing import Any

import streamlit as st

from vizkit.datasets import samples
from vizkit.lessons.expressions import LessonError
from vizkit.lessons.judging import rule_of
from vizkit.lessons.lesson import Lesson, Step
from vizkit.lessons.shelf import opened
from vizkit.ui.canvas import Canvas
from vizkit.ui.session import chosen
from vizkit.ui.session.address import drop, put
from vizkit.views import bundled
from vizkit.views.rules import RefusedError, words

LESSON, STEP, STORE, HEARD = "_lesson", "_lesson_step", "_lesson_answers", "_lesson_heard"
LONGEST, MOST = 1_000_000, 1000  # characters, and answers, that a browser keeps
LONGEST_WHY = 600
MEMORY = Canvas(
    "vizkit_lesson_memory",
    "<div hidden></div>\n",
    ":host { display: none }\n",
    """// What the server knows is kept; a session that knows nothing yet is told what was kept.
export default function ({ data, setStateValue }) {
  const KEY = 'vizkit-lessons'
  try {
    if (data.answers === null) setStateValue('kept', localStorage.getItem(KEY) || '{}')
    else localStorage.setItem(KEY, data.answers)
  } catch { /* storage may be refused: the session keeps them */ }
}
""",
)


def store() -> dict[str, Any]:
    """By "lesson|step|picture" a guess, with "|why" the reader's words; by "lesson" the step where somebody stood."""
    return st.session_state.setdefault(STORE, {})


def remember() -> None:
    """Mount what keeps the answers in this browser."""
    answers = json.dumps(store()) if st.session_state.get(HEARD) else None
    MEMORY("lesson_memory", {"answers": answers}, kept=(words(LONGEST), _hear))


def _hear(told: str) -> None:
    try:
        kept = json.loads(told)
    except (ValueError, RecursionError):
        kept = {}
    kept = kept if isinstance(kept, dict) and len(kept) <= MOST else {}
    st.session_state[STORE] = kept | store()
    st.session_state[HEARD] = True


# ---- where -----------------------------------------------------------------------------------------------------------
def follow() -> None:
    if LESSON in st.session_state:
        return
    st.session_state[LESSON], st.session_state[STEP] = "", 1
    if name := st.query_params.get("lesson", ""):
        step = st.query_params.get("step", "")
        go(name, int(step) if step.isascii() and step.isdigit() and len(step) < 4 else 1)
        follow_link(name)


def follow_link(name: str) -> None:
    """The lesson's own model and picture; where a link names one of them, the other only if both are of one kind."""
    named = {part for part in ("models", "image") if part in st.query_params}
    try:
        lesson = opened(name)
    except LessonError:
        return
    kinds = {samples.kind_of(str(st.query_params.get("image", lesson.picture)))}
    kinds |= {known.pictures for source in chosen.models_named() if (known := bundled.known(source))}
    if not named or (len(named) == 1 and kinds == {samples.kind_of(lesson.picture)}):
        take(name, *({"models", "image"} - named))


def go(name: str, step: int = 1) -> None:
    st.session_state[LESSON], st.session_state[STEP] = name, step
    if name:
        store()[name] = step


def take(name: str, *parts: str) -> None:
    """The model and the picture of a lesson, or one of them."""
    try:
        lesson = opened(name)
    except LessonError:
        return
    if "models" in parts:
        st.session_state["models"] = [lesson.model]
    if "image" in parts:
        st.session_state["image"] = lesson.picture


def where() -> tuple[str, int]:
    """The open lesson, "" for the shelf, and the step; the address says the same."""
    name, step = str(st.session_state.get(LESSON, "")), int(st.session_state.get(STEP, 1))
    if name:
        put("lesson", name)
        put("step", str(step))
    else:
        drop("lesson")
        drop("step")
    return name, step


# ---- what was guessed ------------------------------------------------------------------------------------------------
def key_of(lesson: Lesson, number: int) -> str:
    return f"{lesson.name}|{number}|{st.session_state.get('image', '')}"


def said(lesson: Lesson, number: int, step: Step) -> Any:
    """The guess, None where there is none that this question can have."""
    if step.question is None:
        return None
    try:
        return rule_of(step.question)(store().get(key_of(lesson, number)))
    except RefusedError:
        return None


def say(key: str, told: Any) -> None:
    if told is None:
        store().pop(key, None)
    elif len(store()) < MOST:
        store()[key] = json.loads(json.dumps(told))  # lists, as the browser keeps them


def why(lesson: Lesson, number: int) -> str:
    return str(store().get(f"{key_of(lesson, number)}|why", ""))[:LONGEST_WHY]


def answered(lesson: Lesson) -> int:
    """Questions with a guess, on whatever picture."""
    asked = {(lesson.name, str(number)) for number, _ in lesson.questions}
    return len(asked & {tuple(key.split("|")[:2]) for key in store()})
