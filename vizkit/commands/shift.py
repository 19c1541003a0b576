"""What moving the images of a set by some pixels does to the answers of models."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts.types import PositiveInt

from vizkit.commands.options import Data, Device, Images, Models, Seed, Split, writes
from vizkit.commands.output import markdown, markdown_page, progress, write_output

if TYPE_CHECKING:
    from vizkit.analysis.convolution.shifting import Line


COLUMNS = (0, 1, 2, 4, 8, 16)  # distances of the table, in pixels
FIGURES = (
    ("Right answers, %", "right", 100, 1),
    ("The answer of the unmoved image, %", "same", 100, 1),
    ("Cosine of the features with those of the unmoved image", "cosine", 1, 3),
)
"""Title, field, unit and decimals."""


def shift(
    *,
    model: Models,
    data: Data = "digits",
    split: Split = "test",
    images: Images = None,
    seed: Seed = 0,
    most_px: PositiveInt = 16,
    device: Device = None,
    output: Annotated[list[Path] | None, writes(".md", ".json")] = None,
) -> None:
    """Answers and features of models when images move by some pixels.

    vizkit shift --model bundled:digits_mlp --model bundled:digits_lenet -o shift.md -o shift.json

    Args:
        most_px: The farthest shift.
        output: A table, or all numbers; repeatable.
    """
    import vizkit
    from vizkit.evaluation.shifting import when_moved

    lines = []
    for name in model:
        with progress("image", name) as tell:
            loaded = vizkit.load(name, device=device)
            lines.append(when_moved(loaded, name, data, split, images, most_px, seed, tell=tell))
    if not output:
        print(table(lines))
    for path in output or ():
        content = {"data": data, "split": split, "lines": [each._asdict() for each in lines]}
        about = (
            f"{lines[0].images:,} images of {data}, {split}, moved to the left and to the right by pixels of the\n"
            "model's input; what comes in repeats the border. Mean ± half of the 95 % interval over the images."
        )
        page = markdown_page("Images moved by some pixels", about, table(lines))
        write_output(path, json.dumps(content, indent=1) + "\n" if path.suffix.lower() == ".json" else page)
        print(f"{path}: {len(lines)} models")


def table(lines: Sequence["Line"]) -> str:
    """Share of right answers, and cosine of the features, for some distances."""
    shown = [each for each in COLUMNS if each in lines[0].distance_px]
    places = [lines[0].distance_px.index(each) for each in shown]
    return "\n\n".join(
        markdown(
            [title, *(f"{each} px" for each in shown)],
            [
                [
                    each.model.removeprefix("bundled:"),
                    *(
                        f"{unit * getattr(each, field)[i]:.{digits}f} ± "
                        f"{unit * getattr(each, f'{field}_half')[i]:.{digits}f}"
                        for i in places
                    ),
                ]
                for each in lines
            ],
        )
        for title, field, unit, digits in FIGURES
    )
