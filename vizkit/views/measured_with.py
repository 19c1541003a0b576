"""Which weights the results that come with vizkit were measured with: of a model made anew they say nothing."""

import hashlib
import json
from functools import cache

from vizkit.traces import NotApplicable
from vizkit.views import bundled

EXPERIMENTS = bundled.FOLDER / "experiments"
WEIGHTS = EXPERIMENTS / "weights.json"
"""Record → model → SHA-256 of its model.safetensors when that was measured, as `tests.evaluation.recorded_weights`
writes it."""


@cache
def digest(model: str) -> str:
    """Of the weights of a model by its folder, as they are now; "" where there are none."""
    file = bundled.FOLDER / model / "model.safetensors"
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""


@cache
def others(record: str) -> tuple[str, ...]:
    """The models, by their folders, whose weights are not those that a record was measured with."""
    known: dict[str, dict[str, str]] = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    return tuple(model for model, own in known[record].items() if digest(model) != own)


def refuse_others(record: str) -> None:
    """NotApplicable where a record is of other weights than those that are here."""
    if models := [bundled.title(f"bundled:{model}").removeprefix("bundled:") for model in others(record)]:
        was = "was" if len(models) == 1 else "were"
        raise NotApplicable(
            f"{' and '.join(models)} {was} measured with other weights than those that come with vizkit now; these "
            "results are shown again when somebody has measured them anew."
        )
