"""Models judged on labelled images."""

from vizkit.views.entry import Entry, Former

__all__ = ["VIEWS"]

VIEWS = (
    Entry(
        "Results",
        "How good models are on a set of images, and where they are wrong.",
        "evaluate.results:Results",
        "",
        fragment=False,
        reads="models",
        formerly=(Former("Your pictures"),),
        name="evaluation",
    ),
)
