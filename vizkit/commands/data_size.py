"""`python -m vizkit data-size`: accuracy against the number of training pictures, run after run, then the table.

python -m vizkit data-size -o runs/data_size
python -m vizkit data-size -o runs/data_size --seed 1 --table docs/data_size.md
python -m vizkit data-size --data photos/birds -o runs/data_size-birds

What is done stays: killed at any moment, the same command goes on after the last finished epoch.
"""

import argparse
import shlex
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from vizkit.analysis.remarks.data_size import signed
from vizkit.commands.train import Bar
from vizkit.training.experiments.data_size import DATA, IMAGES, METHODS, another, plan
from vizkit.training.experiments.size_findings import findings, teacher_finding, teacher_gains
from vizkit.training.experiments.size_results import Study, studies
from vizkit.training.following import follow
from vizkit.training.recipe import Recipe, RecipeError
from vizkit.training.runs.folder import RunFolder, runs
from vizkit.writing import write

__all__ = ["add", "finished"]


def add(commands: Any) -> None:  # noqa: ANN401
    """Add the command to argparse's subparsers."""
    command = commands.add_parser(
        "data-size",
        help="train an MLP, a CNN, a Swin, a ViT and DeiTs on 1 to 100 %% of a set, and compare",
        description="Train what is missing, one run after another, and print the table. Stop it and start it again.",
    )
    command.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER", help="of the runs")
    command.add_argument(
        "--seed", type=int, action="append", metavar="N", help="of weights, order, augmentation (0); repeatable"
    )
    command.add_argument("--data", default=DATA, metavar="SET", help=f"insects, digits, a folder, a zip ({DATA})")
    command.add_argument("--device", default="", choices=("", "cpu"), help="cpu, even where there is a GPU")
    command.add_argument("--workers", type=int, default=0, help="processes that read pictures beside the training")
    command.add_argument("--threads", type=int, default=0, help="CPU threads; 0 leaves torch's number")
    command.add_argument("--no-training", action="store_true", help="the table of the runs that the folder holds")
    command.add_argument("--quiet", action="store_true", help="no progress bar")
    command.add_argument("--table", type=Path, metavar="TABLE.md", help="write the table, as Markdown")
    command.set_defaults(run=_data_size)


def _data_size(arguments: argparse.Namespace) -> None:
    table: Path | None = arguments.table
    if table and (table.is_dir() or not table.parent.is_dir()):  # said before the work, not after it
        raise ValueError(f"{table} cannot be written: give the name of a file in a folder that exists.")
    mine = list(runs(arguments.output)) if arguments.no_training else _trained(arguments)
    text = "\n\n".join(_markdown(study) for study in studies(mine) if study.outcomes)
    if not text:
        raise ValueError(f"{arguments.output} holds no finished run of this experiment.")
    if table is None:
        print(text)
        return
    try:
        write(table, page(arguments, text))
    except OSError as error:
        raise ValueError(f"{table} cannot be written: {error.strerror or type(error).__name__}.") from error
    print(f"{table}: {len(mine)} runs")


def _trained(arguments: argparse.Namespace) -> list[RunFolder]:
    """All runs of these seeds, after those that were missing have been trained."""
    folder: Path = arguments.output
    images = _images_of(arguments.data)
    recipes: dict[str, Recipe] = {}
    for seed in arguments.seed or [0]:
        recipes |= plan(folder.as_posix(), seed, arguments.data, images)
    missing = [name for name, recipe in recipes.items() if not finished(RunFolder(folder / name), recipe)]
    for place, name in enumerate(missing, 1):
        print(f"{name} ({place} of {len(missing)})", flush=True)
        _train(RunFolder(folder / name), recipes[name], arguments)
    return [run for run in runs(folder) if run.name in recipes]


def _images_of(data: str) -> int:
    """How many pictures there are to learn from. Insects are drawn without end; the experiment has its own number."""
    if data.split(":")[0] == "insects":
        return IMAGES
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
    """One row for each method, one column for each number of training images; below, what a teacher adds."""
    seeds = ", ".join(map(str, study.seeds))
    least, most = study.shown
    rows = {
        method: [
            "–" if (outcome := study.at(method, images)) is None
            else outcome.words
            for images in study.sizes
        ]
        for method in METHODS
    }  # fmt: skip
    shown = f"{most:,}" if least == most else f"{least:,} to {most:,}"
    side = f" at {study.side_px} × {study.side_px} pixels" if study.side_px else ""
    return "\n".join([
        *_table("images to learn from", study.sizes, rows), "",
        f"Test accuracy on {study.data}{side}, seeds {seeds}; ± are {study.intervals}. Every run was shown {shown} "
        f"pictures in {study.epochs} epochs.",
        *_teachers(study), *_sentences(study),
    ])  # fmt: skip


def _teachers(study: Study) -> list[str]:
    """The paired differences with the ViT, where there are any."""
    gains = teacher_gains(study)
    if not gains:
        return []
    sizes = sorted({images for gained in gains.values() for images in gained})
    rows = {kind: [signed(gained.get(images)) for images in sizes] for kind, gained in gains.items()}
    return ["", "What a teacher adds: the DeiT minus the ViT of the same seeds, in points, with 95 % intervals.", "",
            *_table("points above no teacher", sizes, rows)]  # fmt: skip


def _sentences(study: Study) -> list[str]:
    said = [*findings(study), teacher_finding(study)]
    return ["", *(f"- {each.words}" for each in said if each is not None)]


def _table(first: str, sizes: Sequence[int], rows: Mapping[str, Sequence[str]]) -> list[str]:
    heading = f"| {first} | {' | '.join(f'{images:,}' for images in sizes)} |"
    return [heading, f"|---|{'---:|' * len(sizes)}", *(f"| {name} | {' | '.join(row)} |" for name, row in rows.items())]


def page(arguments: argparse.Namespace, text: str) -> str:
    options = [
        *(("--data", arguments.data) if arguments.data != DATA else ()),
        *(word for seed in arguments.seed or () for word in ("--seed", str(seed))),
        *(("--no-training",) if arguments.no_training else ()),
        *("-o", arguments.output.as_posix(), "--table", arguments.table.as_posix()),
    ]
    return f"""# Accuracy against the number of training images

{text}

`python -m vizkit data-size {shlex.join(options)}`

torch {version("torch").partition("+")[0]}, timm {version("timm")}.
"""
