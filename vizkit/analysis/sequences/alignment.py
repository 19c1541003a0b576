"""Whether a translation looks where its words come from: the year of the target at the year of the source.

Attention as a soft alignment: Bahdanau et al. 2015 (arXiv 1409.0473), § 5.2.1.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True)
class Aligned:
    """Of `places` words of a target with a role: at how many the largest weight lies on a word of the same role, and
    the mean share of their weights that lies there, 0 to 1."""

    places: int
    hits: int
    mass: float

    @property
    def share(self) -> float:
        """Of places that look at their own role most, 0 to 1."""
        return self.hits / self.places if self.places else 0.0


def alignment(
    weights: Float[Tensor, "query key"], query_roles: Sequence[str], key_roles: Sequence[str]
) -> dict[str, Aligned]:
    """By role, of one matrix of cross-attention. `query_roles`: what is written at each query, in order, queries
    without a role left out by ""; missing ones at the end count as "". Roles that the source does not have are left
    out."""
    aligned = {}
    keys = list(key_roles)
    for role in dict.fromkeys(role for role in query_roles if role and role in keys):
        rows = weights[[i for i, mine in enumerate(query_roles) if mine == role]]
        own = torch.tensor([theirs == role for theirs in keys], device=weights.device)
        hits = int(own[rows.argmax(-1)].sum())
        aligned[role] = Aligned(len(rows), hits, float((rows * own).sum(-1).mean()))
    return aligned


def together(many: Iterable[dict[str, Aligned]]) -> dict[str, Aligned]:
    """The same over many translations."""
    whole: dict[str, Aligned] = {}
    for roles in many:
        for role, now in roles.items():
            so_far = whole.get(role, Aligned(0, 0, 0.0))
            places = so_far.places + now.places
            mass = (so_far.mass * so_far.places + now.mass * now.places) / places
            whole[role] = Aligned(places, so_far.hits + now.hits, mass)
    return whole


def target_roles(words: Sequence[str]) -> tuple[str, ...]:
    """What the words of a date as ISO 8601 writes it say: year, month and day, "" for the rest."""
    parts, roles = iter(("year", "month", "day")), []
    role = next(parts)
    for word in words:
        if word == "-":
            role = next(parts, "")
        roles.append(role if word.isdigit() else "")
    return tuple(roles)
