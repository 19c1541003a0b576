"""The image as the sequence that a transformer reads, and what it costs."""

from vizkit.ui.views import View

VIEWS = (
    View("Cut", "The image in patches, and each patch as a row of numbers.", "cut", "transformer"),
    View("Compare in depth", "Whose vector points the same way as that of the chosen patch.", "depth"),
    View("Filters", "The patterns that the patch embedding answers to.", "filters", "transformer"),
    View("Token norms by layer", "How long every token's vector is, layer by layer.", "token_norms", formerly="Norms"),
    View("Cost", "What patch size and image size cost.", "cost", ""),
)
