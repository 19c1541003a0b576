"""The lessons that come with vizkit: they hold, they read well, and their right answers are those of the live model."""

import ast
from functools import cache
from pathlib import Path

import pytest

from vizkit.geometry import cell_of
from vizkit.lessons import checking, expressions, lesson, pictured
from vizkit.lessons.judging import expected_of_none, judged, marked, quantity
from vizkit.lessons.vocabulary import VOCABULARY, maps
from vizkit.models.probes.model_functions import randomised
from vizkit.traces import NotApplicable
from vizkit.views.subject import Subject
from vizkit.views.swin.place import place, token_at

FILES = sorted(
    (Path(lesson.__file__).parent / "course").glob("*.md"), key=lambda file: int(file.stem.split("_")[0]) or 99
)
"""Lesson 0 last: its model takes longest."""
WEIGHTS = ("shuffled 0", "shuffled 1", "shuffled 2")
NETWORKS = ("digits_vit", "insects_deit", "insects_vit", "insects_swin", "digits_swin", "digits_cnn", "digits_lenet")


@cache
def read(file):
    return lesson.read(file.read_text(encoding="utf-8"), file.stem)


@cache
def subject(model, picture):
    return checking.subject(model, picture)


@cache
def exchanged(model, picture, name):
    """The same network with other weights, or another network."""
    if name not in WEIGHTS:
        return subject(f"bundled:{name}", picture)
    own = subject(model, picture)
    loaded = randomised(own.loaded, seed=int(name.split()[1]))
    return Subject(lambda: loaded, own.original, image=picture, model=own.model)


def right_guess(question, of):
    """What a learner would have to say, as a page keeps it."""
    if question.answer is not None:
        answer = question.answer.value(of)
        if question.kind == "number":
            return answer
        rows, columns = answer.shape
        order = answer.flatten().argsort(descending=True).tolist()
        some = answer[answer > 0]
        whole = len(some) and bool((some == some[0]).all())  # a set, such as a window
        count = 1 if question.kind == "point" else len(some) if whole else maps.holding(answer, 0.5)
        places = [((at % columns + 0.5) / columns, (at // columns + 0.5) / rows) for at in order[:count]]
        return places[0] if question.kind == "point" else places
    values = [expression.value(of) for _, expression in question.parts]
    if question.kind == "choice":
        return values.index(True)
    return sorted(range(len(values)), key=lambda at: -values[at])


def of_runs(file):
    """About a run and not about the model at hand: `test_learning` exchanges its run."""
    return file.stem == "10_did_my_attention_learn"


def questions():
    return [
        pytest.param(file, number, id=f"{file.stem}-{number}")
        for file in FILES
        for number, step in enumerate(read(file).steps, 1)
        if step.question and not of_runs(file)
    ]


@pytest.mark.product
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_lesson_holds_and_has_one_idea_a_step(file, monkeypatch):
    given, opened, make = read(file), [], checking.subject
    monkeypatch.setattr(checking, "subject", lambda name, picture: opened.append(name) or make(name, picture))
    assert list(checking.problems(given)) == []
    assert sorted(opened) == sorted({step.model or given.model for step in given.steps})  # each once
    assert (4 if given.minutes < 10 else 10) <= len(given.steps) <= 14
    assert len(given.questions) >= 0.6 * len(given.steps)
    assert all(40 <= len(step.prose.words().split()) <= 125 for step in given.steps)
    assert all(step.look or step.question for step in given.steps)  # no view shows what some questions ask
    assert all((step.reveal is not None) == (step.question is not None) for step in given.steps)


@pytest.mark.product
@pytest.mark.parametrize("file, number", questions())
def test_the_right_answer_changes_with_the_model(file, number):
    given = read(file)
    step = given.steps[number - 1]
    question = step.question
    assert question is not None
    own = subject(step.model or given.model, given.picture)
    told = right_guess(question, own)
    assert judged(question, own, told).right

    def is_wrong(name):
        try:
            return not judged(question, exchanged(step.model or given.model, given.picture, name), told).right
        except (NotApplicable, expressions.LessonError):
            return False  # no answer is no other answer

    assert any(is_wrong(name) for name in (*WEIGHTS, *NETWORKS))


PHOTOGRAPHS = ("bundled:photographs_vit", "china")


def rows():
    """Each lesson of its own model, and those about a ViT of another one too, of which `make test` runs the first."""
    yield from (pytest.param(file, True, id=f"{file.stem}-own") for file in FILES)
    about_vits = [file for file in FILES if read(file).model == "bundled:insects_vit"]
    for file in about_vits:
        marks = [] if file == about_vits[0] else [pytest.mark.rest]
        yield pytest.param(file, False, id=f"{file.stem}-photographs", marks=marks)


def asked(file, own):
    """The steps that ask, each of its own model, or of that of photographs."""
    given = read(file)
    for _, step in given.questions:
        yield step, subject(*((step.model or given.model, given.picture) if own else PHOTOGRAPHS))


@pytest.mark.parametrize("file, own", [*rows()])
def test_every_picture_is_of_what_its_step_asks(file, own):
    """Also of another model, with other layers and heads than the one that the lesson was written with."""
    for step, on in asked(file, own):
        assert step.question is not None
        if step.look is not None:
            assert list(pictured.unlike(step.look, step.question, on)) == []


@pytest.mark.parametrize("file, own", [*rows()])
def test_to_expect_no_effect_is_never_near_enough(file, own):
    """But where this model shows none: then it is written as the same number."""
    for step, on in asked(file, own):
        assert step.question is not None
        if step.question.kind == "number" and (none := expected_of_none(step.question, on)) is not None:
            found = judged(step.question, on, none)
            same = quantity(none, step.question.unit) == quantity(found.answer, step.question.unit)
            assert found.right == same
            assert not (own and same)


def test_every_word_is_in_use():
    used = set()
    for file in FILES:
        for step in read(file).steps:
            written = [expression for _, text in step.texts for expression, _ in text.values]
            looked = step.look.measured.values() if step.look else ()
            for expression in [*written, *looked, *(step.question.expressions if step.question else ())]:
                calls = (node for node in ast.walk(expression.tree) if isinstance(node, ast.Call))
                used |= {ast.unparse(call.func) for call in calls}
    assert set(VOCABULARY) == used


@pytest.mark.parametrize("model", ["/etc/passwd", "hf-hub:somebody/model", "../model", "vit_base_patch16_224"])
def test_an_expression_opens_no_other_model_than_those_that_come_with_vizkit(model):
    with pytest.raises(NotApplicable, match="no bundled model"):
        expressions.parse(f"patches(model='{model}')").value(subject("bundled:digits_vit", "digit 3"))


@pytest.mark.parametrize("number", [5, 6])  # by a patch of the picture, and by a place
def test_a_view_draws_the_token_that_its_step_marks(number):
    """Not the one with which the view begins where nobody has chosen any."""
    given = read(next(file for file in FILES if file.stem.startswith("6_")))
    step, own = given.steps[number - 1], subject(given.model, given.picture)
    there, tokens = checking.at_mark(step, own), place(own, 2).of.tokens
    assert cell_of(tokens, token_at(there, tokens)) == marked(step, own, tokens.grid or ())
    assert token_at(own, tokens) != token_at(there, tokens)


def test_a_step_without_a_mark_asks_the_subject_as_it_is():
    given = read(FILES[0])
    own = subject(given.model, given.picture)
    assert checking.at_mark(given.steps[0], own) is own
