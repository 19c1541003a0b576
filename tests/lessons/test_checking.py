"""A lesson is tried out: on real models, with what can be wrong in it; and the command around it."""

import csv
import io
import json
from html import escape
from pathlib import Path

import pytest

from tests.lessons.stubs import FRONT
from vizkit.__main__ import main
from vizkit.from_json import ReportError
from vizkit.lessons.answers import MOST_BYTES, Answered, as_csv, from_json, to_json
from vizkit.lessons.checking import minutes, problems, subject
from vizkit.lessons.handout import document
from vizkit.lessons.lesson import KEYS, read
from vizkit.lessons.shelf import files, opened
from vizkit.standalone.formula import mathml

ROOT = Path(__file__).parents[2]
GOOD = """## Look
The model makes {rows()} rows of patches.

view: rollout(depth=2)
---
## Where
point: Where does the class token look?
answer: attention(layer=last, query=cls)
mark: patch
reveal: It is {answer}; you said {guess}, which holds {at(attention(), guess):.1%}.
---
## How many
number: How many patches?
answer: patches()
"""
FRONT_GOOD = FRONT.replace("  - Say where", "  - Say how many patches there are.\n  - Say where")


@pytest.fixture(scope="module")
def vit():
    return subject("bundled:digits_vit", "digit 3")


def found(text, of):
    return list(problems(read(FRONT_GOOD + text), of=of))


def test_a_good_lesson_has_no_problems(vit):
    assert found(GOOD, vit) == []
    assert 1.5 < minutes(read(FRONT_GOOD + GOOD)) < 4


@pytest.mark.parametrize(
    "old, new, said",
    [
        ("{rows()}", "{rowz()}", "There is no function rowz. The nearest: rows"),
        ("depth=2", "depht=2", "Line 14: rollout has no setting depht"),
        ("rollout(depth=2)", "walk_through(step=900)", "Line 14: step is a number from 1 to 10"),
        ("rollout(depth=2)", "patch_merging", "Line 14: "),
        ("layer=last", "layer=40", "there is no layer 40"),
        ("query=cls", "query=dist", "dist"),
        ("mark: patch", "mark: (90, 90)", "Line 19: mark is a place"),
        ("{answer}", "{attention()}", "A map cannot be written"),
        ("patches()\n", "label()\n", "There is no function label"),
        ("answer: patches()\n", "answer: 1 / (patches() - patches())\n", "cannot be worked out"),
        ("query=cls)\nmark", "query=cls)\nview: explore(layer=2, query=cls)\nmark", "shows layer 2, and 6 is asked"),
        ("query=cls)\nmark", "head=2)\nview: explore(query=cls)\nmark", "shows head mean, and 2 is asked"),
        ("query=cls)\nmark", "query=patch)\nview: explore(query=cls)\nmark", "shows query cls, and patch is asked"),
        ("answer: patches()\n", "answer: probability(edits='heads:1=0')\nview: cut\n", "does not show “heads:1=0”"),
        (
            "answer: patches()\n",
            "answer: probability(edits='heads:2=0')\nview: switches(changes='heads:1=0')\n",
            "switches shows changes heads:1=0, and heads:2=0 is asked",
        ),
        ("answer: patches()\n", "answer: correlation(rollout(), rollout())\n", "to expect no effect would be right"),
        ("minutes: 3", "minutes: 90", "not 90"),
        ("  - Say how many patches there are.\n", "", "able has 2 to 4 sentences, not 1"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(vit, old, new, said):
    text = FRONT_GOOD + GOOD
    assert old in text
    sentences = list(problems(read(text[::-1].replace(old[::-1], new[::-1], 1)[::-1]), of=vit))
    assert any(said in sentence for sentence in sentences), sentences


def test_options_and_items_that_decide_nothing(vit):
    choice = "## Which\nchoice: Which?\noptions:\n  A: patches() > 1\n  B: patches() > 2\n"
    order = "## Which\norder: In order\nitems:\n  A: patches()\n  B: patches()\n"
    assert "Of the options 2 hold, not one." in found(choice, vit)[-1]
    assert "have the same number" in found(order, vit)[-1]


def test_a_model_without_tokens_is_said_in_a_sentence():
    sentences = found(GOOD, subject("bundled:digits_cnn", "digit 3"))
    assert any(sentence.startswith("Line ") and "rollout" in sentence for sentence in sentences)


def test_the_command_begins_checks_and_gathers(tmp_path, capsys):
    path = tmp_path / "my_lesson.md"
    assert main(["lesson", "new", str(path)]) == 0
    assert main(["lesson", "check", str(path)]) == 0
    assert "2 steps, 1 questions" in capsys.readouterr().out
    assert main(["lesson", "new", str(path)]) == 2  # never over another
    path.write_text(path.read_text().replace("query=cls)\nhint", "query=nobody)\nhint"))
    assert main(["lesson", "check", str(path)]) == 2
    said = capsys.readouterr()
    assert "no token “nobody”" in said.out
    assert "One thing to mend." in said.err
    assert main(["lesson", "words"]) == 0
    assert "attention(layer" in capsys.readouterr().out


def steps(learner):
    return [Answered(2, "Where", "point", "row 1, column 2", "row 2, column 2", 0.25, False, f"=1+1 of {learner}")]


def test_the_lesson_of_the_manual_holds():
    manual = (ROOT / "docs" / "lessons.md").read_text(encoding="utf-8")
    assert list(problems(read(manual.partition("```markdown\n")[2].partition("```")[0]))) == []
    assert all(f"`{name}`" in manual for name in KEYS if name not in ("answer", "within", "unit", "options", "items"))


def test_answers_of_a_class_are_one_table(tmp_path, capsys):
    for name in ("Anna", "=cmd|' /C calc'!A0"):
        text = to_json(name, "small", "ViT", "mayfly nymph", steps(name))
        assert from_json(text.encode()).steps == tuple(steps(name))
        (tmp_path / f"{name[:4]}.json").write_text(text, encoding="utf-8")
    files = sorted(map(str, tmp_path.glob("*.json")))
    assert main(["lesson", "answers", *files, "-o", str(tmp_path / "class.csv")]) == 0
    rows = list(csv.DictReader(io.StringIO((tmp_path / "class.csv").read_text(encoding="utf-8"))))
    assert [row["learner"] for row in rows] == ["'=cmd|' /C calc'!A0", "Anna"]
    assert [(row["step"], row["score"], row["right"]) for row in rows] == [("2", "0.2500", "False")] * 2
    assert rows[1]["why"] == "'=1+1 of Anna"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{}",
        b"\xff",
        b"[" * 100_000,
        b"x" * (MOST_BYTES + 1),
        json.dumps({"vizkit": "1", "learner": 3, "lesson": "", "model": "", "picture": "", "steps": []}).encode(),
    ],
)
def test_what_is_no_file_of_answers_is_refused(content):
    with pytest.raises(ReportError):
        from_json(content)
    assert as_csv([]).count("\n") == 1


def test_a_handout_is_a_page_without_scripts(vit):
    page = document(read(FRONT_GOOD + GOOD), vit)
    assert "<script" not in page
    assert page.count("<img alt=") == 3  # the picture, the rollout, and the picture of the question to it
    assert page.count("<i style='--row:4;--column:4'") == 1  # the patch in the middle of 8 × 8
    assert "src='data:image/png;base64," in page
    asked, _, answers = page.partition("<details class='answers'><summary>Answers, measured")  # for the teacher to open
    assert asked.count("Blue: the marked patch.") == 1
    assert "<li value='3'><p>64</p></li>" in answers
    assert "you said" not in page
    assert document(read(FRONT_GOOD + GOOD), subject("bundled:digits_cnn", "digit 3")).count("<em>") >= 1


def test_formulas_of_a_handout_are_drawn_and_nothing_else_comes_of_them():
    assert mathml(r"\frac{1}{h}", True) == (
        '<math display="block"><mrow><mfrac><mrow><mn>1</mn></mrow><mrow><mi>h</mi></mrow></mfrac></mrow></math>'
    )
    for evil in (
        r"\text{<script>alert(1)</script>}",
        r"\text{<mi onclick='x'>a</mi>}",
        r'\color{red" onload="x}{a}',
        r"\href{javascript:alert(1)}{x}",
        "{" * 3000,
    ):
        assert mathml(evil, False) == f"<code>{escape(evil)}</code>"
    assert "<img" not in mathml(r"\text{&lt;img src=x onerror=y&gt;}", False)


@pytest.mark.parametrize("name", files())
def test_every_formula_of_the_course_can_be_drawn(name):
    lesson = opened(name)
    texts = [text for step in lesson.steps for text in (step.prose, step.reveal) if text is not None]
    assert "<code>" not in "".join(text.html(["1"] * len(text.values), mathml) for text in texts)
