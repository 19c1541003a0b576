"""What all tests of pages share: the app as Streamlit runs it, without a browser, opened at a page; its words, and what
it sends to the canvases."""

import json
import re
import time
from functools import cache
from pathlib import Path

import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.components.v2.bidi_component.main import _make_trigger_id
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.testing.v1 import AppTest, local_script_runner

from tests.hosts.toy import unpooled
from vizkit.datasets import samples
from vizkit.ui import shell
from vizkit.ui.plain import JOINER
from vizkit.ui.session.chosen import KEPT

ROOT = Path(__file__).parents[2]
CHOSEN = (
    "selectbox",
    "number_input",
    "text_input",
    "segmented_control",
    "toggle",
    "slider",
    "multiselect",
    "text_area",
)
VIT, SWIN, CNN = "bundled:digits_vit", "bundled:digits_swin", "bundled:digits_cnn"


@pytest.fixture(scope="session", autouse=True)
def installed_components():
    """An AppTest looks for components in all installed packages, which takes longer than most pages: once will do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests))
        yield


@pytest.fixture
def one_pass(cache):
    """For tests that ask the same of the same images: a pass over them is kept by content, and this process makes it
    once."""
    kept = cache.parent / "passes"
    kept.mkdir(parents=True, exist_ok=True)
    cache.mkdir()
    (cache / "passes").symlink_to(kept)


@pytest.fixture(scope="session", autouse=True)
def waiting():
    """An AppTest asks a thousand times a second whether its script has ended, and holds it up each time. No run of a
    page may end with an exception."""
    asked, run = local_script_runner.require_widgets_deltas, AppTest._run

    def ended(runner, timeout=3):
        if runner._script_thread is not None:
            runner._script_thread.join(timeout)
        asked(runner, 0.1)

    def sound(test, *given, **more):
        run(test, *given, **more)
        assert not test.exception, [each.value for each in test.exception]
        return test

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local_script_runner, "require_widgets_deltas", ended)
        patch.setattr(AppTest, "_run", sound)
        yield


def opened(page=shell.FIRST, **query):
    """As a visitor who follows a link: this page alone is drawn. Without another picture, or a lesson, that of an
    insect, whose classes two small models know."""
    named = {"image", "models", "lesson", f"{KEPT}image", f"{KEPT}models"}
    query = query if named & {*query} else {"image": samples.INSECTS[0], **query}
    test = AppTest.from_file(str(ROOT / "app.py"), default_timeout=600)
    for name, value in query.items():
        test.query_params[name] = value
    return (test if page == shell.FIRST else test.switch_page(f"pages/{page}.py")).run()


def click(test, key):
    return test.button(key=key).click().run()


def choose(test, **values):
    """Sets widgets by their keys."""
    for key, value in values.items():
        next(widget for kind in CHOSEN for widget in getattr(test, kind) if widget.key == key).set_value(value)
    return test.run()


def at_rest(test, within_s=600):
    """When all work beside the page is done."""
    end = time.monotonic() + within_s
    names = [str(name) for name in test._session_state.filtered_state if str(name).startswith("_task_")]
    while any(test.session_state[name].running for name in names) and time.monotonic() < end:
        time.sleep(0.05)
    return test.run()


def as_read(text):
    """Without the marks that keep names from being Markdown."""
    return re.sub(r"\\(?=[^\w\s])", "", text).replace(JOINER, "")


def texts(test):
    """As they are read: the marks that keep names from being Markdown are not seen."""
    kinds = (test.markdown, test.caption, test.warning, test.error, test.info, test.title, test.subheader)
    said = [as_read(element.value) for kind in kinds for element in kind]
    blocks = [block for _, name, data in canvases(test) if name == "vizkit_stage" for block in staged(data)]
    return "\n".join([*said, *(block["text"] for block in blocks if "text" in block)])


def fine(test):
    assert not test.error
    assert not test.warning


def components(test):
    """All but the button that every page has."""
    return [component for component in test.main.get("bidi_component") if component.key != "copy_link"]


def canvases(test):
    """(id, component, what it was given) of all; of a stage also those that it draws at its present step."""
    for proto in (component.proto for component in test.main.get("bidi_component")):
        data = json.loads(proto.json or "{}")
        yield proto.id, proto.component_name, data
        if proto.component_name == "vizkit_stage":
            yield from ((proto.id, each["script"], each["data"]) for each in staged(data) if each["kind"] == "canvas")


def staged(data):
    """The blocks of a stage at its present step, as its script reads them."""
    book = json.loads(data["book"])
    at = book["field"]["values"].index(data["value"]) if book["field"] else 0
    (column,) = unpooled(book["frames"][at], book["pool"])
    return [*inside(column)]


def inside(blocks):
    """All of them, those beside one another too."""
    for block in blocks:
        if block["kind"] == "columns":
            yield from (each for part in block["parts"] for each in inside(part))
        else:
            yield block


def sent(test, key):
    """What the canvas whose key begins so was given; of a stage its first map."""
    found = [(name, data) for id, name, data in canvases(test) if f"-{key}" in id]
    return next(data for name, data in found if name != "vizkit_stage")


def sent_to(test, component):
    """What all canvases of one kind were given."""
    return [data for _, name, data in canvases(test) if name == component]


def forged(test, component, values):
    """As a browser that sends this under the name of the first canvas of a kind."""
    protos = [component.proto for component in test.get("bidi_component")]
    states = test._tree.get_widget_states()
    state = states.widgets.add()
    state.id = next(proto.id for proto in protos if proto.component_name == component)
    state.json_value = json.dumps(values)
    return test._run(states)


def triggered(test, component, name, value):
    """As a browser that tells this once, as a canvas's trigger is told."""
    protos = [each.proto for each in test.get("bidi_component")]
    proto = next(each for each in protos if each.component_name == component)
    state = WidgetState(id=_make_trigger_id(proto.id, "events"))
    state.json_trigger_value = json.dumps([{"event": name, "value": value}])
    states = test._tree.get_widget_states()
    states.widgets.append(state)
    return test._run(states)


def until_done(test, name):
    """Run the page again, as its progress does in a browser, until the work beside it has ended."""
    end = time.monotonic() + 300
    while test.session_state[f"_task_{name}"].running and time.monotonic() < end:
        time.sleep(0.05)
    assert not test.session_state[f"_task_{name}"].running
    return test.run()


@pytest.fixture
def no_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("VIZKIT_RUNS", str(tmp_path / "runs"))
    monkeypatch.setattr("vizkit.ui.session.background.start", lambda name, work: None)
