"""One HTML text that shows traces in any browser: no server, no network, nothing beside the file."""

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import UInt8

from vizkit.figure.canvas.rows import text64
from vizkit.figure.canvas.scripts import SCRIPTS
from vizkit.figure.palette import CEILING, FLOOR, colours
from vizkit.heads import SOFTMAX, Head
from vizkit.image import Box, data_url
from vizkit.standalone.packing import packed
from vizkit.traces import Check, Trace, TraceError

LIMIT_MB = 3.0
PICTURE_PX = 640
UNTRAINED = "\nIts weights are random: its answers mean nothing."
_HERE = Path(__file__).parent
_HOST_JS = (_HERE / "host.js").read_text(encoding="utf-8")
_HOST_CSS = (_HERE / "host.css").read_text(encoding="utf-8")
_PAGE_CSS = (_HERE / "page.css").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Card:
    """A trace and what stands around it: the picture (RGB), the part that the model saw, its answers."""

    trace: Trace
    picture: UInt8[np.ndarray, "height width 3"]
    seen_box_xyxy: Box
    labels: Sequence[tuple[str, float]] = ()
    trained: bool = True
    head: Head = SOFTMAX


def document(*cards: Card, limit_mb: float = LIMIT_MB) -> str:
    """A whole page. Raises TraceError as `fragment` does."""
    return around(fragment(*cards, limit_mb=limit_mb), " · ".join(card.trace.model for card in cards))


def around(inner: str, title: str) -> str:
    """A whole page with HTML that may stand in it; what no file can hold of a name is a question mark."""
    page = (
        f"<!doctype html><html lang='en'><head><meta charset='utf-8'><title>{escape(title)}</title>"
        "<meta name='viewport' content='width=device-width'><meta name='color-scheme' content='light dark'>"
        f"<style>{_PAGE_CSS}</style></head><body>{inner}</body></html>"
    )
    return page.encode(errors="replace").decode()


def fragment(*cards: Card, limit_mb: float = LIMIT_MB, refuse: bool = True) -> str:
    """HTML to put into any page, also several times, of at most `limit_mb` million characters. It shows the
    last layer first, the mean of its heads and the patch in the middle.

    Raises TraceError for a trace whose check failed or that is too large; with `refuse=False` the sentence is given.
    """
    limit = int(limit_mb * 1e6)
    models = []
    for card in cards:
        sentence, model = card.trace.check.refused or _second_picture(card.trace), None
        if sentence is None:
            model = _model(card, (limit - 60_000) // max(1, len(cards)))
            sentence = f"The attention of {card.trace.model} takes over {limit_mb:g} MB: keep some rows or layers only."
        if model is None:
            if refuse:
                raise TraceError(sentence)
            return f"<p>{escape(sentence)}</p>"
        models.append(model)
    book = {"models": models, "colours": text64(colours()), "floor": FLOOR, "ceiling": CEILING}
    name = f"vizkit-{uuid.uuid4().hex}"
    content = json.dumps(book, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    look = SCRIPTS["vizkit_look"]
    css = look.css.read_text(encoding="utf-8")
    shell = json.dumps({"css": css, "own": _HOST_CSS, "card": look.html}).replace("<", "\\u003c")
    script = look.code.replace("export default function", "const look = function") + _HOST_JS
    return (
        f"<div id='{name}'></div><script type='application/json' id='{name}-book'>{content}</script>"
        f"<script>(() => {{{script}\nshow(document.getElementById('{name}'), {shell},"
        f" JSON.parse(document.getElementById('{name}-book').textContent))}})()</script>"
    )


def proof(check: Check) -> str:
    """What was compared and how near it came, in one line; and what is wrong in another."""
    logits = "logits not compared" if check.logit_error is None else f"logits {check.logit_error:.0e}"
    outputs = "outputs not compared" if check.output_error is None else f"outputs {check.output_error:.0e}"
    changes = "" if check.edit_error is None else f" · changes {check.edit_error:.0e}"
    parts = [
        f"rows {check.row_sum_error:.0e}",
        f"{outputs}{check.compared}{changes}",
        logits,
        check.layers,
        check.places,
        check.products,
        check.pixels,
    ]
    parts = [logits, check.products, check.pixels] if check.layers_expected == 0 else parts
    measured = " · ".join(filter(None, parts))
    return measured if check.failure is None else f"{measured}\n{check.failure}"


def _second_picture(trace: Trace) -> str | None:
    """Why there is no page, in a sentence, where tokens lie on a picture that the page does not have."""
    if all(tokens.image == 0 for layer in trace.attention for tokens in (layer.query, layer.key)):
        return None
    return f"{trace.model} looks from one image at another, and this page shows one: save the trace as NPZ."


def _model(card: Card, limit: int) -> dict[str, Any] | None:
    height, width = card.picture.shape[:2]
    x0, y0, x1, y1 = card.seen_box_xyxy
    picture = data_url(card.picture, PICTURE_PX)
    layers = packed(card.trace, limit - len(picture))
    if layers is None:
        return None
    return {
        "name": card.trace.model,
        "image": picture,
        "size": (height, width),
        "box": (x0 / width, y0 / height, x1 / width, y1 / height),
        "classes": [(name, card.head.bar(value)) for name, value in card.labels],
        "proof": f"Proof: {proof(card.trace.check)}" + ("" if card.trained else UNTRAINED),
        "passed": card.trace.check.passed,
        "steps": layers.steps,
        "layers": layers.layers,
    }
