"""`python -m vizkit data-size`: accuracy against the number of training pictures, run after run, then the table.

python -m vizkit data-size -o runs/data_size
python -m vizkit data-size -o runs/data_size --seed 1 --table docs/data_size.md
python -m vizkit data-size --data photos/birds -o runs/data_size-birds

What is done stays: killed at any moment, the same command goes on after the last finished epoch.
"""

import argparse
import shlex
from importlib.metadata import version
from pathlib import Path
from typing import Any

from vizkit.commands.train import Bar
from vizkit.training.experiments.data_size import IMAGES, MODELS, Study, another, plan, studies
from vizkit.training.following import follow
from vizkit.training.recipe import Recipe, RecipeError
from vizkit.training.runs.folder import RunFolder, runs
from vizkit.writing import write

__all__ = ["add", "finished"]


def add(commands: Any) -> None:  # noqa: ANN401
    """Add the command to argparse's subparsers."""
    command = commands.add_parser(
        "data-size",
        help="train a CNN, a ViT, a DeiT and a Swin on 1, 5, 20 and 100 %% of a set, and compare",
        description="Train what is missing, one run after another, and print the table. Stop it and start it again.",
    )
    command.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER", help="of the runs")
    command.add_argument(
        "--seed", type=int, action="append", metavar="N", help="of weights, order, augmentation (0); repeatable"
    )
    command.add_argument("--data", default="insects", metavar="SET", help="insects, digits, a folder, a zip (insects)")
    command.add_argument("--device", default="", choices=("", "cpu"), help="cpu, even where there is a GPU")
    command.add_argument("--workers", type=int, default=0, help="processes that read pictures beside the training")
    command.add_argument("--threads", type=int, default=0, help="CPU threads; 0 leaves torch's number")
    command.add_argument("--quiet", action="store_true", help="no progress bar")
    command.add_argument("--table", type=Path, metavar="TABLE.md", help="write the table, as Markdown")
    command.set_defaults(run=_data_size)


def _data_size(arguments: argparse.Namespace) -> None:
    table: Path | None = arguments.table
    if table and (table.is_dir() or not table.parent.is_dir()):  # said before the work, not after it
        raise ValueError(f"{table} cannot be written: give the name of a file in a folder that exists.")
    folder: Path = arguments.output
    images = _images_of(arguments.data)
    recipes: dict[str, Recipe] = {}
    for seed in arguments.seed or [0]:
        recipes |= plan(folder.as_posix(), seed, arguments.data, images)
    missing = [name for name, recipe in recipes.items() if not finished(RunFolder(folder / name), recipe)]
    for place, name in enumerate(missing, 1):
        print(f"{name} ({place} of {len(missing)})", flush=True)
        _train(RunFolder(folder / name), recipes[name], arguments)
    mine = [run for run in runs(folder) if run.name in recipes]
    text = "\n\n".join(_markdown(study) for study in studies(mine))
    if table is None:
        print(text)
        return
    try:
        write(table, page(arguments, text))
    except OSError as error:
        raise ValueError(f"{table} cannot be written: {error.strerror or type(error).__name__}.") from error
    print(f"{table}: {len(mine)} runs")


def _images_of(data: str) -> int:
    """How many pictures there are to learn from. Insects are drawn without end; the experiment has its own number."""
    if data.split(":")[0] == "insects":
        return IMAGES[-1]
    from vizkit.datasets.opening import open_set

    return len(open_set(data, "train"))


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


# ---- the table -------------------------------------------------------------------------------------------------------
def _markdown(study: Study) -> str:
    """One row for each family, one column for each number of training images."""
    seeds = ", ".join(map(str, study.seeds))
    least, most = study.shown
    tests = min(each.test_images for each in study.outcomes)
    lines = [
        f"| images to learn from | {' | '.join(f'{images:,}' for images in study.sizes)} |",
        f"|---|{'---:|' * len(study.sizes)}",
    ]
    for family in MODELS:
        accuracies = (study.at(family, images) for images in study.sizes)
        cells = ("–" if each is None else f"{100 * each.mean:.1f} ± {100 * each.error:.1f} %" for each in accuracies)
        lines.append(f"| {family} | {' | '.join(cells)} |")
    shown = f"{most:,}" if least == most else f"{least:,} to {most:,}"
    side = f" at {study.side_px} × {study.side_px} pixels" if study.side_px else ""
    return "\n".join([
        *lines, "",
        f"Test accuracy ± one standard error of a share of {tests:,} pictures of {study.data}{side}; seeds {seeds}, "
        f"of which it is the mean. Every run was shown {shown} pictures in {study.epochs} epochs.",
    ])  # fmt: skip


def page(arguments: argparse.Namespace, text: str) -> str:
    options = [
        *(("--data", arguments.data) if arguments.data != "insects" else ()),
        *(word for seed in arguments.seed or () for word in ("--seed", str(seed))),
        *("-o", arguments.output.as_posix(), "--table", arguments.table.as_posix()),
    ]
    return f"""# Accuracy against the number of training images

{text}

`python -m vizkit data-size {shlex.join(options)}`

torch {version("torch").partition("+")[0]}, timm {version("timm")}.
"""
