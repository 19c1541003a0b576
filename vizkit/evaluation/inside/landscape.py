"""The loss around a run's last checkpoint, on a plane of its weights."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from vizkit.datasets.image_set import digest_of
from vizkit.evaluation.inside.few_pictures import FewPictures
from vizkit.evaluation.learning import balanced, digest_of_step, kept
from vizkit.models import Loaded, load
from vizkit.settings import __version__
from vizkit.traces import NotApplicable
from vizkit.training.runs.folder import RunFolder
from vizkit.work_folder import steps_in

IMAGES = 100
CELLS = 12  # from end to end of the longer axis
MARGIN = 0.1  # beyond the path, of its length
RANDOM, PATH = "random directions", "the run's own path"
PLANES = RANDOM, PATH
Weights = dict[str, Tensor]
Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class Landscape:
    """`loss`: mean cross-entropy in nats of `images` test images, at each place of `x` and `y`, which the last
    checkpoint has at 0, in filter norms or, of the path's plane, in the distance of weights. `asked`: its loss on these
    images as it was opened. `path`: where on the plane the checkpoint of each step lies, (x, y); `shares`: of how these
    spread, the first two components' parts, and `walk`: of a random walk with steps as long as those between them.
    Those three are empty of random directions."""

    loss: Float[np.ndarray, "row column"]
    x: Float[np.ndarray, " column"]
    y: Float[np.ndarray, " row"]
    asked: float
    images: int
    path: Float[np.ndarray, "step 2"]
    shares: Float[np.ndarray, " component"]
    walk: Float[np.ndarray, " component"]

    @property
    def centre(self) -> float:
        return float(self.loss[self.y == 0, self.x == 0].item())

    @property
    def holds(self) -> bool:
        """Whether the surface begins where the checkpoint is."""
        return self.centre == self.asked


# ---- directions ------------------------------------------------------------------------------------------------------
def filter_normalised(weights: Weights, seed: int) -> Weights:
    """A random direction in which each filter is as long as the model's own (Li et al. 2018, arXiv 1712.09913): what
    belongs to one output, or to one token or place of a table of these. Biases and norms, which have one axis, stay."""
    drawn = torch.Generator().manual_seed(seed)
    found = {}
    for name, weight in weights.items():
        random = torch.randn(weight.shape, generator=drawn).to(weight)
        found[name] = random * (_norms(weight) / _norms(random)) if weight.ndim > 1 else torch.zeros_like(weight)
    return found


def _norms(weight: Tensor) -> Tensor:
    """Of each filter, to be multiplied with it."""
    first = 2 if weight.ndim == 3 and len(weight) == 1 else 1  # a table of tokens: one for each
    return weight.flatten(first).norm(dim=-1).reshape(*weight.shape[:first], *[1] * (weight.ndim - first))


def components(
    weights: Float[np.ndarray, "step weight"],
) -> tuple[Float[np.ndarray, "2 weight"], Float[np.ndarray, " component"]]:
    """(the first two principal components, of length 1; what part of the spread each explains)."""
    centred = weights - weights.mean(0)
    squares, sides = np.linalg.eigh(centred @ centred.T)  # a few steps, of many weights each
    longest = sides[:, ::-1][:, :2].T @ centred
    lengths = np.linalg.norm(longest, axis=1, keepdims=True)
    if not lengths.min() > 1e-6 * lengths.max():
        raise NotApplicable("These checkpoints lie on a line: they span no plane.")
    return longest / lengths, squares[::-1][:2] / squares.sum()


def walk_shares(lengths: Float[np.ndarray, " step"]) -> Float[np.ndarray, " component"]:
    """What the first two components explain of a random walk with steps of these lengths, in many dimensions: the
    covariance of two places is the sum of the squares up to the earlier (Antognini and Sohl-Dickstein 2018,
    1806.08805)."""
    gone = np.cumsum([0.0, *lengths**2])
    middle = np.eye(len(gone)) - 1 / len(gone)
    spread = np.linalg.eigvalsh(middle @ np.minimum.outer(gone, gone) @ middle)
    return spread[::-1][:2] / spread.sum()


def axis(low: float, high: float, step: float) -> Float[np.ndarray, " place"]:
    """From end to end or beyond, among them 0 itself."""
    return step * np.arange(np.floor(low / step + 1e-9), np.ceil(high / step - 1e-9) + 1)


# ---- the surface -----------------------------------------------------------------------------------------------------
def landscape(run: RunFolder, plane: str, progress: Progress) -> Landscape:
    """Kept in the cache by the content of the checkpoints. Raises NotApplicable, DatasetError, RecipeError or
    ModelError with a sentence."""
    steps = steps_in(run.path)
    steps = steps if plane == PATH else steps[-1:]
    files = [digest_of_step(run, step) for step in steps]
    content = __version__, files, (run.path / "config.json").read_bytes(), run.recipe.to_json(), plane, IMAGES, CELLS
    return kept("landscape", digest_of(*content), Landscape, lambda: _made(run, steps, plane, progress))


def _made(run: RunFolder, steps: Sequence[int], plane: str, progress: Progress) -> Landscape:
    loaded = load(f"{run.path}@{steps[-1]}")
    if any(isinstance(part, nn.modules.batchnorm._BatchNorm) for part in loaded.model.modules()):
        raise NotApplicable(
            f"{run.name} has BatchNorm, whose statistics belong to one place alone: there is no surface around it."
        )
    last = weights_of(loaded)
    path, shares, walk = np.zeros((0, 2)), np.zeros(0), np.zeros(0)
    if plane == PATH:
        if len(steps) < 3:
            raise NotApplicable(f"{run.name} has kept fewer than three checkpoints, which a plane needs.")
        every = np.stack([_flat(weights_of(load(f"{run.path}@{step}"))) for step in steps])
        found, shares = components(every)
        path, walk = (every - every[-1]) @ found.T, walk_shares(np.linalg.norm(np.diff(every, axis=0), axis=1))
        margin = MARGIN * np.ptp(path, axis=0)
        ends = np.stack([path.min(0) - margin, path.max(0) + margin], 1).tolist()
        directions = [_unflat(each, last) for each in found]
    else:
        ends = [(-1.0, 1.0)] * 2
        directions = [filter_normalised(last, seed) for seed in range(2)]
    step = max(high - low for low, high in ends) / CELLS  # of both: an equal way looks equally long
    x, y = (axis(low, high, step) for low, high in ends)
    pixels, targets = next(FewPictures(balanced(run, loaded, IMAGES), loaded).labelled(IMAGES))
    asked = mean_loss(loaded, loaded.model, pixels, targets)
    losses = []
    for count, (up, right) in enumerate((up, right) for up in y for right in x):
        progress(count, len(x) * len(y))
        there = partial(torch.func.functional_call, loaded.model, moved(last, directions, (right, up)))
        losses.append(mean_loss(loaded, there, pixels, targets))
    return Landscape(np.reshape(losses, (len(y), len(x))), x, y, asked, len(targets), path, shares, walk)


def weights_of(loaded: Loaded) -> Weights:
    """What was learned, by name."""
    return {name: weight.detach() for name, weight in loaded.model.named_parameters()}


def moved(weights: Weights, directions: Sequence[Mapping[str, Tensor]], far: tuple[float, float]) -> Weights:
    """So far along each of two directions."""
    (one, other), (right, up) = directions, map(float, far)
    return {name: weight + right * one[name] + up * other[name] for name, weight in weights.items()}


def mean_loss(loaded: Loaded, model: Callable[[Tensor], Tensor], pixels: Tensor, targets: Tensor) -> float:
    """Cross-entropy in nats."""
    with torch.no_grad():
        logits = model(pixels.to(loaded.device, loaded.dtype)).double().cpu()
    return float(F.cross_entropy(logits, targets, reduction="sum")) / len(targets)


def _flat(weights: Weights) -> Float[np.ndarray, " weight"]:
    return torch.cat([weight.flatten() for weight in weights.values()]).double().cpu().numpy()


def _unflat(values: Float[np.ndarray, " weight"], like: Weights) -> Weights:
    parts = torch.from_numpy(values).split([weight.numel() for weight in like.values()])
    return {name: part.reshape(like[name].shape).to(like[name]) for name, part in zip(like, parts, strict=True)}
