"""What stands out in one row of attention weights: the rules, and what they ask of all rows of a layer at once."""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.remarks.places import lies_on
from vizkit.analysis.remarks.remark import percent
from vizkit.traces import Tokens

__all__ = ["EVEN", "MOST", "OWN", "Seen"]

MOST = 0.5
OWN = 0.25  # of a patch for itself, or for any other single one
EVEN = 0.97  # of the largest entropy

Said = tuple[str, dict[str, float]] | None
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

    def one_place(self, at: int, own: tuple[int, int] | None) -> Said:
        """Most on a special token, on padding, or much on one patch."""
        share, which = self.rest[at]
        if share >= MOST:
            return f"{{who}} gives {percent(share)} of its attention to {self.names[which]}", {"share": share}
        if own is not None and (share := float(self.places[at][own])) >= OWN:
            return f"{{who}} gives {percent(share)} of its attention to itself", {"share": share}
        share, which = self.best[at]
        if share < OWN or self.places[at].size <= 1 / OWN:
            return None
        row, column = divmod(which, self.places.shape[2])
        words = f"{{who}} gives {percent(share)} of its attention to one patch, row {row + 1}, column {column + 1}"
        return words, {"share": share}

    def on_insect(self, at: int, subject: str) -> Said:
        drawn = lies_on(self.drawn[at], self.area, subject) if self.total[at] >= 0.2 else None
        return drawn and (drawn.words[0].lower() + drawn.words[1:-1], dict(drawn.numbers))

    def shape(self, at: int, own: tuple[int, int] | None) -> Said:
        """Near the query, or along one row or column."""
        places = self.places[at]
        if own is not None and places.size >= 25:  # in a smaller grid nine patches are most of it
            top, left = max(own[0] - 1, 0), max(own[1] - 1, 0)
            near = float(places[top : own[0] + 2, left : own[1] + 2].sum())
            if near >= MOST:
                return f"{{who}} gives {percent(near)} of its attention to itself and its neighbours", {"share": near}
        for name, most in self.lines.items():
            share, which = most[at]
            if share >= MOST:
                return f"{percent(share)} of {{who}}'s attention lies in {name} {which + 1}", {"share": share}
        return None

    def even(self, at: int, keys: int) -> Said:
        entropy = self.entropy[at] / math.log(max(keys, 2))
        if keys < 4 or entropy < EVEN:
            return None
        largest = max(self.best[at][0], self.rest[at][0])
        return (
            f"{{who}} attends almost evenly: the largest weight is {100 * largest:.1f} %, equal weights would be "
            f"{100 / keys:.1f} %",
            {"entropy": entropy, "largest": largest},
        )


def _most(values: Float[np.ndarray, "query any"]) -> Most:
    return list(zip(values.max(1).tolist(), values.argmax(1).tolist(), strict=True))
