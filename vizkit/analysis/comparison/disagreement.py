"""Whether models answer alike: the same first class, and how far apart their probabilities are.

The distance is the Jensen–Shannon divergence (Lin 1991, IEEE Trans. Inf. Theory 37) in bits: 0 for equal
probabilities, 1 where two models never say the same.
"""

from collections import defaultdict
from collections.abc import Mapping
from itertools import combinations

from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.comparison.class_names import Agreed

LEAST_COVERED = 0.5
"""Of each model's probability, on the classes that both know; below, the rest decides, and they are not compared."""
Overlaps = dict[tuple[int, int], tuple[list[int], list[int]]]


def groups(first: Mapping[int, int]) -> tuple[tuple[int, ...], ...]:
    """Models of the same first class together, the largest group first. `first`: model → class in the joint list."""
    by_class: defaultdict[int, list[int]] = defaultdict(list)
    for model, label in first.items():
        by_class[label].append(model)
    return tuple(sorted((tuple(group) for group in by_class.values()), key=len, reverse=True))


def js_bits(p: Float[Tensor, " label"], q: Float[Tensor, " label"]) -> float:
    """Jensen–Shannon divergence of two distributions over the same classes, 0 to 1 bit."""
    p, q = p.double(), q.double()
    middle = (p + q) / 2

    def from_middle(each: Tensor) -> float:
        there = each > 0
        return float((each[there] * (each[there] / middle[there]).log2()).sum())

    return min(1.0, max(0.0, (from_middle(p) + from_middle(q)) / 2))


def overlaps(agreed: Agreed) -> Overlaps:
    """For each pair of models that share two classes or more: where these stand in either."""
    places: Overlaps = {}
    for first, second in combinations(range(len(agreed.of)), 2):
        shared = agreed.shared(first, second)
        if len(shared) > 1:
            places[first, second] = agreed.places(first, shared), agreed.places(second, shared)
    return places


def divergences(shared: Overlaps, probabilities: Mapping[int, Tensor]) -> dict[tuple[int, int], float]:
    """Of each pair of models, in bits, over the classes that both know, their shares made 1 there.

    `probabilities`: model → its (label). Pairs of which one gives most of its probability to other classes are
    left out.
    """
    bits = {}
    for (one, other), places in shared.items():
        if not {one, other} <= set(probabilities):
            continue
        p, q = (probabilities[model].double()[at] for model, at in zip((one, other), places, strict=True))
        if min(float(p.sum()), float(q.sum())) >= LEAST_COVERED:
            bits[one, other] = js_bits(p / p.sum(), q / q.sum())
    return bits
