"""The views of a page: one is chosen, given what the sidebar chose, and drawn.

Views are records (`vizkit.views.VIEWS`), drawn by `host`. A package of vizkit/ui/pages may list others in its `VIEWS`,
each with a module that has `view(page)`.
"""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType, SimpleNamespace
from typing import Any

import streamlit as st

from vizkit.device import cached_property, import_alone
from vizkit.image import Picture
from vizkit.ui import reading
from vizkit.ui.session import chosen, linked_picture
from vizkit.ui.session.address import drop_infinite, keep_valid, settle, turn_where_asked
from vizkit.ui.session.chosen import marked, reads_now
from vizkit.ui.session.columns import accepted, side_by_side
from vizkit.ui.session.needs import models_for
from vizkit.ui.session.subjects import NamedSubject
from vizkit.ui.widgets.known import banner
from vizkit.views import VIEWS, Former, Reads, class_of
from vizkit.views import Entry as View

DRAWN = "_view_drawn"
SHOWN = "<style></style>"
WITHOUT_STALE = (
    "<style class='changed'>body:has([data-stale='false'] style.changed) [data-testid='stMain'] [data-stale='true'] "
    "{ display: none }</style>"
)
"""Streamlit leaves what the last run drew standing, grey, until this run has drawn its own there: when a view is
changed, which is right of one only (a slider's old picture), that is another view. The next run makes this style stale
too, so that what it draws anew never disappears in between."""


class NothingShownError(Exception):
    """No model could be shown; the reasons stand on the page already."""


@dataclass(frozen=True)
class Page:
    """What every view is given. `sources`: the models it shows, all of which have what it needs; `chosen`: those of the
    sidebar."""

    sources: list[str]
    chosen: list[str]

    @property
    def picture(self) -> Picture:
        return chosen.picture()

    def columns(self) -> list[tuple[Any, NamedSubject]]:
        """A bordered column for every model, and what it is a view of."""
        return side_by_side(self.picture, self.sources)

    @cached_property
    def subjects(self) -> list[NamedSubject]:
        """Of every model, without columns."""
        return [of for source in self.sources if (of := accepted(source, self.picture))]

    @cached_property
    def focus(self) -> NamedSubject:
        """The model that the view is about, chosen by name where there are several."""
        if not self.subjects:
            raise NothingShownError
        if len(self.subjects) == 1:
            return self.subjects[0]
        of = {each.source: each for each in self.subjects}
        keep_valid("focus", of, self.subjects[0].source)
        return of[_choose("Model", "focus", tuple(of), marked)]


def open_page(stem: str) -> None:
    """Draw the chosen view of the page package `stem`. The package may say in `opening()` which view a link without
    one opens, may show one line above it in `welcome()`, and in `waiting()` something until the models are there, which
    gives what to say below them."""
    drop_infinite()
    package, view = _opened(stem)
    if len(package.VIEWS) > 1:
        key, titles = f"{stem}_view", tuple(each.title for each in package.VIEWS)
        title = _choose("View", key, titles, preset=hasattr(package, "opening"))
        view = package.VIEWS[titles.index(title)]
    if "picture" in reads_now(view) and linked_picture.awaited():
        return
    if welcome := getattr(package, "welcome", None):
        welcome()
    below = None
    if waiting := getattr(package, "waiting", None):
        below = waiting()
    else:  # where the models come first there is no chart
        import_module("pandas")  # whole: plotly takes a half imported one of another thread, and fails
    line = view.line if len(package.VIEWS) > 1 else ""
    (drawn_alone if view.fragment else draw)(view, package.__name__, line)
    if below:
        below()


def _choose(label: str, key: str, of: tuple[str, ...], words: Any = str, preset: bool = False) -> str:
    """One of several, the first as a rule; the address says it. `preset`: the session state has been given one."""
    default = None if preset else of[0]
    look = {"format_func": words, "label_visibility": "collapsed"}
    return (
        st.segmented_control(label, of, default=default, required=True, key=key, bind="query-params", **look) or of[0]
    )


def package_of(stem: str) -> ModuleType | SimpleNamespace:
    """What a page is made of: what its own package has, and the other records that name it."""
    name, records = f"vizkit.ui.pages.{stem}", tuple(each for each in VIEWS.values() if each.page == stem)
    found = find_spec(name)
    if found is None or found.origin is None:  # a folder that only bytecode of an earlier version has kept
        return SimpleNamespace(__name__=name, VIEWS=records)
    package: Any = import_alone(name)
    package.VIEWS = (*package.VIEWS, *(each for each in records if each not in package.VIEWS))
    return package


def _opened(stem: str) -> tuple[ModuleType | SimpleNamespace, View]:
    """The package of a page, and the view that it opens now: the chosen one, else that of the address."""
    package, key = package_of(stem), f"{stem}_view"
    if opening := getattr(package, "opening", None):
        opening()
    title = st.session_state.get(key) or st.query_params.get(key)
    return package, next((view for view in package.VIEWS if view.title == title), package.VIEWS[0])


def lead_to_what_replaces(stem: str) -> None:
    """An address of an earlier version opens what stands for its view now, perhaps on another page."""
    key = f"{stem}_view"
    if not (title := st.query_params.get(key)):
        return
    for now in (*VIEWS.values(), *package_of("train").VIEWS):
        for former in now.formerly:
            if (former.page or now.page, former.title) == (stem, title):
                query = {name: st.query_params.get_all(name) for name in st.query_params if name != key}
                query |= former_settings(now, former, query) | {f"{now.page}_view": [now.title]}
                if now.page != stem:
                    st.switch_page(f"pages/{now.page}.py", query_params=query)
                st.query_params.from_dict(query)
                st.rerun()  # a widget takes its value from the address at the beginning of a run


def former_settings(now: View, former: Former, query: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Of the address of a view of an earlier version, what the new one takes, by the names in its own address."""
    if not now.name:
        return {}  # no record
    from vizkit.views.address import as_text, key_of
    from vizkit.views.controls import controls

    own, page = controls(class_of(now.name)), former.page or now.page
    given = {key_of(now, field, own[field]): as_text(own[field], value) for field, value in former.settings.items()}
    for old, field in former.fields.items():
        if text := query.get(f"{page}_{old}", query.get(old)):
            given[key_of(now, field, own[field])] = tuple(text)
    return {key: [text] if isinstance(text, str) else [*text] for key, text in given.items()}


def read_now(stem: str) -> Reads:
    """What the open view of a page reads, known before it is drawn."""
    return reads_now(_opened(stem)[1])


def read_at_all(stem: str) -> Reads:
    """The same, whatever is chosen in it."""
    return _opened(stem)[1].reads


def compares(stem: str) -> bool:
    """Whether a page compares several models: then all its views open with the same."""
    return any(view.least > 1 for view in _opened(stem)[0].VIEWS)


def draw(view: View, package: str, line: str) -> None:
    """`line`: what the view is about, beside which stands what it takes of the models, so that nothing is pushed."""
    turn_where_asked()
    before, st.session_state[DRAWN] = st.session_state.get(DRAWN), (view.page, view.title)
    st.html(WITHOUT_STALE if before != (view.page, view.title) else SHOWN)
    now = reads_now(view)
    if chosen.offered(now) != now or not chosen.followed():
        st.rerun()  # another choice inside the view: the sidebar has to follow
    with st.container(horizontal=True, vertical_alignment="center"):
        if line:
            st.caption(line, width="content")
        own = [view.only.model] if now == "nothing" and view.only and view.only.model else None
        first = view.first if "models" in now else ""
        sources = models_for(view.needs, own or chosen.sources(), "picture" in now, view.beside, view.least, first)
    if view.answers and now != "nothing":
        banner(sources, str(st.session_state.get("image", "")))
    if view.needs and not sources:
        return
    page = Page(sources, chosen.sources())
    with contextlib.suppress(NothingShownError), reading.columns():
        reading.guarded(function_of(view, package), page)
    settle()


drawn_alone = st.fragment(draw)


def function_of(view: View, package: str) -> Callable[[Page], None]:
    """Imported when the view is opened: a page package itself stays light."""
    if view.name:
        from vizkit.ui import host

        return partial(host.draw, view)
    return import_alone(f"{package}.{view.module}").view
