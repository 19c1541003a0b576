"""Models that runs have trained, for views that choose among them. No torch here."""

from pathlib import Path

from vizkit.training.recipe import RecipeError
from vizkit.training.runs.folder import RunFolder, runs
from vizkit.views import bundled
from vizkit.views.controls import controls
from vizkit.views.sequences.known import trained_texts
from vizkit.views.view import View
from vizkit.work_folder import steps_in


def run_of(source: str) -> RunFolder | None:
    """The run that a model of the sidebar came of, "run:mine" or "bundled:insects_vit"; None where there is none."""
    if bundled.known(source):
        return RunFolder(bundled.FOLDER / source.partition(":")[2])
    return next((run for run in runs() if f"run:{run.name}" == source and run.has_model and run.learns_pictures), None)


def has_learned(run: RunFolder, data: str, seed: int) -> bool:
    """Whether it was trained on these data, as they are divided or drawn with this seed."""
    try:
        recipe = run.recipe
    except RecipeError:
        return False
    return recipe.data_seed == seed and data in (recipe.data, str(Path(recipe.data).absolute()))


def trained_detectors() -> dict[str, str]:
    """Finished runs that have learned to find things: their folders by their names."""
    return {f"run {run.name}": str(run.path) for run in runs() if run.has_model and _finds(run)}


def learners() -> dict[str, str]:
    """Runs of images that have kept checkpoints, also those at work: their folders by their names."""
    return {run.name: str(run.path) for run in runs() if run.has_model and run.learns_pictures and steps_in(run.path)}


def _finds(run: RunFolder) -> bool:
    try:
        return run.recipe.task == "detect"
    except RecipeError:
        return False


AT_HAND = {"text model": trained_texts, "detector": trained_detectors, "run": learners}
"""By the kind of the control that chooses among them."""


def trained(view: View | type[View]) -> dict[str, str]:
    """Those of the kinds that this view chooses among."""
    kinds = {control.kind for control in controls(view).values()}
    return {name: path for kind, found in AT_HAND.items() if kind in kinds for name, path in found().items()}
