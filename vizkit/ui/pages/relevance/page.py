"""The Relevance page: what speaks for a class, by every method that applies; and how far the maps can be believed."""

from vizkit.image import Picture
from vizkit.ui.pages.relevance import maps, trust
from vizkit.ui.session.shown import choose_view

VIEWS = ("Maps", "Trust")


def view(picture: Picture, sources: list[str]) -> None:
    if choose_view("relevance_view", VIEWS) == "Trust":
        trust.view(picture, sources)
    else:
        maps.view(picture, sources)
