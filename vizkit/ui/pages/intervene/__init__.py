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
        "Patching",
        "Where is the evidence, and after which block? Parts of the clean run are put into a corrupted one.",
        "patching",
        "transformer with classes",
    ),
    View(
        "Steer",
        "The direction of a class is added to what a block gives, more and more of it.",
        "steer",
        "transformer with classes",
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
        "Direct attribution",
        "The logit as a sum: what each head and each MLP adds to it.",
        "direct",
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
