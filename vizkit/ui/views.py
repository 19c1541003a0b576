"""A page is a package of vizkit/ui/pages with its views listed in `VIEWS`; here one is chosen, given a page, and drawn.

A module of the package for each view has `view(page)`: one way for all of them.
"""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

import streamlit as st

from vizkit.image import Picture
from vizkit.ui import reading
from vizkit.ui.session import chosen, linked_picture
from vizkit.ui.session.address import settle
from vizkit.ui.session.needs import models_for
from vizkit.ui.session.shown import Shown, choose_view, cursor, focus_of, one_after_another, side_by_side
from vizkit.ui.widgets.known import banner


@dataclass(frozen=True)
class View:
    """One view of a page. `title` is its place in the address, `line` one sentence, `module` its file in the package.

    `needs`: a key of `needs.NEEDS`, "" for a view without models. `fragment`: a change inside draws this view alone
    again, not the page. `query`: the token whose rows it asks for, where the page's own choice does not decide.
    `formerly`: an earlier title, so that old addresses still open it. `answers`: whether it shows what models answer.
    `picture`: whether it shows the chosen picture though it needs no model.
    """

    title: str
    line: str
    module: str
    needs: str = "model"
    fragment: bool = True
    query: str = ""
    formerly: str = ""
    answers: bool = False
    picture: bool = False


class NothingShownError(Exception):
    """No model could be shown; the reasons stand on the page already."""


@dataclass(frozen=True)
class Page:
    """What every view is given. `sources`: the models it shows, all of which have what it needs; `chosen`: those of the
    sidebar. `query`: "patch" for the token under the cursor, or the name of a special token."""

    sources: list[str]
    chosen: list[str]
    query: str

    @property
    def picture(self) -> Picture:
        return chosen.picture()

    @property
    def cursor(self) -> tuple[float, float]:
        return cursor()

    def columns(self) -> list[tuple[Any, Shown]]:
        """A bordered column for every model, and what it computed."""
        return side_by_side(self.picture, self.sources, self.query)

    @cached_property
    def shown(self) -> list[Shown]:
        """What every model computed, without columns."""
        return one_after_another(self.picture, self.sources, self.query)

    @cached_property
    def focus(self) -> Shown:
        """The model that the view is about, chosen by name where there are several."""
        if not self.shown:
            raise NothingShownError
        return focus_of(self.shown)


def open_page(stem: str) -> None:
    """Draw the chosen view of the page package `stem`. The package may say in `opening()` which view a link without
    one opens, and may show in `waiting()` something until the models are there."""
    package = import_module(f"vizkit.ui.pages.{stem}")
    views = {view.title: view for view in package.VIEWS}
    view = package.VIEWS[0]
    if len(views) > 1:
        key, opening = f"{stem}_view", getattr(package, "opening", None)
        formerly = {view.formerly: view.title for view in package.VIEWS if view.formerly}
        if st.query_params.get(key) in formerly:
            st.query_params[key] = formerly[st.query_params[key]]
            st.rerun()  # a widget takes its value from the address at the beginning of a run
        if opening:
            opening()
        view = views[choose_view(key, tuple(views), preset=opening is not None)]
        st.caption(view.line)
    if (view.needs or view.picture) and linked_picture.awaited():
        return
    if waiting := getattr(package, "waiting", None):
        waiting()
    if view.answers:
        banner(chosen.sources(), str(st.session_state.get("image", "")))
    (drawn_alone if view.fragment else draw)(view, package.__name__)


def draw(view: View, package: str) -> None:
    sources = models_for(view.needs, chosen.sources())
    if view.needs and not sources:
        return
    page = Page(sources, chosen.sources(), view.query or st.session_state.get("query") or "patch")
    with contextlib.suppress(NothingShownError), reading.columns():
        reading.guarded(function_of(view, package), page)
    settle()


drawn_alone = st.fragment(draw)


def function_of(view: View, package: str) -> Callable[[Page], None]:
    """Imported when the view is opened: a page package itself stays light."""
    return import_module(f"{package}.{view.module}").view
