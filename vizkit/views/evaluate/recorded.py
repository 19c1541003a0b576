"""Evaluations that can be shown: those that come with vizkit, and one's own by the names of their folders."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache, partial, reduce
from pathlib import Path
from typing import Any, Generic, TypeVar

from vizkit.datasets.image_set import DatasetError, ImageSet
from vizkit.datasets.scenes.annotated import BoxSet
from vizkit.datasets.scenes.opening import open_boxes
from vizkit.evaluation.classes import EvaluationError
from vizkit.evaluation.job import JobFolder
from vizkit.evaluation.outcome import Outcome, evaluate_all
from vizkit.evaluation.pictures import open_pictures
from vizkit.evaluation.scenes.outcome import SceneOutcome
from vizkit.traces import NotApplicable, not_applicable
from vizkit.training.runs.folder import RunFolder
from vizkit.views import bundled
from vizkit.views.blocks import Job
from vizkit.views.measured_with import EXPERIMENTS, others, refuse_others
from vizkit.views.subject import Subject
from vizkit.views.trained import has_learned, run_of
from vizkit.writing import read_record

RECORDED = EXPERIMENTS / "evaluation"
CALLED = {"scenes_detr": "DETR"}
LENT = "this one"
T = TypeVar("T")


class Shelf(dict[str, str], Generic[T]):
    """Evaluations of one kind: the recorded ones with what they are called, and one's own. `read`: of a file, and when
    it was written; `count`: how many there are of what was judged."""

    def __init__(self, recorded: Mapping[str, str], read: Callable[[Path, int], T], count: Callable[[T], str]) -> None:
        super().__init__(recorded)
        self.read, self.count = read, count
        self.lent: T | None = None

    def lend(self, outcome: T) -> str:
        """The name of one that lies nowhere yet, for this process alone."""
        self.lent = outcome
        return LENT

    def find(self, name: str) -> T | None:
        """A recorded one, or one's own by the name of its folder, which nobody guesses; None where it is of another
        kind."""
        if name == LENT:
            return self.lent
        path = RECORDED / f"{name}.npz" if name in self else None
        if re.fullmatch("[0-9a-f]{16,64}", name):
            path = JobFolder.of(name).outcome
        try:
            return self.read(path, path.stat().st_mtime_ns) if path else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def shown(self, name: str) -> T:
        """The same. NotApplicable where there is none, or where it is of other weights than those that are here."""
        if name in self:
            refuse_others(f"evaluation/{name}.npz")
        found = self.find(name)
        if found is None:
            raise NotApplicable("This result cannot be read any more; evaluate again.")
        return found

    def get(self, name: str, default: Any = None) -> Any:
        own = None if name in self else self.find(name)
        return self[name] if name in self else default if own is None else f"yours: {self.count(own)}"

    def offered(self, of: Sequence[Subject], linked: str | None) -> list[str]:
        """One's own first, then the recorded ones, then what a link names."""
        own = [name for name in (of[0].outcomes if of else ()) if self.find(name)]
        return list(dict.fromkeys([*own, *self, *([linked] if linked and self.find(linked) else [])]))


# ---- of classifiers --------------------------------------------------------------------------------------------------
@cache
def _read(path: Path, written_ns: int) -> Outcome:
    return titled(read_record(path, Outcome))


def titled(found: Outcome) -> Outcome:
    """With the names that people know, without the data that all models share: "ViT", not "ViT · insects"."""
    called = {row.name: title_of(row.name) for row in found.models}
    data = {title.partition(" · ")[2] for title in called.values()}
    rows = [row if called[row.name] == row.name else replace(row, source=f"bundled:{row.name}") for row in found.models]
    found = replace(found, models=tuple(rows))
    return found.renamed(lambda name: called[name].partition(" · ")[0] if len(data) == 1 else called[name])


def together(found: Outcome, of: Subject) -> Outcome:
    """With all models that were judged on the same images: recorded ones, one's own, and the runs of the sidebar."""
    names = *(name for name in PICTURES if not others(f"evaluation/{name}.npz")), *of.outcomes
    own = [*map(PICTURES.find, names), *(of.find(job.key) for job in judging(found, of.chosen))]
    return _beside(found, *filter(None, own))


@lru_cache(maxsize=32)
def _beside(found: Outcome, *own: Outcome) -> Outcome:
    return reduce(Outcome.beside, own, found)


def runs_of(found: Outcome, chosen: Sequence[str]) -> list[RunFolder]:
    """Of the chosen models those runs that have learned these data."""
    runs = map(run_of, [source for source in chosen if source.startswith("run:")])
    return [run for run in runs if run and has_learned(run, found.opened["data"], found.opened["seed"])]


def judging(found: Outcome, chosen: Sequence[str]) -> Iterator[Job]:
    """Their answers to the same images."""
    for run in runs_of(found, chosen):
        weights = (run.path / "model.safetensors").stat()
        key = "judged", found.digest, str(run.path), weights.st_mtime_ns, weights.st_size
        yield Job(key, f"{run.name} answers the same {len(found.rows):,} images", partial(judge, found, run))


def judge(found: Outcome, run: RunFolder, progress: Callable[[int, int], None]) -> Outcome:
    """What a run answers to the images of an outcome. NotApplicable where it cannot."""
    import vizkit
    from vizkit.models import ModelError

    with not_applicable(DatasetError, EvaluationError, ModelError):
        own = evaluate_all(
            [vizkit.load(run.path)],
            pictures_of(found),
            found.opened,
            tell=lambda model, name, done, total, per_s: progress(done, total),
        )
    assert own is not None
    return replace(own, models=(replace(own.models[0], name=run.name, source=f"run:{run.name}"),))


def title_of(name: str) -> str:
    title = bundled.title(f"bundled:{name}")
    return name if title.startswith("bundled:") else title


def pictures_of(found: Outcome) -> ImageSet:
    """The very images that were judged. DatasetError where they have changed since."""
    opened = _reopened(tuple(found.opened.items()))
    if opened.digest != found.digest:
        raise DatasetError("The images have changed since they were judged; evaluate again to see them.")
    return opened


def _reopened(opened: tuple[tuple[str, Any], ...]) -> ImageSet:
    return open_pictures(**dict(opened))


PICTURES = Shelf(
    {"insects": "drawn insects", "insects_hard": "hard insects", "digits": "handwritten digits"},
    _read,
    lambda own: f"{own.name}, {len(own.rows):,} images",
)


# ---- of detectors ----------------------------------------------------------------------------------------------------
@cache
def _read_scenes(path: Path, written_ns: int) -> SceneOutcome:
    return called(read_record(path, SceneOutcome))


def called(found: SceneOutcome) -> SceneOutcome:
    """With the names that people know."""
    return replace(found, models=tuple(replace(row, name=CALLED.get(row.name, row.name)) for row in found.models))


SCENES = Shelf({"scenes": "drawn scenes"}, _read_scenes, lambda own: f"{own.name}, {own.scenes:,} scenes")


def scene_set(found: SceneOutcome, side_px: int) -> BoxSet:
    """The very scenes that were judged; drawn ones as large as one asks. DatasetError where they have changed since."""
    how = tuple(found.opened.items())
    if _scene_set(how).digest != found.digest:
        raise DatasetError("The scenes have changed since they were judged; evaluate again to see them.")
    return _scene_set((*how, ("size_px", side_px)))


@cache
def _scene_set(opened: tuple[tuple[str, Any], ...]) -> BoxSet:
    return open_boxes(**dict(opened))
