"""A view as a page of its own: no server, no network, nothing beside the file; a notebook shows the same."""

import json
import uuid
from collections.abc import Sequence
from html import escape
from typing import Any

from vizkit.figure.canvas.scripts import SCRIPTS, mounted
from vizkit.hosts.packing import Packed
from vizkit.hosts.stage import FRAMES_BYTES, stage
from vizkit.settings import __version__
from vizkit.standalone.page import around
from vizkit.views import reads
from vizkit.views.subject import Subject
from vizkit.views.view import View

CSS = """:host { --st-primary-color: #4338ca; --st-text-color: #16182b; --st-background-color: #fff;
--st-secondary-background-color: #f4f5fb; --st-border-color: #d9dcec; --st-font: system-ui, sans-serif;
--st-base-radius: .5rem; --widest: 34rem; display: block; color-scheme: light dark }
@media (prefers-color-scheme: dark) { :host { --st-primary-color: #818cf8; --st-text-color: #e8eaf6;
--st-background-color: #0f1120; --st-secondary-background-color: #1a1d33; --st-border-color: #2d3152 } }
.scrubber { max-width: 28rem; margin-bottom: 1.2em }
"""


def document(view: View, of: Sequence[Subject], most_bytes: int = FRAMES_BYTES) -> str:
    """A whole page, with how it is read and where it comes from. Raises NotApplicable as the view does."""
    book = stage(view, of, most_bytes=most_bytes)
    shows = view.title(of if view.together else of[0])
    shows = shows.partition(":")[0] if book["field"] else shows  # the step is turned
    models = dict.fromkeys(each.name for each in of if each.loaded is not None)
    title = ": ".join(filter(None, (shows, ", ".join(models))))
    how = view.how
    read = "".join(f"<p>{escape(part)}</p>" for part in (how.read, f"It does not show {how.not_shown}", how.source))
    images = " · ".join(dict.fromkeys(each.image for each in of if each.image and "picture" in reads(view)))
    below = f"{f'Image: {escape(images)} · ' if images else ''}vizkit {__version__}"
    return around(
        f"<h1>{escape(title)}</h1><p>{escape(view.summary().replace('`', ''))}</p>{_mounted(book)}"
        f"<details open><summary>How to read this</summary>{read}</details><footer>{below}</footer>",
        title,
    )


def fragment(
    view: View,
    of: Sequence[Subject],
    most_bytes: int = FRAMES_BYTES,
    draw: str = "over image",
    *,
    unfolded: bool = True,
) -> str:
    """HTML to put into any page, also several times. `draw`: a key of OPACITIES; `unfolded`: with what few ask for."""
    return _mounted(stage(view, of, draw, most_bytes, unfolded=unfolded))


def _mounted(book: Packed) -> str:
    used = sorted(_scripts(book["frames"]))
    own = [SCRIPTS[name] for name in ("vizkit_scrubber", "vizkit_stage")]
    style = "".join(script.css.read_text("utf-8") for script in own) + CSS
    place = f"vizkit-{uuid.uuid4().hex}"
    return (
        f"<div id='{place}'></div><script type='application/json' id='{place}-book'>{_json(book)}</script>"
        f"<script>(() => {{{''.join(script.code for script in own)}\n{mounted(used)}\n"
        f"const book = JSON.parse(document.getElementById('{place}-book').textContent), bus = new EventTarget()\n"
        f"const root = document.getElementById('{place}').attachShadow({{ mode: 'open' }})\n"
        f"const style = document.createElement('style'); style.textContent = {_json(style)}\n"
        "const above = document.createElement('div'), section = document.createElement('section')\n"
        "root.append(style, above, section)\n"
        "if (book.field) scrubber(above, book.field, bus)\n"
        "stage(section, book, scripts, bus)})()</script>"
    )


def _json(value: Any) -> str:
    """As it may stand inside a script element."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _scripts(value: Any) -> set[str]:
    """The names of all canvases in packed blocks."""
    if isinstance(value, dict):
        own = {value["script"]} if isinstance(value.get("script"), str) else set()
        return own.union(*map(_scripts, value.values()))
    return set().union(*map(_scripts, value)) if isinstance(value, list) else set()
