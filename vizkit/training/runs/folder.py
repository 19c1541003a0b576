"""A run on disk: the recipe (recipe.json), what happened (metrics.jsonl, status.json), what came of it.

    recipe.json  versions.json   written once
    status.json                  what the run does now, replaced about twice a second
    metrics.jsonl                one line an epoch, flushed
    config.json  model.safetensors   the best epoch's model, timm's layout: a picker and timm.create_model open it;
                                 of texts, what `vizkit.models.sequences` opens
    last.pt                      everything needed to go on
    checkpoints/512.safetensors  the weights after step 512, in half precision: `vizkit.load("<folder>@512")`
    samples.json  result.json  card.md   examples of the last epoch; the test result; the story in words
    lock                         held by the process that trains here

Every file appears whole or not at all, so that a run killed at any moment can be read and resumed. No torch here:
the page reads run folders before it is loaded.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vizkit.training.recipe import Recipe, RecipeError
from vizkit.work_folder import WorkError, WorkFolder
from vizkit.writing import is_left, read_text

NUMBERS = ("epoch", "train_loss", "train_accuracy", "rate", "images_per_s", "val_loss", "val_accuracy", "seconds")
"""Of each line of the metrics."""


class RunFolder(WorkFolder):
    """A folder of one run; reading never fails on what is missing or damaged."""

    @property
    def recipe(self) -> Recipe:
        """RecipeError where the folder has none that can be read."""
        try:
            return Recipe.from_json(read_text(self.path / "recipe.json"))
        except OSError:
            raise RecipeError(f"{self.path.name} is no run folder: it has no recipe.json.") from None
        except UnicodeDecodeError:
            raise RecipeError("The recipe is not valid JSON.") from None

    @property
    def has_model(self) -> bool:
        return all((self.path / file).is_file() for file in ("config.json", "model.safetensors"))

    @property
    def learns_pictures(self) -> bool:
        """Whether it is a run on pictures, and not on texts; True where nobody can read its recipe."""
        try:
            return self.recipe.task == "classify"
        except RecipeError:
            return True

    def create(self, recipe: Recipe) -> None:
        """Begin here; RecipeError if somebody's files lie in the folder already."""
        idle = {"recipe.json", "versions.json", "status.json", "lock"}  # of a run that failed before its first epoch
        if self.path.exists() and any(not is_left(file.name) for file in self.path.iterdir() if file.name not in idle):
            raise RecipeError(f"{self.path} is not empty: give a new folder, or --resume to go on with that run.")
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            with self.locked():
                self.write_text("recipe.json", recipe.to_json())
        except OSError as error:
            raise RecipeError(f"{self.path} cannot be written: {error.strerror or type(error).__name__}.") from error

    def metrics(self) -> list[dict[str, Any]]:
        """One dictionary an epoch, up to the first line that is torn or damaged."""
        epochs = []
        try:
            lines = read_text(self.path / "metrics.jsonl", "replace").splitlines()
        except OSError:
            return []
        for line in lines:
            try:
                epoch = json.loads(line)
                if not all(isinstance(epoch[name], int | float) for name in NUMBERS):
                    break
            except (ValueError, KeyError, TypeError, RecursionError):
                break
            epochs.append(epoch)
        return epochs

    def append(self, epoch: dict[str, Any]) -> None:
        """Add a line to the metrics."""
        self.write_metrics([*self.metrics(), epoch])

    def trim(self, epochs: int) -> list[dict[str, Any]]:
        """Keep the first `epochs` lines of the metrics (those that the saved state knows of) and give them back.

        WorkError where so many cannot be read: the schedule, the best epoch and the card follow from them.
        """
        kept = self.metrics()[:epochs]
        if len(kept) < epochs:
            raise WorkError(
                f"metrics.jsonl of {self.name} is damaged: {len(kept)} of {epochs} epochs can be read; put a whole "
                "copy back, or start a new run from this one's weights."
            )
        self.write_metrics(kept)
        return kept

    def write_metrics(self, epochs: list[dict[str, Any]]) -> None:
        self.write_text("metrics.jsonl", "".join(json.dumps(epoch) + "\n" for epoch in epochs))


def runs_root() -> Path:
    """Where runs lie: VIZKIT_RUNS, or `runs` in the folder in which the app or the command was started."""
    return Path(os.environ.get("VIZKIT_RUNS") or "runs")


def runs(root: Path | None = None) -> Iterator[RunFolder]:
    """The run folders, latest first."""
    folders = [file.parent for file in (root or runs_root()).glob("*/recipe.json")]
    yield from (RunFolder(path) for path in sorted(folders, key=lambda path: path.stat().st_mtime, reverse=True))
