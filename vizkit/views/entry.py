"""Where a view stands: its page and its place there, its name, and what it needs."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

Reads = Literal["picture and models", "picture", "models", "nothing"]


class Only(NamedTuple):
    """A choice of a view: by its field, its name in the address, and one of its options, in words too. `reads`: whether
    with it the view reads something, and else nothing; or nothing with it, and shows `model`, if any. `usual`: it is
    what an address that names none means."""

    field: str
    key: str
    option: str
    words: str
    reads: bool = True
    usual: bool = False
    model: str = ""


class Former(NamedTuple):
    """A view of an earlier version that another one replaces: its `title`, `page` and `name` of then ("" as now).
    `fields`: its fields that the new view has under another name, or the same; whatever else it had is left out.
    `settings`: of the new view, which show what it showed."""

    title: str
    page: str = ""
    name: str = ""
    fields: Mapping[str, str] = {}
    settings: Mapping[str, Any] = {}


@dataclass(frozen=True)
class Entry:
    """One view of a page. `title` is its place in the address, `line` one sentence, `module` its file: that of its
    class, "rollout:Rollout", with `name` in a notebook and on the command line and `page`, its page's address, that of
    its folder where none is given.

    `needs`: what a model has to have (a key of `ui.session.needs.NEEDS`), "" for a view without models; `beside`: what
    another has to have that it is compared with; `least`: so many models are shown at least; `first`: the model that it
    opens on where nobody has chosen any, of pictures that it knows or that no class is known of. `fragment`: a change
    inside draws this view alone again, not the page.
    `formerly`: what it replaces, so that old addresses, commands and reports still open. `answers`: whether it shows
    what models answer.
    `reads`: what it shows something of; the sidebar offers that alone. `only`: with this option of its own alone, or
    with all others, else it reads nothing.
    """

    title: str
    line: str
    module: str
    needs: str = "model"
    fragment: bool = True
    formerly: tuple[Former, ...] = ()
    answers: bool = False
    reads: Reads = "picture and models"
    name: str = ""
    page: str = ""
    beside: str = ""
    least: int = 1
    first: str = ""
    only: Only | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "page", self.page or re.split("[.:]", self.module)[0])
