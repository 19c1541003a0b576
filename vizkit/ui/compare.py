"""The Compare page: the same images in several models, what they answer, where they look, what they cost."""

from vizkit.image import Picture
from vizkit.ui import compare_cost, compare_maps, compare_predictions, compare_robustness
from vizkit.ui.shown import choose_view

VIEWS = {
    "Predictions": compare_predictions.view,
    "Maps": compare_maps.view,
    "Cost": compare_cost.view,
    "Robustness": compare_robustness.view,
}


def view(picture: Picture, sources: list[str]) -> None:
    VIEWS[choose_view("compare_view", tuple(VIEWS))](picture, sources)
