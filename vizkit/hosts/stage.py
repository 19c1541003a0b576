"""A view as its script in the browser reads it (stage.js): the blocks of every model, at every step of the field that
is played, so that turning it needs no server."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from vizkit.hosts.packing import Packed, Packing
from vizkit.traces import NotApplicable
from vizkit.views import content
from vizkit.views.blocks import Block, Blocks
from vizkit.views.controls import Control, controls
from vizkit.views.subject import Subject
from vizkit.views.train.after_step import ASKED, FIELD, cut, playing, steps
from vizkit.views.train.after_step import leading as leading_after
from vizkit.views.view import View
from vizkit.work_folder import at_or_before

FRAMES_BYTES = 3_000_000
MOST_FRAMES = 50
FEWER = (MOST_FRAMES, 8)  # steps of what nobody answers: as many as fit


def stage(
    view: View,
    of: Sequence[Subject],
    draw: str = "over image",
    most_bytes: int = FRAMES_BYTES,
    *,
    unfolded: bool = True,
) -> Packed:
    """For a page that nobody answers. `draw`: a key of OPACITIES; `unfolded`: with what few ask for, where nothing is
    played. Where all steps together would take more than
    `most_bytes`, fewer of them come, evenly apart, at the least the present one. Raises NotApplicable where the view
    has no meaning for these subjects."""
    groups = [list(of)] if view.together else [[each] for each in of]
    titles = [""] if view.together or len(of) == 1 else [each.name for each in of]

    def columns(at: View) -> Iterator[tuple[list[Subject], Iterable[Block]]]:
        for group in groups:
            yield group, _shown(at, group)

    turned = Played.of(view, of)
    books = (_book(view, turned.thinned(most), columns, draw, most_bytes) for most in FEWER) if turned else ()
    book = next(filter(None, books), None)
    if book is None:
        pack = Packing(draw, unfolded=unfolded and turned is None)
        frames = [pack.frame(columns(view))]
        book = {"field": None, "frames": frames, "pool": [*pack.pool]}
    return {"titles": titles, **book}


def leading(
    view: View, of: Sequence[Subject], draw: str, most_bytes: int = FRAMES_BYTES
) -> tuple[Packed | None, list[Block], Blocks]:
    """(one column with the blocks before the first that a page draws better itself, at every step; those of the present
    step; the blocks after them, not made yet). None where nothing is played, or it takes too much: all blocks come
    after them then.

    Other models of the same picture, `beside` the subjects, have a say in what steps there are.
    """
    among = [*of, *(other for each in of for other in each.beside)]
    turned = Played.of(view, among)
    if turned is None or turned.control.runs or len(turned.values) > MOST_FRAMES:
        return None, [], iter(_shown(view, of))
    first, rest = (playing if turned.name == FIELD else cut)(_shown(view, of))

    def columns(at: View) -> Iterator[tuple[Sequence[Subject], Iterable[Block]]]:
        if at is not view and turned.name == FIELD and at.after_step is not None:
            yield of, leading_after(at, _given(at, of), at.after_step)
        else:
            yield of, first if at is view else cut(_shown(at, of))[0]

    book = _book(view, turned, columns, draw, most_bytes) if first else None
    return (None, [], chain(first, rest)) if book is None else ({"titles": [""], **book}, first, rest)


def opening(view: View, of: Subject, draw: str = "over image") -> list[Packed]:
    """The first of these blocks at the present step alone, each with its large texts in itself."""
    pack = Packing(draw)
    return pack.all(cut(_shown(view, [of]))[0], [of])


@dataclass(frozen=True)
class Played:
    """The field that is a step of a sequence, its values in order, and which of them is set."""

    name: str
    control: Control
    values: list[int | float]
    now: int | float

    @classmethod
    def of(cls, view: View, of: Sequence[Subject]) -> "Played | None":
        if view.after_step is not None and (kept := sorted({step for each in of for step in steps(each)})):
            return cls(FIELD, ASKED, [*kept], at_or_before(view.after_step, kept))
        for name, control in controls(view).items():
            if control.plays and not control.inside and len(values := control.steps(of)) > 1:
                now = getattr(view, name)
                now = values[-1] if now is None else min(values, key=lambda value: abs(value - now))
                return cls(name, control, values, now)
        return None

    def thinned(self, most: int) -> "Played":
        """With at most so many values, evenly apart, the present one among them."""
        every = -(-len(self.values) // most)
        return replace(self, values=self.values[self.values.index(self.now) % every :: every])


def _shown(view: View, of: Sequence[Subject]) -> Iterable[Block]:
    return content(view, _given(view, of))


def _given(view: View, of: Sequence[Subject]) -> Any:
    return of if view.together else of[0]


Frames = Callable[[View], Iterable[tuple[Sequence[Subject], Iterable[Block]]]]


def _book(view: View, turned: Played, columns: Frames, draw: str, most_bytes: int) -> Packed | None:
    """A frame for every value of the played field, None where they take too much."""
    name, control, values, now = turned.name, turned.control, turned.values, turned.now
    pack, frames, size = Packing(draw), list[list[list[Packed]] | None](), 0
    for value in values:
        at = view if value == now else replace(view, **{name: value})
        frames.append(_perhaps(pack, columns, at, needed=value == now))
        size += len(json.dumps(frames[-1]))
        if size + sum(map(len, pack.pool)) > most_bytes:
            return None
    asked = {
        "name": name,
        "label": control.label,
        "help": control.help,
        "values": values,
        "value": now,
        "counts": control.counts,
    }
    return {"field": asked, "frames": frames, "pool": [*pack.pool]}


def _perhaps(pack: "Packing", columns: Frames, view: View, *, needed: bool) -> list[list[Packed]] | None:
    try:
        return pack.frame(columns(view))
    except NotApplicable:
        if needed:
            raise
        return None
