"""All layers multiplied: where the mass of one token's row comes from, model beside model."""

from vizkit.ui.views import View

VIEWS = (View("Rollout", "Which patches reach one token when all layers are multiplied.", "maps", "transformer"),)
