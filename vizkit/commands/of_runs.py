"""What the commands share that train an experiment, run after run, and write a table of it.

What is done stays: killed at any moment, the same command goes on after the last finished epoch.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from vizkit.commands.options import OUTPUT, Processor, Quiet, Threads, Workers
from vizkit.commands.output import markdown_page, refuse_output, write_output
from vizkit.commands.train import bar
from vizkit.training.experiments.data_size import another
from vizkit.training.following import follow
from vizkit.training.recipe import Recipe, RecipeError
from vizkit.training.runs.folder import RunFolder, runs


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Runs:
    """Where the runs of an experiment are, how they are trained, and where their table goes."""

    output: Annotated[Path, OUTPUT]
    """The folder of the runs."""
    seed: list[int] | None = None
    """Of weights, order, augmentation (0); repeatable."""
    device: Processor = ""
    workers: Workers = 0
    threads: Threads = 0
    training: Annotated[bool, Parameter(negative="--no-training")] = True
    """Train what is missing, or only tell of the runs that the folder holds."""
    quiet: Quiet = False
    table: Annotated[Path | None, Parameter(validator=lambda _, path: refuse_output(path))] = None
    """TABLE.md: write the table, as Markdown."""

    def tell(self, title: str, parts: list[str], about: str = "") -> None:
        """Print the parts, or write a page of them into the table's file. ValueError where there are none, or where
        that fails."""
        if not parts:
            raise ValueError(f"{self.output} holds no finished run of this experiment.")
        if self.table is None:
            print("\n\n".join(parts))
            return
        write_output(self.table, markdown_page(title, *filter(None, [about]), *parts))
        print(f"{self.table}: {len(list(runs(self.output)))} runs")


def trained(plan: Callable[[int], Mapping[str, Recipe]], asked: Runs) -> list[RunFolder]:
    """All runs that are planned for each seed, after those that were missing have been trained. Raises as `finished`
    and `_train` do."""
    recipes = {name: recipe for seed in asked.seed or [0] for name, recipe in plan(seed).items()}
    missing = [name for name, recipe in recipes.items() if not finished(RunFolder(asked.output / name), recipe)]
    for place, name in enumerate(missing, 1):
        print(f"{name} ({place} of {len(missing)})", flush=True)
        _train(RunFolder(asked.output / name), recipes[name], asked)
    return [run for run in runs(asked.output) if run.name in recipes]


def finished(run: RunFolder, recipe: Recipe) -> bool:
    """RecipeError where another run is in the way, or somebody else is at work on this one."""
    if another(run, recipe):
        raise RecipeError(f"{run.path} holds another run: give another folder, or move that one away.")
    if run.at_work:
        raise RecipeError(f"{run.path} is in training already; wait for it, or stop it.")
    return run.status.get("state") == "done"


def _train(run: RunFolder, recipe: Recipe, asked: Runs) -> None:
    """Begin or go on. KeyboardInterrupt when it was stopped, ValueError when it failed."""
    if not (run.path / "recipe.json").is_file():
        run.create(recipe)
    with bar(run, asked.quiet):
        follow(run, recipe, device=asked.device, workers=asked.workers, threads=asked.threads)
    state, message = run.status.get("state"), run.status.get("message", "")
    if state == "stopped":
        print("Stopped; the same command goes on after the last finished epoch.", flush=True)
        raise KeyboardInterrupt
    if state != "done":
        raise ValueError(f"{run.name}: {message}")
    print(message, flush=True)
