"""Draws any view on a page: its controls in one line, what it shows of every model, its help and its Save."""

import contextlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

import streamlit as st

from vizkit.hosts.layout import choices
from vizkit.hosts.packing import Packed
from vizkit.hosts.showing import able as choosable
from vizkit.hosts.stage import leading
from vizkit.ui import reading
from vizkit.ui.asking import ask
from vizkit.ui.drawing import Drawing, asked_there, show
from vizkit.ui.session.chosen import cursor, reads_now
from vizkit.ui.session.evaluations import at_hand
from vizkit.ui.session.report import item_alone, item_of
from vizkit.ui.session.subjects import NamedSubject, SharedSubject, picture_alone
from vizkit.ui.session.uploads import give_texts
from vizkit.ui.sidebar import folders, inputs
from vizkit.ui.widgets import over_training
from vizkit.ui.widgets.save import save
from vizkit.ui.widgets.stage import stage
from vizkit.views import Entry, class_of, content, meant
from vizkit.views import entry as entry_of
from vizkit.views.blocks import Block, Blocks, Later
from vizkit.views.controls import controls, rule_of
from vizkit.views.subject import no_model, no_picture
from vizkit.views.train.after_step import has_map, jobs, keeper, playing, steps
from vizkit.views.view import View

FRAMES_BYTES = 5_000_000  # of all steps of one model, which one message brings: 12 layers of 18 × 18 patches take 3.5


def draw(entry: Entry, page: Any, given: Mapping[str, Any] = MappingProxyType({})) -> None:
    """The view with what the sidebar chose. `given`: fields that the page has chosen already."""
    cls = class_of(entry.name)
    asking = st.container(key=f"controls_{entry.name if given else entry.page}")  # there at once: nothing below moves
    able: list[tuple[Any, NamedSubject]] = []
    uploads = {name: picture.rgb for name, picture in inputs.read_uploads()[0].items()}
    offered = folders.offered(folders.allowed_roots(), runs=True)
    for column, of in _places(cls, entry, page):
        of.uploads, of.folders = uploads, offered
        with column:
            reading.guarded(_add_able, able, cls, column, of)
    if not able and entry.needs:
        return
    without: Any = SharedSubject(no_model, no_picture(), point=cursor())  # of this session alone
    if "picture" in reads_now(entry) and not able:
        without = picture_alone(page.picture)
        without.uploads, without.folders = uploads, offered
    without.outcomes, without.chosen = at_hand() if cls.by_name else (), page.chosen
    others = [of for of in page.subjects if of is not page.focus] if cls.alone and able else []
    give_texts(cls, without, *(of for _, of in able))
    for _, of in able:
        of.beside = (*(other for _, other in able if other is not of), *others)
    with asking:
        view, opacity = ask(entry, cls, [of for _, of in able] or [without], given)
        training = st.container(horizontal=True, vertical_alignment="bottom")
    runs = [of for _, of in able] if entry.needs else []
    view = replace(view, after_step=over_training.step(runs))
    played = []
    if cls.together or not entry.needs:
        every = [meant(view, of) for _, of in able] if runs else [of for _, of in able]
        reading.guarded(_one, Drawing(entry, view, every, opacity, entry.name, without), 0, played)
    for index, (column, of) in enumerate([] if cls.together or not entry.needs else able):
        with column:
            key = f"{entry.name}{index}_{of.source}"
            reading.guarded(_one, Drawing(entry, view, [meant(view, of)], opacity, key), index, played)
    if any(played):
        with training:
            over_training.choose(runs, view.after_step)
    if not given:  # else the page says it
        reading.how(cls.how.read, cls.how.formula, cls.how.not_shown, cls.how.source)


def draw_staged(view: View, of: NamedSubject, key: str, through: Callable[[Blocks], Blocks]) -> None:
    """Its figure and its sentence alone, as it is set, of one model; `through`: what is left of them."""
    to = Drawing(entry_of(view), replace(view, staged=True), [of], "over image", key)
    show(to, through(content(to.view, [of] if view.together else of)))


def _places(cls: type[View], entry: Entry, page: Any) -> list[tuple[Any, NamedSubject]]:
    """Where each model stands, with its picture. A view that needs none is given the one in focus, where it reads
    models and there is one."""
    if cls.by_name or (not entry.needs and not ("models" in reads_now(entry) and page.sources)):
        return []
    if cls.together or cls.alone:
        return [(contextlib.nullcontext(), of) for of in (page.subjects if cls.together else [page.focus])]
    return page.columns()


def _add_able(able: list[Any], cls: type[View], column: Any, of: NamedSubject) -> None:
    """NotApplicable where this model has nothing to choose from."""
    choosable(cls, [of])
    able.append((column, of))


def _one(to: Drawing, index: int, played: list[bool]) -> None:
    """`played`: whether it could be played over training."""
    book, turned, blocks = _led(to, played)
    if book is not None:
        _turned(to, book)
        to.small += turned
    show(to, blocks)
    key = f"{to.entry.name}{index}"
    if to.of:
        others = to.of[1:] if to.view.together else to.of[0].beside if to.view.among else ()
        item = item_of(to.of[0], to.view, to.opacity, [each for each in others if isinstance(each, NamedSubject)])
    else:
        item = item_alone(to.view)
    save(key, item, to.of[0] if to.of else to.without, to.files, choices(to.small))


def _led(to: Drawing, played: list[bool]) -> tuple[Packed | None, list[Block], Iterable[Block]]:
    """As `leading`; over training when all steps are there, and until then as it is now, below the progress."""
    of: Any = to.of if to.view.together else next(iter(to.of), None)
    if not any(map(steps, to.of)):
        return leading(to.view, to.of or [to.without], to.opacity, FRAMES_BYTES)
    step, to.view = to.view.after_step, replace(to.view, after_step=None)
    first, rest = playing(content(to.view, of))
    played.append(has_map(first))
    if step is None or not played[-1]:
        return leading(to.view, to.of, to.opacity, FRAMES_BYTES)
    to.view = replace(to.view, after_step=step)
    keeps, todo = keeper(to.view, of), jobs(to.view, of)
    if all(keeps.find(job.key) is not None for job in todo):
        return leading(to.view, to.of, to.opacity, FRAMES_BYTES)
    return None, [], [Later(keeps, todo, lambda found: ()), *first, *rest]


def _turned(to: Drawing, book: Packed) -> None:
    """What a played field changes, at every step: the browser turns it without asking here."""
    asked = controls(to.view)
    picks = {name: (rule_of(control, to.of or [to.without]), partial(to.put, name)) for name, control in asked.items()}

    stage(
        to.next_key("stage"),
        book,
        to.state(book["field"]["name"]),
        picks,
        lambda point, field: asked_there(to, field, point),
    )
