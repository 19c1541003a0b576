"""What the browser is given of a view: every step of its played field, each text once, and nothing to be run."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.hosts.toy import RGB, Toy, subject, unpooled
from vizkit.figure.canvas.rows import Rows
from vizkit.figure.scales import between
from vizkit.hosts.packing import Packing
from vizkit.hosts.page import document
from vizkit.hosts.stage import leading, stage
from vizkit.image import data_url
from vizkit.traces import NotApplicable
from vizkit.views.blocks import Columns, Folded, Formula, Heading, Hint, Line, Map, Numbers, Said
from vizkit.views.controls import number


class Still(Toy):
    step: int = number("Step", 1, 3, 2)


class Runs(Toy):
    step: int = number("Step", 1, 3, 2, plays=True, runs=True)


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
        "counts": True,
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
        "columns",
        "picture",
        "table",
        "line",
        "said",
        "formula",
    ]
    (beside,) = (block for block in column if block["kind"] == "columns")
    assert [[block["kind"] for block in part] for part in beside["parts"]] == [["picture"], ["table"]]
    assert beside["widths"] == [1, 1]


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


def test_a_report_leaves_folded_what_few_ask_for():
    """One page alone has it, and neither has what only a page can do."""
    view = Unplayed()
    (page,), (report,) = (
        [[part.get("text") for part in column] for column in stage(view, [subject()], unfolded=unfolded)["frames"][0]]
        for unfolded in (True, False)
    )
    assert page == ["First.", "Few ask", "Deep."]
    assert report == ["First."]


class Unplayed(Still):
    def show(self, of):
        yield Said("First.")
        yield Hint("Click a cell.")
        yield Folded("Few ask", lambda: [Line("Deep.")])


def test_of_many_steps_some_come_evenly_apart():
    book = stage(Long(), [subject()])
    assert book["field"]["values"] == list(range(2, 501, 10))  # 50, the present one among them
    fewer = stage(Long(), [subject()], most_bytes=len(json.dumps(book)) // 2)
    assert fewer["field"]["values"] == list(range(2, 501, 63))
    assert leading(Long(), [subject()], "over image")[0] is None  # a page asks the server for each of them


class Long(Toy):
    step: int = number("Step", 1, 500, 2, plays=True)


class Ran(Toy):
    step: int = number("Step", 1, 3, 2, plays=True, runs=True)


def test_what_runs_the_model_is_turned_where_nobody_answers():
    assert stage(Ran(), [subject()])["field"]["values"] == [1, 2, 3]
    assert leading(Ran(), [subject()], "over image")[0] is None


@pytest.mark.parametrize("value", [np.float64(2.0), 2])
def test_frames_are_json(value):
    json.dumps(stage(Toy(int(value)), [subject()]), allow_nan=False)


# ---- the first blocks of a page --------------------------------------------------------------------------------------
def test_a_page_is_given_the_first_blocks_at_every_step_and_draws_the_rest():
    book, _, rest = leading(Toy(), [subject()], "over image")
    assert book is not None
    for value in (1, 2, 3):
        (column,) = frame(book, value)
        (whole,) = frame(stage(Toy(value), [subject()]), value)
        assert column == whole[:6]  # words, the map, small maps under their heading, and a grid
    assert isinstance(next(rest), Columns)
    assert [type(block) for block in rest][-2:] == [Formula, Numbers]


def test_what_comes_after_is_not_made_for_other_steps():
    made = []

    class Slow(Toy):
        def show(self, of):
            yield Line(f"at {self.step}")
            yield Heading("of what is below")
            yield Formula("x")
            made.append(self.step)
            yield Line("slow")

    book, _, rest = leading(Slow(), [subject()], "over image")
    assert book is not None
    assert [column[0]["text"] for value in (1, 2, 3) for column in frame(book, value)] == ["at 1", "at 2", "at 3"]
    assert all(len(column) == 1 for value in (1, 2, 3) for column in frame(book, value))
    assert made == []
    assert [type(block) for block in rest] == [Heading, Formula, Line]
    assert made == [2]


def test_a_step_without_a_meaning_is_left_to_the_server():
    class Gap(Toy):
        def show(self, of):
            if self.step == 3:
                raise NotApplicable("Not here.")
            yield Line(f"at {self.step}")

    book, _, _ = leading(Gap(), [subject()], "over image")
    assert [each is None for each in book["frames"]] == [False, False, True]
    with pytest.raises(NotApplicable):
        leading(Gap(3), [subject()], "over image")


@pytest.mark.parametrize("view, most_bytes", [(Toy(), 5_000), (Still(), 10**9), (Runs(), 10**9)])
def test_what_is_not_turned_comes_block_by_block(view, most_bytes):
    book, _, blocks = leading(view, [subject()], "over image", most_bytes)
    assert book is None
    assert [type(block) for block in blocks] == [type(block) for block in view.show(subject())]


def test_the_deepest_model_says_how_many_steps_there_are():
    class Deep(Toy):
        step: int = number("Step", 1, lambda of: max(3 + len(each.name) for each in of), 2, plays=True)

    one, other = subject("a"), subject("abc")
    one.beside = (other,)
    book, _, _ = leading(Deep(), [one], "over image")
    assert book["field"]["values"] == [1, 2, 3, 4, 5, 6]


FIELDS = st.text(st.characters(exclude_characters="$"), max_size=3)  # "$" is a place of the pool


@settings(max_examples=20, deadline=None)
@given(
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5), st.text(min_size=398, max_size=402)),
        lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(FIELDS, inner, max_size=4)),
    )
)
def test_what_is_pooled_is_read_as_it_was(value):
    pack = Packing("over image")
    again = json.loads(json.dumps(pack.pooled({"it": value})))
    assert unpooled(again, [*pack.pool]) == {"it": value}


def test_a_map_lies_where_its_view_asks_and_says_what_its_colours_are():
    """Of 40 × 80 pixels the model sees the square in the middle, from a quarter to three quarters across."""
    of = subject()
    rows = Rows(np.zeros((1, 4)), (2, 2), (2, 2), np.array([0]), scale=between(-1, 1), kind="similarity")

    def data(query, rows=rows):
        (part,) = Packing("over image").all([Map(rows, query, "label", "cosine")], [of])
        return part["data"]

    assert data((0.25, 0.75))["point"] == pytest.approx((0.375, 0.75))
    assert data(of.asked)["point"] == of.point
    assert data((0.25, 0.75))["quantity"] == "cosine"
    assert data(of.asked, replace(rows, kind=""))["quantity"] == "cosine"
