"""The shelf, a step, and the end of a lesson."""

import contextlib
from collections.abc import Sequence
from functools import partial

import streamlit as st

from vizkit.analysis.remarks.remark import joined
from vizkit.from_json import ReportError
from vizkit.lessons.answers import Answered, to_json
from vizkit.lessons.checking import asked_of, at_mark
from vizkit.lessons.expressions import LessonError, written
from vizkit.lessons.judging import Judged, calibration, in_words, judged
from vizkit.lessons.lesson import Lesson, Look, Step
from vizkit.lessons.shelf import files, opened
from vizkit.lessons.spoilers import Asked, asked_after, withheld
from vizkit.traces import NotApplicable
from vizkit.ui import host, reading
from vizkit.ui.pages.lessons import kept, question
from vizkit.ui.pages.lessons.kept import answered, go, said
from vizkit.ui.plain import plain
from vizkit.ui.session import chosen
from vizkit.ui.session.columns import accepted
from vizkit.ui.session.subjects import NamedSubject
from vizkit.ui.session.uploads import give_texts
from vizkit.ui.shell import TITLES, page_of
from vizkit.ui.sidebar.inputs import sample
from vizkit.ui.sidebar.strip import small
from vizkit.ui.views import Page, package_of
from vizkit.ui.widgets.table import show as show_table
from vizkit.views import VIEWS, bundled
from vizkit.views.address import to_address
from vizkit.views.blocks import Table

CARD_PX = 515
HOW = (
    "Every step asks before it shows: predict, then see what the model in front of you answers on your image, and "
    "how much of it your guess holds. Exchange model or image at the left, and the answers change with them.",
    None,
    "what a model ought to look at. An answer is what this model does; attention is no explanation by itself.",
    "Kim, Reinecke & Hullman, CHI 2017, on predicting before seeing",
)
LEVELS = {"beginner": "green", "intermediate": "blue", "advanced": "violet"}


def view(page: Page) -> None:
    kept.remember()
    name, number = kept.where()
    if not name:
        _shelf()
        return
    try:
        lesson = opened(name)
    except LessonError as sentence:
        st.warning(plain(f"{name}: {sentence}"), icon=":material/warning:")
        st.button("All lessons", on_click=go, args=("",))
        return
    number = min(max(1, number), len(lesson.steps) + 1)
    _line(lesson, number)
    step = lesson.steps[number - 1] if number <= len(lesson.steps) else None
    source = chosen.sources()[0] if chosen.sources() else lesson.model
    own = source == lesson.model  # nobody has chosen another
    if (of := accepted((own and step and step.model) or source, chosen.picture())) is None:
        return
    try:
        _step(lesson, number, step, of, own) if step else _end(lesson, of, own)
    except (LessonError, NotApplicable, ReportError) as sentence:
        st.info(plain(f"With {of.name} on this image this step has no answer: {sentence}"), icon=":material/block:")
        st.button("Take the lesson’s own model and image", on_click=kept.take, args=(name, "models", "image"))


# ---- the shelf -------------------------------------------------------------------------------------------------------
def _shelf() -> None:
    with st.container(horizontal=True):
        for name in files():
            with st.container(border=True, width=CARD_PX):
                _card(name)
    reading.how(*HOW)


def _card(name: str) -> None:
    try:
        lesson = opened(name)
    except (LessonError, OSError) as sentence:
        st.markdown(f"**{plain(name)}**")
        st.caption(f":material/warning: {plain(sentence)}")
        return
    picture = sample(lesson.picture)
    done, of, at = answered(lesson), len(lesson.questions), kept.store().get(name)
    at = at if isinstance(at, int) and 1 <= at <= len(lesson.steps) + 1 else 1
    mine = _mine(lesson)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.image(small(picture.digest, picture.rgb), width=72, alt=lesson.picture)
        with st.container(width="stretch", gap="small"):
            st.markdown(f"#### {plain(lesson.called)}")
            begun = f" · {done} of {of} answered" if done else ""
            st.caption(f":{LEVELS[lesson.level]}[{lesson.level}] · {lesson.minutes} minutes · {of} questions{begun}")
            st.caption(f"{plain(bundled.title(lesson.model))} on {plain(lesson.picture)}")
        words = "Begin" if at == 1 else f"Go on at {at}" if at <= len(lesson.steps) else "Open again"
        kind = "primary" if at == 1 else "secondary"
        st.button(words, key=f"open_{name}", type=kind, on_click=_open, args=(name, at if words[0] == "G" else 1))
        if mine:
            help = f"With the model and the image that are chosen now: {plain(bundled.title(chosen.sources()[0]))}."
            st.button(f"On {plain(mine)}", key=f"mine_{name}", on_click=go, args=(name, 1), help=help)
    st.markdown("\n".join(f"- {plain(sentence)}" for sentence in lesson.able))


def _mine(lesson: Lesson) -> str:
    """The chosen image, where it is another with a model that the lesson can be about."""
    source, image = next(iter(chosen.sources()), lesson.model), str(st.session_state.get("image", lesson.picture))
    kinds = [known.kind for each in (source, lesson.model) if (known := bundled.known(each))]
    return image if (source, image) != (lesson.model, lesson.picture) and len(set(kinds)) < 2 else ""


def _open(name: str, step: int) -> None:
    go(name, step)
    kept.take(name, "models", "image")


# ---- a step ----------------------------------------------------------------------------------------------------------
def _line(lesson: Lesson, number: int) -> None:
    """Where one is, and the ways on: always in the same place."""
    last = len(lesson.steps)
    where = f"{number} of {last}" if number <= last else "The end"
    with st.container(horizontal=True, vertical_alignment="center"):
        with st.container(width="stretch"):
            st.progress(min(1.0, number / (last + 1)), f"**{plain(lesson.called)}** · {where}")
        with st.container(horizontal=True, width="content"):
            st.button("All lessons", on_click=go, args=("",), type="tertiary", key="lesson_all")
            for words, to, kind in (("Back", number - 1, "secondary"), ("Next", number + 1, "primary")):
                more = {"key": f"lesson_{words.lower()}", "type": kind, "disabled": not 1 <= to <= last + 1}
                st.button(
                    words,
                    icon=f":material/arrow_{'back' if to < number else 'forward'}:",
                    on_click=go,
                    args=(lesson.name, to),
                    **more,
                )


def _step(lesson: Lesson, number: int, step: Step, of: NamedSubject, own: bool) -> None:
    told, key = said(lesson, number, step), kept.key_of(lesson, number)
    later = partial(asked_after, lesson, number, lambda step, of=of: asked_of(step, of, own))
    of = at_mark(step, of)
    found = judged(step.question, of, told) if step.question and told is not None else None
    left, right = st.columns([2, 3], gap="large")
    with left:
        st.markdown(f"### {plain(step.title)}")
        st.markdown(question.written(step.prose, of))
        with st.container(key=f"lesson_ask_{number}"):
            if step.question and found is None:
                question.ask(step, step.question, of, key)
            elif found:
                question.reveal(step, found, of, key)
        if number == 1:
            _handout_button(lesson, of, own)
    with right:
        place = step.question is not None and step.question.kind in question.HINTS
        if place or step.look is None or (found is None and (step.mark or step.question)):
            guessed = found is not None and found.values is not None
            question.picture(step, found, of, key, question.FOUND if guessed else of.image)
        if step.look is not None and (found or step.question is None):
            with st.container(key=f"lesson_look_{number}"):
                reading.guarded(_view, step.look, of, f"{lesson.name}|{number}", later())


def _view(look: Look, of: NamedSubject, key: str, later: Sequence[Asked]) -> None:
    """On a stage, as the lesson sets it, without what is asked later."""
    view, entry = look.set_for(of), VIEWS[look.name]
    give_texts(view, of)
    host.draw_staged(view, of, key, partial(withheld, later=later))
    parameters = to_address(view) | {f"{entry.page}_view": entry.title}
    where = [TITLES[entry.page], entry.title][: len(package_of(entry.page).VIEWS) or 1]
    words = f"Open on its page: **{' › '.join(where)}**"
    st.page_link(page_of(entry.page, entry.title), label=words, icon=":material/open_in_full:", query_params=parameters)


# ---- the end ---------------------------------------------------------------------------------------------------------
def _end(lesson: Lesson, of: NamedSubject, own: bool) -> None:
    found: list[tuple[int, Step, Judged]] = []
    for number, step in lesson.questions:
        if step.question and (told := said(lesson, number, step)) is not None:
            with contextlib.suppress(LessonError, NotApplicable):  # of another model: it has no answer
                found.append((number, step, judged(step.question, asked_of(step, of, own), told)))
    st.markdown(f"### Where you and {plain(of.name)} look")
    for sentence in calibration([(step, each) for _, step, each in found], of):
        st.markdown(f":primary[:material/insights:] {plain(sentence)}")
    if left := [str(number) for number, step in lesson.questions if said(lesson, number, step) is None]:
        st.markdown(f"Steps without a guess: {joined(left)}. Go back, and predict before you look.")
    rows = [(number, step, each, *in_words(each, step.question)) for number, step, each in found]
    if rows:
        table = tuple(
            {"Step": f"{number} · {step.title}", "You": guess, "The model": answer, "Found": written(each.score, ".0%")}
            for number, step, each, guess, answer in rows
        )
        helps = {"Found": "The share of what was to be found that your guess holds."}
        show_table("lesson_end", Table(table, "Every question with your guess and the model’s answer", helps=helps))
    learner = st.text_input("Your name, for the file alone", key="lesson_learner", max_chars=80, width=320)
    answers = [
        Answered(
            number,
            step.title,
            step.question.kind if step.question else "",
            guess,
            answer,
            each.score,
            each.right,
            kept.why(lesson, number),
        )
        for number, step, each, guess, answer in rows
    ]
    with st.container(horizontal=True):
        st.download_button(
            "My answers (JSON)",
            to_json(learner, lesson.name, of.name, of.image, answers),
            f"{lesson.name}_answers.json",
            "application/json",
            icon=":material/download:",
            on_click="ignore",
            disabled=not rows,
        )
        _handout_button(lesson, of, own)
        st.button("All lessons", icon=":material/menu_book:", on_click=go, args=("",), key="lesson_ends")


def _handout_button(lesson: Lesson, of: NamedSubject, own: bool) -> None:
    """Where a lesson begins and where it ends."""

    def made() -> bytes:
        from vizkit.lessons.handout import document

        return document(lesson, of, own).encode()

    label, name = "Handout to print (HTML)", f"{lesson.name}.html"
    st.download_button(label, made, name, "text/html", icon=":material/print:", on_click="ignore", key="handout")
