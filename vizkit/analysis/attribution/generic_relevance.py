"""Generic relevance of attention for a class.

Chefer et al. 2021 (arXiv 2103.15679), eq. 5 and 6, the rule for self-attention: R = I, then R ← R + Ā R for every layer
with Ā = mean_h relu(A ⊙ ∂y_c/∂A). The image is one row, reached last layer first by r ← r + r Ā.
"""

from vizkit.analysis.attribution.class_attention import class_mass, gained
from vizkit.analysis.attribution.layer_product import Query
from vizkit.traces import Map, Trace


def generic_relevance(trace: Trace, query: Query = "cls", start_layer: int = 0) -> Map:
    """Relevance of every place of the input, ≥ 0, not normalised.

    Needs a trace with a target. What the identity alone gives a place is left out: nothing for a class token, the same
    for every place under a mean. Layers before `start_layer` count as the identity. Swin's merging averages.
    Errors as for `rollout.rollout`; NotApplicable also where nothing that a layer attends to speaks for the class.
    """
    relevance, without = class_mass(trace, query, 1.0, 1.0, start_layer, normalise=False)
    return gained(relevance, without, "Generic relevance").clamp(min=0).float()
