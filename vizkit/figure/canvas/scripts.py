"""The scripts of views that draw in the browser in their own way, by name: a page, a notebook and a saved page mount
the same ones."""

from dataclasses import dataclass
from pathlib import Path

__all__ = ["SCRIPTS", "Script"]


@dataclass(frozen=True)
class Script:
    """An element: `js` are files, joined in this order, of which one exports the function that draws."""

    html: str
    css: Path
    js: tuple[Path, ...]


SCRIPTS: dict[str, Script] = {}
