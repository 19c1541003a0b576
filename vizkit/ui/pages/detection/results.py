"""Models that find things, and what they make of a picture, computed once and kept."""

from pathlib import Path
from typing import TYPE_CHECKING

from vizkit.training.recipe import RecipeError
from vizkit.training.runs.folder import RunFolder, runs
from vizkit.ui.session.remembered import remembered

if TYPE_CHECKING:
    from torch import Tensor

    from vizkit.models.detection.opening import Detector
    from vizkit.models.detection.seen import Seen
    from vizkit.ui.pages.detection.given import Given


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


def seen(given: "Given", *, self_attention: bool = True) -> "Seen":
    return _seen(*given.key, self_attention, given)


def relevance(given: "Given", query: int, label: int) -> "Tensor":
    """Of every cell for what this query says of this class, (row, column)."""
    return _relevance(*given.key, query, label, given)


@remembered
def _seen(source: str, digest: str, self_attention: bool, _given: "Given") -> "Seen":
    from vizkit.models.detection.seen import look

    return look(_given.detector, _given.rgb, self_attention=self_attention)


@remembered
def _relevance(source: str, digest: str, query: int, label: int, _given: "Given") -> "Tensor":
    from vizkit.analysis.detection.relevance import encoder_decoder_relevance
    from vizkit.models.detection.tracing import Answer, trace_picture

    trace = trace_picture(_given.detector, _given.rgb, Answer(query, label))
    return encoder_decoder_relevance(trace)[query].view(seen(_given).grid)


def _finds(run: RunFolder) -> bool:
    try:
        return run.recipe.task == "detect"
    except RecipeError:
        return False
