"""What a run knew at each of its checkpoints: its answers to a few test images, and where each comes from."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from vizkit.analysis.attribution.explaining import applicable, on_patches
from vizkit.analysis.attribution.methods import METHODS, PREFERRED
from vizkit.analysis.attribution.subject import cells_of
from vizkit.analysis.comparison.average_map import times_equal
from vizkit.analysis.trust.truth_score import seen_mask
from vizkit.datasets.balance import balanced_rows
from vizkit.datasets.cache import cache_folder
from vizkit.datasets.image_set import ImageSet, digest_of
from vizkit.datasets.opening import open_set
from vizkit.image import RGB, seen
from vizkit.models import Loaded, load, trace
from vizkit.scoring import Question
from vizkit.settings import __version__
from vizkit.traces import NotApplicable
from vizkit.training.runs.folder import RunFolder
from vizkit.work_folder import file_of
from vizkit.writing import read_record, write_record

R = TypeVar("R")
IMAGES = 8
MAPS = PREFERRED[0], next(name for name, method in METHODS.items() if method.layered)
"""Of which the first that the network allows makes the maps of all its checkpoints."""
INK = 127
"""A pixel of a digit is brighter, of 255."""


@dataclass(frozen=True, eq=False)
class Watched:
    """The images of a run that are asked at every checkpoint, as its model sees them. `objects`: where in each of them
    the drawn insect or the digit is, and `called` what it is; "" where nobody knows. `grid`: of every map by `method`,
    (rows, columns); "" of a network that has none."""

    rgb: tuple[RGB, ...]
    targets: Int[np.ndarray, " image"]
    labels: tuple[str, ...]
    objects: tuple[Bool[np.ndarray, "height width"], ...]
    called: str
    method: str
    grid: tuple[int, int]
    images: ImageSet


@dataclass(frozen=True, eq=False)
class Answers:
    """After a step. `predicted`: the likeliest class of each image and its `probability`; `maps`: what speaks for the
    true class, in times an equal share, zeros where nothing does; `on_object`: the share of it that lies on the object,
    NaN where that is not known. `then`: which weights these are."""

    predicted: Int[np.ndarray, " image"]
    probability: Float[np.ndarray, " image"]
    maps: Float[np.ndarray, "image row column"]
    on_object: Float[np.ndarray, " image"]
    then: str


def watched(run: RunFolder, step: int, images: int = IMAGES) -> Watched:
    """So many test images, of every class as many as of the others. `step`: of the checkpoint that says which maps
    there are. Raises DatasetError, RecipeError or ModelError with a sentence."""
    loaded = load(f"{run.path}@{step}")
    few = balanced(run, loaded, images)
    own = [image for image, _ in few]
    first = trace(loaded, own[0], target=int(few.targets[0]))
    allowed = applicable(first, model=False)
    method = next((each for each in MAPS if each in allowed), "")
    made = (_map(Question.of(loaded, rgb, target), method) for rgb, target in few if method)
    grid = next((heat.shape for heat in made if heat is not None), cells_of(first))
    drawn = [few.source.insect(row) for row in range(len(few))]
    digits = run.recipe.data.partition(":")[0] == "digits"
    masks = [rgb.mean(-1) > INK for rgb in own] if digits else [each.insect for each in drawn if each]
    objects = tuple(np.asarray(seen_mask(mask, loaded.preprocessing)) for mask in masks)
    called = "digit" if digits else "insect" if objects else ""
    rgb = tuple(seen(each, loaded.preprocessing) for each in own)
    return Watched(rgb, few.targets, few.labels, objects, called, method, (grid[0], grid[1]), few)


def answers(run: RunFolder, step: int, of: Watched) -> Answers:
    """Those of one checkpoint: made once, see `by_content`. Raises ModelError."""
    return by_content(run, step, of, Answers, lambda: _asked(load(f"{run.path}@{step}"), of))


def by_content(run: RunFolder, step: int, of: Watched, kind: Callable[..., R], make: Callable[[], R]) -> R:
    """What `make` gives of a checkpoint, a record of this `kind`: kept in the cache by the content of its file."""
    content = digest_of(__version__, digest_of_step(run, step), (run.path / "config.json").read_bytes())
    folder = "learned" if kind is Answers else getattr(kind, "__name__", "").lower()
    return kept(folder, digest_of(content, of.images.digest, of.method), kind, make)


def kept(folder: str, digest: str, kind: Callable[..., R], make: Callable[[], R]) -> R:
    """A record in a folder of the cache, made where it is not there."""
    file = cache_folder() / folder / f"{digest}.npz"
    try:
        return read_record(file, kind)
    except (OSError, ValueError, KeyError, TypeError):
        made = make()
        write_record(file, made)
        return made


def balanced(run: RunFolder, loaded: Loaded, count: int) -> ImageSet:
    """So many, of every class as many as of the others. Raises DatasetError."""
    recipe = run.recipe
    whole = open_set(recipe.data, "test", size_px=max(loaded.preprocessing.size_hw), seed=recipe.data_seed)
    return whole.take(balanced_rows(whole.targets, count))


def digest_of_step(run: RunFolder, step: int) -> str:
    """SHA-256 of the file of a checkpoint."""
    file = file_of(run.path, step)
    facts = file.stat()
    return _digest(file, facts.st_mtime_ns, facts.st_size)


@lru_cache(maxsize=1024)
def _digest(file: Path, written_ns: int, size: int) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _asked(loaded: Loaded, of: Watched) -> Answers:
    maps, predicted, probability, on_object = [], [], [], []
    for row, (rgb, target) in enumerate(of.images):
        question = Question.of(loaded, rgb, target)
        ((first, value),) = loaded.head.top(question.trace.logits, 1)
        found = _map(question, of.method)
        heat = question.trace.logits.new_zeros(of.grid) if found is None else found
        maps.append(heat.numpy())
        predicted.append(first)
        probability.append(value)
        on_object.append(_share_on(heat, of.objects[row]) if of.objects else np.nan)
    every = np.array(predicted), np.array(probability), np.stack(maps), np.array(on_object)
    return Answers(*every, loaded.then)


def _map(question: Question, method: str) -> Float[Tensor, "row column"] | None:
    """None where nothing speaks for the class, or the same everywhere, and without a `method`."""
    try:
        if not method:
            return None
        return times_equal(on_patches(question.explain(method)))
    except NotApplicable:
        return None


def _share_on(heat: Float[Tensor, "row column"], mask: Bool[np.ndarray, "height width"]) -> float:
    covered = F.interpolate(heat.new_tensor(mask.astype(np.float32))[None, None], heat.shape, mode="area")[0, 0]
    total = float(heat.sum())
    return float((heat * covered).sum()) / total if total else float("nan")
