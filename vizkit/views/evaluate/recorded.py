"""Evaluations that can be shown: those that come with vizkit, and one's own by the names of their folders."""

import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from vizkit.datasets.image_set import DatasetError, ImageSet
from vizkit.evaluation.job import JobFolder
from vizkit.evaluation.outcome import Outcome, read
from vizkit.evaluation.pictures import open_pictures
from vizkit.views import bundled

__all__ = ["RECORDED", "SETS", "Titles", "outcome_of", "pictures_of"]

RECORDED = bundled.FOLDER / "experiments" / "evaluation"
SETS = {"insects": "drawn insects", "insects_hard": "hard insects", "digits": "handwritten digits"}


class Titles(dict[str, str]):
    """What an evaluation is called: of one's own by its pictures."""

    def get(self, name: str, default: Any = None) -> Any:
        if name in self:
            return self[name]
        own = outcome_of(name)
        return f"yours: {own.name}, {len(own.rows):,} pictures" if own else default


def outcome_of(name: str) -> Outcome | None:
    """A recorded one, or one's own by the name of its folder, which nobody guesses."""
    path = RECORDED / f"{name}.npz" if name in SETS else None
    if re.fullmatch("[0-9a-f]{16,64}", name):
        path = JobFolder.of(name).outcome
    try:
        return _read(path, path.stat().st_mtime_ns) if path else None
    except (OSError, ValueError, KeyError):
        return None


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
