"""Change what a model does, and see what follows."""

from vizkit.ui.views import View

VIEWS = (
    View(
        "Switches",
        "Hide patches, switch heads off, warm a layer up: the answer and the attention before and after.",
        "switches",
        "transformer",
    ),
    View("Heads", "What the answers lose without each head, over many pictures.", "heads", "transformer"),
)
