"""Many pictures to ask models about, and the other models that can be asked: by the names that people choose."""

import json
from collections.abc import Sequence
from pathlib import Path

from vizkit.datasets.image_set import DatasetError, ImageSet
from vizkit.traces import NotApplicable
from vizkit.views import bundled
from vizkit.views.subject import Subject

PAPERS = "regnety_160.deit_in1k"  # the teacher of timm's distilled models
FOLDER = "a folder"
WORDS = {"insects:easy": "easy insects", "insects:hard": "hard insects"}
COUNTS = ("50", "100", "200", "500", "1000", "2000")
TITLES = {name: bundled.title(name) for name in bundled.names()}


def sets(of: Sequence[Subject]) -> list[str]:
    """The built-in ones, that whose classes the first model knows before the others, and a folder at hand."""
    digits = bool(of) and of[0].has_model and set(of[0].loaded.labels) == set("0123456789")
    built_in = ["insects", "insects:easy", "insects:hard", "digits"]
    return [*(built_in[::-1] if digits else built_in), FOLDER]


def awaited(of: Subject, name: str | None, folder: str) -> str:
    """What is still to be chosen, in a sentence; "" where nothing is."""
    missing = name == FOLDER and folder not in of.folders
    return "Choose a folder with a folder of pictures for each class." if missing else ""


def opened(of: Subject, name: str | None, folder: str, images: int, size_px: int) -> ImageSet:
    """Test pictures of one of `sets`. Raises NotApplicable with a sentence."""
    from vizkit.datasets.opening import open_set

    name = name or sets([of])[0]
    path = of.folders.get(folder, "") if name == FOLDER else name
    try:
        return open_set(path, "test", images=images, size_px=size_px)
    except DatasetError as sentence:
        raise NotApplicable(str(sentence)) from None


def models(of: Sequence[Subject], first: str = "cnn") -> list[str]:
    """By their titles: those that come with vizkit and know the classes of the first subject, beginning with networks
    of the kind `first`, and all subjects."""
    known = bundled.knowing(tuple(of[0].loaded.labels)) if of and of[0].has_model and of[0].loaded.labels else []
    known = sorted(known, key=lambda name: not name.endswith(first))
    return list(dict.fromkeys([*map(bundled.title, known), *(bundled.title(each.name) for each in of)]))


def subject_called(title: str, of: Sequence[Subject]) -> Subject:
    """One of the subjects, or another model on the same picture."""
    own = next((each for each in of if bundled.title(each.name) == title), None)
    return own or of[0].other(next((name for name, called in TITLES.items() if called == title), title))


def teachers(of: Sequence[Subject]) -> list[str]:
    """First whom the first model names as its teacher."""
    taught = teacher_of(of[0].loaded.source) if of and of[0].has_model else ""
    return list(dict.fromkeys([*filter(None, [bundled.title(taught)]), *models(of)]))


def teacher_of(source: str) -> str:
    """The teacher that a bundled model or a run was trained with; of timm's distilled models, the paper's."""
    kind, _, name = source.partition(":")
    folder = bundled.FOLDER / name if kind == "bundled" else Path(source)
    try:
        found = json.loads((folder / "recipe.json").read_text(encoding="utf-8")).get("teacher", "")
    except (OSError, ValueError):
        return PAPERS if "distilled" in source else ""
    return found if isinstance(found, str) and found.startswith("bundled:") else ""
