"""The report of the session: records of what was seen, from which pictures are made again."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import streamlit as st

from vizkit.from_json import ReportError
from vizkit.image import RGB, Picture
from vizkit.ui.session import models
from vizkit.ui.session.address import link
from vizkit.ui.session.chosen import MARK, bare, classes_of, cursor, digest_of, title, whole_image
from vizkit.ui.session.subjects import NamedSubject, SharedSubject
from vizkit.ui.session.uploads import give_texts
from vizkit.views.subject import Subject, no_model, no_picture

if TYPE_CHECKING:
    from vizkit.report.document import Entry, Report
    from vizkit.report.item import Draw, Item, Other

ENTRIES, TITLE = "_report", "_report_title"
SAID, REFUSED = "_report_said", "_report_refused"  # what has become of the last click, or of a file, until it is shown
LONGEST_TITLE, LONGEST_COMMENT = 200, 2000  # letters

KEPT = "It is kept as long as this tab is open: before you close it, save the link of the page Report."

PictureOf = Callable[[str], RGB]
WITHOUT = Picture(no_picture(), "", "")  # of what depends on the model alone


def item_of(
    of: NamedSubject,
    shows: Any,
    draw: str = "over image",
    others: Sequence[NamedSubject] = (),
) -> "Item":
    """The record of a picture on this page, of the chosen image; `others`: further models that are on it."""
    from vizkit.report.item import Item, Other

    first, *more = (_facts_of(each) for each in (of, *others))
    source, model, size_hw, classes = first
    return Item(
        shows,
        source,
        model,
        str(st.session_state.get("image", "")),
        cast("Draw", draw),
        size_hw,
        classes,
        link(),
        at=cursor(),
        others=tuple(Other(*each) for each in more),
    )


def _facts_of(of: NamedSubject) -> tuple[str, str, tuple[int, int] | None, tuple[str, ...]]:
    """A model as a record has it."""
    size_hw = of.loaded.preprocessing.size_hw if whole_image() else None
    return bare(of.source), title(of.source), size_hw, classes_of(of.source)


def item_alone(shows: Any) -> "Item":
    """Of what depends on no model."""
    from vizkit.report.item import Item

    return Item(shows, "", "", str(st.session_state.get("image", "")), link=link(), at=cursor())


def inputs_again(item: "Item", picture: Picture | None, named: PictureOf | None = None) -> Subject:
    """Of an item of the report; `picture` of one that has one, `named` others that its changes name."""
    if not item.source:
        rgb = no_picture() if picture is None else picture.rgb
        inputs = SharedSubject(no_model, rgb, image=item.image, point=item.at, picture_of=named)
    else:
        picture = picture or WITHOUT
        inputs = _again(item, item, picture, named)
        inputs.beside = tuple(_again(item, other, picture, named) for other in item.others)
    give_texts(item.shows, inputs)
    return inputs


def _again(item: "Item", of: "Item | Other", picture: Picture, named: PictureOf | None) -> Subject:
    """One model of an item, with its picture."""
    own = models.opening(of.source, picture if of.size_hw else None)
    source = of.source
    if of.classes:
        source = f"{of.source}{MARK}{digest_of(of.classes)}"
        own = partial(models.reading, own, source, of.classes)
    facts = {"image": item.image, "model": of.model, "point": item.at, "picture_of": named}
    if item.edits:
        return Subject(own, picture.rgb, item.edits, **facts)
    return NamedSubject(source, own, picture, whole=of.size_hw is not None, **facts)


# ---- the report of the session ---------------------------------------------------------------------------------------
def entries() -> "dict[int, Entry]":
    """The pictures by the order in which they were added; the dictionary's own order is that of the report."""
    return st.session_state.setdefault(ENTRIES, {})


def shown() -> "Report":
    from vizkit.report.document import Report

    return Report(st.session_state.setdefault(TITLE, "Report"), tuple(entries().values()))


def take(data: bytes) -> None:
    """Add the figures of a replay.json that are not here yet. What is wrong with it the page Report says."""
    from vizkit.report.document import MOST_ITEMS, Entry, opened

    here = entries()
    try:
        report = opened(data)
        new = [entry for entry in report.entries if entry not in here.values()]
        if len(here) + len(new) > MOST_ITEMS:
            raise ReportError(f"A report has at most {MOST_ITEMS} figures: remove some first.")
    except ReportError as error:
        st.session_state[REFUSED] = str(error)
        return
    if not here:
        st.session_state[TITLE] = st.session_state["report_title"] = report.title[:LONGEST_TITLE]
    for entry in new:
        here[max(here, default=0) + 1] = Entry(entry.item, entry.comment[:LONGEST_COMMENT])


def counted() -> str:
    count = len(entries())
    return f"{count} figure{'' if count == 1 else 's'}"


def counting() -> str:
    """A style that writes behind the page's name in the menu how many there are. Of several, which parts of a page drew
    one after another, that with the most counts."""
    count = len(entries())
    link = f"a[data-testid$='NavLink'][href$='/report']{'[href]' * count} p::after"
    return f"<style>{link} {{ content: '{f' ({count})' * bool(count)}' }}</style>"


def keep(item: "Item", inputs: Subject) -> None:
    """Add it to the report, its figure and its sentence alone; what is there already is not there twice."""
    from vizkit.report.document import MOST_ITEMS, Entry
    from vizkit.report.item import complete

    kept, whole = entries(), _short(complete(item, inputs))
    if any(_short(replace(entry.item, link=whole.link)) == whole for entry in kept.values()):
        said = "This figure is in the report already."
    elif len(kept) >= MOST_ITEMS:
        said = f"A report has at most {MOST_ITEMS} figures: remove some first."
    else:
        kept[max(kept, default=0) + 1] = Entry(whole)
        said = f"Added: {counted()} in the report."
    st.session_state[SAID] = said


def _short(item: "Item") -> "Item":
    """A figure of chosen maps is short already."""
    return item if item.only else replace(item, shows=replace(item.shows, staged=True))


def move(number: int, places: int) -> None:
    """Up or down; beyond the ends nothing happens."""
    kept = entries()
    order = list(kept)
    at = order.index(number)
    order.insert(min(max(at + places, 0), len(order) - 1), order.pop(at))
    st.session_state[ENTRIES] = {key: kept[key] for key in order}


def remove(number: int) -> None:
    entries().pop(number, None)


def shorten(number: int, *, short: bool) -> None:
    """Its figure and its sentence alone, or the whole view."""
    entry = entries()[number]
    entries()[number] = replace(entry, item=replace(entry.item, shows=replace(entry.item.shows, staged=short)))


def comment(number: int, text: str) -> None:
    entries()[number] = replace(entries()[number], comment=text)
