"""Change what a model does, and see what follows."""

from vizkit.ui.views import View

VIEWS = (
    View(
        "Switches",
        "Hide, erase, exchange or paste patches, switch heads off: the answer and its maps before and after.",
        "switches",
    ),
    View(
        "Smallest set",
        "A greedy search for the fewest patches or heads that keep the answer, or without which it falls.",
        "smallest",
        "classes",
    ),
    View("Lenses", "What would the model answer if it ended earlier? Its head after every layer.", "lenses", "classes"),
    View("Direct attribution", "The logit as a sum: what each head and each MLP adds to it.", "direct", "classes"),
    View("Heads", "What the answers lose without each head, over many pictures.", "heads", "transformer"),
    View(
        "Deciding parts",
        "Gills, case, wing pads: do the models look at what tells one insect from another?",
        "deciding",
        "",
        picture=True,
    ),
)
