"""Several runs beside one another: where their epochs lie, a smoothed curve, in which fields they differ. No torch."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from itertools import accumulate
from typing import Any

from vizkit.training.recipe import Recipe
from vizkit.training.runs.command_line import data_name

X_AXES = ("epoch", "step", "minutes")
PATHS = ("data", "model", "teacher")


def smoothed(values: Sequence[int | float], weight: float) -> list[float]:
    """Exponential moving average: s ← w s + (1 − w) v from s = 0, divided by 1 − wᵗ, so that it begins at the first
    value (the correction of Adam, Kingma & Ba 2015, § 3). `weight` w from 0, which changes nothing, to below 1."""
    average, averages = 0.0, list[float]()
    for count, value in enumerate(values, 1):
        average = weight * average + (1 - weight) * value
        averages.append(average / (1 - weight**count))
    return averages


def steps_an_epoch(recipe: Recipe, images: int) -> int:
    """Changes of the weights in an epoch of `images` training pictures, in one process; 0 where none fits."""
    shown = images * recipe.passes * recipe.repeats
    few = recipe.accumulate * (2 if recipe.mixes else 1)
    batch = min(recipe.batch, shown // few * few)
    return shown // batch if batch else 0


def along(metrics: Sequence[Mapping[str, Any]], axis: str, steps: int = 0) -> list[int | float]:
    """Where each epoch lies on one of X_AXES: its number, the steps until its end (`steps` an epoch where the run has
    not recorded them; empty where nobody knows), or the minutes of all epochs until then, with validation."""
    if axis == "epoch":
        return [epoch["epoch"] for epoch in metrics]
    if axis == "minutes":
        return list(accumulate(epoch["seconds"] / 60 for epoch in metrics))
    each = [epoch.get("steps", steps) for epoch in metrics]
    return list(accumulate(each)) if all(each) else []


def differing(recipes: Mapping[str, Recipe]) -> dict[str, list[Any]]:
    """Field → its value in every recipe, in their order; only fields in which at least two recipes differ. Folders by
    their last name."""
    values = {
        field.name: [_short(field.name, getattr(each, field.name)) for each in recipes.values()]
        for field in fields(Recipe)
    }
    return {name: each for name, each in values.items() if any(value != each[0] for value in each)}


def _short(name: str, value: Any) -> Any:
    return data_name(value) if name in PATHS and isinstance(value, str) else value
