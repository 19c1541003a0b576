"""`python -m vizkit memory`: how long an RNN, an LSTM and a transformer remember, run after run, then the tables.

python -m vizkit memory -o runs/memory --seed 0 --seed 1 --seed 2 --times --table docs/memory.md

What is done stays: killed at any moment, the same command goes on after the last finished epoch.
"""

import argparse
import json
import shlex
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from vizkit.commands import of_runs
from vizkit.commands.output import refuse_output
from vizkit.training.experiments.memory import BY, COUNT, METHODS, TASKS, Curve, curves, measured, plan
from vizkit.training.recipe import Recipe
from vizkit.training.runs.folder import RunFolder, runs
from vizkit.writing import write

__all__ = ["add"]

ALONG = {"length": "letters, after a gap of 8", "gap": "dots between 5 letters and the question mark"}
WORDS = {"copy": "Repeat the letters", "reverse": "Say the letters backwards"}


def add(commands: Any) -> None:
    """Add the command to argparse's subparsers."""
    command = commands.add_parser(
        "memory",
        help="train an RNN, two LSTMs and a transformer to copy and to reverse letters after a gap, and compare",
        description="Train what is missing, one run after another, and print the tables. Stop it and start it again.",
    )
    of_runs.options(command)
    command.add_argument("--times", action="store_true", help="write times.json, too: training and writing by length")
    command.set_defaults(run=_memory)


def _memory(arguments: argparse.Namespace) -> None:
    refuse_output(arguments.table)
    if arguments.times:
        arguments.output.mkdir(parents=True, exist_ok=True)
        write(arguments.output / "times.json", _times())
    mine = list(runs(arguments.output)) if arguments.no_training else _trained(arguments)
    text = "\n\n".join(_markdown(mine, data, by) for data in TASKS for by in BY if curves(mine, data, by))
    if not text:
        raise ValueError(f"{arguments.output} holds no finished run of this experiment.")
    of_runs.tell(arguments.table, text, lambda: _page(arguments, text), len(mine))


def _times() -> str:
    """What a step of training and an answer cost by the length of the text, on one thread: JSON."""
    import torch

    from vizkit.models.probes.attention_timing import machine
    from vizkit.models.sequences.timing import LENGTHS, times_of

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        every = [
            times_of(recipe.model, LENGTHS, lambda length, m=method: print(f"{m}: {length} words", flush=True))
            for method, recipe in METHODS.items()
        ]
        where = machine()
    finally:
        torch.set_num_threads(threads)
    networks = {times.name: {"training": times.training, "writing": times.writing} for times in every}
    return json.dumps({"machine": where, "lengths": LENGTHS, "networks": networks}) + "\n"


def _trained(arguments: argparse.Namespace) -> list[RunFolder]:
    recipes: dict[str, Recipe] = {}
    for seed in arguments.seed or [0]:
        recipes |= plan(seed)
    mine = of_runs.trained(recipes, arguments)
    for run in mine:
        if measured(run) is None:
            from vizkit.training.experiments.memory_measured import measure

            measure(run)
    return mine


def _markdown(mine: Sequence[RunFolder], data: str, by: str) -> str:
    """One row for each method, one column for each length or gap."""
    lines = curves(mine, data, by)
    heading = f"| {ALONG[by]} | {' | '.join(map(str, lines[0].at))} |"
    seeds = ", ".join(map(str, lines[0].shares[0]))
    return "\n".join(
        [
            f"## {WORDS[data]}: by {by}, seeds {seeds}",
            "",
            heading,
            f"|---|{'---:|' * len(lines[0].at)}",
            *(_row(line) for line in lines),
        ]
    )


def _row(line: Curve) -> str:
    return f"| {line.method} | {' | '.join(_words([*shares.values()]) for shares in line.shares)} |"


def _words(shares: Sequence[float]) -> str:
    """ "76 (28–100)": percent, the mean over seeds and the ends of their range."""
    mean, low, high = (f"{100 * share:.0f}" for share in (sum(shares) / len(shares), min(shares), max(shares)))
    return mean if low == high else f"{mean} ({low}–{high})"


def _page(arguments: argparse.Namespace, text: str) -> str:
    options = [
        *(word for seed in arguments.seed or () for word in ("--seed", str(seed))),
        *(("--times",) if arguments.times else ()),
        *(("--no-training",) if arguments.no_training else ()),
        *("-o", arguments.output.as_posix(), "--table", arguments.table.as_posix()),
    ]
    recipe = METHODS["RNN"]
    return f"""# How long networks remember

Texts wholly right, in percent, of {COUNT} for each number, none of more than 3 letters learned from: the mean over the
seeds, and from the lowest to the highest where they differ. All have learned from the same {recipe.images:,} texts of 1
to 8 letters and gaps of 0 to 24 in {recipe.epochs} epochs, with about 45,000 parameters; what is longer is new to them.

{text}

`python -m vizkit memory {shlex.join(options)}`

torch {version("torch").partition("+")[0]}.
"""
