"""docs/notebook.ipynb runs from top to bottom, and what it shows needs no network."""

import re
import sys
from pathlib import Path

import nbformat
import pytest
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbformat import NotebookNode

ROOT = Path(__file__).parents[1]
NOTEBOOK = ROOT / "docs" / "notebook.ipynb"


class ThisPython(AsyncKernelManager):
    """A kernel of the interpreter that runs the tests, whether or not anybody has registered it."""

    @property
    def kernel_spec(self) -> KernelSpec:
        return KernelSpec(argv=[sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"])


def execute(folder: Path) -> NotebookNode:
    """The notebook with its outputs, run in `folder`."""
    book = nbformat.read(NOTEBOOK, as_version=4)
    where = {"metadata": {"path": str(folder)}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        return NotebookClient(book, kernel_manager_class=ThisPython, timeout=300, resources=where).execute()


def html_of(book: NotebookNode) -> list[str]:
    """What its cells show as HTML, in their order."""
    outputs = [output for cell in book.cells for output in cell.get("outputs", ())]
    return [output.data["text/html"] for output in outputs if "text/html" in output.get("data", {})]


@pytest.fixture(scope="module")
def executed(tmp_path_factory) -> tuple[NotebookNode, Path]:
    folder = tmp_path_factory.mktemp("notebook")
    return execute(folder), folder


def test_every_cell_runs_and_traces_show_themselves(executed):
    book, _ = executed
    shown = html_of(book)
    assert len(shown) == 2  # the bundled model and the module of ten lines
    for text in shown:
        assert len(text) < 3_000_000
        assert re.findall(r"https?://", text) == []
    pictures = [o for cell in book.cells for o in cell.get("outputs", ()) if "image/png" in o.get("data", {})]
    assert len(pictures) == 2  # the insect, and three maps side by side


def test_what_the_notebook_says_is_so(executed):
    book, folder = executed
    said = "".join(o.text for cell in book.cells for o in cell.get("outputs", ()) if o.get("name") == "stdout")
    assert "check passed: True · 6 of 6 layers" in said
    assert "patches: (6, 6) weights (head, query, key): (4, 36, 36)" in said
    both, single = ((folder / name).read_text(encoding="utf-8") for name in ("both.html", "attention.html"))
    assert "insects_swin" in both
    assert "insects_swin" not in single


def test_it_is_kept_without_outputs():
    book = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(book)
    cells = [cell for cell in book.cells if cell.cell_type == "code"]
    assert all(cell.outputs == [] and cell.execution_count is None for cell in cells)
    assert NOTEBOOK.stat().st_size < 20_000
