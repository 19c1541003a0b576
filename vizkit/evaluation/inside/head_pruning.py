"""Accuracy of a model with more and more of its heads taken away, on pictures that no order was measured on."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from vizkit.analysis.attention.head_importance import HeadImportance
from vizkit.analysis.attention.pruning import Pruning, counts_of, orders_of
from vizkit.evaluation.classes import EvaluationError, known
from vizkit.evaluation.inside.few_pictures import FewPictures, few_pictures
from vizkit.evaluation.inside.head_importance import Ablation, means_of, places_of
from vizkit.evaluation.inside.sharing import mine, together
from vizkit.models import Loaded
from vizkit.models.probes.importance.heads import removed
from vizkit.models.recording.editing import Editing, Plan

if TYPE_CHECKING:
    from accelerate import Accelerator


BATCH = 32
SPLIT = "val"  # the order comes from test pictures
Part = tuple[float, float]  # shares of own and of right answers, NaN where nobody knows what is right


def pruned(
    loaded: Loaded,
    data: str,
    images: int,
    importance: HeadImportance,
    *,
    ablation: Ablation = "mean",
    seed: int = 0,
    tell: Callable[[float], None] = lambda _: None,
    parts: list[Part] | None = None,
    accelerator: "Accelerator | None" = None,
) -> Pruning:
    """`importance`: of the same model, by the same ablation. `tell` hears the share that is done and may raise to stop;
    `parts` then holds what was measured, and the next call with them goes on. With an `accelerator`
    every process takes every n-th set of heads. Raises as `heads_of`."""
    places, parts = places_of(loaded), [] if parts is None else parts
    pictures = few_pictures(loaded, data, images, SPLIT, seed)
    means = means_of(loaded, data, places, seed) if ablation == "mean" else ()
    counts, orders = counts_of(len(importance.names)), orders_of(importance.lost, importance.estimate, seed)
    classes, batches = _classes(loaded, pictures), [pictures.pixels(rows) for rows in pictures.batches(BATCH)]

    @cache  # all orders begin and end alike
    def answers(heads: frozenset[int]) -> np.ndarray:
        plan = Plan(tuple(removed(*importance.names[head], means) for head in sorted(heads)), places, means=means)
        return np.concatenate([_answers(loaded, pixels, plan) for pixels in batches])

    steps = [(order, count) for lists in orders.values() for order in lists for count in counts]
    plain = answers(frozenset())
    for number, (order, count) in mine(enumerate(steps[len(parts) :], len(parts)), accelerator):
        tell(number / len(steps))
        now = answers(frozenset(order[:count]))
        right = np.nan if classes is None else float((now == classes)[classes >= 0].mean())
        parts.append((float((now == plain).mean()), right))
    tell(1.0)
    parts = together(parts, accelerator)
    own, right = (_curves([part[kind] for part in parts], len(counts), orders) for kind in (0, 1))
    return Pruning(len(importance.names), len(pictures), counts, own, {} if classes is None else right)


def _answers(loaded: Loaded, pixels: Tensor, plan: Plan) -> np.ndarray:
    with torch.no_grad(), Editing(plan):
        return loaded.model(pixels.to(loaded.device)).argmax(-1).cpu().numpy()


def _classes(loaded: Loaded, pictures: FewPictures) -> np.ndarray | None:
    """The model's class of every picture, −1 where it has none; None where it has none of them."""
    try:
        return known(loaded.name, loaded.labels, pictures.images, loaded.head).classes[pictures.images.targets]
    except EvaluationError:
        return None


def _curves(
    values: Sequence[float], length: int, orders: dict[str, list[list[int]]]
) -> dict[str, tuple[tuple[float, ...], ...]]:
    curves = iter([tuple(values[at : at + length]) for at in range(0, len(values), length)])
    return {name: tuple(next(curves) for _ in lists) for name, lists in orders.items()}
