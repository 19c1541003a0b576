"""The reference: every public name of the library with its docstring, as HTML, and a notebook for each core page.
`make docs` writes and serves it."""

import shutil
import sys
import warnings
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pdoc

import vizkit

FACE = ("vizkit.traces", "vizkit.heads", "vizkit.image", "vizkit.geometry", "vizkit.models", "vizkit.scoring")
SHOWN = ("vizkit.saving", "vizkit.hosts.library", "vizkit.hosts.showing")
NOTEBOOKS = Path(__file__).parent / "notebooks"
WHOLE = ("vizkit.analysis", "vizkit.views")
"""Packages with all that is in them."""


def modules() -> list[str]:
    """Those that the reference describes, by name."""
    inside = (
        each.name
        for package in WHOLE
        for each in walk_packages(import_module(package).__path__, f"{package}.")
        if not each.name.rpartition(".")[2].startswith("_")
    )
    return ["vizkit", *FACE, *SHOWN, *WHOLE, *inside]


def write(folder: Path, names: list[str] | None = None) -> None:
    """The pages of these modules, or of all. What is imported late is imported before they are read."""
    for name in vizkit.__all__:
        vars(vizkit)[name] = getattr(vizkit, name)
    shutil.copytree(NOTEBOOKS, folder / NOTEBOOKS.name, dirs_exist_ok=True)
    books = ", ".join(f"[{path.stem}]({NOTEBOOKS.name}/{path.name})" for path in sorted(NOTEBOOKS.glob("*.ipynb")))
    vizkit.__doc__ = f"{vizkit.__doc__}\nNotebooks: {books}."
    pdoc.render.configure(docformat="google", show_source=False, search=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names in annotations that are imported for types alone
        pdoc.pdoc(*(names or modules()), output_directory=folder)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
