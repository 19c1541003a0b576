"""`python -m vizkit receptive-field`: which pixels the units of every layer can see.

python -m vizkit receptive-field torchvision:resnet50
python -m vizkit receptive-field lenet5 --random-weights -o lenet.csv
"""

import argparse
import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vizkit.commands.output import refuse_output, write_output

if TYPE_CHECKING:
    from vizkit.models.probes.convolution.receptive_field import Walk

__all__ = ["add"]

COLUMNS = {
    "layer": "layer",
    "kind": "kind",
    "kernel": "kernel",
    "stride": "stride",
    "padding": "padding",
    "dilation": "dilation",
    "grid": "output",
    "field_px": "field",
    "jump_px": "jump",
    "start_px": "start",
}
"""Of a row, and above it on the screen. Pairs are vertical × horizontal where the two differ."""


def add(commands: Any) -> None:
    """Add the command to argparse's subparsers."""
    command = commands.add_parser("receptive-field", help="which pixels the units of every layer of a CNN can see")
    command.add_argument("model", metavar="MODEL", help="a timm name, bundled:NAME, torchvision:NAME, a run folder …")
    command.add_argument("--image-size", nargs=2, type=int, metavar=("H", "W"), help="another input than its own")
    command.add_argument("--json", action="store_true", help="print the rows as JSON")
    command.add_argument("-o", "--output", type=Path, metavar="TABLE", help="a .csv or .json file to write")
    command.set_defaults(run=_receptive_field)


def _receptive_field(arguments: argparse.Namespace) -> None:
    refuse_output(arguments.output, (".csv", ".json"))
    import vizkit
    from vizkit.models.probes.convolution.field_table import rows_of
    from vizkit.models.probes.convolution.receptive_field import walk

    size = tuple(arguments.image_size) if arguments.image_size else None
    trained = arguments.model.startswith("bundled:") or Path(arguments.model).exists()  # of others weights say nothing
    loaded = vizkit.load(arguments.model, pretrained=trained, image_size=size, device="cpu")
    walked = walk(loaded)
    rows = rows_of(walked)
    if arguments.output:
        text = json.dumps(rows, indent=1) if arguments.output.suffix.lower() == ".json" else _csv(rows)
        write_output(arguments.output, text)
        print(f"{arguments.output}: {len(rows)} layers")
    elif arguments.json:
        print(json.dumps(rows, indent=1))
    else:
        print(_table(loaded.name, walked, rows))


def _csv(rows: list[dict[str, Any]]) -> str:
    text = io.StringIO()
    table = csv.DictWriter(text, [*rows[0]], lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return text.getvalue()


def _table(name: str, walked: "Walk", rows: list[dict[str, Any]]) -> str:
    cells = [[*COLUMNS.values()], *([str(row[column]) for column in COLUMNS] for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(COLUMNS))]
    lines = [
        "  ".join(
            cell.ljust(width) if i < 2 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in cells
    ]
    whole = next((row["layer"] for row in rows if row["whole_image"]), None)
    note = f"\nFrom {whole} on a mean over the whole map comes in as well: every unit sees something of all pixels."
    height, width = walked.size_hw
    return "\n".join([f"{name}, {height} × {width} pixels; field, jump and start in pixels", *lines]) + (
        note if whole else ""
    )
