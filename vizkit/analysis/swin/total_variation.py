"""How much of a map that sums to 1 lies elsewhere in another one: total variation distance."""

from vizkit.traces import Map


def total_variation(before: Map, after: Map) -> float:
    """½ Σ |before − after|, both divided by their sums: 0 for equal maps, 1 where they share no place."""
    return float(0.5 * (before / before.sum() - after / after.sum()).abs().sum())
