"""The image as the sequence that a transformer reads, and what it costs."""

from vizkit.ui.views import View

VIEWS = (
    View("Cut", "The image in patches, and each patch as a row of numbers.", "cut", "transformer"),
    View("Compare in depth", "Cosine similarity of the chosen patch with all others, after every block.", "depth"),
    View("Filters", "The patterns that the patch embedding responds to.", "filters", "transformer", reads="models"),
    View("Token norms by layer", "The norm of every token's vector after each layer.", "token_norms", formerly="Norms"),
    View("Cost", "What patch size and image size cost.", "cost", "", reads="nothing"),
)
