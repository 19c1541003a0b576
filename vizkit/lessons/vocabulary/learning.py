"""Words about what changed while a network learned, as Train › Inside shows it: of the run that the model at hand came
of, where that has kept checkpoints, else of one that was recorded."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from vizkit.analysis.remarks.evaluation import forgotten
from vizkit.datasets.image_set import DatasetError
from vizkit.evaluation.inside.growth import ASKED, Growth, growth, snapshot
from vizkit.evaluation.learning import Watched, watched
from vizkit.lessons.vocabulary.asking import VOCABULARY as VOCABULARY
from vizkit.lessons.vocabulary.asking import At, Number, word
from vizkit.models import ModelError, load
from vizkit.traces import NotApplicable
from vizkit.training.recipe import RecipeError
from vizkit.training.runs.folder import RunFolder
from vizkit.views import bundled
from vizkit.views.subject import Subject
from vizkit.views.train.after_step import steps
from vizkit.views.train.inside import recorded
from vizkit.work_folder import at_or_before, steps_in

MEASURES: dict[str, Callable[[Growth], np.ndarray]] = {
    "step": lambda of: of.steps,
    "right": lambda of: of.right.mean(1),
    "evenness": lambda of: np.nanmean(of.entropy, (1, 2)),
    "sharpest": lambda of: np.nanmin(of.entropy, (1, 2)),
    "distance_px": lambda of: np.nanmean(of.distance_px, (1, 2)),
    "nearest_px": lambda of: np.nanmin(of.distance_px, (1, 2)),
    "positions": lambda of: of.nearness,
    "on_object": lambda of: np.median(np.nan_to_num(of.on_object), axis=1),
}
"""By the names that `learned` takes, a number after each of the steps."""


@word
def learned(of: Subject, what: str, step: At = "last", run: str = "") -> float:
    """What was measured after a kept step (`first`, `last`, or the latest by a number) of 60 test images: the share
    that is `right`; of all heads the mean `evenness`, that of the `sharpest`, the mean `distance_px`, that of the one
    that looks `nearest_px`; `positions`, the rank correlation of their likeness with nearness; `on_object`, the median
    share of what speaks for the class that lies there; `step` itself."""
    found = _growth(of, run)
    kept, values = found.steps.tolist(), _values(found, what)
    named = {"first": kept[0], "last": kept[-1]}.get(str(step), step)
    if not isinstance(named, int):
        raise NotApplicable(f"A step is first, last or a number, not “{str(named)[:20]}”.")
    return float(values[kept.index(at_or_before(named, kept))])


@word
def step_of(of: Subject, what: str, share: Number = 0.5, run: str = "") -> int:
    """The first kept step after which a measure of `learned` has made this share of its way from its first value to its
    last."""
    found = _growth(of, run)
    values = _values(found, what)
    way = values[-1] - values[0]
    if way == 0:
        raise NotApplicable(f"Of “{what}” nothing changed in this run.")
    return int(found.steps[np.argmax((values - values[0]) / way >= share)])


@word
def checkpoints(of: Subject, run: str = "") -> int:
    """How many steps of the run were kept."""
    return len(_growth(of, run).steps)


@word
def images_forgotten(of: Subject, run: str = "") -> int:
    """How many of the test images were right after a kept step and wrong after the next one."""
    return int((forgotten(_growth(of, run).right)[1] > 0).sum())


@word
def images_asked(of: Subject, run: str = "") -> int:
    """How many test images were asked after every step."""
    return _growth(of, run).right.shape[1]


@word
def object_share(of: Subject, run: str = "") -> float:
    """How much of the test images their objects cover, 0 to 1: what a map laid anywhere would have on them."""
    return _growth(of, run).area


@word
def run_name(of: Subject) -> str:
    """The run that is asked where none is named, as Train has it."""
    return _run(of).name if steps(of) else bundled.RECORDED


@word
def right_with(of: Subject, edits: str = "") -> float:
    """The share of the test images that is right after the last kept step, of the network with these changes."""
    run = _run(of)
    asked = _asked(run)
    loaded = load(f"{run.path}@{steps_in(run.path)[-1]}")
    each = (Subject(lambda: loaded, rgb, list(filter(None, edits.split(";")))) for rgb, _ in asked.images)
    return float(np.mean([int(one.seen.logits.argmax()) for one in each] == asked.targets))


def _run(of: Subject) -> RunFolder:
    return RunFolder(Path(str(of.open().run)) if steps(of) else bundled.RECORDED_FOLDER)


def _asked(run: RunFolder) -> Watched:
    """NotApplicable of a run whose images are no longer here."""
    if not run.learns_pictures:
        raise NotApplicable(f"{run.name} does not tell images apart.")
    try:
        return watched(run, steps_in(run.path)[-1], ASKED)
    except (DatasetError, RecipeError, ModelError) as sentence:
        raise NotApplicable(str(sentence)) from None


def _values(found: Growth, what: str) -> np.ndarray:
    if what not in MEASURES:
        raise NotApplicable(f"Nothing measured is called “{what[:20]}”; there are {', '.join(MEASURES)}.")
    values = MEASURES[what](found) if what in ("step", "right") or _has(found, what) else np.array([np.nan])
    if not np.isfinite(values).all():
        raise NotApplicable(f"The network of this run has no “{what}” to measure.")
    return values


def _has(found: Growth, what: str) -> bool:
    return found.area > 0 if what == "on_object" else what == "positions" or found.entropy.size > 0


def _growth(of: Subject, run: str) -> Growth:
    if run and run not in bundled.TABLES:
        raise NotApplicable(f"“{run[:60]}” is none of the recorded runs: {', '.join(bundled.TABLES)}.")
    if run or not (kept := steps(of)):
        return recorded(bundled.TABLES[run or bundled.RECORDED])
    return of.kept("growth", lambda: _measured(_run(of), kept))


def _measured(run: RunFolder, kept: list[int]) -> Growth:
    asked = _asked(run)
    try:
        return growth(kept, [snapshot(run, step, asked) for step in kept], asked)
    except (DatasetError, ModelError) as sentence:
        raise NotApplicable(str(sentence)) from None
