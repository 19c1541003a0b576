"""Every view shows, offers and saves what is recorded of it (tests/ui/inventory). Where a change is meant, record it
anew with `python -m tests.ui.inventory`, and read in `git diff` what has changed. The defaults are compared in
test_every_view.py, all options here."""

import time
import zlib
from collections import defaultdict

import pytest

from tests.ui import test_views
from tests.ui.inventory import record, walk
from tests.ui.test_views import toy  # noqa: F401

pytestmark = pytest.mark.usefixtures("no_runs")


@pytest.fixture(scope="module")
def seconds(request):
    """By page, said where all is recorded anew."""
    spent = defaultdict(float)
    yield spent
    reporter = request.config.pluginmanager.getplugin("terminalreporter")
    if reporter and request.config.getoption("record_inventory"):
        reporter.write_line("")
        for page, each in spent.items():
            reporter.write_line(f"{page}: {each:.1f} s")


@pytest.mark.rest
@pytest.mark.parametrize("stem, view", test_views.ALL.values(), ids=test_views.ALL)
def test_all_options_are_as_recorded(stem, view, request, seconds):
    begun = time.process_time()
    sections = dict(walk.sections(stem, view))
    seconds[stem] += time.process_time() - begun
    if request.config.getoption("record_inventory"):
        record.write(stem, walk.titles(stem), view.title, sections)
    difference = record.difference(record.read(stem).get(view.title, {}), sections, whole=True)
    assert not difference, f"{stem}: {view.title} is not as recorded:\n{difference}"


def test_no_view_is_recorded_that_is_not_there():
    recorded = {f"{file.stem}: {title}" for file in record.FOLDER.glob("*.txt") for title in record.read(file.stem)}
    assert recorded <= set(test_views.ALL)


# ---- it can fail -----------------------------------------------------------------------------------------------------
TOY = """
import io
import numpy as np
import streamlit as st

def numbers():
    file = io.BytesIO()
    np.savez(file, map=np.zeros((2, 3)))
    return file.getvalue()

def view(page):
    kind = st.segmented_control("Kind", ["flat", "steep"], default="flat", key="toy_kind", help="What it is.")
    st.button("Begin")
    st.caption(f"It is {kind}, by 0.123 in 20 ms.")
    st.download_button("Numbers (NPZ)", numbers, f"{kind}.npz", on_click="ignore")
    if kind == "steep":
        st.info("Mind the step.")
"""


def toy_sections(make, stem, code):
    return dict(walk.sections(*make(stem, 'View("Toy", "A toy.", "it", ""),', "it", code)))


@pytest.mark.parametrize(
    "old, new, lines",
    [
        ('"Begin"', '"Start"', ["-button: Begin key=None", "+button: Start key=None"]),
        ("map=", "maps=", ["-  in Numbers (NPZ): map 2×3 <f8", "+  in Numbers (NPZ): maps 2×3 <f8"]),
        ("(2, 3)", "(3, 2)", ["-  in Numbers (NPZ): map 2×3 <f8", "+  in Numbers (NPZ): map 3×2 <f8"]),
        ('"flat", "steep"', '"steep", "flat"', ["options=steep | flat"]),
        ("Mind", "Watch", ["---- toy_kind = steep", "-+ info: Mind the step.", "++ info: Watch the step."]),
        (", help", ", disabled=False, help", []),
        (', help="What it is."', "", ["-  help: What it is."]),
        ("0.123 in 20 ms", "0.1231 in 30 ms", []),
        ("0.123", "0.133", ["+caption: It is flat, by 0.13 in # ms."]),
        ("}.npz", "}_2.npz", ["+download: Numbers (NPZ) → flat_2.npz"]),
    ],
)
def test_what_is_changed_is_said(toy, old, new, lines):  # noqa: F811
    before = toy_sections(toy, "toy_before", TOY)
    name = f"toy_after_{zlib.crc32((old + new).encode())}"  # a name of its own, for Python keeps what it imported
    difference = record.difference(before, toy_sections(toy, name, TOY.replace(old, new)), whole=True)
    assert bool(difference) is bool(lines)
    assert [line for line in lines if line not in difference] == []
