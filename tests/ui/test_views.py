"""The contract of views: every one has its parts, opens by its address and is drawn with the model that it needs."""

import importlib
import inspect
import re
from collections import defaultdict
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from streamlit.testing.v1 import AppTest

import vizkit
import vizkit.ui.pages
import vizkit.views
from tests.ui.conftest import as_read, choose, texts
from vizkit.datasets import samples
from vizkit.ui import shell
from vizkit.ui.session.needs import NEEDS
from vizkit.ui.sidebar import inputs
from vizkit.ui.views import View, function_of, package_of
from vizkit.views.address import key_of
from vizkit.views.blocks import Map
from vizkit.views.controls import controls
from vizkit.views.rows_of import places_for_browser

ROOT = Path(__file__).parents[2]
STEMS = [stem for pages in shell.PAGES.values() for stem, *_ in pages]
IMAGE = "digit 3"
DRAWINGS = (
    "bidi_component",
    "plotly_chart",
    "imgs",
    "image",
    "table",
    "metric",
    "button",
    "slider",
    "selectbox",
)


def views_of(stem):
    return package_of(stem).VIEWS


def missing(stem, view):
    """What a view lacks, each in a sentence that says what to add where."""
    where = f"vizkit/ui/pages/{stem}/__init__.py, the view {view.title!r}"
    if not re.fullmatch(r"\S.*\S", view.title):
        yield f"{where}: give it a title, the first field of its View; it is its address too."
    if not re.fullmatch(r"[A-Z0-9][^.]+\.", view.line):
        yield f"{where}: give it a line, the second field: one sentence that ends with a full stop."
    if view.needs and view.needs not in NEEDS:
        yield f"{where}: it needs {view.needs!r}; add that to NEEDS in vizkit/ui/session/needs.py, or name one of them."
    if view.name:
        return  # of records: tests/views/test_contract.py
    try:
        parameters = list(inspect.signature(function_of(view, f"vizkit.ui.pages.{stem}")).parameters)
    except ModuleNotFoundError:
        yield f"{where}: add the file vizkit/ui/pages/{stem}/{view.module}.py with view(page)."
    except AttributeError:
        yield f"{where}: add the function view(page) to vizkit/ui/pages/{stem}/{view.module}.py."
    else:
        if parameters != ["page"]:
            signature = f"view({', '.join(parameters)})"
            yield f"{where}: vizkit/ui/pages/{stem}/{view.module}.py has {signature}; make it view(page)."


@cache
def sample(name):
    return inputs.sample(name)


def opened(stem, title, models, name=IMAGE, **query):
    """A view by its address, without the shell around it: one run, and no other page before it. `name`: of the
    picture."""
    test = AppTest.from_string(f"from vizkit.ui.views import open_page\nopen_page({stem!r})", default_timeout=600)
    test.session_state["_picture"], test.session_state["image"] = sample(name), name
    test.session_state["models"] = models
    test.query_params |= {f"{stem}_view": title, **query}
    return test.run()


NONSENSE = ("9" * 500, "nan", "-31999", "<b>../../etc/passwd")


@cache
def odd():
    """By the name of a view addresses that give all its fields what they cannot have. The fields of one kind, of all
    views, are given each nonsense by turns: where there are few of a kind, their views have several addresses. Whatever
    somebody types is a text, and is shown as one."""
    fields = defaultdict(list)  # by kind
    for name, entry in vizkit.views.VIEWS.items():
        for field, control in controls(vizkit.views.class_of(name)).items():
            fields[control.kind].append((name, key_of(entry, field, control)))
    found = defaultdict(lambda: [{}])
    for kind, all_of_it in fields.items():
        values = NONSENSE[-1:] if kind == "text" else NONSENSE
        for turn in range(max(len(values), len(all_of_it))):
            name, key = all_of_it[turn % len(all_of_it)]
            again, value = turn // len(all_of_it), values[turn % len(values)]
            found[name] += [dict(found[name][0]) for _ in range(again + 1 - len(found[name]))]
            found[name][again][key] = value
    return found


def undrawn(test, stem, view, given):
    """What is wrong with a view that was opened by an address, with the models that its need names."""
    where = f"The view {view.title!r} of vizkit/ui/pages/{stem}"
    model = NEEDS[view.needs or "model"].models[0]
    drawn = texts(test)
    refusals = [each for each in test.caption if each.value.startswith(":material/link_off:")]
    if any("<" in each.value or "/.." in each.value for each in refusals):
        yield f"{where} repeats what a link says."  # numbers and plain words alone
    for each in (*test.info, *refusals):  # which may say that there is no such thing
        drawn = drawn.replace(as_read(each.value), "")
    yield from (f"{where} shows {value!r} of its address." for value in set(given.values()) if value in drawn)
    if len(views_of(stem)) > 1 and test.segmented_control(key=f"{stem}_view").value != view.title:
        yield f"{where} does not open at ?{stem}_view={view.title}; see open_page in vizkit/ui/views.py."
    if any("None of your models" in each.value for each in test.caption):
        yield f"{where} needs {view.needs!r}, but {model}, the first model of that need in NEEDS, does not have it."
    if view.needs and not any(test.main.get(kind) for kind in DRAWINGS):
        yield f"{where} draws nothing with {model}; let view(page) draw, or name in VIEWS what it needs."
    if not test.info and "How to read this" not in [each.label for each in test.expander]:
        yield f"{where} does not say how to read it; end view(page) with reading.how(…)."


ALL = {f"{stem}: {view.title}": (stem, view) for stem in STEMS for view in views_of(stem)}


pytestmark = pytest.mark.usefixtures("no_runs")


def test_every_page_is_listed_and_titles_and_addresses_are_unique():
    assert {*STEMS} == {path.stem for path in (ROOT / "pages").glob("*.py")}
    for stem in STEMS:
        names = [
            name
            for view in views_of(stem)
            for name in (view.title, *(former.title for former in view.formerly if former.title and not former.page))
        ]
        assert len(names) == len(set(names)), stem


@pytest.mark.parametrize("stem", STEMS)
def test_a_page_is_the_guard_and_its_package(stem):
    code = (ROOT / "pages" / f"{stem}.py").read_text(encoding="utf-8").split('"""')[2]
    assert [line.partition("  #")[0] for line in code.splitlines() if line] == [
        "from vizkit.ui.shell import ensure_shell",
        "ensure_shell()",
        "from vizkit.ui.views import open_page",
        f'open_page("{stem}")',
    ]


def test_pandas_is_whole_before_a_view_draws(monkeypatch):
    """plotly takes what another thread has imported of it so far."""
    imported = []
    monkeypatch.setattr(
        "vizkit.ui.views.import_module", lambda *given: imported.append(given[0]) or importlib.import_module(*given)
    )
    opened("swin", "Stages", ["bundled:digits_swin"])
    assert "pandas" in imported


def test_every_kind_of_field_is_given_each_nonsense():
    given = defaultdict(set)
    for name, entry in vizkit.views.VIEWS.items():
        for field, control in controls(vizkit.views.class_of(name)).items():
            given[control.kind] |= {address[key_of(entry, field, control)] for address in odd()[name]}
    assert {kind for kind, values in given.items() if values != set(NONSENSE)} == {"text"}


# ---- it can fail -----------------------------------------------------------------------------------------------------
@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A page package `toy…` from its files; every one has a name of its own, for Python keeps what it imported."""
    monkeypatch.setattr(vizkit.ui.pages, "__path__", [*vizkit.ui.pages.__path__, str(tmp_path)])

    def make(stem, line, module, code):
        folder = tmp_path / stem
        folder.mkdir()
        words = f'"""A toy."""\n\nfrom vizkit.ui.views import View\n\nVIEWS = (\n    {line}\n)\n'
        (folder / "__init__.py").write_text(words, encoding="utf-8")
        (folder / f"{module}.py").write_text(code, encoding="utf-8")
        return stem, views_of(stem)[-1]

    return make


@pytest.mark.parametrize(
    "part, sentence",
    [
        ({"title": ""}, "give it a title, the first field"),
        ({"line": ""}, "give it a line, the second field"),
        ({"line": "no sentence"}, "give it a line, the second field"),
        ({"needs": "luck"}, "it needs 'luck'; add that to NEEDS in vizkit/ui/session/needs.py"),
        ({"module": "nowhere"}, "add the file vizkit/ui/pages/train/nowhere.py with view"),
        ({"module": "fields"}, "add the function view(page) to vizkit/ui/pages/train/fields.py"),
    ],
)
def test_a_missing_part_is_named_with_its_place(part, sentence):
    whole = views_of("train")[0]
    assert not list(missing("train", whole))
    assert [sentence in said for said in missing("train", replace(whole, **part))] == [True]


@pytest.mark.parametrize(
    "stem, code, needs, sentence",
    [
        ("toy_parameters", "def view(one, picture): ...", "model", "has view(one, picture); make it view(page)"),
        ("toy_empty", "def view(page): ...", "model", "draws nothing with bundled:digits_vit"),
        ("toy_silent", "def view(page): ...", "", "does not say how to read it"),
    ],
)
def test_a_view_that_does_not_work_is_named(toy, stem, code, needs, sentence):
    stem, view = toy(stem, f'View("Toy", "A toy.", "it", {needs!r}),', "it", code)
    found = [*missing(stem, view)] or undrawn(opened(stem, view.title, [*NEEDS["model"].models[:1]]), stem, view, {})
    assert any(sentence in each for each in found)


def test_a_view_that_fails_fails_its_test(toy):
    stem, view = toy("toy_fails", 'View("Toy", "A toy.", "it", ""),', "it", "def view(page):\n    1 / 0")
    with pytest.raises(AssertionError, match="encountered an error"):
        opened(stem, view.title, [])


def test_the_recipe_of_architecture_for_a_map_over_patches():
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"`yield (Map\(places_for_browser.*?\))`", text)
    (of,) = vizkit.show("rollout", vizkit.load("bundled:digits_vit"), samples.picture(IMAGE)).subjects
    values = np.arange(64.0).reshape(8, 8)
    given = {"of": of, "values": values, "sentence": ""}
    block = eval(code, {"Map": Map, "places_for_browser": places_for_browser, **given})
    assert block.rows.key_grid == of.layers[0].query.grid == (8, 8)
    assert_array_equal(block.rows.values, values.reshape(1, -1))


# ---- the recipe ------------------------------------------------------------------------------------------------------
def test_the_recipe_of_architecture_adds_a_view(tmp_path, monkeypatch):
    """One file and one line: the view is then on its page, in a notebook, on paper and in a link."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    text = text.partition("\n### Add a view\n")[2].partition("\n## ")[0]
    code, line = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    module = re.search(r"vizkit/views/(\w+)\.py`: a frozen", text)
    assert module
    (tmp_path / f"{module[1]}.py").write_text(code, encoding="utf-8")
    monkeypatch.setattr(vizkit.views, "__path__", [*vizkit.views.__path__, str(tmp_path)])
    entry = eval(line, {"Entry": View})
    monkeypatch.setitem(vizkit.views.VIEWS, entry.name, entry)
    test = opened(entry.page, entry.title, ["bundled:digits_cnn"])
    assert "None of your models is a transformer; shown: ViT · digits." in texts(test)
    assert [(each.label, each.value) for each in test.metric] == [("Patches", "8 × 8")]
    choose(test, patches_special=True)
    assert "The model cuts the image into 64 patches and reads 65 tokens." in texts(test)
    assert test.query_params["patches_special"] == "true"
    shown = vizkit.show(entry.name, vizkit.load("bundled:digits_vit"), samples.picture(IMAGE))
    assert repr(shown) == "Patches. The model cuts the image into 64 patches."
    shown.save(tmp_path / "sizes.png")
    assert (tmp_path / "sizes.png").stat().st_size > 1000
