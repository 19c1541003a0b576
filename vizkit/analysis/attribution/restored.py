"""How much of an answer that a corruption took comes back when something of the clean run is put in.

Restored share (Meng et al. 2022, arXiv 2202.05262): (logit − corrupted) / (clean − corrupted); 1 is all of it, 0
nothing, below 0 it makes things worse.
"""

from jaxtyping import Float
from torch import Tensor

from vizkit.traces import NotApplicable

LEAST = 0.05
"""Logits that a corruption takes at least, so that shares of it mean something."""


def score(logits: Float[Tensor, "*place label"], target: int, against: int | None) -> Float[Tensor, "*place"]:
    """The logit of a class, or its difference to another's."""
    return logits[..., target] - (0.0 if against is None else logits[..., against])


def restored(
    logits: Float[Tensor, "*place label"],
    clean: Float[Tensor, " label"],
    corrupted: Float[Tensor, " label"],
    target: int,
    against: int | None = None,
) -> Float[Tensor, "*place"]:
    """NotApplicable where the corruption takes next to nothing, so that there is nothing to restore."""
    first, then = score(clean, target, against), score(corrupted, target, against)
    if not float(first - then) >= LEAST:
        raise NotApplicable("The corruption does not lower this answer, so there is nothing to restore.")
    return (score(logits, target, against) - then) / (first - then)
