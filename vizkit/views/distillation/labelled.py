"""Many images to ask models about, and the other models that can be asked: by the names that people choose."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from vizkit.datasets.image_set import DatasetError, ImageSet
from vizkit.traces import not_applicable
from vizkit.training.recipe import Recipe, RecipeError
from vizkit.training.runs.folder import RunFolder, runs_root
from vizkit.views import bundled
from vizkit.views.subject import Subject

if TYPE_CHECKING:
    from vizkit.models import Loaded

PAPERS = "regnety_160.deit_in1k"  # the teacher of timm's distilled models
FOLDER = "a folder"
WORDS = {"insects:easy": "easy insects", "insects:hard": "hard insects"}
TITLES = {name: bundled.title(name) for name in bundled.names()}


def sets(of: Sequence[Subject]) -> list[str]:
    """The built-in ones, that whose classes the first model knows before the others, and a folder at hand."""
    digits = bool(of) and of[0].has_model and set(of[0].loaded.labels) == set("0123456789")
    built_in = ["insects", "insects:easy", "insects:hard", "digits"]
    return [*(built_in[::-1] if digits else built_in), FOLDER]


def awaited(of: Subject, name: str | None, folder: str) -> str:
    """What is still to be chosen, in a sentence; "" where nothing is."""
    missing = name == FOLDER and folder not in of.folders
    return "Choose a folder or a zip file with a folder of images for each class." if missing else ""


def opened(of: Subject, name: str | None, folder: str, images: int, size_px: int) -> ImageSet:
    """Test images of one of `sets`. Raises NotApplicable with a sentence."""
    from vizkit.datasets.opening import open_set

    name = name or sets([of])[0]
    path = of.folders.get(folder, "") if name == FOLDER else name
    with not_applicable(DatasetError):
        return open_set(path, "test", images=images, size_px=size_px)


def subject_called(title: str, of: Sequence[Subject]) -> Subject:
    """One of the subjects, or another model on the same image."""
    own = next((each for each in of if bundled.title(each.name) == title), None)
    return own or of[0].other(source_called(title))


def source_called(title: str) -> str:
    """What comes with vizkit by its title, which pages know it by; others by their own names."""
    return next((name for name, called in TITLES.items() if called == title), title)


def own_teacher(of: Subject) -> Subject | None:
    """On the same image the teacher that a model had, where it comes with vizkit and knows the same classes."""
    name = teacher_of(of.loaded)
    return of.other(name) if name in bundled.knowing(tuple(of.loaded.labels)) else None


def trained_alone(of: Subject) -> Subject | None:
    """On the same image the bundled model of the same recipe without a teacher; that of a DeiT is a plain ViT, as a
    distillation token would have nothing to learn."""
    recipe = recipe_of(of.loaded)
    if recipe is None or not recipe.teacher:
        return None
    alone = replace(recipe, model=recipe.model.replace("deit", "vit"), teacher="", distillation="none")
    known = bundled.knowing(tuple(of.loaded.labels))
    return next((of.other(name) for name in known if recipe_at(bundled.FOLDER, name) == alone), None)


def teacher_of(loaded: "Loaded") -> str:
    """The bundled teacher that a bundled model or a run was trained with; of timm's distilled models, the paper's."""
    recipe = recipe_of(loaded)
    if recipe is None:
        return PAPERS if "distilled" in loaded.name and loaded.source != "run folder" else ""
    return recipe.teacher if recipe.teacher.startswith("bundled:") else ""


def recipe_of(loaded: "Loaded") -> Recipe | None:
    """How a bundled model or a run was trained; None of others."""
    if loaded.source == "run folder":
        return recipe_at(runs_root(), loaded.name)
    name = source_called(loaded.name)
    return recipe_at(bundled.FOLDER, name) if name.startswith("bundled:") else None


def recipe_at(folder: Path, name: str) -> Recipe | None:
    with suppress(RecipeError):
        return RunFolder(folder / name.removeprefix("bundled:")).recipe
    return None
