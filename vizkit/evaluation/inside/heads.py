"""Heads over pictures of a set: what each does, what the model's own answers lose without it, and how many can go.

kept = importance(loaded, "insects", 200)
kept.fill(tell=…)  # see `explanations.kept`
summed(kept.rows(), names_of(places_of(loaded)))
"""

from collections.abc import Sequence
from functools import partial
from typing import Literal

import numpy as np
import pyarrow
import torch
from jaxtyping import Float
from torch import Tensor

from vizkit.analysis.attention.head_behaviour import BEHAVIOURS, by_layer
from vizkit.analysis.attention.head_importance import HeadImportance, summed_up
from vizkit.analysis.attention.pruning import Pruning, counts_of, orders_of
from vizkit.evaluation.inside.few_pictures import few_pictures
from vizkit.explanations.job import Columns, Seen
from vizkit.explanations.kept import Kept
from vizkit.explanations.passes import NUMBERS, Answers, lists
from vizkit.heads import EMBEDDING
from vizkit.models import Loaded, attention_places
from vizkit.models.many import Many
from vizkit.models.probes.importance.heads import Means, head_importance, likeness_lost, removed
from vizkit.models.probes.importance.means import head_means
from vizkit.models.recording.editing import Editing, Place, Plan
from vizkit.traces import NotApplicable, Trace

Ablation = Literal["mean", "zero"]
BATCH = 8
REFERENCES = 64  # training pictures, over which a head's mean is taken
SPLIT = "val"  # heads go on pictures that no order was measured on: that comes from test pictures
IMPORTANCE = ("lost", "flipped", "estimate")
Names = tuple[tuple[int, int], ...]


# ---- what each does --------------------------------------------------------------------------------------------------
class Behaviours:
    """Each of BEHAVIOURS, a number for every head of the model. NotApplicable for a model without attention."""

    fields = [pyarrow.field(name, NUMBERS) for name in BEHAVIOURS]  # noqa: RUF012  (nobody changes it)

    def __init__(self, loaded: Loaded) -> None:
        self.many = Many(loaded, by_layer=False)

    def of(self, seen: Seen) -> Columns:
        batch = self.many.traces(seen.pixels)
        values, _ = batch.each(behaviours_of, seen.pixels.to(self.many.home))
        values[(batch.proof_error > batch.allowed).to(values.device)] = torch.nan
        return {name: lists(values[:, at]) for at, name in enumerate(BEHAVIOURS)}


def behaviours_of(trace: Trace, pixels: Float[Tensor, "channel height width"]) -> Float[Tensor, "behaviour head"]:
    """Of one picture, all heads of all layers side by side."""
    heads = [torch.stack([layer[name] for name in BEHAVIOURS]) for layer in by_layer(trace, pixels)]
    if not heads:
        raise NotApplicable(f"{trace.no_attention}: there is no head to look at.")
    return torch.cat(heads, 1)


def behaviours(loaded: Loaded, data: str, images: int, seed: int = 0, *, weights: str = "") -> Kept:
    """Of test pictures of a set. `weights`: their digest, where it is known. Raises DatasetError."""
    few = few_pictures(loaded, data, images, seed=seed)
    return Kept.of(loaded, few.images, BATCH, partial(Behaviours, loaded), "behaviours", weights=weights)


def means(rows: pyarrow.Table) -> dict[str, tuple[float, ...]]:
    """Over pictures; those in which a number has no meaning are left out of its mean."""
    return {name: tuple(torch.from_numpy(array(rows, name)).nanmean(0).tolist()) for name in BEHAVIOURS}


# ---- what is lost without each ---------------------------------------------------------------------------------------
class Importance(Answers):
    """See `head_importance`, of the model's own answers, and `likeness_lost`, of a model without classes. EditError for
    attention that cannot be edited."""

    def __init__(self, loaded: Loaded, data: str, ablation: Ablation, seed: int) -> None:
        super().__init__(loaded)
        self.fields = [pyarrow.field(name, NUMBERS) for name in IMPORTANCE]
        self.places = places_of(loaded)
        self.means = means_of(loaded, data, self.places, ablation, seed)

    def of(self, seen: Seen) -> Columns:
        if self.loaded.head is EMBEDDING:
            found = likeness_lost(self.loaded, seen.pixels, self.places, means=self.means)
        else:
            answers = self.forward(seen.pixels).argmax(-1)
            found = head_importance(self.loaded, seen.pixels, answers, self.places, means=self.means)
        return {name: lists(getattr(found, name)) for name in IMPORTANCE}


def importance(
    loaded: Loaded, data: str, images: int, ablation: Ablation = "mean", seed: int = 0, *, weights: str = ""
) -> Kept:
    """Over test pictures of a set. A head that is taken away gives its mean over training pictures, or nothing
    ("zero"). Raises DatasetError; filling raises EditError, and NotApplicable as `places_of`."""
    few, make = few_pictures(loaded, data, images, seed=seed), partial(Importance, loaded, data, ablation, seed)
    return Kept.of(loaded, few.images, BATCH, make, "importance", data, ablation, seed, REFERENCES, weights=weights)


def summed(rows: pyarrow.Table, names: Names) -> HeadImportance:
    """Over all pictures that were measured; its examples are their numbers in the set."""
    found = summed_up(names, *(array(rows, name) for name in IMPORTANCE))
    numbers = np.flatnonzero(rows["error"].is_null())
    return found._replace(examples=tuple(tuple(numbers[[*rows]].tolist()) for rows in found.examples))


def places_of(loaded: Loaded) -> tuple[Place, ...]:
    """The attention layers of a model whose answer, or whose embedding, a head may change. Raises NotApplicable."""
    if not loaded.classifies and loaded.head is not EMBEDDING:
        raise NotApplicable(f"{loaded.name} gives {loaded.head.gives}: there is no answer to lose.")
    preprocessing = loaded.preprocessing
    blank = torch.zeros(1, preprocessing.channels, *preprocessing.size_hw, device=loaded.device)
    places = attention_places(loaded, blank)
    if not places:
        raise NotApplicable(f"{loaded.name} has no attention layers.")
    return tuple(places)


def names_of(places: Sequence[Place]) -> Names:
    """(layer, head) from 0."""
    return tuple((layer, head) for layer, place in enumerate(places) for head in range(place.heads))


def means_of(loaded: Loaded, data: str, places: Sequence[Place], ablation: Ablation = "mean", seed: int = 0) -> Means:
    """What every head gives on average, over training pictures of the set; none where it gives nothing instead."""
    if ablation == "zero":
        return ()
    references = few_pictures(loaded, data, REFERENCES, "train", seed)
    return head_means(loaded, (references.pixels(rows) for rows in references.batches(BATCH)), places)


# ---- how many can go -------------------------------------------------------------------------------------------------
class Without(Answers):
    """The answers with more and more heads taken away, in each order of `orders_of`."""

    def __init__(self, loaded: Loaded, data: str, order: HeadImportance, ablation: Ablation, seed: int) -> None:
        super().__init__(loaded)
        self.places, self.names = places_of(loaded), order.names
        self.means = means_of(loaded, data, self.places, ablation, seed)
        orders, counts = orders_of(order.lost, order.estimate, seed).values(), counts_of(len(order.names))
        self.steps = [frozenset(heads[:count]) for lists in orders for heads in lists for count in counts]
        integers = pyarrow.int32()
        self.fields = [*pyarrow.schema({"truth": integers, "answer": integers, "without": pyarrow.list_(integers)})]

    def of(self, seen: Seen) -> Columns:
        every = {heads: self._answers(seen, heads) for heads in {frozenset[int](), *self.steps}}
        without = np.stack([every[heads] for heads in self.steps], 1).astype(np.int32)
        return {
            "truth": pyarrow.array([self.truth(label) for label in seen.labels], pyarrow.int32()),
            "answer": pyarrow.array(every[frozenset()].astype(np.int32)),
            "without": pyarrow.array([*without], pyarrow.list_(pyarrow.int32())),
        }

    def _answers(self, seen: Seen, heads: frozenset[int]) -> np.ndarray:
        edits = tuple(removed(*self.names[head], self.means) for head in sorted(heads))
        with Editing(Plan(edits, self.places, means=self.means)):
            return self.forward(seen.pixels).argmax(-1).cpu().numpy()


def without(
    loaded: Loaded,
    data: str,
    images: int,
    order: HeadImportance,
    ablation: Ablation = "mean",
    seed: int = 0,
    *,
    weights: str = "",
) -> Kept:
    """Over pictures of the part SPLIT. `order`: of the same model, by the same ablation. Raises as `importance`."""
    few = few_pictures(loaded, data, images, SPLIT, seed)
    make = partial(Without, loaded, data, order, ablation, seed)
    return Kept.of(loaded, few.images, BATCH, make, "without", data, ablation, seed, REFERENCES, order, weights=weights)


def pruned(rows: pyarrow.Table, order: HeadImportance, seed: int = 0) -> Pruning:
    """Shares of own and of right answers; these are empty where nobody knows what is right."""
    counts, truth, own = counts_of(len(order.names)), array(rows, "truth"), array(rows, "answer")
    now, known, orders = array(rows, "without"), ~np.isnan(truth), orders_of(order.lost, order.estimate, seed)

    def curves(shares: Float[np.ndarray, " step"]) -> dict[str, tuple[tuple[float, ...], ...]]:
        left = iter(map(tuple, shares.reshape(-1, len(counts)).tolist()))
        return {name: tuple(next(left) for _ in lists) for name, lists in orders.items()}

    right = curves((now == truth[:, None])[known].mean(0)) if known.any() else {}
    return Pruning(len(order.names), len(now), counts, curves((now == own[:, None]).mean(0)), right)


# ---- rows ------------------------------------------------------------------------------------------------------------
def array(rows: pyarrow.Table, name: str) -> Float[np.ndarray, "picture *number"]:
    """A column, of the pictures that could be read; NaN for what is not known."""
    return np.array(rows[name].filter(rows["error"].is_null()).to_pylist(), float)
