"""Over many translations: does what is written look where it comes from?"""

from collections.abc import Iterable

import torch

from vizkit.analysis.sequences.alignment import Aligned, alignment, target_roles, together
from vizkit.datasets.sequences.opening import Pair
from vizkit.models.sequences import SequenceModel, trace_pair
from vizkit.models.sequences.tracing import is_cross
from vizkit.traces import NotApplicable


def measured_alignment(model: SequenceModel, pairs: Iterable[Pair]) -> dict[str, Aligned]:
    """By role, of dates whose roles are known: the mean of all heads of all layers that look at the source, while the
    right answer is written. NotApplicable for a model without cross-attention."""

    def of_pair(pair: Pair) -> dict[str, Aligned]:
        layers = [
            layer.weights[0].mean(0)
            for layer in trace_pair(model, pair.source, pair.target).attention
            if is_cross(layer)
        ]
        if not layers:
            raise NotApplicable(f"{model.name} has no attention from what it writes to what it has read.")
        return alignment(torch.stack(layers).mean(0), target_roles(pair.target), pair.roles)

    return together(of_pair(pair) for pair in pairs)
