"""A lesson on paper: a page of its own with every step, its picture, room for a guess, and the answers at the end."""

import base64
from html import escape

from vizkit.from_json import ReportError
from vizkit.lessons.checking import asked_of, given
from vizkit.lessons.expressions import LessonError
from vizkit.lessons.judging import first_grid, grid_of, in_words, judged, marked, options
from vizkit.lessons.lesson import Lesson, Step
from vizkit.settings import __version__
from vizkit.standalone.formula import mathml
from vizkit.standalone.page import around
from vizkit.traces import NotApplicable
from vizkit.views.subject import Subject

CSS = """<style>section { break-inside: avoid; border-top: 1px solid #8884; padding: .6em 0 } img { max-width: 26rem;
width: 100%; display: block; margin: .5em 0 } .guess { border-bottom: 1px dotted; height: 2.2em }
.cells { position: relative; max-width: 26rem; print-color-adjust: exact }
.cells::after { content: ""; position: absolute; inset: 0; background:
linear-gradient(#fffc 1px, #0000 1px) 0 0 / 100% calc(100% / var(--rows)),
linear-gradient(90deg, #fffc 1px, #0000 1px) 0 0 / calc(100% / var(--columns)) }
.cells i { position: absolute; width: calc(100% / var(--columns)); height: calc(100% / var(--rows));
outline: 3px solid #06c;
left: calc(100% * var(--column) / var(--columns)); top: calc(100% * var(--row) / var(--rows)); box-sizing: border-box }
@media print { .answers[open] { break-before: page } details.answers:not([open]) { display: none } }</style>"""
NOBODY = {"point": (0.5, 0.5), "draw": [(0.5, 0.5)], "number": 0, "choice": 0}


def document(lesson: Lesson, of: Subject, own: bool = True) -> str:
    """HTML without scripts; of steps that this model has no answer for the sentence that says so. `own`: as
    `checking.asked_of` takes it."""
    able = "".join(f"<li>{escape(each)}</li>" for each in lesson.able)
    asked = [(number, step, asked_of(step, of, own)) for number, step in enumerate(lesson.steps, 1)]
    steps = "".join(f"<section>{_step(step, on, number)}</section>" for number, step, on in asked)
    answers = "".join(f"<li value='{number}'>{_answer(step, on)}</li>" for number, step, on in asked if step.question)
    facts = f"{escape(of.name)} · {escape(of.image)} · {lesson.minutes} minutes · vizkit {__version__}"
    return around(
        f"{CSS}<h1>{escape(lesson.title)}</h1><p>{facts}</p><ul>{able}</ul>{_seen(of)}{steps}"
        "<details class='answers'><summary>Answers, measured on this model and image</summary>"
        f"<ol>{answers}</ol></details>",
        lesson.title,
    )


def _step(step: Step, of: Subject, number: int) -> str:
    parts = [f"<h2>{number}. {escape(step.title)}</h2>"]
    try:
        parts.append(step.prose.html(step.prose.filled(of), mathml))
        if step.question is not None:
            parts.append(f"<p><strong>{step.question.asks.words(step.question.asks.filled(of))}</strong></p>")
            listed = options(step.question, of) if step.question.parts else []
            parts.append(f"<ul>{''.join(f'<li>{escape(words)}</li>' for words in listed)}</ul><p class='guess'></p>")
        parts.append(_picture(step, of))
    except (LessonError, NotApplicable, ReportError) as sentence:
        parts.append(f"<p><em>{escape(str(sentence))}</em></p>")
    return "".join(parts)


def _picture(step: Step, of: Subject) -> str:
    """Of a question to the picture, or to a place of it, the picture with its patches; without a question what the
    view shows, which would tell an answer else."""
    from vizkit.figure.saved.png import png
    from vizkit.figure.saved.single import Captions
    from vizkit.hosts.paper import plate

    place = step.question is not None and step.question.kind in ("point", "draw")
    if place or step.mark is not None:
        rows, columns = grid_of(step.question, of).shape if place and step.question else first_grid(of)
        picture = _seen(of)
        if (cell := marked(step, of, (rows, columns))) is not None:
            top, left = cell
            picture += f"<i style='--row:{top};--column:{left}' title='the marked place'></i>"
        legend = "<p>Blue: the marked patch.</p>" * (cell is not None)
        return f"<div class='cells' style='--rows:{rows};--columns:{columns}'>{picture}</div>{legend}"
    if step.question is not None:
        return ""
    if step.look is None:
        return ""
    view = step.look.set_for(of)
    title = view.title([of] if view.together else of)
    drawn = png(plate(view, [of], Captions(title, [], [], {})))
    return f"<img alt='{escape(title)}' src='data:image/png;base64,{base64.b64encode(drawn).decode()}'>"


def _seen(of: Subject) -> str:
    """The picture as the model sees it."""
    from vizkit.image import data_url

    return f"<img alt='{escape(of.image)}' src='{data_url(of.seen_rgb)}'>"


def _answer(step: Step, of: Subject) -> str:
    assert step.question is not None
    try:
        told = NOBODY.get(step.question.kind, range(len(step.question.parts)))
        found = judged(step.question, of, told)
        answer = f"<p>{escape(in_words(found, step.question)[1])}</p>"
        if step.reveal is None or any(expression.says("guess") for expression, _ in step.reveal.values):
            return answer
        return f"{answer}{step.reveal.html(step.reveal.filled(of, **given(found)), mathml)}"
    except (LessonError, NotApplicable) as sentence:
        return escape(str(sentence))
