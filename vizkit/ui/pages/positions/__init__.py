"""How a transformer knows where a patch is."""

from vizkit.ui.views import View

VIEWS = (
    View("Shuffle", "The same patches in another order, with and without positions.", "shuffle", "transformer"),
    View("Learned", "Cosine similarity of the learned positions of two patches.", "learned", "learned positions"),
    View(
        "Relative",
        "What a score gains or loses by the offset of two patches.",
        "relative",
        "relative positions",
        reads="models",
    ),
    View("Sinusoids", "A fixed pattern of slow and fast waves for every position.", "sinusoids", "", reads="nothing"),
)
