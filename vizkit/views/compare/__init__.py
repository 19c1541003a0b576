"""The same images in several models."""

from vizkit.views.entry import Entry, Former

STUDY = {"trained": "digits, 32² pixels, patches of 8 and 4"}
"""The first study of Cost, which stood alone once."""

PUBLISHED = ("table", "accuracy")
PREDICTED = ("images", "order", "differ")
"""The settings of Published and of Predictions, which stood alone once."""

VIEWS = (
    Entry(
        "Side by side",
        "A map and the answers of every model on several images, and where the models differ.",
        "compare.side_by_side:SideBySide",
        fragment=False,
        formerly=(
            Former("Maps"),
            Former("Predictions", name="compare-predictions", fields={each: each for each in PREDICTED}),
        ),
        answers=True,
        least=2,
        name="compare-maps",
    ),
    Entry(
        "Cost",
        "What every model takes, and how often it is right for that, here and in papers.",
        "compare.cost:Cost",
        fragment=False,
        formerly=(
            Former("Is it worth it?", "evaluate", "is-it-worth-it", {"trained": "trained", "worth": "trained"}, STUDY),
            Former("Is it worth it?", "architecture", settings=STUDY),
            Former("Published", "evaluate", "published", {each: each for each in PUBLISHED}),
            Former("Published", "detection", "published-detectors", settings={"table": "Detection"}),
        ),
        least=2,
        name="compare-cost",
    ),
    Entry(
        "Robustness",
        "What the answers withstand when the image is changed, and how much of that is chance.",
        "compare.robustness:Robustness",
        fragment=False,
        answers=True,
        least=2,
        name="compare-robustness",
    ),
    Entry(
        "Similarity",
        "How alike layers represent the same images, in one model or in two.",
        "compare.similarity:LayerSimilarity",
        formerly=(Former("Similarity", "intervene"),),
        reads="models",
        name="layer-similarity",
    ),
)
