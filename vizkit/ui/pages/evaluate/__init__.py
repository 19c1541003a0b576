"""Models on a set of pictures, the results of papers, and accuracy against training-set size."""

from vizkit.ui.views import View

VIEWS = (
    View(
        "Your pictures",
        "How good the chosen models are on a set of pictures.",
        "data",
        "",
        fragment=False,
        reads="models",
    ),
    View(
        "Published", "What papers report, beside models of your own.", "published", "", fragment=False, reads="models"
    ),
    View("Data size", "Accuracy against the number of training pictures.", "size", "", fragment=False, reads="nothing"),
)
