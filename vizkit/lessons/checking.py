"""Whether a lesson holds on a model and a picture: views open, answers can be worked out, texts filled."""

from collections.abc import Iterator
from copy import copy
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

from vizkit.geometry import out_of_box
from vizkit.lessons.expressions import LessonError
from vizkit.lessons.judging import Judged, expected_of_none, first_grid, grid_of, judged, marked
from vizkit.lessons.lesson import Lesson, Look, Question, Step
from vizkit.lessons.pictured import unlike
from vizkit.lessons.spoilers import spoilers
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Block
from vizkit.views.subject import Subject

if TYPE_CHECKING:
    from vizkit.models import Loaded

Of = TypeVar("Of", bound=Subject)
ABLE, TIMES_OFF = (2, 4), 2.0
QUESTION_S, VIEW_S = 40, 25  # to answer, to look


def subject(model: str, picture: str) -> Subject:
    """Of a bundled picture. ModelError for a model that is not here."""
    from vizkit.datasets import samples
    from vizkit.models import load
    from vizkit.views import bundled

    loaded: Loaded = load(model)
    return Subject(lambda: loaded, samples.picture(picture), image=picture, model=bundled.title(model))


def at_mark(step: Step, of: Of) -> Of:
    """The same subject with the cursor in the place that a step frames, so that its view draws that one; as it is where
    this model has no such place."""
    try:
        place = step.question is not None and step.question.kind in ("point", "draw")
        grid = tuple(grid_of(step.question, of).shape) if place and step.question else first_grid(of)
        cell = marked(step, of, grid)
    except (LessonError, NotApplicable):
        return of
    if cell is None:
        return of
    there, point = copy(of), ((cell[1] + 0.5) / grid[1], (cell[0] + 0.5) / grid[0])
    there.point = out_of_box(point, of.box_xyxy, (of.rgb.shape[0], of.rgb.shape[1]))
    there.marked, there._others, there._pictured = True, {}, {}
    there.__dict__.pop("seen", None)
    return there


def asked_of(step: Step, of: Subject, own: bool) -> Subject:
    """Whom a step asks: its own model, where `own` says that `of` is the lesson's."""
    return at_mark(step, of.other(step.model) if own and step.model else of)


def minutes(lesson: Lesson) -> float:
    """To read, to look and to answer."""
    seconds = sum(text.seconds for step in lesson.steps for _, text in step.texts)
    looks = sum(step.look is not None for step in lesson.steps)
    return (seconds + QUESTION_S * len(lesson.questions) + VIEW_S * looks) / 60


def problems(lesson: Lesson, model: str = "", picture: str = "", of: Subject | None = None) -> Iterator[str]:
    """A sentence for each, with its line; on another model or picture than the lesson's own where those are named."""
    if not ABLE[0] <= len(lesson.able) <= ABLE[1]:
        yield f"able has {ABLE[0]} to {ABLE[1]} sentences, not {len(lesson.able)}."
    takes = minutes(lesson)
    if not 1 / TIMES_OFF <= takes / lesson.minutes <= TIMES_OFF:
        yield f"This takes about {takes:.0f} minutes to read and to answer, not {lesson.minutes}."
    opened = cache(partial(subject, picture=picture or lesson.picture))
    subjects, figures = dict[int, Subject](), dict[int, list[Block]]()
    for number, step in enumerate(lesson.steps, 1):
        on = subjects[number] = at_mark(step, of or opened(model or step.model or lesson.model))
        for sentence in _step(step, on, figures.setdefault(number, [])):
            yield sentence if sentence.startswith("Line ") else f"Line {step.line}: {step.title}: {sentence}"
    yield from spoilers(lesson, subjects, figures)


def _step(step: Step, of: Subject, shown: list[Block]) -> Iterator[str]:
    texts = [text for _, text in step.texts]
    written = [expression for text in texts for expression, _ in text.values]
    written += step.question.expressions if step.question else []
    written += step.look.measured.values() if step.look else []
    for expression in written:
        try:
            expression.proven()
        except LessonError as sentence:
            yield str(sentence)
            return
    if step.look is not None:
        yield from _view(step.look, of, shown)
    try:
        for what, text in step.texts:
            if what != "reveal":
                text.filled(of)
        answer = _tried(step.question, of) if step.question else None
        if isinstance(answer, Judged) and answer.values is not None:
            marked(step, of, answer.values.shape)
        if isinstance(answer, str):
            yield answer
        elif step.reveal is not None:
            step.reveal.filled(of, **given(answer))
        if step.look is not None and step.question is not None:
            yield from unlike(step.look, step.question, of)
    except (LessonError, NotApplicable) as sentence:
        yield str(sentence)


def given(answer: Judged | None) -> dict[str, Any]:
    """What a reveal knows by name."""
    return {} if answer is None else {"guess": answer.guess, "answer": answer.answer}


def _tried(question: Question, of: Subject) -> Judged | str:
    """The answer to a guess of nobody's, or why the question is none."""
    told = {"point": (0.5, 0.5), "draw": [(0.5, 0.5)], "number": 0, "choice": 0, "order": range(len(question.parts))}
    found = judged(question, of, told[question.kind])
    values = [expression.value(of) for _, expression in question.parts]
    if question.kind == "choice" and values.count(True) != 1:
        return f"Line {question.line}: Of the options {values.count(True)} hold, not one."
    none = expected_of_none(question, of) if question.kind == "number" else None
    if none is not None and judged(question, of, none).right:
        return f"Line {question.line}: What is asked changes nothing here: to expect no effect would be right."
    if question.kind == "order" and len(set(values)) < len(values):
        return f"Line {question.line}: Two of the items have the same number, so they have no order."
    return found


def _view(look: Look, of: Subject, shown: list[Block]) -> Iterator[str]:
    """What is wrong with it; `shown` gets what it shows."""
    from vizkit.from_json import ReportError
    from vizkit.hosts.showing import Showing, able
    from vizkit.views.controls import checked

    try:
        view = look.set_for(of)
        able(view, [of])
        shown += Showing(checked(view, [of]), [of]).blocks
        if not shown:
            yield f"Line {look.line}: {look.name} shows nothing."
        for block in shown:
            if getattr(block, "alt", "words") == "":
                yield f"Line {look.line}: a {type(block).__name__} of {look.name} has no alternative text."
    except (ReportError, NotApplicable) as sentence:
        said = str(sentence)
        yield said if said.startswith("Line ") else f"Line {look.line}: {look.name}: {said}"
