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
from typing import Any

from vizkit.analysis.remarks.data_size import signed
from vizkit.commands import of_runs
from vizkit.commands.of_runs import finished
from vizkit.commands.output import refuse_output
from vizkit.training.experiments.data_size import DATA, IMAGES, METHODS, plan
from vizkit.training.experiments.size_findings import findings, teacher_finding, teacher_gains
from vizkit.training.experiments.size_results import Study, studies
from vizkit.training.recipe import Recipe
from vizkit.training.runs.folder import RunFolder, runs

__all__ = ["add", "finished"]


def add(commands: Any) -> None:
    """Add the command to argparse's subparsers."""
    command = commands.add_parser(
        "data-size",
        help="train an MLP, a CNN, a Swin, a ViT and DeiTs on 1 to 100 %% of a set, and compare",
        description="Train what is missing, one run after another, and print the table. Stop it and start it again.",
    )
    of_runs.options(command)
    command.add_argument("--data", default=DATA, metavar="SET", help=f"insects, digits, a folder, a zip ({DATA})")
    command.set_defaults(run=_data_size)


def _data_size(arguments: argparse.Namespace) -> None:
    refuse_output(arguments.table)
    mine = list(runs(arguments.output)) if arguments.no_training else _trained(arguments)
    text = "\n\n".join(_markdown(study) for study in studies(mine) if study.outcomes)
    if not text:
        raise ValueError(f"{arguments.output} holds no finished run of this experiment.")
    of_runs.tell(arguments.table, text, lambda: page(arguments, text), len(mine))


def _trained(arguments: argparse.Namespace) -> list[RunFolder]:
    images = _images_of(arguments.data)
    recipes: dict[str, Recipe] = {}
    for seed in arguments.seed or [0]:
        recipes |= plan(arguments.output.as_posix(), seed, arguments.data, images)
    return of_runs.trained(recipes, arguments)


def _images_of(data: str) -> int:
    """How many pictures there are to learn from. Insects are drawn without end; the experiment has its own number."""
    if data.split(":")[0] == "insects":
        return IMAGES
    from vizkit.datasets.opening import open_set

    return len(open_set(data, "train"))


NOT_TRAINED = (
    " –: not trained. A teacher of the same pictures is tried from 300 of them on, where it knows enough; of all "
    "pictures both teachers are one."
)


# ---- the table -------------------------------------------------------------------------------------------------------
def _markdown(study: Study) -> str:
    """One row for each method, one column for each number of training images; below, what a teacher adds."""
    seeds = ", ".join(map(str, study.seeds))
    least, most = study.shown
    rows = {
        method: ["–" if (outcome := study.at(method, images)) is None else outcome.words for images in study.sizes]
        for method in METHODS
    }
    shown = f"{most:,}" if least == most else f"{least:,} to {most:,}"
    side = f" at {study.side_px} × {study.side_px} pixels" if study.side_px else ""
    return "\n".join(
        [
            *_table("images to learn from", study.sizes, rows),
            "",
            f"Test accuracy on {study.data}{side}, seeds {seeds}; ± are {study.intervals}. Every run was shown {shown} "
            f"pictures in {study.epochs} epochs." + (NOT_TRAINED if any("–" in row for row in rows.values()) else ""),
            *_teachers(study),
            *_sentences(study),
        ]
    )


def _teachers(study: Study) -> list[str]:
    """The paired differences with the ViT, where there are any."""
    gains = teacher_gains(study)
    if not gains:
        return []
    sizes = sorted({images for gained in gains.values() for images in gained})
    rows = {kind: [signed(gained.get(images)) for images in sizes] for kind, gained in gains.items()}
    what = f"What a teacher adds: the DeiT minus {study.control} of the same seeds, in points, with 95 % intervals."
    return ["", what, "", *_table("points above no teacher", sizes, rows)]


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
