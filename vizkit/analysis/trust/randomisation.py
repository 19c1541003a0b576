"""Does a map change when the model forgets what it learned?

Adebayo et al. 2018 (arXiv 1810.03292), § 3: the map of the trained model is compared with that of the same model with
random weights by rank correlation. A map that stays the same, such as an edge detector, cannot show what was learned.
A low correlation does not prove a map right: noise passes too.
"""

from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.attribution.explaining import Explanation, on_patches
from vizkit.traces import NotApplicable


def survives(explanation: Explanation, randomised: Explanation) -> float:
    """Spearman's correlation, −1 to 1, of a map with that of the model with random weights; near 0 is good.

    Signed maps are compared with their signs. Maps of pixels are averaged over cells first, since single pixels of two
    noisy maps never agree.
    """
    if explanation.method != randomised.method:
        raise ValueError(f"Two maps of one method are compared, not {explanation.method} and {randomised.method}.")
    return spearman(on_patches(explanation), on_patches(randomised))


def spearman(one: Float[Tensor, "*shape"], other: Float[Tensor, "*shape"]) -> float:
    """Rank correlation (Spearman 1904); equal values share the mean of their ranks. NotApplicable for constants."""
    from scipy.stats import spearmanr

    if any(float(values.min()) == float(values.max()) for values in (one, other)):
        raise NotApplicable("A constant map has no ranks to compare.")
    return float(spearmanr(one.flatten(), other.flatten())[0])  # pyright: ignore[reportArgumentType]
