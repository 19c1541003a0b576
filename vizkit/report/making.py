"""From an item to its files: PNG, SVG, a page of its own, numbers."""

import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vizkit.figure.palette import OPACITIES
from vizkit.figure.saved.plate import Plate, clean
from vizkit.figure.saved.png import png
from vizkit.figure.saved.single import Captions
from vizkit.figure.saved.svg import svg
from vizkit.hosts import paper
from vizkit.hosts.layout import WHOLE, Layout
from vizkit.report.item import Item, complete, to_json, written
from vizkit.views.controls import checked, controls
from vizkit.views.subject import Subject
from vizkit.views.view import View

OWN_MODELS = ("text model", "detector", "run")  # kinds of fields
SHOWN = 12  # digits of a digest that are drawn; the whole one is in the file


@dataclass(frozen=True, eq=False)
class Made:
    """An item with its digests, its picture, and the numbers that it was drawn from, by name."""

    item: Item
    numbers: Mapping[str, np.ndarray]
    plate: Plate
    layout: Layout = WHOLE

    @property
    def png(self) -> bytes:
        return png(self.plate)

    @property
    def svg(self) -> str:
        return svg(self.plate)

    @property
    def npz(self) -> bytes:
        """The numbers under their names, and `meta`: the item as JSON, with what was chosen."""
        buffer = io.BytesIO()
        meta = np.array(json.dumps(to_json(self.item) | self.layout.meta))
        np.savez(buffer, allow_pickle=False, meta=meta, **self.numbers)
        return buffer.getvalue()


def made(item: Item, inputs: Subject, *, lying: bool = False, width_mm: int | float | None = None) -> Made:
    """The picture of an item; `lying`: of a view, in columns, as wide as a slide, else in one, `width_mm` wide. Raises
    NotApplicable, ModelError or TraceError where there is none."""
    item, view, of = ready(item, inputs)
    around, shown = captions(item, view, of), paper.shown(view, of)
    layout = Layout(width_mm, item.only)
    numbers = paper.saved(shown, layout)
    opacities = OPACITIES[item.draw]
    if lying and not view.slides and not item.only:  # which lie as they are
        return Made(item, numbers, paper.lying(shown, around, opacities))
    return Made(item, numbers, paper.sheet(shown, around, opacities, paper.width_of(view), layout), layout)


def ready(item: Item, inputs: Subject) -> tuple[Item, View, list[Subject]]:
    """(the item with its digests, its view as these subjects have it, all of them)."""
    of = [item.shows.meant(each) for each in (inputs, *inputs.beside)][: 1 + len(item.others)]
    return complete(item, inputs), checked(item.shows, of), of


def captions(item: Item, view: View, of: Sequence[Subject]) -> Captions:
    """What stands around the picture."""
    title = view.title(of if view.together else of[0])
    lines: tuple[str, ...] = (f"Changed: {', '.join(item.edits)}",) if item.edits else ()
    if item.image:
        lines = (f"Image: {item.image}", *lines)
    if item.source:
        models = zip((item, *item.others), of, strict=False)
        named = " · ".join(_model(each.model, each.source, own) for each, own in models)
        lines = (f"{'Models' if item.others else 'Model'}: {named}", *lines)
    version = f"vizkit {item.version}"
    weights = [("weights", each.weights) for each in (item, *item.others)]
    digests = [f"{name} {whole[:SHOWN]}" for name, whole in (*weights, ("image", item.pixels)) if whole]
    footer = [" · ".join([version, *digests])]
    facts = {
        "Description": clean("\n".join([*lines, *footer, item.link])),
        "Software": version,
        "Source": clean(item.link),
        "vizkit": written(item),
    }
    return Captions(clean(title), lines, footer, facts)


def titled(item: Item, inputs: Subject) -> str:
    """What stands above its picture. Raises as `made`."""
    item, view, of = ready(item, inputs)
    return captions(item, view, of).title


def headed(title: str, item: Item) -> str:
    """A title with the models and the image that the figure is of, so far as it does not name them itself."""
    named = (*item.models, item.image)
    words = [name for name in named if name and not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", title)]
    return " · ".join([title, *words])


def own_models(view: View) -> list[str]:
    """The models that it names itself, of texts or of boxes, in a line."""
    named = [getattr(view, name) for name, control in controls(view).items() if control.kind in OWN_MODELS]
    return [f"Model: {', '.join(named)}"] if named else []


def _model(name: str, source: str, of: Subject) -> str:
    untrained = "" if of.loaded.trained else " (random weights: its answers mean nothing)"
    return f"{name}{'' if name in source else f' ({source})'}{untrained}"
