"""The figures of a saved report made again, with their numbers."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from vizkit.commands.options import OUTPUT
from vizkit.commands.output import writing_to
from vizkit.writing import read_bytes, write


def _pairs(texts: Sequence[str] | None) -> dict[str, str]:
    """NAME=FILE as names and files."""
    parts = [text.partition("=") for text in texts or ()]
    for name, equals, value in parts:
        if not (name and equals and value):
            raise ValueError(f"Give NAME=FILE, not {''.join((name, equals, value))[:60]!r}.")
    return {name: value for name, _, value in parts}


def report(
    replay: Path,
    /,
    *,
    output: Annotated[Path, OUTPUT] = Path("report"),
    image: list[str] | None = None,
    model: list[str] | None = None,
    go_on: Annotated[bool, Parameter(name="--changed")] = False,
) -> None:
    """Make the figures of a saved report again, from its replay.json.

    vizkit report replay.json --image rocket.jpg=photos/rocket.jpg --model "run:first"=runs/first -o again

    Args:
        replay: The replay.json of a report saved as a folder.
        output: A folder: where figures, numbers and a page go.
        image: NAME=FILE, the file of an image that did not come with vizkit; repeatable.
        model: NAME=SOURCE, what to load for a model, by its name in the report; repeatable.
        go_on: Go on where a model or an image is another one.
    """
    content = read_bytes(replay)
    from vizkit.report.document import files, opened
    from vizkit.report.replay import changed, inputs_for

    images = {name: Path(file) for name, file in _pairs(image).items()}
    saved = opened(content)
    inputs = inputs_for(saved, images, _pairs(model))
    sentences = [changed(entry.item, given) for entry, given in zip(saved.entries, inputs, strict=True)]
    others = [f"Figure {number}: {sentence}" for number, sentence in enumerate(sentences, 1) if sentence]
    if others and not go_on:
        raise ValueError(f"{others[0]} {_more(others)}--changed makes the figures all the same.")
    for sentence in others:
        print(f"vizkit: {sentence}", file=sys.stderr)
    with writing_to(output):
        output.mkdir(parents=True, exist_ok=True)
        for name, content in files(saved, inputs):
            write(output / name, content)
            print(output / name)


def _more(sentences: Sequence[str]) -> str:
    return f"So are {len(sentences) - 1} more. " if len(sentences) > 1 else ""
