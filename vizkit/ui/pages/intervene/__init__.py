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
    View(
        "Patching",
        "Where is the evidence, and after which block? Parts of the clean run are put into a corrupted one.",
        "patching",
        "classes",
    ),
    View("Steer", "The direction of a class is added to what a block gives, more and more of it.", "steer", "classes"),
    View("Heads", "What the answers lose without each head, over many pictures.", "heads", "transformer"),
)
