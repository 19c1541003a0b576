"""Evaluations that can be shown: those that come with vizkit, and one's own by the names of their folders."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from vizkit.datasets.image_set import DatasetError, ImageSet
from vizkit.datasets.scenes.annotated import BoxSet
from vizkit.datasets.scenes.opening import open_boxes
from vizkit.evaluation.job import JobFolder
from vizkit.evaluation.outcome import Outcome, read
from vizkit.evaluation.pictures import open_pictures
from vizkit.evaluation.scenes import outcome
from vizkit.evaluation.scenes.outcome import SceneOutcome
from vizkit.views import bundled
from vizkit.views.subject import Subject

__all__ = [
    "RECORDED",
    "SCENES",
    "SCENE_TITLES",
    "SETS",
    "TITLES",
    "offered",
    "outcome_of",
    "pictures_of",
    "scene_set",
    "scenes_of",
]

RECORDED = bundled.FOLDER / "experiments" / "evaluation"
SCENES, CALLED = {"scenes": "drawn scenes"}, {"scenes_detr": "DETR"}
T = TypeVar("T")
SETS = {"insects": "drawn insects", "insects_hard": "hard insects", "digits": "handwritten digits"}


class Titles(dict[str, str]):
    """What an evaluation is called: of one's own by its pictures."""

    def __init__(self, sets: Mapping[str, str], own: Callable[[str], str | None]) -> None:
        super().__init__(sets)
        self.own = own

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self else self.own(name) or default


def stored(name: str, sets: Collection[str], read: Callable[[Path, int], T]) -> T | None:
    """A recorded one of `sets`, or one's own by the name of its folder, which nobody guesses; None where it is of
    another kind. `read`: of a file, and when it was written."""
    path = RECORDED / f"{name}.npz" if name in sets else None
    if re.fullmatch("[0-9a-f]{16,64}", name):
        path = JobFolder.of(name).outcome
    try:
        return read(path, path.stat().st_mtime_ns) if path else None
    except (OSError, ValueError, KeyError):
        return None


def offered(sets: Sequence[str], find: Callable[[str], object], of: Sequence[Subject], linked: str | None) -> list[str]:
    """One's own first, then the recorded ones, then what a link names."""
    own = [name for name in (of[0].outcomes if of else ()) if find(name)]
    return list(dict.fromkeys([*own, *sets, *([linked] if linked and find(linked) else [])]))


# ---- of classifiers --------------------------------------------------------------------------------------------------
def outcome_of(name: str) -> Outcome | None:
    return stored(name, SETS, _read)


def _title(name: str) -> str | None:
    own = outcome_of(name)
    return own and f"yours: {own.name}, {len(own.rows):,} pictures"


TITLES = Titles(SETS, _title)


@cache
def _read(path: Path, written_ns: int) -> Outcome:
    """With the names that people know, without the data that all models share: "ViT", not "ViT · insects"."""
    found = read(path)
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


# ---- of detectors ----------------------------------------------------------------------------------------------------
def scenes_of(name: str) -> SceneOutcome | None:
    return stored(name, SCENES, _read_scenes)


@cache
def _read_scenes(path: Path, written_ns: int) -> SceneOutcome:
    found = outcome.read(path)
    return replace(found, models=tuple(replace(row, name=CALLED.get(row.name, row.name)) for row in found.models))


def _scenes_title(name: str) -> str | None:
    own = scenes_of(name)
    return own and f"yours: {own.name}, {own.scenes:,} scenes"


SCENE_TITLES = Titles(SCENES, _scenes_title)


def scene_set(found: SceneOutcome, side_px: int) -> BoxSet:
    """The very scenes that were judged; drawn ones as large as one asks. DatasetError where they have changed since."""
    how = tuple(found.opened.items())
    if _scene_set(how).digest != found.digest:
        raise DatasetError("The scenes have changed since they were judged; evaluate again to see them.")
    return _scene_set((*how, ("size_px", side_px)))


@cache
def _scene_set(opened: tuple[tuple[str, Any], ...]) -> BoxSet:
    return open_boxes(**dict(opened))
