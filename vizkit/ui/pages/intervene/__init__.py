"""Change what a model does, and see what follows."""

from vizkit.ui.views import View

VIEWS = (
    View(
        "Smallest set",
        "A greedy search for the fewest patches or heads that keep the answer, or without which it falls.",
        "smallest",
        "classes",
    ),
    View(
        "Heads",
        "What each head looks at, and what the answers lose without it.",
        "heads",
        "transformer",
        reads="models",
    ),
    View(
        "Lenses",
        "What would the model answer if it ended earlier? Its head after every layer.",
        "lenses",
        "transformer with classes",
    ),
    View(
        "Similarity",
        "How alike layers represent the same pictures, in one model or in two.",
        "similarity",
        reads="models",
    ),
    View(
        "Deciding parts",
        "Gills, case or wing pads erased: how much more that costs the models than other pixels.",
        "deciding",
        "",
        reads="picture",
    ),
)
