"""What can be saved of the page, and the report of the session: records, and names from which pictures are made again.

A download waits on the server as long as its page is open, so what it holds has no trace and no weights.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

import streamlit as st

from vizkit.image import RGB, Picture
from vizkit.image import digest_of as digest_of_picture
from vizkit.ui.session import cached
from vizkit.ui.session.address import link
from vizkit.ui.session.chosen import MARK, bare, classes_of, digest_of, whole_image
from vizkit.ui.session.remembered import remembered, shelf
from vizkit.ui.session.shown import Shown, cursor, title
from vizkit.ui.session.uploads import give_texts
from vizkit.views.subject import OfModel, Subject, no_model, no_picture

if TYPE_CHECKING:
    from vizkit.models import Keep
    from vizkit.report.document import Entry
    from vizkit.report.item import Draw, Item, Other
    from vizkit.traces import Trace

ENTRIES, SAID = "_report", "_report_said"  # SAID: what has become of the last click, until it is shown

PictureOf = Callable[[str], RGB]
T = TypeVar("T")
WITHOUT = Picture(no_picture(), "", "")  # of what depends on the model alone


class Shelved(Subject):
    """What it keeps of its picture stands on the shelf of all sessions, and goes when that is full."""

    def kept(self, key: Hashable, make: Callable[[], T]) -> T:
        def alone() -> T:
            with cached.device_lock():
                return make()

        return shelf().get(self._place(key), alone)

    def find(self, key: Hashable) -> Any:
        return shelf().find(self._place(key))

    def keep(self, key: Hashable, value: object) -> None:
        """What was made elsewhere."""
        shelf().put(self._place(key), value)

    def _place(self, key: Hashable) -> Hashable:
        return "of no model", "" if isinstance(key, OfModel) else self._digest, key

    @cached_property
    def _digest(self) -> str:
        return digest_of_picture(self.original)


class Kept(Shelved):
    """A model and a picture by their names; what the pages have computed of them is taken from there."""

    def __init__(self, source: str, opening: Any, picture: Picture, *, whole: bool = False, **facts: Any) -> None:
        """`whole`: the model is made for the shape of its picture."""
        super().__init__(opening, picture.rgb, **facts)
        self.source, self.picture, self.whole_image = source, picture, whole

    def _of_model(self, source: str) -> Subject:
        image, point = self.image, self.point
        return Kept(source, cached.opening(source), self.picture, image=image, model=title(source), point=point)

    def _of_picture(self, name: str, rgb: RGB) -> Subject:
        picture = Picture(rgb, digest_of_picture(rgb), "")
        opening = cached.opening(self.source, picture if self.whole_image else None)
        facts = {"image": name, "model": self.model, "point": self.point, "picture_of": self.picture_of}
        return Kept(self.source, opening, picture, whole=self.whole_image, **facts)

    @property
    def seen(self) -> "Trace":
        return self.trace(self.asked)

    def _place(self, key: Hashable) -> Hashable:
        model = self.source, cached.weights_of(self.source), self.loaded.preprocessing
        return (key, *model) if isinstance(key, OfModel) else (key, *model, self.picture.digest)

    @property
    def weights(self) -> str:
        return _weights(self.source, cached.weights_of(self.source), self)

    def _traced(self, keep: "Keep") -> "Trace":
        return cached.traced(self.source, self.loaded, self.picture, keep)

    @property
    def shown(self) -> Shown:
        """As the canvases of the page take it."""
        trace = self.seen
        return Shown(self.source, self.loaded, trace, self.box_xyxy, self.asked, lambda: trace)


NOTHING = Shelved(no_model, no_picture())


@remembered
def _weights(source: str, stamp: tuple[int, int] | None, _inputs: Kept) -> str:
    return Subject.weights.fget(_inputs)  # pyright: ignore[reportOptionalCall]


def picture_alone(picture: Picture) -> Shelved:
    """What a view is given where there is no model."""
    return Shelved(no_model, picture.rgb, image=str(st.session_state.get("image", "")), point=cursor())


def subject_of(shown: Shown, picture: Picture) -> Kept:
    """What a view of this page is given; it may be read later, without a session too."""
    opening = cached.opening(shown.source, picture if whole_image() else None)
    facts = {"image": str(st.session_state.get("image", "")), "model": title(shown.source), "point": cursor()}
    return Kept(shown.source, opening, picture, whole=whole_image(), **facts)


def item_of(
    shown: Shown,
    shows: Any,
    draw: str = "over image",
    others: Sequence[Shown] = (),
) -> "Item":
    """The record of a picture on this page, of the chosen image; `others`: further models that are on it."""
    from vizkit.report.item import Item, Other

    first, *more = (_facts_of(each) for each in (shown, *others))
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


def _facts_of(shown: Shown) -> tuple[str, str, tuple[int, int] | None, tuple[str, ...]]:
    """A model as a record has it."""
    size_hw = shown.loaded.preprocessing.size_hw if whole_image() else None
    return bare(shown.source), title(shown.source), size_hw, classes_of(shown.source)


def item_alone(shows: Any) -> "Item":
    """Of what depends on neither model nor picture."""
    from vizkit.report.item import Item

    return Item(shows, "", "", "", link=link(), at=cursor())


def item_of_picture(shows: Any) -> "Item":
    """Of what depends on the chosen image and on no model."""
    from vizkit.report.item import Item

    return Item(shows, "", "", str(st.session_state.get("image", "")), link=link(), at=cursor())


def inputs_again(item: "Item", picture: Picture | None, named: PictureOf | None = None) -> Subject:
    """Of an item of the report; `picture` of one that has one, `named` others that its changes name."""
    if not item.source:
        rgb = no_picture() if picture is None else picture.rgb
        inputs = Shelved(no_model, rgb, image=item.image, point=item.at, picture_of=named)
    else:
        picture = picture or WITHOUT
        inputs = _again(item, item, picture, named)
        inputs.beside = tuple(_again(item, other, picture, named) for other in item.others)
    give_texts(item.shows, inputs)
    return inputs


def _again(item: "Item", of: "Item | Other", picture: Picture, named: PictureOf | None) -> Subject:
    """One model of an item, with its picture."""
    own = cached.opening(of.source, picture if of.size_hw else None)
    source = of.source
    if of.classes:
        source = f"{of.source}{MARK}{digest_of(of.classes)}"
        own = partial(cached.reading, own, source, of.classes)
    facts = {"image": item.image, "model": of.model, "point": item.at, "picture_of": named}
    if item.edits:
        return Subject(own, picture.rgb, item.edits, **facts)
    return Kept(source, own, picture, whole=of.size_hw is not None, **facts)


# ---- the report of the session ---------------------------------------------------------------------------------------
def entries() -> "dict[int, Entry]":
    """The pictures by the order in which they were added; the dictionary's own order is that of the report."""
    return st.session_state.setdefault(ENTRIES, {})


def keep(item: "Item", inputs: Subject) -> None:
    """Add it to the report; what is there already is not there twice."""
    from vizkit.report.document import MOST_ITEMS, Entry
    from vizkit.report.item import complete

    kept, whole = entries(), complete(item, inputs)
    if any(replace(entry.item, link=whole.link) == whole for entry in kept.values()):
        said = "This picture is in the report already."
    elif len(kept) >= MOST_ITEMS:
        said = f"A report has at most {MOST_ITEMS} pictures: remove some first."
    else:
        kept[max(kept, default=0) + 1] = Entry(whole)
        said = f"Added: {len(kept)} picture{'s' if len(kept) > 1 else ''} on the page Report."
    st.session_state[SAID] = said


def move(number: int, places: int) -> None:
    """Up or down; beyond the ends nothing happens."""
    kept = entries()
    order = list(kept)
    at = order.index(number)
    order.insert(min(max(at + places, 0), len(order) - 1), order.pop(at))
    st.session_state[ENTRIES] = {key: kept[key] for key in order}


def remove(number: int) -> None:
    entries().pop(number, None)


def comment(number: int, text: str) -> None:
    entries()[number] = replace(entries()[number], comment=text)
