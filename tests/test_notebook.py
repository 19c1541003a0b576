"""The notebooks in docs/ run from top to bottom, what they say is so, and what they show needs no network.

One kernel runs all of them, each in an empty namespace: to start one takes longer than most notebooks.
"""

import re
import sys
from contextlib import contextmanager
from pathlib import Path

import nbformat
import pytest
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from jupyter_core.utils import run_sync
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat.v4 import new_code_cell

ROOT = Path(__file__).parents[1]
NOTEBOOK = ROOT / "docs" / "notebook.ipynb"
OF_PAGES = {path.stem: path for path in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))}
SHOWN = {  # views, by the page
    "attention": 2,
    "distillation": 3,
    "explore": 2,
    "features": 2,
    "patches": 2,
    "positions": 3,
    "relevance": 2,
    "rollout": 2,
    "swin": 3,
}
MOST_CELLS = 8


class ThisPython(AsyncKernelManager):
    """A kernel of the interpreter that runs the tests, whether or not anybody has registered it."""

    @property
    def kernel_spec(self):
        return KernelSpec(argv=[sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"])


@contextmanager
def running():
    """A kernel that imports vizkit from here, and asks no network."""
    kernel = ThisPython()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        patch.setenv("HF_HUB_OFFLINE", "1")
        run_sync(kernel.start_kernel)()
    yield kernel
    run_sync(kernel.shutdown_kernel)(now=True)


def execute(book, folder, kernel):
    """The notebook with its outputs, run in `folder` and with no name that another one has left. Raises
    CellExecutionError for the first cell that fails."""
    client = NotebookClient(book, km=kernel, timeout=300)
    book.cells.insert(0, new_code_cell(f"%reset -f\n%cd -q {folder}"))
    try:
        return client.execute()
    finally:
        del book.cells[0]
        client.kc.stop_channels()


def outputs(book):
    """Of all its cells, in their order."""
    return [output for cell in book.cells for output in cell.get("outputs", ())]


def html_of(book):
    """What its cells show as HTML."""
    return [output.data["text/html"] for output in outputs(book) if "text/html" in output.get("data", {})]


def said_by(book):
    return "".join(output.text for output in outputs(book) if output.get("name") == "stdout")


@pytest.fixture(scope="module")
def kernel():
    with running() as kernel:
        yield kernel


@pytest.fixture(scope="module")
def executed(tmp_path_factory, kernel):
    folder = tmp_path_factory.mktemp("notebook")
    return execute(nbformat.read(NOTEBOOK, as_version=4), folder, kernel), folder


def test_every_cell_runs_and_traces_show_themselves(executed):
    book, _ = executed
    shown = html_of(book)
    assert len(shown) == 2  # the bundled model and the module of ten lines
    for text in shown:
        assert len(text) < 3_000_000
        assert re.findall(r"https?://", text) == []
    pictures = [output for output in outputs(book) if "image/png" in output.get("data", {})]
    assert len(pictures) == 2  # the insect, and three maps side by side


def test_what_the_notebook_says_is_so(executed):
    book, folder = executed
    said = said_by(book)
    assert "check passed: True · 6 of 6 layers" in said
    assert "patches: (6, 6) weights (head, query, key): (4, 36, 36)" in said
    both, single = ((folder / name).read_text(encoding="utf-8") for name in ("both.html", "attention.html"))
    assert "insects_swin" in both
    assert "insects_swin" not in single


@pytest.mark.product
@pytest.mark.parametrize("page", SHOWN)
def test_the_notebook_of_a_page_computes_what_its_views_say(page, tmp_path, kernel):
    """Its own cells compare the two: a difference stops it."""
    book = execute(nbformat.read(OF_PAGES[page], as_version=4), tmp_path, kernel)
    shown = html_of(book)
    assert len(shown) == SHOWN[page]
    for text in shown:
        assert text.startswith("<div id='vizkit-")
        assert 50_000 < len(text) < 3_000_000
        assert re.findall(r"https?://", text) == []
    assert said_by(book)


def test_a_number_that_a_view_does_not_say_stops_a_notebook(tmp_path, kernel):
    book = nbformat.read(OF_PAGES["swin"], as_version=4)
    book.cells = book.cells[:4]
    book.cells[3].source = book.cells[3].source.replace("4 * 49**2", "4 * 48**2")
    with pytest.raises(CellExecutionError, match="AssertionError"):
        execute(book, tmp_path, kernel)


@pytest.mark.parametrize("path", [NOTEBOOK, *OF_PAGES.values()], ids=lambda path: path.stem)
def test_it_is_kept_without_outputs(path):
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    cells = [cell for cell in book.cells if cell.cell_type == "code"]
    assert all(cell.outputs == [] and cell.execution_count is None for cell in cells)
    assert path.stat().st_size < 20_000
    assert path == NOTEBOOK or len(book.cells) <= MOST_CELLS


def test_a_notebook_finds_no_name_of_another_one(tmp_path, kernel):
    execute(nbformat.v4.new_notebook(cells=[new_code_cell("left = 1")]), tmp_path, kernel)
    with pytest.raises(CellExecutionError, match="NameError"):
        execute(nbformat.v4.new_notebook(cells=[new_code_cell("left")]), tmp_path, kernel)


def test_every_core_page_has_one():
    assert list(OF_PAGES) == list(SHOWN)
