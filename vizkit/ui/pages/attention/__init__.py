"""One head step by step, statistics of all heads, and the mask of a decoder."""

from vizkit.ui.views import View

VIEWS = (
    View(
        "Walk-through", "One query in one head, step by step, in the model's own numbers.", "walkthrough", "transformer"
    ),
)
