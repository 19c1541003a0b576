"""Rollout for one class: attention counts where it raises the class's logit.

Abnar & Zuidema 2020 (arXiv 2005.00928), eq. 1, with Ā = mean_h relu(A ⊙ ∂y_c/∂A) in place of the fused heads.

The order matters: relu of each head's product, then the mean over heads, as in eq. 5 of Chefer et al. 2021 and in
their code. github.com/jacobgil/vit-explain takes relu(mean_h A ⊙ ∂y_c/∂A), where a head against the class
cancels one that speaks for it, and by default sets the smallest 90 % of it to zero.
"""

from vizkit.analysis.attribution.class_attention import class_mass, gained
from vizkit.analysis.attribution.layer_product import Query
from vizkit.analysis.attribution.rollout import shares
from vizkit.traces import Map, Trace


def gradient_rollout(trace: Trace, query: Query = "cls", start_layer: int = 0, residual: float = 0.5) -> Map:
    """The share of every place of the input, ≥ 0, all together 1; special tokens and padding are left out.

    Needs a trace with a target. Arguments and errors as for `rollout.rollout`; NotApplicable also where nothing that a
    layer attends to speaks for the class. The row of the mean of all places is nearly even, because Ā is small beside
    the identity: show it from its smallest to its largest value, or take `generic_relevance`, which leaves that out.
    """
    relevance, without = class_mass(trace, query, residual, 1 - residual, start_layer, normalise=True)
    gained(relevance, without, "Gradient rollout")
    return shares(relevance).float()
