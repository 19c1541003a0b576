"""Maps of several methods or models beside one another: which are most alike, and which stands apart."""

import itertools
import math
from collections.abc import Mapping

from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.remarks.places import distance
from vizkit.analysis.remarks.remark import Remark, percent


def at_chance(gains: Mapping[str, float], margin: float) -> Remark | None:
    """Which maps know no better than a random order which places the model needs. `gains`: differences to chance, above
    0 where better."""
    none = [name for name, gain in gains.items() if gain <= margin]
    if not none:
        return None
    if len(none) == len(gains):
        return Remark("None of them is better than a random order on this picture.", {"count": len(none)})
    named = none[0] if len(none) == 1 else f"{', '.join(none[:-1])} and {none[-1]}"
    verb = "is" if len(none) == 1 else "are"
    return Remark(f"{named} {verb} no better than a random order on this picture.", {"count": len(none)})


def agreement(maps: Mapping[str, Float[Tensor, "row column"]]) -> Remark | None:
    """How much of the positive evidence lies on the same places in each pair: the most and the least. None for less
    than two maps with any."""
    pairs = {pair: 1 - distance(*(maps[name] for name in pair)) for pair in itertools.combinations(maps, 2)}
    pairs = {pair: same for pair, same in pairs.items() if not math.isnan(same)}
    if not pairs:
        return None
    most, least = max(pairs, key=lambda pair: pairs[pair]), min(pairs, key=lambda pair: pairs[pair])
    if most == least:
        return Remark(f"{most[0]} and {most[1]} mark the same places with {percent(pairs[most])} of their evidence.",
                      {"same": pairs[most]})  # fmt: skip
    return Remark(f"Most alike are {most[0]} and {most[1]}, {percent(pairs[most])} of whose evidence is on the same "
                  f"places; least {least[0]} and {least[1]}, {percent(pairs[least])}.",
                  {"most": pairs[most], "least": pairs[least]})  # fmt: skip
