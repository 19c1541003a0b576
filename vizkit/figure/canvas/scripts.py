"""The scripts of views that draw in the browser in their own way, by name: a page, a notebook and a saved page mount
the same ones.

"vizkit_NAME" is NAME.html, NAME.css and NAME.js, side by side in any folder here. A script that needs others says so in
its first line: "// After short, walk/row."
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


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
_AFTER = re.compile(r"// After (.*)\.\n")


def _script(html: Path) -> Script:
    own = html.with_suffix(".js")
    after = _AFTER.match(own.read_text(encoding="utf-8"))
    others = (_HERE / f"{name}.js" for name in (after[1].split(", ") if after else ()))
    return Script(html.read_text(encoding="utf-8"), html.with_suffix(".css"), (*others, own))


SCRIPTS = {f"vizkit_{html.stem}": _script(html) for html in sorted(_HERE.rglob("*.html"))}
TURNED = (
    "vizkit_look",
    "vizkit_heads",
    "vizkit_tiles",
    "vizkit_cut",
    "vizkit_bias",
    "vizkit_race",
    "vizkit_panels",
    "vizkit_alike",
)
"""Those that the stage of a page draws at every step of a played field."""


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
