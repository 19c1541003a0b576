"""`python -m vizkit shift`: what moving the pictures of a set by some pixels does to the answers of models.

python -m vizkit shift --data digits --model bundled:digits_mlp --model bundled:digits_lenet -o shift.md -o shift.json
"""

import argparse
import json
import shlex
from collections.abc import Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vizkit.commands.model_options import add_device, add_pictures
from vizkit.commands.output import refuse_output, write_output

if TYPE_CHECKING:
    from tqdm import tqdm

    from vizkit.analysis.convolution.shifting import Line

__all__ = ["add"]

COLUMNS = (1, 2, 4, 8, 16)  # distances of the table, in pixels


def add(commands: Any) -> None:
    """Add the command to argparse's subparsers."""
    command = commands.add_parser("shift", help="answers and features of models when pictures move by some pixels")
    command.add_argument("--model", action="append", required=True, metavar="NAME", help="repeatable")
    add_pictures(command, data="digits")
    command.add_argument("--split", default="test", choices=("train", "val", "test"), help="of the data (test)")
    command.add_argument("--most-px", type=int, default=16, metavar="PX", help="the farthest shift (16)")
    add_device(command)
    command.add_argument(
        "-o",
        "--output",
        type=Path,
        action="append",
        default=[],
        metavar="OUT",
        help="OUT.md for a table, OUT.json for all numbers; repeatable",
    )
    command.set_defaults(run=_shift)


def _shift(arguments: argparse.Namespace) -> None:
    for output in arguments.output:
        refuse_output(output, (".md", ".json"))
    if arguments.most_px < 1:
        raise ValueError("--most-px is a number of pixels, 1 or more.")

    from tqdm import tqdm

    import vizkit
    from vizkit.evaluation.shifting import when_moved

    lines = []
    for name in arguments.model:
        loaded = vizkit.load(name, device=arguments.device)
        with tqdm(desc=name, unit="image", disable=None, dynamic_ncols=True) as bar:
            lines.append(
                when_moved(
                    loaded,
                    name,
                    arguments.data,
                    arguments.split,
                    arguments.images,
                    arguments.most_px,
                    arguments.seed,
                    tell=partial(_tell, bar),
                )
            )
    if not arguments.output:
        print(table(lines))
    for output in arguments.output:
        text = numbers(arguments, lines) if output.suffix.lower() == ".json" else page(arguments, lines)
        write_output(output, text)
        print(f"{output}: {len(lines)} models")


def _tell(bar: "tqdm", done: int) -> None:
    bar.update(done - bar.n)


def numbers(arguments: argparse.Namespace, lines: Sequence["Line"]) -> str:
    content = {"data": arguments.data, "split": arguments.split, "lines": [each._asdict() for each in lines]}
    return json.dumps(content, indent=1) + "\n"


def table(lines: Sequence["Line"]) -> str:
    """Markdown: share of right answers, and cosine of the features, for some distances."""
    shown = [each for each in (0, *COLUMNS) if each in lines[0].distance_px]
    parts = []
    for title, of, half, digits in (
        ("Right answers, %", "right", "right_half", 1),
        ("The answer of the unmoved picture, %", "same", "same_half", 1),
        ("Cosine of the features with those of the unmoved picture", "cosine", "cosine_half", 3),
    ):
        unit = 100 if digits == 1 else 1
        rows = [f"| {title} | {' | '.join(f'{each} px' for each in shown)} |", "|---" + "|--:" * len(shown) + "|"]
        for each in lines:
            places = [each.distance_px.index(distance) for distance in shown]
            cells = [
                f"{unit * getattr(each, of)[i]:.{digits}f} ± {unit * getattr(each, half)[i]:.{digits}f}" for i in places
            ]
            rows.append(f"| {each.model.removeprefix('bundled:')} | {' | '.join(cells)} |")
        parts.append("\n".join(rows))
    return "\n\n".join(parts)


def page(arguments: argparse.Namespace, lines: Sequence["Line"]) -> str:
    words = [word for name in arguments.model for word in ("--model", name)]
    words += ["--data", arguments.data] + (["--images", str(arguments.images)] if arguments.images else [])
    words += [word for output in arguments.output for word in ("-o", output.as_posix())]
    command = f"python -m vizkit shift {shlex.join(words)}"
    return f"""# Pictures moved by some pixels

{lines[0].images:,} pictures of {arguments.data}, {arguments.split}, moved to the left and to the right by pixels of the
model's input; what comes in repeats the border. Mean ± half of the 95 % interval over the pictures.

{table(lines)}

`{command}`

torch {version("torch").partition("+")[0]}, timm {version("timm")}.
"""
