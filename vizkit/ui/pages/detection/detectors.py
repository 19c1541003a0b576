"""The models that find things: those that ship with vizkit, and runs that have learned it here."""

from pathlib import Path
from typing import TYPE_CHECKING

from vizkit.training.recipe import RecipeError
from vizkit.training.runs.folder import RunFolder, runs
from vizkit.ui.session.remembered import remembered

if TYPE_CHECKING:
    from vizkit.models.detection.opening import Detector


def sources() -> dict[str, str]:
    """Names of models and where they are: those that come with vizkit, then runs that have learned to find."""
    from vizkit.models.detection.opening import bundled_detectors

    bundled = {name: f"bundled:{name}" for name in bundled_detectors()}
    return bundled | {f"run {run.name}": str(run.path) for run in runs() if run.has_model and _finds(run)}


def source_of(source: str) -> str:
    """The source and, of a run, when its weights were written: another epoch is another model."""
    if source.startswith("bundled:"):
        return source
    return f"{source} {(Path(source) / 'model.safetensors').stat().st_mtime_ns}"


@remembered
def detector(key: str, _source: str) -> "Detector":
    from vizkit.models.detection.opening import open_detector

    return open_detector(_source)


def _finds(run: RunFolder) -> bool:
    try:
        return run.recipe.task == "detect"
    except RecipeError:
        return False
