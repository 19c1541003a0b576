"""What changes inside a network while it learns: numbers of every checkpoint of a run, on one axis of steps.

Mean attention distance: Dosovitskiy et al. 2020 (arXiv 2010.11929), fig. 7; CKA: Kornblith et al. 2019 (arXiv
1905.00414), of a layer after a step with the same layer at the end, as Raghu et al. 2017 (arXiv 1706.05806); examples
that are forgotten: Toneva et al. 2019 (arXiv 1812.05159), here test images at the checkpoints.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from vizkit.analysis.attention.head_importance import grid_of
from vizkit.analysis.attention.positions import nearness
from vizkit.analysis.attention.statistics import by_layer, spread
from vizkit.analysis.comparison.cka import alignment, gram, hsic
from vizkit.evaluation.inside.few_pictures import FewPictures
from vizkit.evaluation.inside.heads import names_of, places_of
from vizkit.evaluation.learning import Watched, answers, by_content
from vizkit.models import Keep, load, trace
from vizkit.models.probes.block_outputs import block_outputs, blocks_of
from vizkit.models.probes.convolution.first_layer import first_layer
from vizkit.models.probes.importance.heads import head_estimates
from vizkit.models.probes.positions import learned_table
from vizkit.models.recording.edits import EditError
from vizkit.traces import NotApplicable
from vizkit.training.runs.folder import RunFolder

T = TypeVar("T")
ASKED = 60
"""Test images: as many of each of 10 digits, and of each of 12 insects."""
BATCH, FILTERS = 16, 16
NONE = np.zeros((0, 0))
ALL, INPUT, OUTPUT = "all weights", "input", "output"


@dataclass(frozen=True, eq=False)
class Measured:
    """What both of the following hold, of one step or of several."""

    distance_px: Float[np.ndarray, "*step layer head"]
    entropy: Float[np.ndarray, "*step layer head"]
    importance: Float[np.ndarray, "*step place own"]
    layers: tuple[str, ...]
    on_object: Float[np.ndarray, "*step image"]
    right: Float[np.ndarray, "*step image"]
    parts: tuple[str, ...]
    weight: Float[np.ndarray, "*step part"]
    gradient: Float[np.ndarray, "*step part"]
    filters: Float[np.ndarray, "*step filter height width channel"]


@dataclass(frozen=True, eq=False)
class Snapshot(Measured):
    """Of one checkpoint, over the images; empty arrays of what the network does not have. `distance_px`, `entropy` (of
    the largest possible): of each head of attention; `importance`: mean of |∂ log p / ∂ξ|, ξ a factor of what the head
    adds, p the probability of the true class. `nearness`: see `positions.nearness`, NaN without a learned table.
    `layers` and `grams`: kernels of what leaves each block. `on_object`: the share of each image's map that lies on
    its object, `right` whether the answer is. `weight`, `gradient`: the norms of all weights of each of the `parts`,
    and of the gradient of the mean cross-entropy. `filters`: the first of the first convolution."""

    nearness: float
    grams: Float[np.ndarray, "block image image"]


@dataclass(frozen=True, eq=False)
class Growth(Measured):
    """Of a run, a row for each of the `steps`: as `Snapshot`, and `cka` of each layer with itself at the last one.
    `targets`: the classes of the images, by their numbers among `labels`; `called`: what is on them, and `area` how
    much of them it covers, 0 where nobody knows. `size_hw`: of the input, pixels."""

    steps: Int[np.ndarray, " step"]
    nearness: Float[np.ndarray, " step"]
    cka: Float[np.ndarray, "step block"]
    targets: Int[np.ndarray, " image"]
    labels: tuple[str, ...]
    called: str
    area: float
    size_hw: tuple[int, int]


def snapshot(run: RunFolder, step: int, of: Watched) -> Snapshot:
    """Of one checkpoint, kept in the cache by its content. `of`: `learning.watched(run, last step, ASKED)`. Raises
    ModelError, DatasetError."""
    return by_content(run, step, of, Snapshot, partial(_snapshot, run, step, of))


def growth(steps: Sequence[int], each: Sequence[Snapshot], of: Watched) -> Growth:
    """The table of a run: of all its checkpoints, in their order."""
    arrays = ("distance_px", "entropy", "importance", "on_object", "right", "weight", "gradient", "filters")
    stacked = {name: np.stack([getattr(one, name) for one in each]).astype(np.float32) for name in arrays}
    cka = np.array([[like(first, last) for first, last in zip(one.grams, each[-1].grams, strict=True)] for one in each])
    area = float(np.mean(of.objects)) if of.objects else 0.0
    return Growth(
        steps=np.array(steps),
        nearness=np.array([one.nearness for one in each]),
        layers=each[-1].layers,
        cka=cka,
        parts=each[-1].parts,
        targets=of.targets,
        labels=of.labels,
        called=of.called,
        area=area,
        size_hw=(of.rgb[0].shape[0], of.rgb[0].shape[1]),
        **stacked,
    )


def like(first: Float[np.ndarray, "image image"], second: Float[np.ndarray, "image image"]) -> float:
    """CKA of two kernels of the same images: 1 for a layer with itself."""
    return float(alignment(hsic([torch.tensor(each).double() for each in (first, second)]))[0, 1])


def _snapshot(run: RunFolder, step: int, of: Watched) -> Snapshot:
    loaded = load(f"{run.path}@{step}")
    answered = answers(run, step, of)
    heads = _or(lambda: spread([by_layer(trace(loaded, rgb, keep=Keep())) for rgb, _ in of.images])[0], [])
    distance_px, entropy = (_grid([getattr(layer, name) for layer in heads]) for name in ("distance_px", "entropy"))
    table = learned_table(loaded)
    few = FewPictures(of.images, loaded)
    grams = _or(lambda: _grams(few), {})
    filters = _or(lambda: first_layer(loaded).weight[:FILTERS].permute(0, 2, 3, 1).numpy(), np.zeros((0, 1, 1, 1)))
    weight, gradient = norms(few)
    return Snapshot(
        distance_px,
        entropy,
        _or(lambda: _importance(few), NONE),
        tuple(grams),
        answered.on_object,
        (answered.predicted == of.targets).astype(float),
        tuple(weight),
        np.array([*weight.values()]),
        np.array([*gradient.values()]),
        filters,
        float("nan") if table is None else nearness(table),
        np.array([each.numpy() for each in grams.values()], np.float32).reshape(-1, *[len(of.targets)] * 2),
    )


def _or(make: Callable[[], T], otherwise: T) -> T:
    try:
        return make()
    except (NotApplicable, EditError):
        return otherwise


def _grid(layers: Sequence[Float[Tensor, " head"]]) -> Float[np.ndarray, "layer head"]:
    if not layers:
        return NONE
    names = [(layer, head) for layer, values in enumerate(layers) for head in range(len(values))]
    return grid_of(names, torch.cat([*layers]).tolist())


def _grams(few: FewPictures) -> Mapping[str, Float[Tensor, "image image"]]:
    outputs = block_outputs(few.loaded)
    every = [outputs(few.pixels(rows)) for rows in few.batches(BATCH)]
    return {name: gram(torch.cat([each[name] for each in every])) for name in every[0]}


def _importance(few: FewPictures) -> Float[np.ndarray, "layer head"]:
    places = places_of(few.loaded)
    every = [head_estimates(few.loaded, *batch, places)[1] for batch in few.labelled(BATCH)]
    return grid_of(names_of(places), torch.cat(every).mean(0).tolist())


# ---- norms -----------------------------------------------------------------------------------------------------------
def norms(few: FewPictures) -> tuple[dict[str, float], dict[str, float]]:
    """Of the weights of each part, and of the gradient of the mean cross-entropy of these images, in nats, with respect
    to them: √Σθ², √Σ(∂L/∂θ)². The parts: what comes before the blocks, the blocks by name, and what comes after."""
    loaded = few.loaded
    weights = {name: each.detach().float().requires_grad_() for name, each in loaded.model.named_parameters()}
    total = {name: torch.zeros_like(each) for name, each in weights.items()}
    for pixels, targets in few.labelled(BATCH):
        with torch.enable_grad():
            out = torch.func.functional_call(loaded.model, weights, (pixels.to(loaded.device),))
            logits = loaded.logits_of(out, len(pixels))
            loss = F.cross_entropy(logits, targets.to(loaded.device), reduction="sum") / len(few)
            found = torch.autograd.grad(loss, [*weights.values()], allow_unused=True)
        for name, gradient in zip(total, found, strict=True):
            total[name] += 0 if gradient is None else gradient
    parts = _parts([*weights], blocks_of(loaded.model))
    return _norm_of_each(parts, weights), _norm_of_each(parts, total)


def _norm_of_each(parts: Mapping[str, str], values: Mapping[str, Tensor]) -> dict[str, float]:
    squares = dict.fromkeys(parts.values(), 0.0)
    for name, part in parts.items():
        squares[part] += float(values[name].detach().double().square().sum())
    return {part: square**0.5 for part, square in squares.items()}


def _parts(names: Sequence[str], blocks: Sequence[str]) -> dict[str, str]:
    """Of each parameter its part, in their order; what lies between two blocks belongs to the later one."""
    own = [next((block for block in blocks if name.startswith(f"{block}.")), "") for name in names]
    if not any(own):
        return dict.fromkeys(names, ALL)
    last = max(at for at, block in enumerate(own) if block)
    for at in range(last, -1, -1):
        own[at] = own[at] or (own[at + 1] if any(own[:at]) else INPUT)
    return dict(zip(names, [block or OUTPUT for block in own], strict=True))
