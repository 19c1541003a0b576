"""A view with what it shows: its blocks, its numbers, and its files."""

import io
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vizkit.hosts.layout import WHOLE, Layout, named
from vizkit.hosts.paper import numbers
from vizkit.image import digest_of
from vizkit.settings import __version__
from vizkit.traces import NotApplicable
from vizkit.views import content, entry, meant, name_of, reads
from vizkit.views.blocks import Block, Heading, Map, Said
from vizkit.views.controls import controls, options
from vizkit.views.settled import flat
from vizkit.views.subject import Subject
from vizkit.views.view import View
from vizkit.writing import write

if TYPE_CHECKING:
    from vizkit.figure.saved.plate import Plate
    from vizkit.figure.saved.single import Captions


SUFFIXES = (".png", ".svg", ".html", ".npz", ".zip")
LONGEST = 200  # characters of one line
UNTRAINED = " (random weights: its answers mean nothing)"


class Showing:
    """A view with what it shows of its subjects. `blocks`: all of them, of several models one after another, each below
    its name; `numbers`: the arrays that are saved, of several models with "_1", "_2" after their names."""

    def __init__(self, view: View, subjects: Sequence[Subject]) -> None:
        self.view, self.subjects = view, tuple(meant(view, of) for of in subjects)
        self._columns = _columns(view, self.subjects)

    @cached_property
    def blocks(self) -> list[Block]:
        named = len(self._columns) > 1
        headings = [[Heading(of.name)] if named else [] for of in self.subjects]
        return [block for above, column in zip(headings, self._flat, strict=False) for block in (*above, *column)]

    @cached_property
    def _flat(self) -> list[list[Block]]:
        """Of each model, or of all at once."""
        return [list(flat(column)) for column in self._columns]

    @cached_property
    def numbers(self) -> dict[str, np.ndarray]:
        return numbers(*self._flat)

    @property
    def title(self) -> str:
        return self.view.title(self.subjects if self.view.together else self.subjects[0])

    @property
    def said(self) -> str:
        """What is to be seen, of several models below one another after their names; "" where nothing stands out."""
        first = [next(filter(None, map(_sentence, column)), "") for column in self._flat]
        if len(first) == 1:
            return first[0]
        return "\n".join(f"{of.name}: {words}" for of, words in zip(self.subjects, first, strict=True) if words)

    @property
    def meta(self) -> dict[str, Any]:
        """What the arrays are of, as it is saved beside them."""
        read = reads(self.view)
        models = [of for of in self.subjects if of.has_model] if "models" in read else ()
        return {
            "view": name_of(self.view),
            "settings": self.view.record(),
            "models": [{"name": of.name, "source": of.loaded.source, "trained": of.loaded.trained} for of in models],
            "picture": digest_of(self.subjects[0].original) if "picture" in read else "",
            "point": self.subjects[0].point,
            "edits": self.subjects[0].edits,
            "vizkit": __version__,
        }

    def save(
        self,
        path: str | os.PathLike,
        *,
        width_mm: int | float | None = None,
        layers: Sequence[int] = (),
        heads: Sequence[int] = (),
        methods: Sequence[str] = (),
        only: Sequence[str] = (),
    ) -> None:
        """As a figure (.png, .svg), a page that needs no server (.html), numbers with what they are of in `meta`, as
        JSON (.npz), or a figure of every step (.zip). A figure is `width_mm` wide, with text of 7 to 9 points. It has
        chosen small maps alone where `layers`, `heads`, `methods`, or with `only` others as they are called
        on it, are named: layers=(1, 4, 8, 12), heads=(1, 3, 5). Raises ValueError for other endings, widths and names
        and for a view without steps, OSError where the file cannot be written."""
        layout = Layout(width_mm, named(layers, heads, methods, only))
        more = wanted(self.view, methods)
        shown = self if more == self.view else Showing(more, self.subjects)
        suffix = Path(path).suffix.lower()
        if suffix not in SUFFIXES:
            raise ValueError(f"{path} cannot be written: give a name that ends in {listed(SUFFIXES, 'or')}.")
        kinds = {".npz": lambda: shown._npz(layout), ".html": shown._html, ".zip": shown._slides}
        write(path, kinds.get(suffix, lambda: shown._picture(suffix, layout))())

    def _slides(self) -> bytes:
        from vizkit.hosts.slides import slides, zipped

        if not (steps := slides(self.view, self.subjects)):
            raise ValueError(f"{entry(self.view).title} has no steps that could be slides: save a figure.")
        return zipped(Showing(step, self.subjects)._plate() for step in steps)

    def _npz(self, layout: Layout) -> bytes:
        from vizkit.hosts.paper import saved, shown

        content = io.BytesIO()
        meta = np.array(json.dumps(self.meta | layout.meta, ensure_ascii=False))
        numbers = saved(shown(self.view, self.subjects), layout) if layout.only else self.numbers
        np.savez(content, allow_pickle=False, meta=meta, **numbers)  # pyright: ignore[reportArgumentType]
        return content.getvalue()

    def _picture(self, suffix: str, layout: Layout) -> bytes | str:
        from vizkit.figure.saved.png import png
        from vizkit.figure.saved.svg import svg

        return (png if suffix == ".png" else svg)(self._plate(layout))

    def _plate(self, layout: Layout = WHOLE) -> "Plate":
        from vizkit.figure.palette import CEILING, FLOOR
        from vizkit.hosts.paper import plate

        return plate(self.view, self.subjects, self._captions(), (FLOOR, CEILING), layout)

    def _captions(self) -> "Captions":
        from vizkit.figure.saved.plate import clean
        from vizkit.figure.saved.single import Captions

        lines = [f"Model: {each['name']}{'' if each['trained'] else UNTRAINED}" for each in self.meta["models"]]
        lines += [f"Image: {image}"] if (image := self.subjects[0].image) else []
        lines += [f"Changed: {', '.join(self.meta['edits'])}"] if self.meta["edits"] else []
        digest = self.meta["picture"][:12]
        footer = [f"vizkit {__version__}{digest and f' · image {digest}'}"]
        facts = {"Description": clean("\n".join([*lines, *footer])), "vizkit": json.dumps(self.meta)}
        return Captions(clean(self.title), lines, footer, facts)

    def _html(self) -> str:
        from vizkit.hosts.page import document

        return document(self.view, self.subjects)

    def _repr_html_(self) -> str:
        """What a notebook shows; of what is too large for that, a sentence."""
        from vizkit.hosts.page import fragment

        try:
            return fragment(self.view, self.subjects)
        except ValueError as sentence:
            return f"<p>{escape(str(sentence))}</p>"

    def __repr__(self) -> str:
        """Its title and its sentence in one line."""
        line = " ".join(str(self).split())
        return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"

    def __str__(self) -> str:
        return f"{self.title}.{chr(10) if len(self._flat) > 1 else ' '}{self.said}".strip()


def wanted(view: View, methods: Sequence[str]) -> View:
    """Where these methods are computed too, which a view leaves out unless they are asked for."""
    names = [method.replace("-", "_") for method in methods]
    for name, control in controls(view).items():
        if control.kind == "several" and not callable(control.options):
            now = getattr(view, name)
            view = replace(view, **{name: tuple(each for each in control.options if each in (*now, *names))})
    return view


def able(view: View | type[View], of: Sequence[Subject]) -> None:
    """Raises NotApplicable where a view has nothing to choose from for one of these models."""
    for each in of:
        with _naming(each, of):
            for control in controls(view).values():
                options(control, [each])
                control.ends([each])


def _columns(view: View, of: Sequence[Subject]) -> list[list[Block]]:
    """The blocks of each subject, or of all at once."""
    if view.together:
        return [list(content(view, of))]
    columns: list[list[Block]] = []
    for each in of:
        with _naming(each, of):
            columns.append(list(content(view, each)))
    return columns


@contextmanager
def _naming(one: Subject, of: Sequence[Subject]) -> Iterator[None]:
    """Of several models the one of which a sentence says that the view has no meaning for it."""
    try:
        yield
    except NotApplicable as sentence:
        raise NotApplicable(f"{one.name}: {sentence}" if len(of) > 1 else str(sentence)) from None


def _sentence(block: Block) -> str:
    return block.text if isinstance(block, Said) else block.said if isinstance(block, Map) else ""


def listed(names: Sequence[str], last: str) -> str:
    return f" {last} ".join(filter(None, (", ".join(names[:-1]), names[-1])))
