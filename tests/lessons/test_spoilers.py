"""What is told before it is asked is found wherever it stands; and numbers of one thing agree wherever they stand."""

import numpy as np
import plotly.graph_objects as go
import pytest

from tests.lessons.stubs import FRONT
from tests.lessons.test_course import FILES, read, subject
from vizkit.hosts.showing import Showing
from vizkit.lessons.checking import at_mark, problems
from vizkit.lessons.lesson import read as read_text
from vizkit.lessons.spoilers import NUMBER, Asked, asked, withheld
from vizkit.lessons.spoilers import _words as words
from vizkit.views.blocks import Chart, Line, Said
from vizkit.views.controls import checked

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
    "of how many": ("number", "It looks at 64 of {patches() + 1}.\n"),
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
def vit():
    return subject("bundled:digits_vit", "digit 3")


def told(text, of):
    return [sentence for sentence in problems(read_text(FRONT_GOOD + text), of=of) if "tells what step" in sentence]


@pytest.mark.parametrize("kind, text", TELLS.values(), ids=TELLS)
def test_a_spoiler_is_named(vit, kind, text):
    asks = ASKS[kind] if text else ASKS[kind] + "hint: It is {patches()}.\n"
    (sentence,) = set(told(f"## First\n{text}{asks}", vit))
    assert sentence.startswith("Line 11: First: ") or not text
    assert sentence.endswith("tells what step 2 asks.")
    assert told(f"## First\nNothing.\n{ASKS[kind]}---\n## Last\n{text}", vit) == []  # afterwards it is none


@pytest.mark.parametrize("kind, text", FINE.values(), ids=FINE)
def test_what_tells_nothing_is_none(vit, kind, text):
    assert told(f"## First\n{text}{ASKS[kind]}", vit) == []


def test_a_figure_is_told_by_its_numbers_and_loses_its_sentences():
    later = Asked(2, ("x",), (0.1234,), "percent")
    assert later.drawn_by(Chart(go.Figure(go.Scatter(x=[1, 2], y=[0.5, 0.1234])), "A line"))
    assert not later.drawn_by(Chart(go.Figure(go.Scatter(x=[1, 2], y=[0.5, 0.1235])), "A line"))
    blocks = [Said("It is 12.3 %."), Line("12 %"), Said("It is 12.4 %.")]
    assert list(withheld(iter(blocks), [later])) == [blocks[2]]
    assert np.all([not Asked(2, ("x",), (0.5, 0.25)).told_by(words) for words in ("50.0 %", "25.0 %", "")])


@pytest.mark.product
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_numbers_of_one_thing_agree(file):
    """All steps that ask: a picture that shows the answer, or a sentence that says it, shows the very one, in as many
    digits as it has; and a number of the sentence that is nearly the answer is of another quantity, which we know."""
    lesson, shown, near = read(file), set[int](), dict[int, str]()
    for number, step in lesson.questions:
        of = at_mark(step, subject(step.model or lesson.model, lesson.picture))
        question = asked(step, number, of)
        assert question is not None, step.title
        if step.look is None:
            continue
        showing = Showing(checked(step.look.set_for(of), [of]), [of])
        said = " · ".join([*(text for block in showing.blocks for text in words(block)), showing.said])
        if question.told_by(said) or any(question.drawn_by(block) for block in showing.blocks):
            shown.add(number)
        if len(question.values) == 1 and (found := nearly(showing.said, question.values[0])):
            near[number] = found
    assert shown == SHOWN[file.stem.partition("_")[0]]
    assert near == NEAR.get(file.stem.partition("_")[0], {})


def nearly(said, value):
    """The first number of a sentence that is within a tenth of a value, and not it."""
    for found in NUMBER.finditer(said):
        text, share = found[0].replace(",", "").replace("−", "-"), said[found.end() :].lstrip().startswith("%")
        places, of = len(text.partition(".")[2]), value * (100 if share else 1)
        if 0 < abs(float(text) - of) <= 0.1 * abs(of) and round(of, places) != float(text):
            return found[0]
    return ""


SHOWN = {
    "0": {2, 3},
    "1": {2, 3, 4, 5, 7, 9},
    "2": {3, 4, 8, 9, 10},
    "3": {3, 4, 6, 8, 12},
    "4": {2, 10},
    "5": {1, 2, 5},
    "6": {2, 7, 10, 11},
    "7": {2, 4, 5, 6},
    "8": {5, 6},
    "9": {9},
    "10": {2, 4, 8},
}
"""The steps whose picture or sentence shows what they ask: a number that moves away from it leaves this list."""
NEAR = {
    "1": {7: "196", 10: "785"},  # tokens, of patches and of halved ones
    "2": {5: "0.97", 9: "99"},  # of the neighbours in its row alone; "more than 99 %"
    "4": {3: "5,", 10: "99"},  # the number of a layer; the answer before
    "5": {3: "98", 4: "21"},  # of one head; without the sink
    "7": {5: "8"},  # of the second class
    "8": {9: "10"},  # of 10⁻¹⁰
    "10": {4: "1.000"},  # after the first step
}
"""By step the number of the sentence that is nearly the answer, and of something else."""
