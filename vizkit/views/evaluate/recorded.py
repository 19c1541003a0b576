"""Evaluations that can be shown: those that come with vizkit, and one's own by the names of their folders."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Generic, TypeVar

from vizkit.datasets.image_set import DatasetError, ImageSet
from vizkit.datasets.scenes.annotated import BoxSet
from vizkit.datasets.scenes.opening import open_boxes
from vizkit.evaluation.job import JobFolder
from vizkit.evaluation.outcome import Outcome
from vizkit.evaluation.pictures import open_pictures
from vizkit.evaluation.scenes.outcome import SceneOutcome
from vizkit.traces import NotApplicable
from vizkit.views import bundled
from vizkit.views.measured_with import EXPERIMENTS, refuse_others
from vizkit.views.subject import Subject
from vizkit.writing import read_record

RECORDED = EXPERIMENTS / "evaluation"
CALLED = {"scenes_detr": "DETR"}
T = TypeVar("T")


class Shelf(dict[str, str], Generic[T]):
    """Evaluations of one kind: the recorded ones with what they are called, and one's own. `read`: of a file, and when
    it was written; `count`: how many there are of what was judged."""

    def __init__(self, recorded: Mapping[str, str], read: Callable[[Path, int], T], count: Callable[[T], str]) -> None:
        super().__init__(recorded)
        self.read, self.count = read, count
        self.lent: dict[str, T] = {}

    def lend(self, outcome: T, name: str = "this one") -> str:
        """One that lies nowhere yet, for this process alone, by this name."""
        self.lent[name] = outcome
        return name

    def find(self, name: str) -> T | None:
        """A recorded one, or one's own by the name of its folder, which nobody guesses; None where it is of another
        kind."""
        if name in self.lent:
            return self.lent[name]
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

    def offered(self, of: Sequence[Subject], linked: str | None, recorded: Sequence[str] = ()) -> list[str]:
        """One's own first, then the recorded ones, then what a link names."""
        own = [name for name in (of[0].outcomes if of else ()) if self.find(name)]
        return list(dict.fromkeys([*own, *(recorded or self), *([linked] if linked and self.find(linked) else [])]))


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


def title_of(name: str) -> str:
    title = bundled.title(f"bundled:{name}")
    return name if title.startswith("bundled:") else title


def pictures_of(found: Outcome) -> ImageSet:
    """The very pictures that were judged. DatasetError where they have changed since."""
    opened = _reopened(tuple(found.opened.items()))
    if opened.digest != found.digest:
        raise DatasetError("The pictures have changed since they were judged; evaluate again to see them.")
    return opened


def _reopened(opened: tuple[tuple[str, Any], ...]) -> ImageSet:
    return open_pictures(**dict(opened))


PICTURES = Shelf(
    {"insects": "drawn insects", "insects_hard": "hard insects", "digits": "handwritten digits"},
    _read,
    lambda own: f"{own.name}, {len(own.rows):,} pictures",
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
