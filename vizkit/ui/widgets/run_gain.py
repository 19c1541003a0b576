"""What a run has gained on the model that it went on from, on the same test images."""

from pathlib import Path
from typing import Any

from vizkit.analysis.remarks.remark import of_all
from vizkit.evaluation.paired import of_counts
from vizkit.percent import in_percent
from vizkit.training.recipe import RecipeError
from vizkit.training.runs.folder import RunFolder
from vizkit.training.tuning import classes_in
from vizkit.ui.session.model_names import named_here
from vizkit.ui.widgets.remark import remark
from vizkit.views import bundled


def box(result: dict[str, Any]) -> list[tuple[str, str, str]]:
    """(label, value, help) of the test before the first step; none where the model knew nothing of these classes."""
    if (right := result.get("test_right_before")) is None:
        return []
    words = in_percent(right / result["test_images"], 1)
    return [("Test before", words, "The same of the model that it went on from, on the same examples.")]


def say(run: RunFolder, result: dict[str, Any]) -> None:
    remark(said(run, result))


def said(run: RunFolder, result: dict[str, Any]) -> str:
    """Whether it is better than before, by a paired test; "" where it began at random."""
    try:
        begun = run.recipe.model
    except RecipeError:
        return ""
    if "test_right_before" not in result:
        return ""
    start = bundled.title(named_here(begun) or Path(begun).name)
    before, images = result["test_right_before"], result["test_images"]
    if before is None:
        classes = len(classes_in(run.path))
        return f"{start} did not know these classes: with its new head it could only guess, one in {classes} right."
    after = round(result["test_accuracy"] * images)
    pair = of_counts(run.name, start, images, after, before, result["test_right_both"])
    return f"{start}, which {run.name} went on from, was right on {of_all(before, images, 'image')}. {pair.sentence}"
