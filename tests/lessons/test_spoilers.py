"""What is told before it is asked is found wherever it stands; and numbers of one thing agree wherever they stand."""

import re
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from tests.lessons.stubs import FRONT
from tests.lessons.test_course import FILES, read, subject
from vizkit.hosts.showing import Showing
from vizkit.lessons.checking import given, problems
from vizkit.lessons.judging import judged
from vizkit.lessons.lesson import read as read_text
from vizkit.lessons.spoilers import Asked, withheld
from vizkit.views.blocks import Chart, Line, Said

FRONT_GOOD = FRONT.replace("  - Say where", "  - Say how many.\n  - Say where")
ASKS = {
    "number": "---\n## Later\nnumber: How many?\nanswer: patches()\nunit: patches\n",
    "share": '---\n## Later\nnumber: How much?\nanswer: peak(attention(1))\nunit: "%"\n',
    "point": "---\n## Later\npoint: Where?\nanswer: rollout(cls)\n",
    "order": "---\n## Later\norder: In order\nitems:\n  A: peak(attention(1))\n  B: peak(attention(2))\n",
    "choice": '---\n## Later\nchoice: Which?\noptions:\n  "A": probability() > probability(second)\n'
    '  "B": probability() <= probability(second)\n',
}
TELLS = {
    "the same expression": ("number", "There are {patches(layer=1)} of them.\n"),
    "the number with its unit": ("number", "There are 64 patches.\n"),
    "in the reveal": ("number", "\nnumber: How wide?\nanswer: image_side()\nreveal: It has {patches()} patches.\n"),
    "in the hint of the question": ("number", ""),
    "a share": ("share", "It gives {peak(attention(1, mean)):.0%}.\n"),
    "the place": ("point", "Look at {largest(rollout())}.\n"),
    "the very map": ("point", "\nview: rollout(query=cls)\n"),
    "all items": ("order", "{peak(attention(1)):.1%} and {peak(attention(2)):.1%}.\n"),
    "both sides": ("choice", "{probability():.0%} and {probability(second):.0%}.\n"),
}
FINE = {
    "one item": ("order", "{peak(attention(1)):.1%} of it.\n"),
    "the same digits of another thing": ("number", "There are {rows() * rows()} pixels.\n"),
    "another map": ("point", "\nview: rollout(query=patch)\n"),
    "all of it": ("share", "From 0 % to 100 %.\n"),
}


@pytest.fixture(scope="module")
def vit() -> Any:
    return subject("bundled:digits_vit", "digit 3")


def told(text: str, of: Any) -> list[str]:
    return [sentence for sentence in problems(read_text(FRONT_GOOD + text), of=of) if "tells what step" in sentence]


@pytest.mark.parametrize(("kind", "text"), TELLS.values(), ids=TELLS)
def test_a_spoiler_is_named(vit: Any, kind: str, text: str):
    asks = ASKS[kind] if text else ASKS[kind] + "hint: It is {patches()}.\n"
    (sentence,) = set(told(f"## First\n{text}{asks}", vit))
    assert sentence.startswith("Line 11: First: ") or not text
    assert sentence.endswith("tells what step 2 asks.")
    assert told(f"## First\nNothing.\n{ASKS[kind]}---\n## Last\n{text}", vit) == []  # afterwards it is none


@pytest.mark.parametrize(("kind", "text"), FINE.values(), ids=FINE)
def test_what_tells_nothing_is_none(vit: Any, kind: str, text: str):
    assert told(f"## First\n{text}{ASKS[kind]}", vit) == []


def test_a_figure_is_told_by_its_numbers_and_loses_its_sentences():
    asked = Asked(2, ("x",), (0.1234,), "percent")
    assert asked.drawn_by(Chart(go.Figure(go.Scatter(x=[1, 2], y=[0.5, 0.1234])), "A line"))
    assert not asked.drawn_by(Chart(go.Figure(go.Scatter(x=[1, 2], y=[0.5, 0.1235])), "A line"))
    blocks = [Said("It is 12.3 %."), Line("12 %"), Said("It is 12.4 %.")]
    assert list(withheld(iter(blocks), [asked])) == [blocks[2]]
    assert np.all([not Asked(2, ("x",), (0.5, 0.25)).told_by(words) for words in ("50.0 %", "25.0 %", "")])


@pytest.mark.product
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_numbers_of_one_thing_agree(file: Any) -> None:
    """Where the sentence above a figure has a share, or a count, with three digits of what was asked, it is the answer;
    a figure of the very map of a question has its largest patch where the answer has it."""
    lesson = read(file)
    for _, step in lesson.questions:
        of = subject(step.model or lesson.model, lesson.picture)
        question = step.question
        assert question is not None
        if question.kind != "number" or step.look is None or step.reveal is None:
            continue
        assert question.answer is not None
        answer = question.answer.value(of)
        found = judged(question, of, answer)
        said = step.reveal.words(step.reveal.filled(of, **given(found)))
        stated = AGREE.get((file.stem[0], step.title))
        if stated is None:
            continue
        shown = " ".join(filter(None, [Showing(step.look.set_for(of), [of]).said]))
        (number,) = re.findall(stated, shown)
        assert float(number.replace(",", "")) == pytest.approx(
            answer * (100 if question.unit == "%" or question.unit == "percent" else 1), rel=0.02, abs=0.51
        ), (step.title, shown, said)


# What the sentence above the figure says of the quantity that the step asks for.
AGREE = {
    ("1", "One token more"): r"sequence of ([\d,]+) tokens",
    ("1", "What is the table's share of the work?"): r"in each head, (\d+) %",
    ("3", "Leave the division out"): r"largest weight of this row, (\d+) %",
}
