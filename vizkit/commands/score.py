"""`python -m vizkit score`: which map to trust, measured on many pictures.

python -m vizkit score --model bundled:insects_vit --model bundled:insects_swin --images 200 -o trust.md
python -m vizkit score --model runs/mine --data photos/ --method fast --measure deletion --measure road -o scores.csv
accelerate launch --num_processes 2 -m vizkit score --model runs/mine -o trust.md

Ctrl-C or `kill` ends it; what was scored until then is written.
"""

import argparse
import contextlib
import csv
import io
import json
import shlex
import signal
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vizkit.analysis.attribution.methods import METHODS
from vizkit.commands.explaining.explain import add_methods
from vizkit.commands.explaining.maps import chosen
from vizkit.commands.model_options import add_model_options, load, several_processes
from vizkit.commands.output import refuse_output, write_output

if TYPE_CHECKING:
    import numpy as np
    from accelerate import Accelerator

    from vizkit.analysis.trust.table import Row
    from vizkit.datasets.image_set import ImageSet

__all__ = ["add", "best", "cell"]

SUFFIXES = (".md", ".csv", ".json")
MEASURES = ("truth", "deletion", "road", "randomisation", "infidelity", "sensitivity")


@dataclass(frozen=True)
class Scored:
    """One model: its rows, how many of `asked` pictures were scored, why some are left out of the rows and why some
    methods do not apply.
    """

    model: str
    rows: "list[Row]"
    images: int
    asked: int
    seconds: float
    not_applicable: dict[str, str]
    left_out: str = ""


def add(commands: Any) -> None:
    """Add the command to argparse's subparsers."""
    command = commands.add_parser("score", help="which explanation to trust, measured on many pictures")
    add_model_options(command, several=True)
    command.add_argument("--data", default="insects", metavar="SET", help="insects, digits, a folder … (insects)")
    command.add_argument("--split", default="test", choices=("train", "val", "test"), help="of the data (test)")
    command.add_argument("--images", type=int, default=200, metavar="N", help="at most so many pictures (200)")
    command.add_argument("--seed", type=int, metavar="N", help="of drawn or divided data (one that no model has seen)")
    add_methods(command, "all")
    command.add_argument(
        "--measure",
        action="append",
        choices=MEASURES,
        metavar="MEASURE",
        help=f"{', '.join(MEASURES)}; repeatable (truth, where it is known, and deletion)",
    )
    command.add_argument("--steps", type=int, default=28, help="of the deletion and insertion curves (28)")
    command.add_argument("--fill", default="blur", choices=("blur", "mean"), help="what stands in for a patch (blur)")
    command.add_argument("--threads", type=int, default=0, help="CPU threads; 0 leaves torch's number")
    command.add_argument("-o", "--output", type=Path, metavar="TABLE", help="a .md, .csv or .json file to write")
    command.set_defaults(run=_score)


def _score(arguments: argparse.Namespace) -> None:
    refuse_output(arguments.output, SUFFIXES)
    if arguments.steps < 1:
        raise ValueError("The curves need at least one step.")
    import torch

    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    with contextlib.suppress(ValueError):  # not the main thread
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # `kill` too leaves what was scored
    accelerator = several_processes(arguments)
    main = accelerator is None or accelerator.is_main_process  # of several processes the first alone writes and speaks
    results: list[Scored] = []
    stopped = False
    for name in arguments.model:
        scored, stopped = _score_model(arguments, name, accelerator)
        if scored.images and main:
            results.append(scored)
            if arguments.output:
                write(arguments, results, stopped)
        if stopped:
            break
    if accelerator is not None:
        accelerator.end_training()
    if main and not (arguments.output and results):
        print("\n\n".join(map(_markdown, results)) or "Nothing was scored.")
    elif main:
        print(f"{arguments.output}: {', '.join(f'{result.model} on {result.images} pictures' for result in results)}")
    if stopped:
        raise KeyboardInterrupt


def _score_model(
    arguments: argparse.Namespace, name: str, accelerator: "Accelerator | None" = None
) -> tuple[Scored, bool]:
    """What was scored, and whether the user stopped it. Each of several processes scores one block of the pictures, in
    the order of the set, so that together they have the figures of one."""
    from tqdm import tqdm

    from vizkit.analysis.attribution.explaining import applicable, why_not
    from vizkit.analysis.trust.scores import Measure, score_case
    from vizkit.analysis.trust.table import Tally
    from vizkit.evaluation.answers import gathered
    from vizkit.scoring import cases, pictures

    loaded = load(arguments, name)
    images: ImageSet = pictures(loaded, arguments.data, arguments.images, arguments.split, _seed_of(arguments))
    measures: list[Measure] = arguments.measure or ["truth", "deletion"]
    selected = chosen(arguments.method or ["all"])
    begin, tally, reasons, stopped = time.perf_counter(), Tally(), {}, False
    mine = images if accelerator is None else images.take(_block(len(images), accelerator))
    again = "sensitivity" in measures
    several = cases(loaded, mine, randomised="randomisation" in measures, again=again, layer=arguments.layer)
    try:
        for case in tqdm(several, desc=loaded.name, total=len(mine), unit="image", disable=None, dynamic_ncols=True):
            if not tally.images:
                reasons = {method: said for method, said in why_not(case.trace).items() if method in selected}
            methods = [method for method in applicable(case.trace) if method in selected]
            if not methods:
                reason = next(iter(reasons.values()), "")
                raise ValueError(f"None of these methods applies to {loaded.name}. {reason}".strip())
            tally.add(score_case(case, methods, measures=measures, steps=arguments.steps, fill=arguments.fill))
    except KeyboardInterrupt:
        stopped = True
    every = gathered((tally, reasons, stopped), accelerator)
    tally = every[0][0]
    for later, _, _ in every[1:]:
        tally.add_all(later)
    reasons, stopped = every[0][1], any(one for *_, one in every)
    seconds = time.perf_counter() - begin
    return Scored(loaded.name, tally.rows(), tally.images, len(images), seconds, reasons, tally.said()), stopped


def _block(images: int, accelerator: "Accelerator") -> "np.ndarray":
    """The rows of this process: one of as many blocks as there are processes, equal but for one picture."""
    import numpy as np

    return np.array_split(np.arange(images), accelerator.num_processes)[accelerator.process_index]


def _seed_of(arguments: argparse.Namespace) -> int:
    from vizkit.scoring import FRESH_SEED

    return FRESH_SEED if arguments.seed is None else arguments.seed


def write(arguments: argparse.Namespace, results: list[Scored], stopped: bool) -> None:
    output: Path = arguments.output
    kind = output.suffix.lower()
    text = page(arguments, results, stopped) if kind == ".md" else {".csv": _as_csv, ".json": _as_json}[kind](results)
    write_output(output, text)


# ---- files -----------------------------------------------------------------------------------------------------------
def _as_json(results: list[Scored]) -> str:
    return json.dumps([asdict(result) for result in results], ensure_ascii=False, indent=1)


def _as_csv(results: list[Scored]) -> str:
    """One line for each figure of each method of each model."""
    out = io.StringIO()
    lines = csv.writer(out, lineterminator="\n")
    lines.writerow(("model", "method", "figure", "mean", "spread", "images", "chance", "above_chance", "mean_rank"))
    for result in results:
        for row in result.rows:
            for name, value in row.figures.items():
                rank = "" if row.rank is None else f"{row.rank:.3f}"
                chance = ("" if number is None else f"{number:.6f}" for number in (value.chance, value.above_chance))
                numbers = (f"{value.mean:.6f}", f"{value.spread:.6f}", value.images, *chance, rank)
                lines.writerow((result.model, row.method, name, *numbers))
    return out.getvalue()


def page(arguments: argparse.Namespace, results: list[Scored], stopped: bool) -> str:
    from vizkit.analysis.trust.table import CHANCE, FIGURES
    from vizkit.saving import installed

    figures = {name for result in results for row in result.rows for name in row.figures}
    methods = {row.method for result in results for row in result.rows} - {CHANCE}
    command = shlex.join(["python", "-m", "vizkit", *arguments.given])
    lines = [
        "# Which map to trust",
        "",
        f"Made by `{command}`, with {', '.join(f'{name} {installed(name)}' for name in ('torch', 'timm', 'captum'))}.",
        f"The pictures are {arguments.data}, {arguments.split}, seed {_seed_of(arguments)}"
        + (": no model that ships with vizkit has seen them." if arguments.seed is None else "."),
        "" if not stopped else "\nIt was stopped before the end.\n",
        "Explained is the class that the model itself gives a picture, right or wrong. Each figure is the mean over",
        "the pictures ± their standard deviation, in brackets its difference to chance: a random order of the patches,",
        "a point put anywhere (the share of the picture at which it would count), an even map. Methods are ordered by",
        "the mean of their places over the figures; the best of each column is bold where it is better than chance.",
        "",
        *("\n".join((_markdown(result), "")) for result in results),
        "## What the figures say, and what not",
        "",
        *(f"- **{figure.title}**: {figure.caveat}" for name, figure in FIGURES.items() if name in figures),
        "",
        "## What the methods ask, and what they miss",
        "",
        *(f"- **{m.title}**: {m.words()} {m.source}." for name, m in METHODS.items() if name in methods),
        "",
    ]
    return "\n".join(lines)


def _markdown(result: Scored) -> str:
    """The table of one model, with the sentence for every method that does not apply."""
    from vizkit.analysis.trust.table import FIGURES

    names = [name for name in FIGURES if any(name in row.figures for row in result.rows)]
    arrows = {True: " ↑", False: " ↓", None: ""}
    heads = [f"{FIGURES[name].title}{arrows[FIGURES[name].larger_is_better]}" for name in names]
    done = f"{result.images} pictures" + (f" of {result.asked}" if result.images < result.asked else "")
    lines = [f"## {result.model}", "", f"{done}, {result.seconds / 60:.0f} min.", ""]
    lines += [f"| method | {' | '.join(heads)} | mean place |", f"|---|{'--:|' * (len(heads) + 1)}"]
    for row in result.rows:
        cells = [cell(row, name, best(result.rows, name)) for name in names]
        missing = f" (nothing on {row.nothing})" if row.nothing else ""
        rank = "" if row.rank is None else f"{row.rank:.1f}"
        lines.append(f"| {row.title}{missing} | {' | '.join(cells)} | {rank} |")
    lines += ["", *filter(None, [result.left_out])]
    lines += [*(f"{METHODS[name].title}: {reason}" for name, reason in result.not_applicable.items())]
    return "\n".join(lines).rstrip()


def best(rows: "list[Row]", name: str) -> float | None:
    """The best mean of a figure over the ranked methods; None where it has no better side or none beats chance."""
    from vizkit.analysis.trust.table import FIGURES

    larger = FIGURES[name].larger_is_better
    there = [row.figures[name] for row in rows if name in row.figures and row.rank is not None]
    if larger is None or not there:
        return None
    first = (max if larger else min)(there, key=lambda one: one.mean)
    gain = first.above_chance
    return first.mean if gain is None or (gain > 0 if larger else gain < 0) else None


def cell(row: "Row", name: str, best: float | None) -> str:
    """Shares of pictures have no spread worth a word."""
    from vizkit.analysis.trust.table import SAME, signed

    if name not in row.figures:
        return "–"
    value = row.figures[name]
    share = name.startswith("pointing")
    text = f"{value.mean:.2f}" if share else f"{value.mean:.3f} ± {value.spread:.3f}"
    text = f"**{text}**" if row.rank is not None and best is not None and abs(value.mean - best) <= SAME else text
    if value.above_chance is None:
        return text
    return f"{text} ({signed(value.above_chance, 2 if share else 3)})"
