"""Models judged on labelled pictures, and the results of papers."""

from vizkit.views.entry import Entry, Former

__all__ = ["VIEWS"]

VIEWS = (
    Entry(
        "Results",
        "How good models are on a set of pictures, and where they are wrong.",
        "evaluate.results:Results",
        "",
        fragment=False,
        reads="models",
        formerly=(Former("Your pictures"),),
        name="evaluation",
        page="evaluate",
    ),
    Entry(
        "Detectors",
        "How good detectors are at finding things in scenes, and where they are wrong.",
        "evaluate.detectors:Detectors",
        "",
        fragment=False,
        reads="nothing",
        name="detectors",
        page="evaluate",
    ),
    Entry(
        "Sequences",
        "How many texts a model answers wholly right, and where it is wrong.",
        "evaluate.texts:Texts",
        "",
        fragment=False,
        reads="nothing",
        name="texts",
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
    Entry(
        "Is it worth it?",
        "What two grids, or fewer and fewer tokens, gain and cost: five models that are equal in all else.",
        "evaluate.worth:IsItWorthIt",
        "",
        reads="picture",
        formerly=(Former("Is it worth it?", "architecture"),),
        name="is-it-worth-it",
        page="evaluate",
    ),
)
