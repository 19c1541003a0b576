"""Maps of several methods or models: which knows best what the model needs, and what is left of the answer."""

from collections.abc import Mapping

from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.remarks.places import TWICE
from vizkit.analysis.remarks.remark import joined, percent
from vizkit.analysis.trust.deletion import Erased
from vizkit.analysis.trust.table import signed
from vizkit.analysis.trust.verdict import few, spread, tied
from vizkit.heads import LIKENED_IN_WORDS, LIKENESS, Head


def best_map(gains: Mapping[str, float], margin: float, large: str = "") -> str | None:
    """Which map knows best which places the model needs, or which of them are even, and which know no more than a
    random order. `gains`: differences to chance, above 0 where better; up to `margin` they are none. `large`: the map
    that is shown large, which is named where it is behind."""
    if not gains:
        return None
    best = max(gains, key=lambda name: gains[name])
    none = [name for name, gain in gains.items() if gain <= margin]
    if len(none) == len(gains):
        return f"Not one of the {len(gains)} maps is better than a random order on this image."
    even = tied(gains, margin)
    if len(even) == 1:
        ahead = f"{best} knows best which places the model needs: {gains[best]:.2f} better than a random order"
    else:
        ahead = f"{few(even)} know best which places the model needs: {spread(gains, even)} against a random order"
        ahead += ", no difference on one image"
    behind = f"; the large map, {large}, {signed(gains[large])}" if large in gains and large not in even else ""
    ahead = f"{ahead}{behind}."
    if not none:
        return ahead
    verb = "is" if len(none) == 1 else "are"
    return f"{ahead} {joined(none)} {verb} no better than chance."


def nearly_even(places: Float[Tensor, "row column"], title: str, why: str) -> str | None:
    """That no place of a map without a sign has much more than an equal share, and `why` that may be; None where one
    has, or all have nothing."""
    most = float(places.max() / places.mean().clamp(min=1e-12))
    if not 0 < most <= TWICE or float(places.min()) < 0:
        return None
    return f"{title} is nearly even here: no place has more than {most:.1f} times an equal share. {why}".strip()


def without_brightest(erased: Erased, head: Head) -> str:
    """What erasing the places that a map marks most does to the answer, beside as many at random: a clause."""
    share = percent(erased.share)
    whole, left, random = map(head.text, (erased.whole, erased.brightest, erased.random))
    answer = f"the {LIKENED_IN_WORDS}" if head is LIKENESS else f"{'its' if head.probable else 'the'} {head.quantity}"
    if whole == left:
        return f"blurring the brightest {share} leaves {answer} at {whole}; a random {share} gives {random}"
    does = "lowers" if erased.brightest < erased.whole else "raises"
    return f"blurring the brightest {share} {does} {answer} from {whole} to {left}, a random {share} to {random}"


def of_models(shares: Mapping[str, float], where: str, images: int, what: str = "map") -> str | None:
    """Which model has most of its map, or `what` it is, on some places (`where`: "on the insect, which covers 6 % of
    the image"), and which least: the mean over images."""
    if not shares:
        return None
    most, least = max(shares, key=lambda name: shares[name]), min(shares, key=lambda name: shares[name])
    over = f"In the mean of {images} images " if images > 1 else ""
    words = f"{over}{most} has {percent(shares[most])} of its {what} {where}"
    rest = f"; {least} {'' if len(shares) == 2 else 'least, '}{percent(shares[least])}" if most != least else ""
    return f"{words}{rest}."
