"""The Compare page: the same images in several models, what they answer, where they look, what they cost."""

from vizkit.image import Picture
from vizkit.ui.pages.compare import cost, maps, predictions, robustness
from vizkit.ui.session.shown import choose_view

VIEWS = {
    "Predictions": predictions.view,
    "Maps": maps.view,
    "Cost": cost.view,
    "Robustness": robustness.view,
}


def view(picture: Picture, sources: list[str]) -> None:
    VIEWS[choose_view("compare_view", tuple(VIEWS))](picture, sources)
