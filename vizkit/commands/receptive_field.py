"""Which pixels the units of every layer can see."""

import json
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from vizkit.commands.options import writes
from vizkit.commands.output import aligned, write_output

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


def receptive_field(
    model: str,
    /,
    *,
    image_size: tuple[int, int] | None = None,
    as_json: Annotated[bool, Parameter(name="--json")] = False,
    output: Annotated[Path | None, writes(".csv", ".json")] = None,
) -> None:
    """Which pixels the units of every layer of a CNN can see.

    vizkit receptive-field torchvision:resnet50

    Args:
        model: A timm name, bundled:NAME, torchvision:NAME, a run folder …
        image_size: Height and width in pixels: another input than its own.
        as_json: Print the rows as JSON.
        output: A table to write.
    """
    import vizkit
    from vizkit.models.probes.convolution.field_table import rows_of
    from vizkit.models.probes.convolution.receptive_field import walk

    trained = model.startswith("bundled:") or Path(model).exists()  # of others weights say nothing
    loaded = vizkit.load(model, pretrained=trained, image_size=image_size, device="cpu")
    walked = walk(loaded)
    rows = rows_of(walked)
    if output:
        from vizkit.writing import csv_rows

        write_output(output, json.dumps(rows, indent=1) if output.suffix.lower() == ".json" else csv_rows(rows))
        print(f"{output}: {len(rows)} layers")
        return
    if as_json:
        print(json.dumps(rows, indent=1))
        return
    height, width = walked.size_hw
    print(f"{loaded.name}, {height} × {width} pixels; field, jump and start in pixels")
    print(aligned([[*COLUMNS.values()], *([str(row[column]) for column in COLUMNS] for row in rows)], left=2))
    if whole := next((row["layer"] for row in rows if row["whole_image"]), None):
        print(f"From {whole} on a mean over the whole map comes in as well: every unit sees something of all pixels.")
