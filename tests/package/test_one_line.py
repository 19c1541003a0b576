"""What the library gives is one line on a console; every example of a manual is a command that is understood."""

import re
import shlex
from dataclasses import dataclass

import numpy as np
import pytest

import vizkit
from vizkit.__main__ import COMMANDS, command_line
from vizkit.datasets import samples
from vizkit.traces import OneLine

LONGEST = 200


@pytest.fixture(scope="module")
def results(digits):
    image = samples.picture("digit 3")
    trace = vizkit.trace(digits, image, target=3)
    shown = vizkit.show("rollout", [digits, digits], image)
    return [digits, trace, *trace.attention, *trace.features, vizkit.explain(digits, image, "grad_cam"), shown]


def test_every_result_is_one_line_of_at_most_200_characters(results):
    for result in results:
        line = repr(result)
        assert len(line) <= LONGEST, line
        assert "\n" not in line
    assert repr(results[1]).startswith("PicturedTrace(model='bundled:digits_vit', image_size=(32, 32), logits=[10], ")


@dataclass(frozen=True, repr=False)
class Record(OneLine):
    words: str
    values: np.ndarray
    parts: tuple[int, ...] = ()


def test_a_record_of_this_kind_is_short_whatever_it_holds():
    assert repr(Record("a", np.zeros((1000, 7)))) == "Record(words='a', values=[1000 × 7])"
    assert repr(Record("a", np.zeros(3), (1, 2, 3))) == "Record(words='a', values=[3], parts=3 of them)"
    assert len(repr(Record("long " * 100, np.zeros(3)))) <= LONGEST


def examples():
    """Of every command the lines of its manual that one types."""
    app = command_line([])
    texts = [app[name].help or "" for name in COMMANDS]
    lines = [line.strip() for text in texts for line in text.splitlines() if line.strip().startswith("vizkit ")]
    return [part.strip() for line in lines for part in line.split(" · ")]


@pytest.mark.parametrize("example", examples())
def test_the_examples_of_a_manual_are_understood(example):
    """Every word of one is an argument or an option of its command."""
    words = shlex.split(example)[1:]
    command_line(words).parse_args(words)


def test_an_example_that_is_wrong_is_found():
    assert len(examples()) > 20
    with pytest.raises(Exception, match=re.escape("--methodz")):
        command_line(["explain"]).parse_args(["explain", "a.png", "--model", "x", "-o", "a.npz", "--methodz", "all"])
