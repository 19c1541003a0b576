"""Models judged on labelled images, and the results of papers."""

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
        page="evaluate",
    ),
    Entry(
        "Published",
        "What papers report, beside models of your own.",
        "evaluate.published:Published",
        "",
        fragment=False,
        reads="models",
        formerly=(Former("Published", "detection", "published-detectors", settings={"table": "Detection"}),),
        name="published",
        page="evaluate",
    ),
)
