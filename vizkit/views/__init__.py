"""Every view as a record of settings with a function: `VIEWS` lists them, and hosts draw any of them.

    Rollout(depth=3).show(Subject(lambda: loaded, image))     # the blocks, without any host
    vizkit.show("rollout", loaded, image, depth=3)            # in a notebook
    vizkit show rollout photo.jpg --depth 3 -o rollout.png    # on the command line

A new view is one file with its class, and one line in `VIEWS`.
"""

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from vizkit.views.rollout import Rollout as Rollout
    from vizkit.views.view import View

__all__ = ["VIEWS", "Entry", "class_of", "entry", "name_of"]

Reads = Literal["picture and models", "picture", "models", "nothing"]


@dataclass(frozen=True)
class Entry:
    """One view of a page. `title` is its place in the address, `line` one sentence, `module` its file: that of its
    class, "rollout:Rollout", with `name` in a notebook and on the command line and `page`, its page's address.

    `needs`: what a model has to have (a key of `ui.session.needs.NEEDS`), "" for a view without models. `fragment`: a
    change inside draws this view alone again, not the page. `query`: the token whose rows it asks for, where the page's
    own choice does not decide. `formerly`: an earlier title, so that old addresses still open it. `answers`: whether it
    shows what models answer. `reads`: what it shows something of; the sidebar offers that alone.
    """

    title: str
    line: str
    module: str
    needs: str = "model"
    fragment: bool = True
    query: str = ""
    formerly: str = ""
    answers: bool = False
    reads: Reads = "picture and models"
    name: str = ""
    page: str = ""


VIEWS = {
    each.name: each
    for each in (
        Entry(
            "Cut",
            "The image in patches, and each patch as a row of numbers.",
            "patches.cut:Cut",
            "transformer",
            name="cut",
            page="patches",
        ),
        Entry(
            "Compare in depth",
            "Cosine similarity of the chosen patch with all others, after every block.",
            "patches.depth:Depth",
            name="similarity-in-depth",
            page="patches",
        ),
        Entry(
            "Filters",
            "The patterns that the patch embedding responds to.",
            "patches.filters:Filters",
            "transformer",
            reads="models",
            name="patch-filters",
            page="patches",
        ),
        Entry(
            "Token norms by layer",
            "The norm of every token's vector after each layer.",
            "patches.token_norms:TokenNorms",
            formerly="Norms",
            name="token-norms",
            page="patches",
        ),
        Entry(
            "Cost",
            "What patch size and image size cost.",
            "patches.cost:Cost",
            "",
            reads="nothing",
            name="patch-cost",
            page="patches",
        ),
        Entry(
            "Shuffle",
            "The same patches in another order, with and without positions.",
            "positions.shuffle:Shuffle",
            "transformer",
            name="shuffle",
            page="positions",
        ),
        Entry(
            "Learned",
            "Cosine similarity of the learned positions of two patches.",
            "positions.learned:Learned",
            "learned positions",
            name="learned-positions",
            page="positions",
        ),
        Entry(
            "Relative",
            "What a score gains or loses by the offset of two patches.",
            "positions.relative:Relative",
            "relative positions",
            reads="models",
            name="relative-positions",
            page="positions",
        ),
        Entry(
            "Sinusoids",
            "A fixed pattern of slow and fast waves for every position.",
            "positions.sinusoids:Sinusoids",
            "",
            reads="nothing",
            name="sinusoids",
            page="positions",
        ),
        Entry(
            "Statistics",
            "How far and how evenly every head attends, and to which tokens.",
            "attention.statistics:Statistics",
            "transformer",
            name="head-statistics",
            page="attention",
        ),
        Entry(
            "Masked",
            "The causal mask of a decoder.",
            "attention.masked:Masked",
            "",
            reads="nothing",
            name="causal-mask",
            page="attention",
        ),
        Entry(
            "Entropy",
            "How evenly every patch spreads its attention, layer by layer.",
            "attention.entropy:Entropy",
            "transformer",
            name="entropy",
            page="attention",
        ),
        Entry(
            "Maps",
            "Evidence for a class, by every method that applies.",
            "relevance.maps:Maps",
            answers=True,
            name="relevance",
            page="relevance",
        ),
        Entry(
            "Rollout",
            "Which patches contribute to one token when all layers are multiplied.",
            "rollout:Rollout",
            "transformer",
            name="rollout",
            page="rollout",
        ),
    )
}


def class_of(name: str) -> "type[View]":
    """The class of a view by its name in `VIEWS`, imported now. KeyError for others."""
    module, _, cls = VIEWS[name].module.partition(":")
    return getattr(import_module(f"vizkit.views.{module}"), cls)


def name_of(view: "View | type[View]") -> str:
    """In `VIEWS`."""
    cls = view if isinstance(view, type) else type(view)
    where = f"{cls.__module__.removeprefix('vizkit.views.')}:{cls.__qualname__}"
    return next(name for name, each in VIEWS.items() if each.module == where)


def entry(view: "View | type[View]") -> Entry:
    return VIEWS[name_of(view)]


def __getattr__(name: str) -> Any:  # noqa: ANN401
    """The classes by their own names, `vizkit.views.Rollout`, imported when they are used."""
    for each in VIEWS.values():
        module, _, cls = each.module.partition(":")
        if cls == name:
            return getattr(import_module(f"vizkit.views.{module}"), cls)
    raise AttributeError(f"module 'vizkit.views' has no attribute {name!r}")
