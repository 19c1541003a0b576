"""How often the digits of a written date look most at the words of the source that say the same, over unseen dates.

`python -m benchmarks alignment` writes alignment.json beside the bundled models that have cross-attention; the page
reads it.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict

import torch

from vizkit.analysis.sequences.alignment import Aligned, alignment, target_roles, together
from vizkit.datasets.sequences.opening import Pair, open_pairs
from vizkit.models.sequences import SequenceModel, bundled_sequences, open_sequence, trace_pair
from vizkit.models.sequences.opening import BUNDLED
from vizkit.models.sequences.tracing import is_cross
from vizkit.traces import NotApplicable

PAIRS = 2000


def run() -> None:
    pairs = open_pairs("dates", "test", count=PAIRS)
    for name in bundled_sequences():
        model = open_sequence(f"bundled:{name}")
        if not (model.translates and model.data == "dates"):
            continue
        try:
            roles = measured_alignment(model, pairs)
        except NotApplicable:
            continue
        (BUNDLED / name / "alignment.json").write_text(
            json.dumps({role: asdict(a) for role, a in roles.items()}) + "\n"
        )
        print(f"{name}:", ", ".join(f"{role} {a.share:.1%} of {a.places:,} digits" for role, a in roles.items()))


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


if __name__ == "__main__":
    run()
