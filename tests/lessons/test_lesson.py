"""A teacher's file: what it may say, and what of a hostile one reaches nobody."""

import contextlib
import time

import pytest

from tests.lessons.stubs import FRONT, STEPS, spoken
from vizkit.lessons.expressions import LessonError
from vizkit.lessons.lesson import Look, read
from vizkit.lessons.prose import prose
from vizkit.lessons.shelf import files, opened, read_file
from vizkit.ui.plain import plain

NOBODY = None
STEP = "## Title\nText.\n"


def test_a_lesson_is_read():
    lesson = read(FRONT + STEPS, "small")
    assert (lesson.title, lesson.level, lesson.minutes, lesson.model) == ("Small", "beginner", 3, "bundled:insects_vit")
    assert lesson.picture == "mayfly nymph"
    assert [step.question.kind for _, step in lesson.questions if step.question] == [
        "point",
        "number",
        "choice",
        "order",
        "draw",
    ]
    first = lesson.steps[0]
    assert (first.look.name, first.look.settings, first.line) == ("rollout", {"depth": 2}, 10)
    assert type(first.look.view).__name__ == "Rollout"
    number = lesson.steps[1].question
    assert (number.within, number.relative) == (0.1, True)


def test_texts_are_filled_and_written_for_both_readers():
    step = read(FRONT + STEPS).steps[0]
    with spoken():
        filled = step.prose.filled(NOBODY)
    assert step.prose.markdown(filled, plain).startswith(r"The map has 6 places, 2 rows, and $\frac{a}{b} = 20$.")
    assert '<em>one</em> <a href="rollout?rollout_depth=3">' in step.prose.html(filled)
    with spoken():
        said = step.reveal.filled(NOBODY, guess=(0, 1), answer=(1, 1))
        hint = step.hint.filled(NOBODY)  # a label of a stranger's model
    assert step.reveal.words(said) == "It is at row 2, column 2, with 50 %; you said row 1, column 2."
    assert "<b>" not in step.hint.html(hint)
    assert "<b>" not in step.hint.markdown(hint, plain)


@pytest.mark.parametrize(
    "within, expected",
    [("0.2", (0.2, True)), ("10%", (0.1, True)), ("2 patches", (2.0, False)), ("0", (0.0, True))],
)
def test_a_tolerance_is_of_the_answer_or_in_its_unit(within, expected):
    question = read(f"{FRONT}{STEP}number: How many?\nanswer: count()\nwithin: {within}\n").steps[0].question
    assert (question.within, question.relative) == expected


@pytest.mark.parametrize("within", ["9" * 400, "1." + "0" * 400, "1e999", "inf", "-1"])
def test_a_tolerance_without_end_is_refused(within):
    with pytest.raises(LessonError, match="within is"):
        read(f"{FRONT}{STEP}number: How many?\nanswer: count()\nwithin: {within}\n")


def test_half_a_character_is_refused():
    with pytest.raises(LessonError, match="Half of a character"):
        read(f'{FRONT}{STEP}number: "How \\ud800 many?"\nanswer: count()\n')


HOSTILE = {
    "script": "<script>alert(1)</script>",
    "html inline": "a <b onclick='x()'>b</b>",
    "image": "![x](https://example.org/x.png)",
    "own image": "![x](/etc/passwd)",
    "javascript": "[x](javascript:alert(1))",
    "javascript in capitals": "[x](JaVaScRiPt:alert(1))",
    "encoded": "[x](java&#115;cript:alert(1))",
    "data": "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "file": "[x](file:///etc/passwd)",
    "plain http": "[x](http://example.org)",
    "protocol-relative": "[x](//example.org)",
    "user": "[x](https://user@example.org/)",
    "path": "[x](../../etc/passwd)",
    "autolink": "<javascript:alert(1)>",
    "reference": "[x][y]\n\n[y]: javascript:alert(1)",
    "comment": "<!-- x -->",
    "entity": "a\u202eb",
    "hidden": "a\u200bb",
    "hole": "a \ue0000\ue001 b",
    "formula": r"$\href{javascript:alert(1)}{x}$",
    "formula with a file": r"$\includegraphics{x.png}$",
    "macro": r"$\def\x{\x\x}\x$",
    "value": "{().__class__.__base__}",
    "value in a link": "[x](https://example.org/{count()})",
    "form": "{count():>99999999}",
    "wide table": f"|{'a|' * 500}\n|{'-|' * 500}\n{'|a' * 9}",
    "half in an expression": '{"\\ud800"}',
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_what_no_text_may_have_is_refused_with_its_line(text):
    for file in (f"{FRONT}## Title\nFine.\n\n{text}\n", f"{FRONT}{STEP}\nwhy: |\n  Fine.\n  {text}\n"):
        with pytest.raises(LessonError) as sentence:
            read(file)
        assert sentence.value.line >= 10


@pytest.mark.parametrize(
    "text", ["> " * 2000 + "x", "*a **b " * 800, "[" * 5000, "`" * 5000, "- " * 2500, "|a\n" * 1999]
)
def test_a_text_of_many_marks_takes_no_time(text):
    begin = time.process_time()
    with contextlib.suppress(LessonError):
        text = prose(text).html([])
    assert time.process_time() - begin < 2


def test_words_that_look_like_marks_are_words():
    text = prose("2 < 3, a & b, 5 * 6, [cls], x_y_z, http: //x and `code <b>`")
    assert text.html([]) == "<p>2 &lt; 3, a &amp; b, 5 * 6, [cls], x_y_z, http: //x and <code>code &lt;b&gt;</code></p>"
    assert prose("[Rollout](rollout?rollout_depth=3)", pages=["rollout"]).html([]).count("<a ") == 1
    with pytest.raises(LessonError):
        prose("[Rollout](rollout?rollout_depth=3)", pages=["swin"])


FILES = {
    "nothing": "",
    "no front": "# Title\n\nText",
    "front that does not end": "---\ntitle: x\n",
    "a key of nobody": FRONT.replace("level:", "grade:"),
    "no title": FRONT.replace("title: Small\n", ""),
    "a level of nobody": FRONT.replace("beginner", "expert"),
    "minutes": FRONT.replace("minutes: 3", "minutes: 1e9"),
    "a path for a model": FRONT.replace("bundled:insects_vit", "/etc/passwd"),
    "a hub for a model": FRONT.replace("bundled:insects_vit", "someone/model"),
    "a bundled path": FRONT.replace("bundled:insects_vit", "bundled:../../x"),
    "a path for an image": FRONT.replace("sample:mayfly nymph", "../../secret.png"),
    "an image of nobody": FRONT.replace("mayfly nymph", "../mayfly"),
    "an alias": FRONT.replace("title: Small", "title: &a Small\nlevel: *a"),
    "a bomb": "---\na: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\n---\n",
    "a tag": FRONT.replace("title: Small", "title: !!python/object/apply:os.system [id]"),
    "a list for a title": FRONT.replace("title: Small", "title: [a, b]"),
    "twice": FRONT.replace("title: Small", "title: Small\ntitle: Large"),
    "deep": f"---\ntitle: {'[' * 4000}\n---\n",
    "deep enough": f"---\ntitle: {'[' * 200}\n---\n",
    "deep by lines": "---\ntitle: " + "\n".join(f"{' ' * n}- " for n in range(100)) + "\n---\n",
    "a step without a title": FRONT + "Text.\n",
    "two questions": FRONT + STEP + "number: How many?\nanswer: count()\nchoice: Which?\n",
    "an answer without a question": FRONT + STEP + "answer: count()\n",
    "a question without an answer": FRONT + STEP + "number: How many?\n",
    "one option": FRONT + STEP + "choice: Which?\noptions:\n  One: 1 > 0\n",
    "no view": FRONT + STEP + "view: rolout(depth=3)\n",
    "a view of code": FRONT + STEP + "view: __import__('os')\n",
    "no tolerance": FRONT + STEP + "number: How many?\nanswer: count()\nwithin: about\n",
    "a tab": FRONT + STEP + "why:\tWhy?\n",
    "yaml": FRONT + STEP + "why: Why: because: of\n",
    "a heading in a question": FRONT + STEP + "why: |\n  # Why\n  <b>x</b>\n",
    "too many steps": FRONT + "---\n".join([STEP] * 41),
    "long settings": FRONT + STEP + f"why: {'x ' * 5000}\n",
    "a long text": FRONT + f"## Title\n{'word ' * 2000}\n",
    "ten megabytes": FRONT + STEP + "x" * 10_000_000,
}


@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
def test_a_bad_file_is_refused_in_one_sentence(text):
    begin = time.process_time()
    with pytest.raises(LessonError) as sentence:
        read(text)
    assert "\n" not in str(sentence.value)
    assert time.process_time() - begin < 2


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"---\ntitle: \xe4\n---\n", bytes(range(256)) * 400])
def test_bytes_that_are_no_text_are_refused(content):
    with pytest.raises(LessonError):
        read(content)


def test_the_line_is_that_of_the_file():
    for text, line in (
        (FRONT + STEP + "\nview: rollout\nwhy: fine\nanswer: 1\n", 15),
        (FRONT + STEP + "---\n## Two\n\nview: rollout\nnumber: How\nanswer: lambda x\n", 17),
        (FRONT + STEP + "---\n## Two\nFine.\n\nBad <b>\n", 16),
        (FRONT.replace("minutes: 3", "minutes: x"), 4),
    ):
        with pytest.raises(LessonError) as sentence:
            read(text)
        assert sentence.value.line == line, text


def test_a_setting_that_a_view_does_not_have():
    with pytest.raises(LessonError, match="Line 5: rollout has no setting head"):
        _ = Look("rollout", {"head": 3}, 5).view
    with pytest.raises(LessonError, match="Line 5: fusion cannot be"):
        _ = Look("rollout", {"fusion": "sum"}, 5).view


def test_a_teachers_folder_is_on_the_shelf(tmp_path, monkeypatch):
    monkeypatch.setenv("VIZKIT_LESSONS", str(tmp_path))
    (tmp_path / "mine.md").write_text(FRONT + STEPS, encoding="utf-8")
    (tmp_path / "not a name!.md").write_text(FRONT + STEPS, encoding="utf-8")
    (tmp_path / "secret.md").symlink_to("/etc/hostname")
    (tmp_path / "large.md").write_bytes(b"x" * 10_000_000)
    own = set(files()) - set(files_without(monkeypatch))
    assert own == {"mine", "large"}
    assert opened("mine").title == "Small"
    for name in ("large", "secret", "../mine", "/etc/hostname"):
        with pytest.raises(LessonError):
            opened(name)
    (tmp_path / "mine.md").write_text(FRONT.replace("Small", "Changed") + STEPS, encoding="utf-8")
    assert opened("mine").title == "Changed"


def files_without(monkeypatch):
    with monkeypatch.context() as patch:
        patch.delenv("VIZKIT_LESSONS")
        return files()


@pytest.mark.parametrize("name", list(files()))
def test_every_lesson_that_comes_with_vizkit_is_read(name):
    assert read_file(files()[name]).name == name
