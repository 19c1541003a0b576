"""A run on disk: what was asked (recipe.json), what happened (metrics.jsonl, status.json), what came of it.

    recipe.json  versions.json   written once
    status.json                  what the run does now, replaced about twice a second
    metrics.jsonl                one line an epoch, flushed
    config.json  model.safetensors   the best epoch's model, timm's layout: a picker and timm.create_model open it
    last.pt                      everything needed to go on
    samples.json  result.json  card.md   examples of the last epoch; the test result; the story in words

Every file appears whole or not at all, so that a run killed at any moment can be read and resumed. No torch here:
the page reads run folders before it is loaded.
"""

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vizkit.training.recipe import Recipe, RecipeError


@dataclass(frozen=True)
class RunFolder:
    """A folder of one run; reading never fails on what is missing."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def recipe(self) -> Recipe:
        """RecipeError where the folder has none that can be read."""
        try:
            return Recipe.from_json((self.path / "recipe.json").read_text(encoding="utf-8"))
        except OSError:
            raise RecipeError(f"{self.path.name} is no run folder: it has no recipe.json.") from None

    @property
    def status(self) -> dict[str, Any]:
        """What the run last said it was doing; {} before it has said anything."""
        return self.read("status.json")

    @property
    def has_model(self) -> bool:
        return all((self.path / file).is_file() for file in ("config.json", "model.safetensors"))

    def create(self, recipe: Recipe) -> None:
        """Begin here; RecipeError if somebody's files lie in the folder already."""
        idle = {"recipe.json", "versions.json", "status.json"}  # of a run that failed before its first epoch
        if self.path.exists() and {file.name for file in self.path.iterdir()} - idle:
            raise RecipeError(f"{self.path} is not empty: give a new folder, or --resume to go on with that run.")
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self.write_text("recipe.json", recipe.to_json())
        except OSError as error:
            raise RecipeError(f"{self.path} cannot be written: {error.strerror or type(error).__name__}.") from error

    def metrics(self) -> list[dict[str, Any]]:
        """One dictionary an epoch; a line torn by a sudden end is left out."""
        found = []
        try:
            lines = (self.path / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        except OSError:
            return []
        for line in lines:
            try:
                found.append(json.loads(line))
            except ValueError:
                break
        return found

    def append(self, epoch: dict[str, Any]) -> None:
        with (self.path / "metrics.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(epoch) + "\n")

    def trim(self, epochs: int) -> list[dict[str, Any]]:
        """Keep the first `epochs` lines of the metrics (those that the saved state knows of) and give them back."""
        kept = self.metrics()[:epochs]
        self.write_text("metrics.jsonl", "".join(json.dumps(each) + "\n" for each in kept))
        return kept

    def write(self, file: str, content: Any) -> None:  # noqa: ANN401
        self.write_text(file, json.dumps(content, ensure_ascii=False))

    def say(self, **status: Any) -> None:  # noqa: ANN401
        """Replace status.json."""
        self.write("status.json", {**status, "pid": os.getpid(), "updated": time.time()})

    def read(self, file: str) -> Any:  # noqa: ANN401
        """A JSON file of the folder, {} while there is none."""
        try:
            return json.loads((self.path / file).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}

    def write_text(self, file: str, text: str) -> None:
        unfinished = self.unfinished(file)
        unfinished.write_text(text, encoding="utf-8")
        os.replace(unfinished, self.path / file)

    def unfinished(self, file: str) -> Path:
        """Where to write a file before it takes its name."""
        return self.path / f".{file}.part"


def runs_root() -> Path:
    """Where runs lie: VIZKIT_RUNS, or `runs` in the folder in which the app or the command was started."""
    return Path(os.environ.get("VIZKIT_RUNS") or "runs")


def runs(root: Path | None = None) -> Iterator[RunFolder]:
    """The run folders, latest first."""
    found = [file.parent for file in (root or runs_root()).glob("*/recipe.json")]
    yield from (RunFolder(path) for path in sorted(found, key=lambda path: path.stat().st_mtime, reverse=True))
