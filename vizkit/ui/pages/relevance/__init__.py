"""Evidence for a class, by every method that applies, and how far the maps can be believed."""

from vizkit.ui.views import View
from vizkit.views import VIEWS as RECORDS

VIEWS = (
    RECORDS["relevance"],
    View(
        "Trust",
        "How far each map can be believed: the model is run on changed images.",
        "trust",
        "classes",
        answers=True,
    ),
)
