"""Where a decision came from: the maps of many methods, and how far they are to be believed."""

from vizkit.views.entry import Entry, Former

VIEWS = (
    Entry(
        "Maps",
        "Evidence for an answer, by every method that applies.",
        "relevance.maps:Maps",
        answers=True,
        name="relevance",
    ),
    Entry(
        "Trust",
        "How far each map can be believed: the model is run on changed images.",
        "relevance.trust:Trust",
        "answers",
        answers=True,
        name="trust",
    ),
    Entry(
        "Deciding parts",
        "Gills, case or wing pads erased: how much more that costs the models than other pixels.",
        "relevance.deciding:DecidingParts",
        "",
        formerly=(Former("Deciding parts", "intervene"),),
        reads="picture",
        name="deciding-parts",
    ),
)
