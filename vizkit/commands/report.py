"""`vizkit report replay.json`: the pictures of a saved report made again, with their numbers.

vizkit report replay.json -o again
vizkit report replay.json --image rocket.jpg=photos/rocket.jpg --model "run:first"=runs/first
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vizkit.commands.output import writing_to
from vizkit.writing import write

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add the command to argparse's subparsers."""
    command = commands.add_parser("report", help="make the pictures of a saved report again, from its replay.json")
    command.add_argument("replay", metavar="REPLAY", type=Path, help="the replay.json of a report saved as a folder")
    command.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("report"),
        metavar="FOLDER",
        help="where pictures, numbers and a page go (./report)",
    )
    command.add_argument(
        "--image",
        action="append",
        default=[],
        type=_pair,
        metavar="NAME=FILE",
        help="the file of a picture that did not come with vizkit; repeatable",
    )
    command.add_argument(
        "--model",
        action="append",
        default=[],
        type=_pair,
        metavar="NAME=SOURCE",
        help="what to load for a model, by its name in the report; repeatable",
    )
    command.add_argument("--changed", action="store_true", help="go on where a model or a picture is another one")
    command.set_defaults(run=report)


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise argparse.ArgumentTypeError(f"give NAME=FILE, not {text[:60]!r}")
    return name, value


def report(arguments: argparse.Namespace) -> None:
    from vizkit.report.document import files, opened
    from vizkit.report.replay import changed, inputs_for

    saved = opened(arguments.replay.read_bytes())
    images = {name: Path(file) for name, file in arguments.image}
    inputs = inputs_for(saved, images, dict(arguments.model))
    sentences = [changed(entry.item, given) for entry, given in zip(saved.entries, inputs, strict=True)]
    others = [f"Picture {number}: {sentence}" for number, sentence in enumerate(sentences, 1) if sentence]
    if others and not arguments.changed:
        raise ValueError(f"{others[0]} {_more(others)}--changed makes the pictures all the same.")
    for sentence in others:
        print(f"vizkit: {sentence}", file=sys.stderr)
    output: Path = arguments.output
    with writing_to(output):
        output.mkdir(parents=True, exist_ok=True)
        for name, content in files(saved, inputs):
            write(output / name, content)
            print(output / name)


def _more(sentences: Sequence[str]) -> str:
    return f"So are {len(sentences) - 1} more. " if len(sentences) > 1 else ""
