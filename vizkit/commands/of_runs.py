"""What the commands share that train an experiment, run after run, and write a table of it.

What is done stays: killed at any moment, the same command goes on after the last finished epoch.
"""

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from vizkit.commands.output import write_output
from vizkit.commands.train import Bar
from vizkit.training.experiments.data_size import another
from vizkit.training.following import follow
from vizkit.training.recipe import Recipe, RecipeError
from vizkit.training.runs.folder import RunFolder, runs

__all__ = ["finished", "options", "tell", "trained"]


def options(command: Any) -> None:
    """Add the options that all of them have."""
    command.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER", help="of the runs")
    command.add_argument(
        "--seed", type=int, action="append", metavar="N", help="of weights, order, augmentation (0); repeatable"
    )
    command.add_argument("--device", default="", choices=("", "cpu"), help="cpu, even where there is a GPU")
    command.add_argument("--workers", type=int, default=0, help="processes that read pictures beside the training")
    command.add_argument("--threads", type=int, default=0, help="CPU threads; 0 leaves torch's number")
    command.add_argument("--no-training", action="store_true", help="the table of the runs that the folder holds")
    command.add_argument("--quiet", action="store_true", help="no progress bar")
    command.add_argument("--table", type=Path, metavar="TABLE.md", help="write the table, as Markdown")


def tell(table: Path | None, text: str, page: Callable[[], str], count: int) -> None:
    """Print the text, or write the page into the table's file. ValueError where that fails."""
    if table is None:
        print(text)
        return
    write_output(table, page())
    print(f"{table}: {count} runs")


def trained(recipes: Mapping[str, Recipe], arguments: argparse.Namespace) -> list[RunFolder]:
    """All these runs, after those that were missing have been trained. Raises as `finished` and `_train` do."""
    folder: Path = arguments.output
    missing = [name for name, recipe in recipes.items() if not finished(RunFolder(folder / name), recipe)]
    for place, name in enumerate(missing, 1):
        print(f"{name} ({place} of {len(missing)})", flush=True)
        _train(RunFolder(folder / name), recipes[name], arguments)
    return [run for run in runs(folder) if run.name in recipes]


def finished(run: RunFolder, recipe: Recipe) -> bool:
    """RecipeError where another run is in the way, or somebody else is at work on this one."""
    if another(run, recipe):
        raise RecipeError(f"{run.path} holds another run: give another folder, or move that one away.")
    if run.at_work:
        raise RecipeError(f"{run.path} is in training already; wait for it, or stop it.")
    return run.status.get("state") == "done"


def _train(run: RunFolder, recipe: Recipe, arguments: argparse.Namespace) -> None:
    """Begin or go on. KeyboardInterrupt when it was stopped, ValueError when it failed."""
    if not (run.path / "recipe.json").is_file():
        run.create(recipe)
    bar = None if arguments.quiet else Bar(run)
    try:
        follow(run, recipe, device=arguments.device, workers=arguments.workers, threads=arguments.threads)
    finally:
        if bar:
            bar.close()
    state, message = run.status.get("state"), run.status.get("message", "")
    if state == "stopped":
        print("Stopped; the same command goes on after the last finished epoch.", flush=True)
        raise KeyboardInterrupt
    if state != "done":
        raise ValueError(f"{run.name}: {message}")
    print(message, flush=True)
