"""Where a map lies: on the drawn object whose outline is known, or else on how few places."""

import math
from dataclasses import dataclass

import numpy as np
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from vizkit.analysis.remarks.remark import begun, percent
from vizkit.geometry import Box
from vizkit.traces import Tokens

TWICE = 2.0  # as much as the object's share of the image, or half of it: that stands out
FEW = 0.15  # of all places, on which half of the weight lies


def cover(mask: Float[Tensor, "height width"], box_xyxy: Box, grid: tuple[int, int]) -> Float[Tensor, "row column"]:
    """How much of every place the object covers, 0 to 1. `box_xyxy`: the part of the image, in its pixels, that the
    model saw; what reaches over the edge is no object."""
    x0, y0, x1, y1 = (round(edge) for edge in box_xyxy)
    height, width = mask.shape
    padding = (max(0, -x0), max(0, x1 - width), max(0, -y0), max(0, y1 - height))
    part = F.pad(mask, padding)[y0 + padding[2] : y1 + padding[2], x0 + padding[0] : x1 + padding[0]]
    return F.interpolate(part[None, None], grid, mode="area")[0, 0]


def on_object(
    places: Float[Tensor, "row column"], covered: Float[Tensor, "row column"], subject: str, what: str = "insect"
) -> str | None:
    """`subject`: of what shares are given, as the object of "of"; negative values count as nothing. None where about
    as much lies on the object as it covers."""
    weights = places.clamp(min=0)
    total, area = float(weights.sum()), float(covered.mean())
    if total <= 0:
        return None
    return lies_on(float((weights * covered).sum()) / total, area, subject, what)


def lies_on(share: float, area: float, subject: str, what: str = "insect") -> str | None:
    """The same of the share that lies on the object, and that of the image which it covers."""
    if not 0 < area < 1:
        return None
    if share >= min(TWICE * area, (1 + area) / 2):
        return f"{begun(percent(share))} of {subject} lies on the {what}, which covers {percent(area)} of the image."
    if share <= area / TWICE:
        much = percent(share) if share else "nothing"
        much = f"Only {much}" if much[0].isdigit() else begun(much)  # "only less than 1 %" would say it twice
        return f"{much} of {subject} lies on the {what}, which covers {percent(area)} of the image."
    return None


def concentrated(places: Float[Tensor, "row column"], subject: str, nouns: str = "places") -> str | None:
    """On how few places half of the weight lies; None where that is more than `FEW` of them."""
    half, count = int(half_of(places.flatten())), places.numel()
    if not 0 < half <= math.floor(FEW * count):
        return None
    return f"Half of {subject} lies on {half} of {count} {nouns}."


def spread(places: Float[Tensor, "row column"], subject: str, nouns: str = "places") -> str | None:
    """The same, and as a share of all, where nothing stands out; None of an empty map."""
    half, count = int(half_of(places.flatten())), places.numel()
    if not half:
        return None
    return f"Half of {subject} lies on {half} of {count} {nouns}, {percent(half / count)}."


def half_of(places: Float[Tensor, "*map place"]) -> Int[Tensor, "*map"]:
    """On how few places half of the weight of every map lies; 0 of an empty one."""
    weights = places.clamp(min=0).sort(descending=True).values
    total = weights.sum(-1, keepdim=True)
    return ((weights.cumsum(-1) < total / 2 * (1 - 1e-6)).sum(-1) + 1) * (total[..., 0] > 0)


def swallowed(
    places: Float[Tensor, "row column"], subject: str, layer: int, head: int, place: tuple[int, int], share: float
) -> str:
    """Of a product of layers in which one place takes `share` of the attention of a head whatever asks: how bright it
    is here, and on how few places half of the rest lies. `head` and `layer` from 1, `place` (row, column) from 0."""
    times = float(places[place] / places.mean().clamp(min=1e-12))
    rest = places.flatten().clone()
    rest[place[0] * places.shape[1] + place[1]] = 0
    return (
        f"Row {place[0] + 1}, column {place[1] + 1} is a sink: it receives {percent(share)} of the attention of head "
        f"{head} in layer {layer} whatever asks, and here {times:.0f} times an equal share of {subject}; half of the "
        f"rest lies on {int(half_of(rest))} of {places.numel() - 1} places."
    )


def where(
    places: Float[Tensor, "row column"],
    covered: Float[Tensor, "row column"] | None,
    subject: str,
    nouns: str = "places",
) -> str | None:
    """The first of both that stands out. `covered`: of a drawn insect, None where no outline is known."""
    drawn = None if covered is None else on_object(places, covered, subject)
    return drawn or concentrated(places, subject, nouns)


def from_layer_on(shares: list[float], area: float, who: str, what: str = "insect") -> str | None:
    """From which layer on a token takes most from the object. `shares`: of every layer, first the first."""
    level = max(0.5, TWICE * area) if area <= 0.45 else 1.0
    above = [share >= level for share in shares]
    if not above or not above[-1]:
        return None
    first = len(above) - above[::-1].index(False) if False in above else 0
    least = min(shares[first:])
    when = (
        "In all layers"
        if first == 0
        else "In the last layer"
        if first == len(shares) - 1
        else f"From layer {first + 1} on"
    )
    much = percent(least)
    if (not first or first < len(shares) - 1) and much[0].isdigit():  # "at least more than 99 %" would say it twice
        much = f"at least {much}"
    return f"{when} {who} takes {much} from the {what}, which covers {percent(area)} of the image."


# ---- rows of attention ----------------------------------------------------------------------------------------------
MOST = 0.5
OWN = 0.25  # of a patch for itself, or for any other single one
EVEN = 0.97  # of the largest entropy

Most = list[tuple[float, int]]  # of each row its largest value, and where that is


@dataclass(frozen=True, eq=False)
class Seen:
    """What rows give to every place, and what the rules ask of them, counted for all rows at once: so two hundred
    queries take a few ms. `rest`: the most that a special token or padding gets, by `names`; `drawn`: the share of what
    places get that lies on the insect, which covers `area`."""

    places: Float[np.ndarray, "query row column"]
    names: list[str]
    rest: Most
    best: Most
    lines: dict[str, Most]
    total: list[float]
    drawn: list[float]
    area: float
    entropy: list[float]

    @classmethod
    def of(
        cls,
        key: Tokens,
        rows: Float[Tensor, "query key"],
        covered: Float[Tensor, "row column"] | None,
        names: list[str],
    ) -> "Seen":
        assert key.grid is not None
        first, weights = len(key.special), rows.double().numpy()
        flat = weights[:, first : first + key.grid[0] * key.grid[1]]
        places = flat.reshape(-1, *key.grid)
        rest = np.column_stack([weights[:, :first], np.maximum(0.0, 1.0 - weights.sum(1))])
        total = flat.sum(1)
        insect = np.zeros(key.grid) if covered is None else covered.double().numpy()
        shares = np.column_stack([flat, rest])
        shares /= np.maximum(shares.sum(1, keepdims=True), 1e-12)
        return cls(
            places,
            names,
            _most(rest),
            _most(flat),
            {
                name: _most(places.sum(axis))
                for name, axis, count in (("row", 2, key.grid[0]), ("column", 1, key.grid[1]))
                if count >= 4
            },
            total.tolist(),
            (flat @ insect.ravel() / np.maximum(total, 1e-12)).tolist(),
            float(insect.mean()),
            (-shares * np.log(np.maximum(shares, 1e-300))).sum(1).tolist(),
        )

    def one_place(self, at: int, own: tuple[int, int] | None, who: str) -> str | None:
        """Most on a special token or on padding, or much on one patch: that which gets more first."""
        (rest, which), (best, place) = self.rest[at], self.best[at]
        other = f"{percent(rest)} {{}}to {'itself' if self.names[which] == who else self.names[which]}"
        if rest >= MOST:
            return f"{{who}} gives {other.format('of its attention ')}"
        row, column = divmod(place, self.places.shape[2])
        if own is not None and (share := float(self.places[at][own])) >= OWN:
            best, patch = share, "itself"
        elif best >= OWN and self.places[at].size > 1 / OWN:
            patch = f"one patch, row {row + 1}, column {column + 1}"
        else:
            return None
        if rest > best:
            return f"{{who}} gives {other.format('of its attention ')} and {percent(best)} to {patch}"
        return f"{{who}} gives {percent(best)} of its attention to {patch}"

    def leads(self, at: int, who: str) -> str:
        """That a special token or padding gets more than any patch."""
        share, which = self.rest[at]
        goes = "is its own" if self.names[which] == who else f"goes to {self.names[which]}"
        return f"; the largest single share, {percent(share)}, {goes}" if share > self.best[at][0] else ""

    def on_insect(self, at: int, subject: str) -> str | None:
        drawn = lies_on(self.drawn[at], self.area, subject) if self.total[at] >= 0.2 else None
        return drawn and drawn[0].lower() + drawn[1:-1]

    def shape(self, at: int, own: tuple[int, int] | None) -> str | None:
        """Near the query, or along one row or column."""
        places = self.places[at]
        if own is not None and places.size >= 25:  # in a smaller grid nine patches are most of it
            top, left = max(own[0] - 1, 0), max(own[1] - 1, 0)
            near = float(places[top : own[0] + 2, left : own[1] + 2].sum())
            if near >= MOST:
                return f"{{who}} gives {percent(near)} of its attention to itself and its neighbours"
        for name, most in self.lines.items():
            share, which = most[at]
            if share >= MOST:
                return f"{percent(share)} of {{who}}'s attention lies in {name} {which + 1}"
        return None

    def even(self, at: int, keys: int) -> str | None:
        entropy = self.entropy[at] / math.log(max(keys, 2))
        if keys < 4 or entropy < EVEN:
            return None
        largest = max(self.best[at][0], self.rest[at][0])
        return (
            f"{{who}} attends almost evenly: the largest weight is {100 * largest:.1f} %, equal weights would be "
            f"{100 / keys:.1f} %"
        )


def _most(values: Float[np.ndarray, "query any"]) -> Most:
    return list(zip(values.max(1).tolist(), values.argmax(1).tolist(), strict=True))
