"""Learned: a run's answers to a few test images at each of its checkpoints, and where they come from."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from vizkit.analysis.attribution.methods import METHODS
from vizkit.analysis.remarks.evaluation import learned
from vizkit.datasets.image_set import DatasetError
from vizkit.evaluation.learning import Answers, Watched, answers, watched
from vizkit.figure.class_bars import Answer
from vizkit.figure.palette import class_colours
from vizkit.figure.scales import SHARES
from vizkit.geometry import Box
from vizkit.models import ModelError
from vizkit.percent import in_percent
from vizkit.traces import NotApplicable
from vizkit.training.recipe import RecipeError
from vizkit.training.runs.folder import RunFolder
from vizkit.views import bundled
from vizkit.views.blocks import Blocks, Code, Folded, Job, Later, Line, Numbers, Said, Tile, Tiles
from vizkit.views.controls import number, run_with_checkpoints
from vizkit.views.subject import Subject, no_model
from vizkit.views.view import How, View
from vizkit.work_folder import at_or_before, file_of, steps_in

KEY = "learned_step"
SCALE = replace(SHARES, unit="", equal=1.0)


class Seen(Subject):
    """An image as a model saw it, all of it."""

    @property
    def box_xyxy(self) -> Box:
        return 0.0, 0.0, float(self.rgb.shape[1]), float(self.rgb.shape[0])


def kept(of: Sequence[Subject], view: "Learned") -> list[int]:
    return sorted({step for each in of for step in steps_in(view.folder(each).path)})


def last(of: Sequence[Subject], view: "Learned") -> int:
    return max(kept(of, view), default=1)


class Learned(View):
    """What a run answered at each of its checkpoints, and which places spoke for it."""

    run: str = run_with_checkpoints(bundled.RECORDED)
    step: int | None = number(
        "After step", 1, last, None, "The steps that the run has kept.", at=kept, plays=True, follows=True, key=KEY
    )

    overlays = True
    how = How(
        "Eight test images, which the run never learned from, are asked at each step that it kept: below each its "
        "likeliest class, and over it what speaks for the class that it shows. All maps of all steps have one scale.",
        r"\theta_1, \theta_2, \theta_4, \dots \;\mapsto\; p_{\theta_t}(y \mid x), \; R_{\theta_t}(x)",
        "why it learned this: eight images are few, and a map is no proof of what a model used.",
        "the methods' papers are on the Relevance page",
    )

    def folder(self, of: Subject) -> RunFolder:
        """NotApplicable for a run that is not here."""
        if self.run == bundled.RECORDED:
            return RunFolder(bundled.RECORDED_FOLDER)
        if self.run not in of.texts:
            raise NotApplicable(f"There is no run {self.run[:60]!r} here that has kept checkpoints.")
        return RunFolder(Path(of.texts[self.run]))

    def with_steps(self, of: Subject) -> tuple[RunFolder, list[int]]:
        """The run, and those that it has kept."""
        run = self.folder(of)
        if not (steps := steps_in(run.path)) or not run.learns_pictures:
            raise NotApplicable(f"{run.name} has no checkpoints of a network that tells images apart.")
        return run, steps

    def title(self, of: Subject) -> str:
        return f"What {bundled.title(self.run)} had learned after step {self.shown(steps_in(self.folder(of).path)):,}"

    def shown(self, steps: Sequence[int]) -> int:
        """Of the steps that are there, in order, the one that it is set to, or the last before it."""
        return at_or_before(steps[-1] if self.step is None else self.step, steps)

    def show(self, of: Subject) -> Blocks:
        run, steps = self.with_steps(of)
        try:
            shown = of.kept(key_of(run, steps[0], "images"), partial(watched, run, steps[-1]))
        except (DatasetError, RecipeError, ModelError) as sentence:
            raise NotApplicable(str(sentence)) from None
        if not shown.method:
            raise NotApplicable(f"{run.name} has no attention and no features in places, so no map of what it learned.")
        name = bundled.title(self.run)
        jobs = {
            step: Job(key_of(run, step), f"{name} after step {step:,}", partial(_asked, run, step, shown))
            for step in steps
        }
        there = {job.key: found for job in jobs.values() if (found := of.find(job.key)) is not None}
        later = Later(of, tuple(jobs.values()), partial(self.drawn, run, shown, jobs))
        if len(there) == len(jobs) or (there and run.at_work):  # the browser turns those that are there
            yield from self.drawn(run, shown, jobs, there)
            later = replace(later, show=lambda found: ())
        if len(there) < len(jobs):
            yield later

    def drawn(self, run: RunFolder, of: Watched, jobs: Mapping[int, Job], found: Mapping[Hashable, Any]) -> Blocks:
        """Of the steps that are there; nothing before all are, but of a run at work."""
        if not found or (len(found) < len(jobs) and not run.at_work):
            return
        known = {step: found[job.key] for step, job in jobs.items() if job.key in found}
        steps, each = list(known), list(known.values())
        step = self.shown(steps)
        ends = np.cumsum([line.get("steps", 0) for line in run.metrics()])
        right = [int((one.predicted == of.targets).sum()) for one in each]
        area = float(np.mean(of.objects)) if of.objects else 0.0
        shares = [_mean(one.on_object) for one in each]
        yield Said(learned(steps, right, len(of.rgb), shares, of.called, area, step))
        epochs = int((ends <= step).sum())
        count = f"{right[steps.index(step)]} of {len(of.rgb)} right"
        yield Line(f"{bundled.title(self.run)} after step {step:,}, {epochs} of {len(ends)} epochs: {count}.")
        over = tuple(Seen(no_model, rgb) for rgb in of.rgb)
        alt = f"{METHODS[of.method].title} for the class of each image"
        for at in dict.fromkeys((steps[0], step)):  # what has changed stands below what it was
            tiles = tuple(_tile(of, known[at], row) for row in range(len(of.rgb)))
            yield Tiles(f"After step {at:,}", tiles, f"{alt}, after step {at:,}", over=over)
        if self.run != bundled.RECORDED:
            yield Folded("Open this step", partial(_opening, run, step, known[step].then))
        yield Numbers(lambda: _numbers(steps, each, of))


def key_of(run: RunFolder, step: int, what: str = "learned") -> Hashable:
    facts = file_of(run.path, step).stat()
    return what, str(run.path), step, facts.st_mtime_ns, facts.st_size


def _asked(run: RunFolder, step: int, of: Watched, progress: Any) -> Answers:
    try:
        return answers(run, step, of)
    except (DatasetError, ModelError) as sentence:
        raise NotApplicable(str(sentence)) from None


def _tile(of: Watched, now: Answers, row: int) -> Tile:
    """A map under what the image shows, above what the model takes it for."""
    answer, truth = int(now.predicted[row]), int(of.targets[row])
    colour = class_colours([answer], len(of.labels))[0]
    value = float(now.probability[row])
    said = Answer(of.labels[answer], value, colour, in_percent(value), answer == truth)
    return Tile(of.labels[truth], now.maps[row], scale=SCALE, answers=(said,))


def _opening(run: RunFolder, step: int, then: str) -> Blocks:
    yield Line(f"The model of {then}: in the sidebar, on the command line, in a program.")
    yield Code(f'run:{run.name}@{step}\n--model runs/{run.name}@{step}\nvizkit.load("runs/{run.name}@{step}")')


def _mean(shares: np.ndarray) -> float | None:
    known = shares[np.isfinite(shares)]
    return float(known.mean()) if len(known) else None


def _numbers(steps: Sequence[int], each: Sequence[Answers], of: Watched) -> dict[str, np.ndarray]:
    by_step = ("predicted", "probability", "maps", "on_object")
    found = {name: np.stack([getattr(one, name) for one in each]) for name in by_step}
    return {"steps": np.array(steps), "targets": of.targets, **found}
