"""Maps of several methods or models beside one another: which are most alike, and which stands apart."""

import itertools
import math
from collections.abc import Mapping

from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.remarks.places import distance
from vizkit.analysis.remarks.remark import joined, percent


def best_map(gains: Mapping[str, float], margin: float) -> str | None:
    """Which map knows best which places the model needs, and which know no more than a random order. `gains`:
    differences to chance, above 0 where better."""
    if not gains:
        return None
    best = max(gains, key=lambda name: gains[name])
    none = [name for name, gain in gains.items() if gain <= margin]
    if len(none) == len(gains):
        return f"Not one of the {len(gains)} maps is better than a random order on this picture."
    ahead = f"{best} knows best which places the model needs: {gains[best]:.2f} better than a random order."
    if not none:
        return ahead
    verb = "is" if len(none) == 1 else "are"
    return f"{ahead} {joined(none)} {verb} no better than chance."


def of_models(shares: Mapping[str, float], where: str, images: int) -> str | None:
    """Which model has most of its map on some places (`where`: "on the insect, which covers 6 % of the image"), and
    which least: the mean over pictures."""
    if not shares:
        return None
    most, least = max(shares, key=lambda name: shares[name]), min(shares, key=lambda name: shares[name])
    over = f"In the mean of {images} images " if images > 1 else ""
    words = f"{over}{most} has {percent(shares[most])} of its map {where}"
    rest = f"; {least} {'' if len(shares) == 2 else 'least, '}{percent(shares[least])}" if most != least else ""
    return f"{words}{rest}."


def agreement(maps: Mapping[str, Float[Tensor, "row column"]]) -> str | None:
    """How much of the positive evidence lies on the same places in each pair: the most and the least. None for less
    than two maps with any."""
    pairs = {pair: 1 - distance(*(maps[name] for name in pair)) for pair in itertools.combinations(maps, 2)}
    pairs = {pair: same for pair, same in pairs.items() if not math.isnan(same)}
    if not pairs:
        return None
    most, least = max(pairs, key=lambda pair: pairs[pair]), min(pairs, key=lambda pair: pairs[pair])
    if most == least:
        return f"{most[0]} and {most[1]} mark the same places with {percent(pairs[most])} of their evidence."
    return (
        f"Most alike are {most[0]} and {most[1]}, {percent(pairs[most])} of whose evidence is on the same "
        f"places; least {least[0]} and {least[1]}, {percent(pairs[least])}."
    )
