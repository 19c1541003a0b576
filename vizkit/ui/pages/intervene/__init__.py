"""Change what a model does, and see what follows."""

from vizkit.ui.views import View

VIEWS = (
    View(
        "Switches",
        "Hide patches, switch heads off, warm a layer up: the answer and the attention before and after.",
        "switches",
        "transformer",
    ),
    View("Lenses", "What would the model answer if it ended earlier? Its head after every layer.", "lenses", "classes"),
    View("Direct attribution", "The logit as a sum: what each head and each MLP adds to it.", "direct", "classes"),
    View("Heads", "What each head looks at, and what the answers lose without it.", "heads", "transformer"),
    View("Similarity", "How alike layers represent the same pictures, in one model or in two.", "similarity"),
)
