"""The language of answers: what it works out, and what nobody can say in it."""

import contextlib

import pytest

from tests.lessons.stubs import spoken
from vizkit.lessons.expressions import LessonError, called, parse, written
from vizkit.traces import NotApplicable

NOBODY = None


def value(text, **given):
    with spoken():
        return parse(text, 7).value(NOBODY, **given)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("1 + 2 * 3", 7),
        ("-(2 ** 3) / 4", -2.0),
        ("total(here())", 20.0),
        ("at(here(), (1, 1)) / total(here())", 0.5),
        ("largest(2 * here())", (1, 1)),
        ("count(what=rows) < count() and not count() == 7", True),
        ("'many' if count() >= 6 else 'few'", "many"),
        ("1 < 2 < 3", True),
        ("1 < 2 < 2", False),
        ("guess == answer", True),
    ],
)
def test_what_is_said_is_worked_out(text, expected):
    assert value(text, guess=(1, 1), answer=(1, 1)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "here().__class__",
        "here()[0]",
        "lambda: 1",
        "[x for x in here()]",
        "f'{here()}'",
        "(x := 1)",
        "{1: 2}",
        "count(*here())",
        "count(**here())",
        "here()()",
        "1 if",
        "1; 2",
        "import os",
        "a\x00b",
        "(" * 300,
        "9" * 40,
        "x" * 1000,
        "1 @ 2",
        "1 << 2",
        "1 in (1, 2)",
        "b'x'",
        "1j",
        "...",
    ],
)
def test_nothing_else_can_be_said(text):
    with pytest.raises(LessonError, match=r"^Line 7: "):
        parse(text, 7)


@pytest.mark.parametrize(
    "text, said",
    [
        ("hear()", "no function hear. The nearest: here"),
        ("gues + 1", "Nothing is called gues"),
        ("9 ** 9 ** 9", "exponent"),
        ("10 ** 12 * 10 ** 12", "too large"),
        ("1 / 0", "cannot be worked out"),
        ("count(what=other)", "cannot be worked out"),
        ("count(1, 2, 3)", "cannot be worked out"),
        ("here() > 1", "neither true nor false"),
        ("1 if here() else 2", "neither true nor false"),
        ("label() + 1", "no number"),
        ("'a' * 10", "no number"),
        ("(-8) ** 0.5", "too large"),
    ],
)
def test_what_cannot_be_worked_out_is_said_with_its_line(text, said):
    with pytest.raises(LessonError, match=r"^Line 7: ") as sentence:
        value(text)
    assert said in str(sentence.value)


def test_what_lies_deep_is_worked_out_or_refused():
    for text in ("-" * 590 + "1", "not " * 140 + "1 > 0", "(" * 90 + "1" + ")" * 90, "1 + " * 140 + "1"):
        with contextlib.suppress(LessonError):
            assert value(text) in (1, 141, True)


def test_what_a_model_does_not_have_passes_through():
    def none(of):
        raise NotApplicable("It has no class token.")

    with spoken(none=none), pytest.raises(NotApplicable, match=r"^It has no class token\.$"):
        parse("none()").value(NOBODY)


@pytest.mark.parametrize("text", ["1 if count() else hear()", "count() > 1 and here(1, 2)", "count(whta=rows)"])
def test_functions_are_proven_where_no_value_comes_that_way(text):
    with spoken():
        with pytest.raises(LessonError):
            parse(text, 7).proven()
        parse("count(what=rows) + total(2 * here())").proven()


@pytest.mark.parametrize(
    "given, form, expected",
    [
        (0.1234, ".1%", "12.3 %"),
        (-0.5, ".2f", "−0.50"),
        (1234.0, ",d", "1,234"),
        (196, "", "196"),
        (0.12345, "", "0.123"),
        (True, "", "yes"),
        ("a word", "", "a word"),
        ((3, 4), "", "row 4, column 5"),
        (("b", "a"), "", "b, a"),
        (-0.001, ".2f", "0.00"),
        (-4.53e-05, "", "−0.000045"),
    ],
)
def test_values_are_written_as_people_read_them(given, form, expected):
    assert written(given, form) == expected


def test_a_view_is_a_name_with_constants():
    assert called("rollout(depth=-3, query=cls, pair=(1, 2), full=True)") == (
        "rollout",
        {"depth": -3, "query": "cls", "pair": (1, 2), "full": True},
    )
    measured = called("rollout(depth=total(here()) / 2)")[1]["depth"]
    with spoken():
        assert measured.value(NOBODY) == 10
    for text in ("rollout(3)", "rollout(depth=nothing.here())", "'rollout'", "rollout(depth=1)(2)"):
        with pytest.raises(LessonError):
            called(text)
