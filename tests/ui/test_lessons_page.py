"""The page Lessons through app.py: shelf, steps, guesses of every kind, other models and pictures, the end."""

import json

import pytest

from tests.ui.conftest import click, fine, forged, opened, sent_to, texts, triggered
from vizkit.lessons.shelf import files
from vizkit.lessons.shelf import opened as lesson_named

VIT, SWIN, CNN = "bundled:insects_vit", "bundled:insects_swin", "bundled:insects_cnn"
LESSON = """---
title: Tried
level: beginner
minutes: 5
model: bundled:insects_vit
picture: sample:water strider
able:
  - One.
  - Two.
---
## Look
The model of {image_side()} pixels.

view: explore
---
## Point
Here $a_{ij}$ is seen.

point: Where is most?
answer: likeness(1)
mark: patch
hint: Near the marked patch.
reveal: It is {answer}; you said {guess}.
why: Why there?
view: explore(shows="alike patches", layer=1)
---
## Draw
draw: Paint where it is alike.
answer: likeness(1)
---
## Number
number: How wide is the picture?
answer: image_side()
unit: pixels
---
## Choice
choice: Is it wide?
options:
  "Yes": image_side() > 10
  "No": image_side() <= 10
---
## Order
order: In order
items:
  Side: image_side()
  Half: image_side() / 2
---
## A token
number: How much goes to itself?
answer: paid_to(cls)
unit: percent
"""


@pytest.fixture(autouse=True)
def teacher(tmp_path, monkeypatch):
    monkeypatch.setenv("VIZKIT_LESSONS", str(tmp_path))
    (tmp_path / "tried.md").write_text(LESSON, encoding="utf-8")
    return tmp_path


def at(step, **query):
    test = opened("lessons", lesson="tried", step=str(step), **query)
    fine(test)
    return test


def guessed(test, *points):
    """As the canvas sends it."""
    return triggered(test, "vizkit_guess", "guess", [list(point) for point in points])


def test_the_shelf_has_every_lesson_and_opens_one():
    test = opened("lessons")
    fine(test)
    for name in files():
        assert lesson_named(name).title in texts(test)
    click(test, "open_tried")
    fine(test)
    assert test.session_state["models"] == [VIT]
    assert test.session_state["image"] == "water strider"
    assert "Look" in texts(test)
    click(test, "lesson_all")
    assert "5 minutes" in texts(test)


def test_a_bad_lesson_of_a_teacher_is_a_sentence_on_the_shelf(teacher):
    (teacher / "bad.md").write_text(LESSON.replace("Here $a_{ij}$", "<script>"), encoding="utf-8")
    test = opened("lessons")
    assert "Line 17: HTML is not shown" in texts(test)
    assert "HTML is not shown" in texts(opened("lessons", lesson="bad"))


@pytest.mark.product
@pytest.mark.parametrize("name", ["../tried", "/etc/passwd", "nobody", "tried%00", "x" * 5000])
@pytest.mark.parametrize("step", ["-1", "1e9", "999", "x", ""])
def test_a_forged_link_opens_nothing_else(name, step):
    test = opened("lessons", lesson=name, step=step)
    assert "There is no such lesson here" in texts(test)


def test_a_link_opens_a_step_with_the_lessons_model_and_picture():
    test = at(2)
    assert (test.session_state["models"], test.session_state["image"]) == ([VIT], "water strider")
    [data] = sent_to(test, "vizkit_guess")
    assert (data["mode"], data["grid"], data["values"]) == ("point", [14, 14], "")
    assert data["marked"] == [[7, 7]]
    assert "14 × 14 patches" in data["label"]
    other = at(2, models="Swin · insects", image="flower")
    assert (other.session_state["models"], other.session_state["image"]) == ([SWIN], "flower")


def test_next_and_back_go_from_step_to_step():
    test = at(1)
    assert test.button(key="lesson_back").disabled
    for step in range(2, 9):
        click(test, "lesson_next")
        fine(test)
        assert test.session_state["_lesson_step"] == step
    assert test.button(key="lesson_next").disabled
    click(test, "lesson_back")
    assert "A token" in texts(test)


@pytest.mark.parametrize("model", ["ViT · insects", "Swin · insects"])
def test_a_point_is_judged_on_the_same_picture(model):
    test = guessed(at(2, models=model), (0.04, 0.04))
    fine(test)
    [data] = sent_to(test, "vizkit_guess")
    assert data["mode"] == "look"
    assert data["values"]
    assert data["guessed"] == [[0, 0]]
    assert data["best"] != [[0, 0]]
    row, column = data["best"][0]
    said = texts(test)
    assert "Your patch holds" in said
    assert f"It is row {row + 1}, column {column + 1}; you said row 1, column 1." in said
    click(test, "tried|2|water strider|again")
    assert sent_to(test, "vizkit_guess")[0]["mode"] == "point"


def test_the_answer_follows_the_model_and_another_picture_asks_anew():
    test = guessed(at(2), (0.3, 0.3))
    first = sent_to(test, "vizkit_guess")[0]
    test.session_state["models"] = [SWIN]
    test.run()
    fine(test)
    second = sent_to(test, "vizkit_guess")[0]
    assert second["guessed"]
    assert (second["values"], second["grid"]) != (first["values"], first["grid"])
    test.session_state["image"] = "flower"
    test.run()
    assert sent_to(test, "vizkit_guess")[0]["mode"] == "point"


def test_a_model_without_an_answer_says_so_and_the_lessons_own_is_near():
    test = at(7, models="CNN · insects")
    assert "this step has no answer" in texts(test)
    next(button for button in test.button if button.label.startswith("Take the lesson")).click().run()
    fine(test)
    assert test.session_state["models"] == [VIT]
    assert "How much goes to itself" in texts(test)
    fine(at(1, models="CNN · insects"))
    fine(at(4, models="CNN · insects"))


def test_every_kind_of_question_is_answered_and_summed_up():
    test = guessed(at(3), (0.5, 0.5), (0.6, 0.5))
    assert "Your 2 patches hold" in texts(test)
    click(test, "lesson_next")
    test.number_input[0].set_value(100.0)
    next(button for button in test.button if button.label == "This is my guess").click().run()
    assert "It is 112 pixels; you said 100 pixels" in texts(test)
    click(test, "lesson_next")
    click(test, "tried|5|water strider|1")
    assert "Measured on this model: Yes." in texts(test)
    click(test, "lesson_next")
    test.multiselect(key="tried|6|water strider|chosen").set_value([1, 0]).run()
    click(test, "tried|6|water strider|order")
    assert "0 of 1 pairs" in texts(test)
    click(test, "lesson_next")
    test.number_input[0].set_value(50.0)
    next(button for button in test.button if button.label == "This is my guess").click().run()
    assert "you said 50.0 %" in texts(test)
    click(test, "lesson_next")
    fine(test)
    assert "Beyond chance your places held" in texts(test)
    saved = next(each for each in test.get("download_button") if "JSON" in each.proto.label)
    assert not saved.proto.disabled


def test_the_end_leaves_out_what_another_model_has_no_answer_to():
    test = at(4)
    for value in (100.0, None, None):
        if value:
            test.number_input[0].set_value(value)
            next(button for button in test.button if button.label == "This is my guess").click().run()
        click(test, "lesson_next")
    test.number_input[0].set_value(50.0)
    next(button for button in test.button if button.label == "This is my guess").click().run()
    click(test, "lesson_next")
    assert "of 2 other answers" in texts(test)
    assert "Steps without a guess: 2, 3, 5 and 6. Go back" in texts(test)
    test.session_state["models"] = [CNN]
    test.run()
    fine(test)
    assert "of 1 other answer." in texts(test)


def test_own_words_stay_with_their_step():
    test = guessed(at(2), (0.3, 0.3))
    test.text_area(key="tried|2|water strider|why|typed").set_value("It is dark there.").run()
    click(test, "lesson_next")
    click(test, "lesson_back")
    assert test.text_area(key="tried|2|water strider|why|typed").value == "It is dark there."


def test_what_the_browser_kept_comes_back():
    kept = {"tried|5|water strider": 0, "tried|4|water strider": 112, "tried": 6}
    test = forged(opened("lessons"), "vizkit_lesson_memory", {"kept": json.dumps(kept)})
    fine(test)
    assert "2 of 6 answered" in texts(test)
    assert test.button(key="open_tried").label == "Go on at 6"
    click(test, "open_tried")
    assert test.session_state["_lesson_step"] == 6
    [memory] = sent_to(test, "vizkit_lesson_memory")
    assert json.loads(memory["answers"])["tried|4|water strider"] == 112


@pytest.mark.product
@pytest.mark.parametrize(
    "kept",
    [
        "",
        "[]",
        "nothing",
        "[" * 5000,
        json.dumps({"tried": "six"}),
        json.dumps({"tried": 1e9}),
        json.dumps({"tried": -3}),
        json.dumps({"tried|4|water strider": "NaN", "tried|5|water strider": 99, "tried|2|water strider": [[0]]}),
        json.dumps({"tried|6|water strider": [0, 0], "tried|3|water strider": [], "tried|2|water strider|why": [1]}),
        json.dumps({str(number): 1 for number in range(2000)}),
    ],
)
def test_what_a_browser_forges_is_left(kept):
    test = forged(opened("lessons"), "vizkit_lesson_memory", {"kept": kept})
    fine(test)
    click(test, "open_tried")
    for _ in range(8):
        if not test.button(key="lesson_next").disabled:
            click(test, "lesson_next")


@pytest.mark.product
@pytest.mark.parametrize(
    "value", [None, [], [[]], [[2, 2]], [[0.5, None]], [["0.5", "0.5"]], "x", 3, {"a": 1}, [[0.1, 0.1]] * 9]
)
def test_a_forged_guess_is_none(value):
    test = at(2)
    triggered(test, "vizkit_guess", "guess", value)
    fine(test)
    assert sent_to(test, "vizkit_guess")[0]["mode"] == "point"
