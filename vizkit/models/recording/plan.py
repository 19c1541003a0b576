"""What is to be changed in a pass: edits, the layers that they are for, and the numbers that they put in place."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from jaxtyping import Float, Int
from torch import Tensor

from vizkit.models.recording.edits import Edit, refuse_impossible


@dataclass(frozen=True)
class Place:
    """An attention layer of the unchanged model: how many groups and heads, and the token of each key. `regions`: of
    windows that are rolled, which of their places may meet, by number."""

    groups: int
    heads: int
    key_ids: Int[Tensor, "group key"]
    regions: Int[Tensor, "_group _key"] | None = None


@dataclass(frozen=True)
class Plan:
    """Edits, and the layers that they are for, in the order of the pass.

    `means`: of every layer, what its heads give on average (`probes.importance.means`), for `heads:…=mean`. `scales`:
    of every layer, factors ξ for what its heads give, of each image of a batch: ξ · output + (1 − ξ) · mean, and
    without means ξ · output; may be leaves of a graph (Michel et al. 2019, § 2.3). `frozen`: of an edit and a layer the
    weights that are put in place. `dropped`: tokens that are taken out before the first layer.
    """

    edits: tuple[Edit, ...]
    places: tuple[Place, ...]
    scales: tuple[Float[Tensor, "image _head"], ...] = ()  # layers differ in heads
    means: tuple[Float[Tensor, "_group _head _query _channel"], ...] = ()
    frozen: Mapping[tuple[Edit, int], Float[Tensor, "_group _head _query _key"]] = field(default_factory=dict)
    dropped: tuple[int, ...] = ()

    def weighing(self, layers: int) -> int:
        """In how many of the first layers something happens to what the heads give, after the softmax."""
        heads = [edit for edit in self.edits if edit.kind == "heads"]
        return layers if self.scales else sum(any(edit.concerns(at) for edit in heads) for at in range(layers))


NOW: ContextVar[Plan | None] = ContextVar("NOW", default=None)
"""The plan that recordings of this thread follow, see `planned`."""


def kept_of(count: int) -> list[int] | None:
    """Which of so many tokens are left, where the plan of this thread drops some."""
    plan = NOW.get()
    return [token for token in range(count) if token not in plan.dropped] if plan and plan.dropped else None


@contextmanager
def planned(plan: Plan) -> Iterator[None]:
    """Every recording of this thread follows the plan meanwhile. EditError for a layer or head that there is not."""
    refuse_impossible(plan.edits, [place.heads for place in plan.places])
    token = NOW.set(plan)
    try:
        yield
    finally:
        NOW.reset(token)
