"""All layers multiplied: which patches contribute to one token, all models side by side."""

from vizkit.ui.views import View

VIEWS = (
    View("Rollout", "Which patches contribute to one token when all layers are multiplied.", "maps", "transformer"),
)
