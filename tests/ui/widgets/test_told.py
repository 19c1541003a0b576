"""The contract of canvases: what a visitor's browser sends is read in one place and by rules; nothing is trusted."""

import ast
import math
from collections.abc import Mapping
from importlib import import_module
from pkgutil import walk_packages
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
import streamlit as st

import vizkit.ui
from tests.ui.conftest import ROOT, choose, forged, sent_to, texts, until_done
from tests.ui.test_views import opened
from vizkit.figure.canvas.scripts import SCRIPTS
from vizkit.ui import canvas
from vizkit.ui.canvas import Canvas, linked
from vizkit.ui.session.needs import NEEDS
from vizkit.ui.views import package_of
from vizkit.views.rules import POINT, RefusedError, below, maybe, number, one_of, record, several, tuple_of, whole


# ---- one place -------------------------------------------------------------------------------------------------------
def trusting(path, code):
    """Where a module reads what the browser tells without the reader."""
    for node in ast.walk(ast.parse(code)):
        where = f"{path}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("streamlit.components"):
            yield f"{where} makes a component; make a Canvas of vizkit/ui/canvas.py."
        if isinstance(node, ast.keyword) and node.arg == "on_select" and "partial(hear," not in ast.unparse(node.value):
            yield f"{where} reads a selection; let `hear` of vizkit/ui/canvas.py call with what keeps to a rule."
        if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(part := node.value, ast.Subscript):
            own = isinstance(part.slice, ast.Constant) and str(part.slice.value).startswith("_")
            if ast.unparse(part.value).endswith("session_state") and not own:
                yield f"{where} reads a part of what a widget tells; let `hear` of vizkit/ui/canvas.py read it."


def test_what_the_browser_tells_is_read_in_one_place():
    reader = ROOT / "vizkit" / "ui" / "canvas.py"
    paths = [path for path in sorted(reader.parent.rglob("*.py")) if path != reader]
    assert [line for path in paths for line in trusting(str(path.relative_to(ROOT)), path.read_text("utf-8"))] == []


@pytest.mark.parametrize(
    "code",
    [
        "from streamlit.components.v2 import component",
        "from streamlit.components import v2",
        "point = st.session_state[key].point",
        "rows = st.session_state[key]['selection']",
        "name = st.session_state['strip'].name",
        "st.dataframe(table, on_select=picked)",
    ],
)
def test_a_module_that_reads_it_by_itself_is_found(code):
    assert list(trusting("toy.py", code))


# ---- every canvas ----------------------------------------------------------------------------------------------------
class Told(NamedTuple):
    """A view that mounts the canvas, as its address sets it (`query`), and by the name of each of its values one that
    its script sends. `steps`: whether all steps of a played field come at once, else each is drawn by the server."""

    page: str
    view: str
    values: dict[str, Any]
    steps: bool = True
    query: Mapping[str, str] = MappingProxyType({})


TELL = {
    "vizkit_look": Told("explore", "Cards", {"point": [0.25, 0]}, steps=False),
    "vizkit_heads": Told("attention", "Head by head", {"pick": [1, 2, "attention"]}),
    "vizkit_walk": Told("attention", "Head by head", {"point": [0.25, 0.9999], "step": 6, "token": 3}),
    "vizkit_matrix": Told("attention", "Head by head", {"point": [0.25, 0], "query": "cls"}),
    "vizkit_windows": Told("swin", "Shift", {"step": 2, "point": [0.5, 0.25]}),
    "vizkit_slide": Told("convolution", "Slide", {"place": [3, 4], "numbers": "1 0 -1 2 0 -2 1 0 -1", "stride": 1}),
    "vizkit_feature_maps": Told("convolution", "Feature maps", {"channel": 1, "unit": [1, 1]}),
    "vizkit_tiles": Told("rollout", "Rollout", {"pick": 0}, steps=False),
    "vizkit_translate": Told(
        "sequences",
        "Translate",
        {
            "at": 2,
            "force": {"step": 0, "word": ""},
            "pick": {"encoder": [0, None], "decoder": [0, 1], "cross": [0, 0]},
        },
    ),
    "vizkit_strips": Told("sequences", "Step by step", {"step": 2, "word": 2, "layer": "encoder 2", "head": "3"}),
    "vizkit_transfer": Told("super_resolution", "Enlarge", {"at": [1, 2], "moved": 8}),
    "vizkit_panels": Told("detection", "Boxes", {"pick": 3, "scene": 2}, steps=False),
    "vizkit_alike": Told("features", "Match", {"pick": "1:500,300"}, steps=False),
    "vizkit_order": Told("positions", "Shuffle", {"swaps": "1-6"}),
    "vizkit_block": Told("architecture", "Network", {"part": "query"}),
    "vizkit_flow": Told("architecture", "Network", {"block": [1, 2], "point": [0.25, 0]}),
    "vizkit_products": Told("architecture", "Network", {"point": [0.25, 0]}),
    "vizkit_bias": Told(
        "swin",
        "Window",
        {"head": 2, "point": [0.5, 0.25]},
        steps=False,
        query={"window_part": "table of the bias"},
    ),
    "vizkit_scrubber": Told("rollout", "Rollout", {"step": 1}),
    "vizkit_stage": Told(
        "rollout",
        "Rollout",
        {
            "set": [["query", "mean"]],
            "point": {"point": [0.25, 0], "field": "query"},
        },
    ),
    "vizkit_switches": Told(
        "intervene",
        "Switches",
        {
            "switched": {
                "number": 1,
                "back": None,
                "hidden": [0, 3],
                "off": ["0.1"],
                "hot": [1, 1, 1, 1, 1, 1],
                "tool": "Hide",
                "painted": [],
            },
        },
    ),
    "vizkit_withstands": Told("compare", "Robustness", {"level": 5}),
    "vizkit_predict": Told("sequences", "Masks", {"words": []}),
}
SILENT = {"vizkit_cut", "vizkit_copy_link", "vizkit_terms"}
ELSEWHERE = {
    "vizkit_contents",  # of a report: tests/ui/session/test_report_page.py
    "vizkit_report_kept",
    "vizkit_strip",  # in the sidebar: tests/ui/sidebar/test_strip.py
    "vizkit_evaluated",  # goes to another page: tests/ui/test_evaluate_page.py
    "vizkit_points",  # needs recorded pictures, as the next one: tests/ui/test_data_set_page.py
    "vizkit_suspects",
    "vizkit_race",  # needs scores: tests/ui/test_relevance_page.py
    "vizkit_guess",  # of a lesson: tests/ui/test_lessons_page.py
    "vizkit_lesson_memory",
}
NUMBERS = (math.nan, math.inf, -math.inf, 1e9, -1e9, 2**70, -1, 0, 0.5, 3, True, False)
FORGED = (
    None,
    *NUMBERS,
    "",
    "0",
    "1.5",
    "../../etc/passwd",
    "NaN",
    [],
    [[]],
    [None, None],
    {},
    {"a": 1},
    *([value] * length for value in (*NUMBERS, "0", None, [0]) for length in (1, 2, 3, 4)),
    [math.nan, 0.5],
    [0.5, 1e9],
    [1e9, -1e9],
    [1, 2],
    [0] * 100_000,
    list(range(100_000)),
    "x" * 100_000,
    *({name: value} for name in ("encoder", "step", "number", "of") for value in (0, math.nan, [], [-1, None], {})),
    {"step": 1e9, "word": "", "of": ""},
    {"step": -1, "word": []},
    {"encoder": 0, "decoder": 0, "cross": 0},
    {"encoder": [0, -1], "decoder": [0.5, 0], "cross": [math.nan, 0]},
    {"of": "", "places": [-1]},
    {"number": 1, "back": None, "hot": [1], "hidden": [1e9], "off": ["0.0"], "tool": "Hide", "painted": []},
    {"number": 1, "back": 3, "hot": [], "hidden": [], "off": ["9.9", "x", None], "tool": "Hide", "painted": []},
    {"number": math.nan, "back": None, "hot": [-1], "hidden": [], "off": [], "tool": "../x", "painted": [[0]]},
)


def test_every_canvas_stands_in_the_table():
    for module in walk_packages(vizkit.ui.__path__, "vizkit.ui."):
        import_module(module.name)
    assert {*Canvas.known, *SCRIPTS} == TELL.keys() | SILENT | ELSEWHERE


@pytest.fixture
def rules(monkeypatch):
    """Of every canvas that is mounted the rules of its values, by their names."""
    heard = {}
    mount = Canvas.__call__

    def listening(self, key, *given, **tells):
        name = next(name for name, known in Canvas.known.items() if known is self)
        heard.setdefault(name, {name: both[0] for name, both in tells.items() if isinstance(both, tuple) and both[1]})
        return mount(self, key, *given, **tells)

    monkeypatch.setattr(Canvas, "__call__", listening)
    return heard


def accepted(rule, value):
    try:
        rule(value)
    except RefusedError:
        return False
    return True


@pytest.mark.product
@pytest.mark.parametrize("name, told", TELL.items(), ids=TELL)
def test_forged_values_leave_a_page_as_it_was(name, told, rules, monkeypatch):
    """What breaks a rule changes nothing; all that keeps to one is drawn, and what the script sends is among it."""
    if not told.steps:
        monkeypatch.setattr("vizkit.ui.host.FRAMES_BYTES", 0)
    views = package_of(told.page).VIEWS
    needs = next(view.needs for view in views if view.title == told.view)
    test = opened(told.page, told.view, [NEEDS[needs or "model"].models[0]], **told.query)
    own = rules[name]
    assert told.values.keys() <= own.keys()
    assert [event for event, value in told.values.items() if not accepted(own[event], value)] == []
    for task in [key for key in test.session_state if key.startswith("_task_")]:
        until_done(test, task.removeprefix("_task_"))
    before = sent_to(test, name)
    refused = {event: [value for value in FORGED if not accepted(rule, value)] for event, rule in own.items()}
    for place in (0, -1):
        forged(test, name, {event: values[place] for event, values in refused.items()})
        assert sent_to(test, name) == before
    for event, rule in own.items():
        for value in [told.values.get(event), *FORGED]:
            if accepted(rule, value):
                assert sent_to(forged(test, name, {event: value}), name)


def test_what_a_canvas_tells_that_has_left_the_page_is_dropped(monkeypatch):
    monkeypatch.setattr(st, "session_state", {"there": {"step": 1}})
    told = []
    for key in ("gone", "there"):
        canvas.hear(key, "step", below(2), told.append)
    assert told == [1]


def test_what_the_picture_has_set_belongs_to_the_scene_and_the_reference_it_was_set_in(monkeypatch):
    """A query of another scene, and how far another reference was moved."""
    monkeypatch.setattr("vizkit.ui.host.FRAMES_BYTES", 0)
    test = opened("detection", "Boxes", [], det_query="15", det_scene="1")
    assert sent_to(test, "vizkit_panels")[0]["chosen"] == 15, "a link says both"
    forged(test, "vizkit_panels", {"scene": 541})
    assert sent_to(test, "vizkit_panels")[0]["chosen"] == 4
    choose(test, detection_view="Queries")
    assert "Scene 335: " in texts(test), "the scene that the view opens by itself"
    test = opened("super_resolution", "Enlarge", [], sr_moved="13")
    assert sent_to(test, "vizkit_transfer")[0]["moved"] == 13
    choose(test, sr_reference="other")
    assert sent_to(test, "vizkit_transfer")[0]["moved"] == 0


# ---- rules -----------------------------------------------------------------------------------------------------------
RULES = [
    (POINT, ([0, 0.5], [0.9999, 0]), ([1.0, 0.5], [-0.1, 0.5], [math.nan, 0.5], [0.5], [0.5] * 3, [True, 0], ["0", 0])),
    (whole(1, 3), (1, 3), (0, 4, 1.0, "1", True, None, math.nan, 2**70)),
    (below(2), (0, 1), (2, -1)),
    (below(0), (), (0, -1)),
    (number(-1.0, 1.0), (-1, 0.5, 1), (1.1, math.nan, -math.inf, False, "0", 10**400)),
    (one_of({"a": 1}), ("a",), ("b", ["a"], None, 1)),
    (several(below(2), 2), ([], [1], [1, 0]), ([0, 0, 0], [2], "01", {"0": 1}, None, [[0]])),
    (record(a=below(1)), ({"a": 0}, {"a": 0, "b": 1}), ({"b": 0}, {"a": 1}, [0], None)),
    (maybe(below(1)), (None, 0), (1, [])),
]


@pytest.mark.parametrize("rule, taken, refused", RULES)
def test_a_rule_takes_its_values_and_no_others(rule, taken, refused):
    assert [value for value in taken if not accepted(rule, value)] == []
    assert [value for value in refused if accepted(rule, value)] == []


LINKS = {
    "3,4": (3, 4),
    " 3 , 4 ": (3, 4),
    "": None,
    "3": None,
    "3,4,5": None,
    "3,5": None,
    "-1,4": None,
    "NaN,4": None,
    "9" * 5000 + ",1": None,
    "[" * 100_000: None,
    "3,4]": None,
    "3,4],[3,4": None,
    "3.0,4": None,
}


@pytest.mark.parametrize("text, place", LINKS.items(), ids=range(len(LINKS)))
def test_a_link_is_read_by_the_same_rule(monkeypatch, text, place):
    monkeypatch.setattr(st, "query_params", {"at": text})
    assert linked("at", tuple_of(below(5), below(5))) == place


PLACES = {
    "explore": ("Cards", ["at"]),
    "convolution": ("Slide", [f"slide_{name}" for name in ("at", "size", "stride", "padding", "dilation", "numbers")]),
    "super_resolution": ("Enlarge", ["sr_place"]),
    "swin": ("Shift", ["shift_step", "swin_block", "at"]),
    "detection": ("Boxes", ["det_query", "det_scene"]),
    "sequences": ("Translate", ["word", "heads", "force", "step", "hidden", "next"]),
    "intervene": ("Heads", ["head", "edits"]),
}


@pytest.mark.product
@pytest.mark.parametrize(
    "value", ["9" * 5000, "9" * 5000 + ".1", "nan,-1", "-inf"], ids=["digits", "dot", "nan", "inf"]
)
@pytest.mark.parametrize("page", PLACES)
def test_no_place_in_a_link_breaks_a_page(page, value):
    view, names = PLACES[page]
    needs = next(each.needs for each in package_of(page).VIEWS if each.title == view)
    opened(page, view, [NEEDS[needs or "model"].models[0]], **dict.fromkeys(names, value))


def test_a_text_that_reads_as_no_number_may_be_typed():
    test = opened("sequences", "Translate", [])
    test.text_input[0].set_value("inf").run()
    test.run()
