"""What the browser is given of a view: every step of its played field, each text once, and nothing to be run."""

import json
import re

import numpy as np
import pytest

from tests.hosts.toy import RGB, Toy, subject, unpooled
from vizkit.hosts.page import document
from vizkit.hosts.stage import stage
from vizkit.image import data_url


def frame(book, value=None):
    """The columns at a step, as the script reads them."""
    place = 0 if value is None else book["field"]["values"].index(value)
    return unpooled(book["frames"][place], book["pool"])


def test_every_step_is_there():
    book = stage(Toy(), [subject()])
    assert book["field"] | {"help": ""} == {
        "name": "step",
        "label": "Step",
        "help": "",
        "values": [1, 2, 3],
        "value": 2,
    }
    assert len(book["frames"]) == 3
    for step in (1, 2, 3):
        alone = stage(Toy(step), [subject()])
        assert frame(book, step) == frame(alone, step)
        (column,) = frame(book, step)
        sentences = [block["data"]["sentence"] for block in column if block.get("script") == "vizkit_look"]
        assert sentences == [f"Said at {step}."]
    kinds = [block["kind"] for block in column]
    assert kinds == [
        "heading",
        "line",
        "canvas",
        "heading",
        "canvas",
        "canvas",
        "picture",
        "table",
        "picture",
        "table",
        "line",
        "said",
        "formula",
    ]


def test_a_text_stands_once():
    book = stage(Toy(), [subject(), subject("Another")])
    assert len(book["pool"]) == len(set(book["pool"]))
    assert json.dumps(book).count(data_url(RGB)) == 1  # of six frames, each with five pictures
    assert book["titles"] == ["Toy", "Another"]


def test_too_many_bytes_leave_the_present_step():
    book = stage(Toy(3), [subject()], most_bytes=5_000)
    assert book["field"] is None
    (only,) = book["frames"]
    (column,) = unpooled(only, book["pool"])
    assert [block["data"]["sentence"] for block in column if block.get("script") == "vizkit_look"] == ["Said at 3."]


def test_a_page_holds_all_and_runs_nothing_of_it():
    view = Toy()
    page = document(view, [subject("<script>alert(1)</script>")])
    assert "alert(1)</script>" not in page.replace("&lt;script&gt;alert(1)&lt;/script&gt;", "")
    assert not re.search(r"(src|href)\s*=\s*['\"]https?:", page)
    text = re.search(r"<script type='application/json'[^>]*>(.*?)</script>", page, re.S)
    assert text
    assert json.loads(text[1])["field"]["value"] == 2
    assert "It is read so." in page


def test_a_played_number_that_is_no_step_is_not_played():
    from dataclasses import dataclass

    from vizkit.views.controls import number

    @dataclass(frozen=True)
    class Long(Toy):
        step: int = number("Step", 1, 500, 2, plays=True)

    assert stage(Long(), [subject()])["field"] is None


@pytest.mark.parametrize("value", [np.float64(2.0), 2])
def test_frames_are_json(value):
    json.dumps(stage(Toy(int(value)), [subject()]), allow_nan=False)
