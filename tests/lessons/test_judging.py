"""Guesses judged: every number here is worked out by hand on the map 1 2 3 / 0 10 4, of sum 20."""

from dataclasses import replace

import pytest
import torch

from tests.lessons.stubs import FRONT, MAP, STEPS, spoken
from vizkit.lessons.expressions import LessonError, parse
from vizkit.lessons.judging import calibration, judged, marked, quantity, rule_of
from vizkit.lessons.lesson import SHARE, read
from vizkit.views.rules import RefusedError

NOBODY = None
STEPS_BY_KIND = {step.question.kind: step for _, step in read(FRONT + STEPS).questions if step.question}


def question(kind, **changed):
    found = STEPS_BY_KIND[kind].question
    assert found is not None
    return replace(found, **changed)


def judge(kind, told, **changed):
    with spoken():
        return judged(question(kind, **changed), NOBODY, told)


def centre(row, column):
    return (column + 0.5) / 3, (row + 0.5) / 2


def test_a_point_is_its_share_and_its_rank():
    """Of 20 the patch holds 3, the third after 10 and 4: 3 / 20 = 15 %, less than any of six would, 4 of 20 a little
    more: (4 / 20 − 1 / 6) / (10 / 20 − 1 / 6) = 1 / 10."""
    found = judge("point", centre(0, 2))
    assert (found.guess, found.answer, found.right) == ((0, 2), (1, 1), False)
    assert found.score == 0
    assert judge("point", centre(1, 2)).score == pytest.approx(0.1)
    assert found.sentence == (
        "Your patch holds 15 % of the map, rank 3 of 6; the largest, row 2, column 2, holds 50 %."
    )


def test_the_best_point_is_right():
    found = judge("point", centre(1, 1))
    assert (found.score, found.right) == (1.0, True)
    assert found.sentence == "Your patch is the model’s: it holds 50 % of the map, the most of all 6."


def test_a_map_that_is_no_share_is_told_in_its_own_unit():
    """Of 1 − map, all cosines: 3 and 10 of here() on a tenth."""
    found = judge("point", centre(0, 2), answer=parse("here() / 10"), unit="1 − cosine")
    assert found.sentence == "1 − cosine of your patch: 0.30, rank 3 of 6; the largest, row 2, column 2: 1.00."


@pytest.mark.parametrize(
    "answer, told, right",
    [
        ("0.002", 0.1, False),
        ("0.002", 0.01, True),
        ("0.05", 0.09, True),
        ("0.05", 0.12, False),
        ("0.4", 0.3, True),
        ("0.998", 0.9, False),
        ("0.998", 0.99, True),
    ],
)
def test_ten_points_are_much_beside_a_share_of_next_to_nothing_or_all(answer, told, right):
    asked = {"answer": parse(answer), "unit": SHARE, "within": 0.1, "relative": False}
    assert judge("number", told, **asked).right is right


def test_what_speaks_against_has_no_share():
    """2 − map: 1 0 −1 / 2 −8 −2; above 0 stand 1 and 2, of sum 3: (1 / 3 − 1 / 6) / (2 / 3 − 1 / 6)."""
    found = judge("point", centre(0, 0), answer=parse("2 - here()"))
    assert found.score == pytest.approx(1 / 3)
    assert "33 % of the map, rank 2 of 6; the largest, row 2, column 1, holds 67 %" in found.sentence


@pytest.mark.parametrize(
    "answer, told, right, score, said",
    [
        ("odds(edits='off')", 1.0, False, 0, "It is 93.3 %; you said 100.0 %, as if there were no difference."),
        ("odds(0, 'off')", 0.98, False, 0.3, "It is 93.3 %; you said 98.0 %."),
        ("odds(edits='off')", 0.92, True, 1, "It is 93.3 %; you said 92.0 %, near enough."),
        ("odds(edits='off')", 0.85, False, 0, "It is 93.3 %; you said 85.0 %."),
        (
            "overlap(here(), here() + 1)",
            1.0,
            False,
            0,
            "It is 85.0 %; you said 100.0 %, as if there were no difference.",
        ),
        ("odds(model='other', edits='none')", 1.0, True, 1, "It is 100.0 %."),
    ],
)
def test_a_guess_of_no_effect_is_never_near_enough(answer, told, right, score, said):
    """Of a change the effect is asked: of 100 % it takes 6.7 points, so that 98 % is right for 2 of them."""
    words = {
        "odds": lambda of, at=0, edits="", model="": 0.933 if edits == "off" else 1.0,
        "overlap": lambda of, one, other: 0.85,
    }
    asked = question("number", answer=parse(answer), unit="percent", within=0.15, relative=False)
    with spoken(**words):
        found = judged(asked, NOBODY, told)
    assert (found.right, found.sentence) == (right, said)
    assert found.score == pytest.approx(score, abs=0.01)


def test_a_cosine_is_at_most_one():
    asked = rule_of(question("number", unit="cosine"))
    with pytest.raises(RefusedError):
        asked(100)
    assert asked(-1) == -1
    assert judge("number", 0.5, unit="cosine").sentence == "It is 6; you said 0.5."


def test_a_drawing_is_held_against_the_best_of_as_many():
    """3 + 10 of 20 is 65 %, the best two 10 + 4, 70 %; any two of six a third.

    (13 / 20 − 1 / 3) / (14 / 20 − 1 / 3)."""
    found = judge("draw", [centre(0, 2), centre(1, 1), centre(1, 1)])
    assert found.score == pytest.approx(19 / 22)
    assert found.right
    assert found.sentence == (
        "Your 2 patches hold 65 % of the map; the best that as many can hold is 70 %, and any would hold 33 %."
    )
    assert found.guess.tolist() == [[False, False, True], [False, True, False]]
    assert found.answer.tolist() == [[False, False, False], [False, True, True]]


@pytest.mark.parametrize(
    "told, score, sentence",
    [
        ([centre(0, 0)], 0.0, "0 of your 1 are right; 3 of the 3 are missing."),
        ([centre(0, 0), centre(1, 1)], 0.25, "1 of your 2 is right; 2 of the 3 are missing."),
        ([centre(0, 2), centre(1, 1), centre(1, 2)], 1.0, "3 of your 3 are right; none is missing."),
    ],
)
def test_a_drawing_of_what_is_a_set_is_its_hits_and_misses(told, score, sentence):
    """Right are the three places of 3 and more; what both have in common, of what either has."""
    with spoken(window=lambda of: (MAP >= 3).float()):
        found = judged(question("draw", answer=parse("window()")), NOBODY, told)
    assert (found.score, found.sentence) == (score, sentence)
    assert [*found.best] == [(0, 2), (1, 1), (1, 2)]


@pytest.mark.parametrize(
    "told, right, score, sentence",
    [
        (6, True, 1.0, "It is 6."),
        (6.5, True, 1.0, "It is 6; you said 6.5, near enough."),  # 10 % of 6 is 0.6
        (3, False, 0.5, "It is 6; you said 3, too low by a factor of 2.0."),
        (7, False, 6 / 7, "It is 6; you said 7."),
        (-6, False, 0.0, "It is 6; you said −6."),
        (0, False, 0.0, "It is 6; you said 0."),
    ],
)
def test_a_number_is_right_within_its_tolerance(told, right, score, sentence):
    found = judge("number", told)
    assert (found.right, found.sentence) == (right, sentence)
    assert found.score == pytest.approx(score)


def test_a_tolerance_in_its_unit_and_a_share():
    assert judge("number", 8, within=2.0, relative=False).right
    assert not judge("number", 8.1, within=2.0, relative=False).right
    share = judge("number", 0.4, answer=parse("at(here(), (1, 1)) / total(here())"), unit="percent")
    assert share.sentence == "It is 50.0 %; you said 40.0 %."
    assert quantity(1234.0, "patches") == "1,234 patches"


def test_a_choice_is_what_holds():
    assert judge("choice", 1).sentence == "Yes: Places."
    assert judge("choice", 1).score == 1
    wrong = judge("choice", 0)
    assert (wrong.right, wrong.guess, wrong.answer) == (False, "Rows", "Places")
    assert wrong.sentence == "Measured on this model: Places."
    none = judge("choice", 0, parts=tuple((text, parse("1 > 2")) for text, _ in question("choice").parts))
    assert none.sentence == "None of these holds for this model and image."


def test_an_order_is_its_pairs():
    """Rows 2, total 20, places 6: right is total, places, rows. Of rows, total, places one pair of three is right."""
    found = judge("order", (0, 1, 2))
    assert found.score == pytest.approx(1 / 3)
    assert found.sentence == "1 of 3 pairs stand as this model has them: Total, Places, Rows."
    assert judge("order", (1, 2, 0)).right


@pytest.mark.parametrize(
    "kind, answer, said",
    [
        ("point", "count()", "is a map"),
        ("point", "0 * here()", "above 0"),
        ("point", "here() / 0", "finite"),
        ("number", "here()", "is a number"),
        ("number", "label()", "is a number"),
    ],
)
def test_an_answer_of_the_wrong_kind_is_said(kind, answer, said):
    told = centre(0, 0) if kind == "point" else 1
    with pytest.raises(LessonError, match=said):
        judge(kind, told, answer=parse(answer))


@pytest.mark.parametrize(
    "kind, told",
    [
        ("point", [0.5, 1.1]),
        ("point", [0.5, float("nan")]),
        ("point", [0.5]),
        ("point", None),
        ("draw", []),
        ("draw", [[0.5, 0.5]] * 5000),
        ("number", "6"),
        ("number", float("inf")),
        ("number", True),
        ("choice", 2),
        ("choice", -1),
        ("order", [0, 1]),
        ("order", {"a": 1}),
    ],
)
def test_a_guess_that_no_question_has_is_refused(kind, told):
    with pytest.raises(RefusedError):
        rule_of(question(kind))(told)


def test_a_place_may_be_marked():
    step = STEPS_BY_KIND["point"]
    assert marked(step, NOBODY, MAP.shape) is None
    with spoken():
        assert marked(replace(step, mark=parse("largest(here())")), NOBODY, MAP.shape) == (1, 1)
    with pytest.raises(LessonError):
        marked(replace(step, mark=parse("(7, 7)")), NOBODY, MAP.shape)


class Covered:
    """A picture whose insect lies in the lower row."""

    def covered(self, grid):
        return torch.tensor([[0.0] * grid[1], [1.0] * grid[1]])


def test_calibration_says_where_both_look():
    """Guesses of 3 and 2 of 20, fewer than a sixth; in the upper row, the model's in the lower: half a picture."""
    given = Covered()
    point = STEPS_BY_KIND["point"]
    found = [(point, judge("point", centre(0, 2))), (point, judge("point", centre(0, 1)))]
    found += [(STEPS_BY_KIND["number"], judge("number", value)) for value in (3, 4)]
    assert calibration(found, given) == [
        "Beyond chance your places held 0 % of what the best ones hold, on average.",
        "The model’s places lie below yours, by 50 % of the image on average.",
        "On the insect: 0 of your 2 patches, 2 of the model’s.",
        "Your numbers are too low, 2 of 2 times.",
        "Right for this model: 0 of 2 other answers.",
    ]
