"""The scripts of views that draw in the browser in their own way, by name: a page, a notebook and a saved page mount
the same ones."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from vizkit.figure.canvas import LOOK_HTML

__all__ = ["SCRIPTS", "Script", "mounted"]


@dataclass(frozen=True)
class Script:
    """An element: `js` are files, joined in this order, of which one exports the function that draws."""

    html: str
    css: Path
    js: tuple[Path, ...]

    @property
    def code(self) -> str:
        return "\n".join(file.read_text(encoding="utf-8") for file in self.js)


_HERE = Path(__file__).parent
_LOOK = tuple(_HERE / name for name in ("enlarge.js", "guide.js", "look.js"))
SCRIPTS = {
    "vizkit_look": Script(LOOK_HTML, _HERE / "look.css", _LOOK),
    "vizkit_tiles": Script("<section role='group'></section>\n", _HERE / "tiles.css", (_HERE / "tiles.js",)),
    "vizkit_heads": Script(
        "<canvas tabindex='0' role='application'></canvas><p>colours from 0 <i></i> to <b></b></p>"
        "<output aria-live='polite'></output>\n",
        _HERE / "heads.css",
        (_HERE / "heads.js",),
    ),
    "vizkit_scrubber": Script("<section></section>\n", _HERE / "scrubber.css", (_HERE / "scrubber.js",)),
    "vizkit_stage": Script("<section></section>\n", _HERE / "stage.css", (_HERE / "stage.js",)),
}


def mounted(names: Iterable[str]) -> str:
    """JavaScript: `scripts`, what stage.js draws with, of these canvases. Each is a function in a scope of its own, for
    they use the same names inside."""
    parts = []
    for name in names:
        script = SCRIPTS[name]
        shell = f"html: {_text(script.html)}, css: {_text(script.css.read_text(encoding='utf-8'))}"
        code = script.code.replace("export default function", "return function", 1)
        parts.append(f"{json.dumps(name)}: {{ {shell}, draw: (() => {{\n{code}\n}})() }}")
    return f"const scripts = {{ {', '.join(parts)} }}"


def _text(text: str) -> str:
    """As it may stand inside a script element too."""
    return json.dumps(text, ensure_ascii=False).replace("<", "\\u003c")
