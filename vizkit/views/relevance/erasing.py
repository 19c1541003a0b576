"""The check of a map on one image: the model's answer without the places that the map marks most, for Rollout and
Relevance."""

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

from vizkit.scoring import subject_of
from vizkit.views.blocks import Job
from vizkit.views.subject import Subject

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor

    from vizkit.analysis.trust.deletion import Erased
    from vizkit.models import Loaded

RANDOM_ORDERS = 2


def followed(of: Subject, loaded: "Loaded") -> bool:
    """Whether an answer can be followed while places are erased: no value without a bound, and of no changed model."""
    return loaded.head.bounded and not of.changes.model


def erasing(
    of: Subject,
    key: tuple[Hashable, ...],
    heat: "Callable[[], Float[Tensor, 'row column']]",
    target: int,
    against: int | None = None,
) -> Job:
    """Gives what is left of the answer, `Erased`; `key`: what the map depends on."""

    def work(progress: Callable[[int, int], None]) -> "Erased":
        from vizkit.analysis.attribution.subject import cells_of
        from vizkit.analysis.trust.deletion import erased

        asked = subject_of(of.loaded, of.rgb, target, against)
        return erased(asked, heat(), cells_of(of.seen), orders=RANDOM_ORDERS, progress=progress)

    return Job(("erased", *key, target, against), "Blurring the brightest places", work)
